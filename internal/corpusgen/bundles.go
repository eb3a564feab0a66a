package corpusgen

import (
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// bundles: the JSON of a bundle, what it needs from its caller, and how its
// checks go together.
func bundles(b *builder) {
	b.in("bundles")
	log := b.denials(3)
	good := string(log.Bundle(2, 3, "w1").Append(nil))
	doc := func(name, text string, w want, why string) {
		b.t.Helper()
		b.bundleBytes(name, []byte(text), oneWitness, registryTrust, w, why)
	}
	b.about("bundle.md#bundle")
	doc("whole", good, ok(), "envelope, proof, chain and a cosignature")
	doc("spaced", strings.NewReplacer(`,"`, " ,\n\"", `":`, "\"\t: ").Replace(good)+"\n", ok(), "spaces between tokens, and behind")
	doc("of-two-members-exchanged", `{"level":"witnessed",`+strings.Replace(good[1:], `"level":"witnessed",`, ``, 1), ok(), "members in any order")
	doc("with-a-foreign-member-in-the-envelope", strings.Replace(good, `"envelope":{`, `"envelope":{"note":[1],`, 1), ok(), "DSSE has members that it does not name ignored")
	edit := func(name, old, new string, code report.Code, why string) {
		b.t.Helper()
		if !strings.Contains(good, old) {
			b.t.Fatalf("%s: no %q", name, old)
		}
		doc(name, strings.Replace(good, old, new, 1), no("form", code), why)
	}
	edit("member-unknown", `"level"`, `"note":1,"level"`, report.CodeProofBundleUnknown, "exactly these members")
	edit("member-in-another-case", `"level"`, `"Level":"promise","level"`, report.CodeProofBundleCase, "a member has one spelling")
	edit("member-missing", `"level":"witnessed",`, ``, report.CodeProofBundleMissing, "level is required")
	edit("level-that-is-a-number", `"level":"witnessed"`, `"level":1`, report.CodeProofBundleType, "level is a string")
	edit("level-that-is-none", `"level":"witnessed"`, `"level":"sworn"`, report.CodeProofBundleValue, "promise or witnessed")
	edit("index-that-is-a-string", `"index":0`, `"index":"0"`, report.CodeProofBundleType, "the index of a registry leaf is a number")
	edit("index-negative", `"index":0`, `"index":-1`, report.CodeProofBundleValue, "an index is from 0")
	edit("index-beyond-53-bits", `"index":0`, `"index":9007199254740992`, report.CodeProofBundleValue, "indexes are at most 2^53-1")
	hash := good[strings.Index(good, `"proof":["`):]
	hash = hash[:strings.Index(hash, `="`)+1]
	edit("hash-not-padded", hash, strings.TrimSuffix(hash, "="), report.CodeProofBundleValue, "hashes in padded base64")
	edit("registry-member-unknown", `"index":0`, `"index":0,"version":0`, report.CodeProofBundleUnknown, "envelope, index and proof")
	edit("media-type-of-another", "vnd.obstat.bundle.v1", "vnd.dev.sigstore.bundle.v0.3", report.CodeProofBundleMediaType, "another kind of bundle")
	edit("media-type-without-version", "bundle.v1+json", "bundle+json", report.CodeProofBundleMediaType, "a version is part of the type")
	edit("json-name-twice", `"level"`, `"level":"promise","level"`, report.CodeJSONNameTwice, "one name has one value")
	edit("json-number-not-shortest", `"index":0`, `"index":0.0`, report.CodeJSONNumber, "numbers are spelled as their doubles")
	edit("json-not-utf8", `"witnessed"`, "\"witnessed\xff\"", report.CodeJSONUTF8, "strings are UTF-8")
	edit("payload-flipped-in-base64", `"payload":"o`, `"payload":"!`, report.CodeDSSEBase64, "the envelope is read as DSSE")
	edit("registry-empty", good[strings.Index(good, `"registry":[`):], `"registry":[]}`, report.CodeProofBundleValue, "at least the genesis")
	doc("disclosures-empty", good[:len(good)-1]+`,"disclosures":[]}`, no("form", report.CodeProofBundleValue), "at least one, or no such member")
	doc("cut", good[:len(good)-1], no("form", report.CodeJSONSyntax), "the object does not end")
	doc("with-something-behind", good+"{}", no("form", report.CodeJSONTrailing), "one JSON value")
	doc("list", "["+good+"]", no("form", report.CodeProofBundleType), "a bundle is an object")
	doc("empty", "", unknown("form", report.CodeInputEmpty), "nothing was there to be checked")
	b.about("evolution.md#what-an-old-reader-answers")
	doc("of-the-next-version", strings.Replace(good, "bundle.v1+json", "bundle.v2+json", 1), unknown("form", report.CodeVersionUnknown), "a later version is not checked")

	b.about("bundle.md#verifying")
	flip := strings.Replace(good, `"sig":"`, `"sig":"A`, 1)
	at := strings.Index(flip, `"sig":"A`) + 8
	flip = flip[:at] + flip[at+1:] // another first digit
	doc("signature-flipped", flip, no("signature", report.CodeSignatureInvalid).and(no("inclusion", report.CodeProofInvalid)), "the signature is in the leaf: the proof does not hold either")
	orange := testlog.New(b.t)
	at2 := orange.Append(b.sign(encode(b.t, put(b.t, tree(b.t, b.example("judgment-for-refused").Payload()), "receipt.judgment.class", s("orange"))), "engine"))
	b.bundle("logged-against-the-schema", orange.Bundle(at2, 2), noQuorum, no("schema", report.CodeSchemaWord), "that it stands in the log makes it no statement")
	under := func(name, policy, trust string, w want, why string) {
		files := map[corpus.Part]string{corpus.Artifact: b.put(b.path("whole", ".receipt.json"), []byte(good))}
		if policy != "" {
			files[corpus.Policy] = policy
		}
		if trust != "" {
			files[corpus.Trust] = trust
		}
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: files}, w, why)
	}
	b.about("report.md#answers")
	under("under-nothing", "", "", unknown("signature", report.CodeTrustNotGiven).and(unknown("checkpoint", report.CodePolicyNotGiven), unknown("policy", report.CodePolicyNotGiven), unknown("KEY-LISTED-AT", report.CodeTrustNotGiven)), "nothing inside an artifact is trusted")
	b.about("report.md#checks")
	under("under-a-policy-alone", oneWitness, "", unknown("signature", report.CodeTrustNotGiven).and(unknown("KEY-LISTED-AT", report.CodeTrustNotGiven)), "nobody says whose receipts count")
	under("under-a-trust-file-alone", "", registryTrust, unknown("checkpoint", report.CodePolicyNotGiven).and(unknown("policy", report.CodePolicyNotGiven)), "nobody says which log")
	under("under-plain-keys", oneWitness, plainTrust, ok(), "the chain is ignored, and said to be")
	under("under-trust-in-another-log", oneWitness, b.put("bundles/other.trust", []byte("obstat trust v1\norigin example.com/other\ngenesis "+b.world.log.Genesis.String()+"\n")),
		unknown("signature", report.CodeLogOther).and(unknown("KEY-LISTED-AT", report.CodeLogOther)), "the trust file is for another log")
	under("under-a-policy-of-another-log", b.put("bundles/other.policy", fill("log $other\nquorum none\n")), registryTrust, unknown("checkpoint", report.CodeLogUnknown), "the policy lists another log")
	required := func(name string, w want, why string, require ...string) {
		b.add(name, corpus.Case{Command: corpus.AskBundle, Files: map[corpus.Part]string{
			corpus.Artifact: b.put(b.path("whole", ".receipt.json"), []byte(good)), corpus.Policy: oneWitness, corpus.Trust: registryTrust,
		}, Ask: corpus.Ask{Require: require}}, w, why)
	}
	required("disclosures-required", unknown("disclosures", report.CodeNothingDisclosed), "nothing is disclosed", "disclosures")
	b.oldBundles()
	b.expectations()
}

// oldBundles: a growing log never turns an old bundle into a refusal.
func (b *builder) oldBundles() {
	b.about("bundle.md#bundle")
	log := b.denials(6)
	for _, size := range []uint64{3, 4, 6} {
		b.bundle("an-old-leaf-at-size-"+string(rune('0'+size)), log.Bundle(2, size), noQuorum, ok(), "the same receipt under each checkpoint of a growing log")
	}
	b.bundle("of-every-kind-of-tree", b.world.log.Bundle(b.world.at["run-close"], b.world.log.Size()), noQuorum, ok(), "the last leaf of the example log")
	b.bundle("of-a-fault", b.world.log.Bundle(b.world.at["fault-open"], b.world.log.Size()), noQuorum, ok(), "a genuine receipt that says that nothing was judged", "posture=open")
	b.bundle("of-a-decision", b.world.log.Bundle(b.world.at["decision-approve"], b.world.log.Size()), noQuorum, ok(), "an approver's receipt", "answer=approve", "principal=approver")
}

// expectations: content that a caller requires.
func (b *builder) expectations() {
	b.about("report.md#expectations")
	x := b.world.log.Bundle(b.world.at["judgment-admit"], b.world.log.Size())
	b.bundle("as-expected", x, noQuorum, ok(), "every key that a judgment has",
		"kind=judgment", "verdict=admit", "class=yellow", "verb=files", "principal=engine", "run=run-1", "seq=1", "log="+testlog.Origin, "index=2", "level=promise")
	for _, e := range []struct{ key, value string }{
		{"kind", "outcome"}, {"verdict", "deny"}, {"class", "green"}, {"verb", "exec"}, {"principal", "approver"},
		{"run", "run-2"}, {"seq", "2"}, {"log", "example.com/other"}, {"index", "3"}, {"level", "witnessed"},
	} {
		b.bundle("not-as-expected-"+e.key, x, noQuorum, no("expect "+e.key, report.CodeExpectationUnmet), "another value of "+e.key, e.key+"="+e.value)
	}
	b.bundle("expected-of-another-kind", x, noQuorum, no("expect answer", report.CodeExpectationUnmet), "a judgment has no answer", "answer=approve")
}
