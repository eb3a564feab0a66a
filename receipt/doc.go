// Package receipt is the model of spec/receipt.md: what an engine says about
// an effect it judged, and about what became of it.
//
// Three layers of bytes, each with a name of its own:
//
//   - A [Receipt] is what was judged or what happened. Its canonical DAG-CBOR
//     is named by the receipt CID, the identity: no clock, signature or log
//     position enters it.
//   - A [Statement] is a receipt and the [Call] that makes it: who, in which
//     run, where in that run. Its canonical DAG-CBOR is the DSSE payload and is
//     named by the statement CID, the log's key for telling repeats.
//   - The envelope and the leaf are package dsse's.
//
// [Decode] turns payload bytes into a [Decoded]: first the strict check of
// package dagcbor, then the whole schema. [Statement.Encode] is its inverse and
// refuses whatever Decode would refuse. [DecodeFrame] reads only the part that
// never changes between versions. [ToJSON] and [FromJSON] are a lossless JSON
// view, [Describe] is the text for a person.
//
// Every sum is a sealed interface whose arms carry what that arm needs and
// nothing else, so most contradictions cannot be written down in Go. What
// remains (sets out of order, a text outside its alphabet) the encoder refuses.
//
// In Go a zero value of a text, [CID], [Pin], [Value], [Seen] or number that is
// optional stands for "absent": none of them has a zero that is valid content.
// In the bytes, absent is an absent key and nothing else.
//
// The package does no I/O and reads no clock. Values that Decode returns share
// memory with a copy of the payload that it makes, never with the payload.
package receipt
