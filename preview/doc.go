// Package preview says what is about to happen, in one value with one digest.
//
// A preview is a JSON object called ρ (rho):
//
//	{"attempt": …, "ctx": {"blind": …, …}, "inputs": {…}, "intent": {…}, "task_id": …, "verb": …}
//
// Its [Digest] is what an engine's rules judge, what a receipt names as
// request.digest, what an approver approves, and what a sink computes once more
// from the very bytes it is about to fire. Equal digests are the whole of
// "what was judged is what was executed".
//
// The way through the package:
//
//	p := preview.Preview{Intent: preview.Exec{…}, …} // Go values
//	rho, err := p.Seal(secret)                       // ρ with its blind
//	rho.Digest()                                     // goes into the receipt
//	opened, err := rho.Open(secret)                  // every commitment, with its salt
//	…
//	p.Intent = preview.Exec{…}                       // from what will be fired
//	fired, err := p.Seal(secret)                     // fired.Digest() is compared
//
// and, for a verifier to whom everything was disclosed, [Recompute].
//
// # Digest
//
// The digest is BLAKE3("effect-preview" ‖ JCS(ρ)), 32 bytes. It binds the JSON
// value, not a document: package jcs refuses documents that have more than one
// reading. The 14-byte prefix needs no length and no terminator:
//
//   - It is not another message cut short or drawn out. The byte after it is
//     always "{", so no tag that begins with the same 14 bytes and goes on with
//     a letter, a digit or a dash can be mistaken for it; and BLAKE3 finalises
//     its root node with a flag, so no digest can be extended to that of a
//     longer message.
//   - It is no CID. The other plain BLAKE3 over structured bytes in this project
//     is that of a DAG-CBOR block. A block that begins with "e" (0x65) is the
//     five bytes of text "ffect" and ends there; no block goes on with "-".
//   - Salts, blinds, commitments, tickets and refusal digests use the keyed and
//     the derive-key mode, which are other functions (flags in every node).
//     Under the run's secret two messages are hashed, "obstat blind v1{…" and
//     "obstat salt v1" followed by 0x83; they differ in their eighth byte.
//   - File contents are plain BLAKE3, as every tool computes it. Somebody can
//     write a file whose digest is a preview digest. That gains nothing: a
//     content digest stands only where a content is meant, behind a field name
//     in a commitment or under "b3" in ρ, and is never compared with
//     request.digest.
//
// # Blind
//
// ctx.blind is keyed BLAKE3 under the run's secret over
// "obstat blind v1" ‖ JCS(ρ without ctx.blind), in lowercase hex. Without it
// the digest would be an oracle: whoever guesses a path or an input could test
// the guess. It is derived, not drawn, so asking twice gives the same digest;
// and it depends on all of ρ, so disclosing one call says nothing of another.
//
// # Values
//
// A byte string that is valid UTF-8 is a JSON string, any other is
// {"b64": standard base64 with padding}; there is no choice between the two.
// No text is normalised. A content is {"b3": 64 lowercase hex digits}, the
// BLAKE3 of its bytes, and null where there is none.
//
// # Members of ρ
//
//	verb     name of the verb: "exec", "files", "http", "tool", "render", "undo"
//	task_id  name, or null where the request has no task
//	attempt  integer from 1 to 2^53-1, or null
//	inputs   object: name → byte string
//	ctx      object: blind; optional plan, policy, permits, lock, tool, sandbox
//	         (lowercase hex of a multihash, BLAKE3 1e20… or SHA-256 1220…);
//	         optional approval (name of the approval class)
//	intent   object: the members of the verb, and four that mean the same under
//	         every verb and are absent where there is nothing to say:
//	  changes  list of {path, before, after, mode}, strictly ascending by path
//	  effects  list of {on, target}, strictly ascending by on, then target
//	  reads    list of {key, seen}, strictly ascending by key; the one list that
//	           may be empty: [] says that nothing was compared, absence that
//	           nothing was recorded
//	  slots    object: name → {source, value}
//
// Lists are ordered by the raw bytes of their key. Everything that a receipt
// commits to in a request is in inputs or in one of these four members, so a
// verifier recomputes commitments even for a verb it does not know.
//
// # Commitments
//
// A commitment is BLAKE3 derive-key, context "obstat commitment v1", over the
// DAG-CBOR list [salt, field, name, value]. Its salt is keyed BLAKE3 under the
// run's secret over "obstat salt v1" ‖ DAG-CBOR [request.digest, field, name].
// A value is a CBOR text where it is valid UTF-8, else a byte string; a content
// is its 32-byte digest as a byte string; no content is false. A field holds
// either byte strings or contents, never both, so no value has two meanings.
//
//	field      name       value                in ρ
//	input      its name   byte string          inputs[name]
//	path       index      byte string          intent.changes[index].path
//	before     index      content or none      intent.changes[index].before
//	after      index      content or none      intent.changes[index].after
//	slot       its name   byte string          intent.slots[name].value
//	target     index      byte string          intent.effects[index].target
//	key        index      byte string          intent.reads[index].key
//	seen       index      content or none      intent.reads[index].seen
//	wrote-key  index      byte string          no: observed after the effect
//	wrote      index      content or none      no: observed after the effect
//	delta      "0"        content              no: the escrowed inverse
//
// An index is decimal without leading zeros, counted from 0 in the order of ρ
// (for wrote-key and wrote in the order in which the engine lists them). A
// receipt's own lists are ordered by the commitments and so do not tell it.
//
// A receipt's judgment.reads holds, for every change, key = (path, i) and
// seen = (before, i), then for every read of ρ (key, i) and (seen, i). What an
// outcome compares or records reuses the place, and so the salt, of the value
// it belongs to: stale.key and stale.expected are byte copies of a read and
// stale.seen commits to what was found at the place of expected; after a change
// set, wrote has key (path, i) and the value found at place (after, i), which
// equals changes[i].after exactly if the file is as judged. wrote-key and wrote
// are for postconditions of verbs without changes. A compensation commits to
// what it sees with the salt, field and name that stay with the escrowed
// inverse. [Disclosure.With] makes all of these.
//
// # Adding a verb
//
// One file with one type that implements [Intent], and two lines in readIntent.
//
// Specification: spec/preview.md.
package preview
