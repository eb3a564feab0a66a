package corpusgen

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/obstat/obstat/corpus"
	"github.com/obstat/obstat/internal/testlog"
	"github.com/obstat/obstat/report"
)

// smallOrder is a point of order 1, and unclean is no canonical encoding.
func smallOrder() []byte { return append([]byte{1}, make([]byte, 31)...) }

func unclean() []byte { // y = 2^255-19, which is 0 in another spelling
	out := make([]byte, 32)
	for i := range out {
		out[i] = 0xff
	}
	out[0], out[31] = 0xed, 0x7f
	return out
}

// fill puts keys for $log, $other, $w1, $w2, … into a policy.
func fill(text string) []byte {
	for i := 9; i > 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("$w%d", i), witnessKey(fmt.Sprintf("w%d", i)).vkey())
	}
	text = strings.ReplaceAll(text, "$other", noteKey{"other.example/log", 1, testlog.Key("other")}.vkey())
	return []byte(strings.ReplaceAll(text, "$log", logKey().vkey()))
}

// policies: which files are a tlog-policy, and which quorum is met.
func policies(b *builder) {
	b.in("witness-policy")
	b.about("trust.md#policy")
	policy := func(name, text string, w want, why string) {
		b.one(corpus.AskPolicy, name, ".policy", fill(text), w, why)
	}
	policy("log-alone", "log $log\nquorum none\n", ok(), "the log's word alone")
	policy("quorum-first", "quorum none\nlog $log\n", ok(), "lines in any order that defines before it uses")
	policy("spaces-comments-urls", " \t\n# comment \xff\n\t# another\nquorum none\nlog  $log\thttps://log.example/\nwitness w $w1 u", ok(), "spaces and tabs, comments, URLs, and no newline at the end")
	policy("groups", "log $log\nwitness a $w1\nwitness b $w2\nwitness c $w3\ngroup g 2 a b\ngroup h any g c\nquorum h\n", ok(), "groups of groups")
	policy("two-logs", "log $log\nlog $other\nquorum none\n", ok(), "several logs")
	for _, c := range []struct {
		name, text string
		code       report.Code
		why        string
	}{
		{"empty", "", report.CodePolicyQuorum, "exactly one quorum line"},
		{"without-quorum", "log $log\n", report.CodePolicyQuorum, "exactly one quorum line"},
		{"two-quorums", "quorum none\nquorum none\n", report.CodePolicyQuorum, "exactly one quorum line"},
		{"carriage-return", "log $log\r\nquorum none\n", report.CodePolicyOctet, "tab, newline and printable octets only"},
		{"delete-in-a-comment", "# \x7f\nquorum none\n", report.CodePolicyOctet, "in comments too"},
		{"unknown-word", "logs $log\nquorum none\n", report.CodePolicySyntax, "log, witness, group and quorum"},
		{"upper-case", "Log $log\nquorum none\n", report.CodePolicySyntax, "words have one case"},
		{"comment-behind-a-line", "log $log https://l.example # ours\nquorum none\n", report.CodePolicySyntax, "a comment is a line of its own"},
		{"witness-without-key", "witness a\nquorum none\n", report.CodePolicySyntax, "a witness has a name and a key"},
		{"group-without-members", "group g all\nquorum none\n", report.CodePolicySyntax, "a group has members"},
		{"key-that-is-none", "log example.com/log\nquorum none\n", report.CodePolicyKey, "a verifier key"},
		{"key-with-another-id", "log " + strings.Replace(logKey().vkey(), "+", "+0", 1)[:len(logKey().vkey())] + "\nquorum none\n", report.CodePolicyKey, "a verifier key"},
		{"key-id-that-is-not-its-own", "log " + wrongID(logKey().vkey()) + "\nquorum none\n", report.CodePolicyKey, "the key ID is computed again"},
		{"log-with-a-witness-key", "log $w1\nquorum none\n", report.CodePolicyKey, "a log's key is Ed25519, type 01"},
		{"witness-with-a-log-key", "witness a $log\nquorum none\n", report.CodePolicyKey, "a witness's key is a cosignature key, type 04"},
		{"key-of-small-order", "log " + vkeyOf("weak.example/log", 1, smallOrder()) + "\nquorum none\n", report.CodePolicyKey, "under a key of small order one signature holds for many messages"},
		{"key-not-canonical", "log " + vkeyOf("weak.example/log", 1, unclean()) + "\nquorum none\n", report.CodePolicyKey, "one key has one encoding"},
		{"key-of-31-bytes", "log " + vkeyOf("weak.example/log", 1, smallOrder()[:31]) + "\nquorum none\n", report.CodePolicyKey, "32 bytes"},
		{"key-of-an-unknown-type", "log " + vkeyOf("mldsa.example/log", 6, make([]byte, 32)) + "\nquorum none\n", report.CodePolicyKey, "types 01 and 04"},
		{"log-twice", "log $log\nlog $log\nquorum none\n", report.CodePolicyKeyTwice, "a public key stands on one line"},
		{"witness-key-twice", "witness a $w1\nwitness b $w1\nquorum none\n", report.CodePolicyKeyTwice, "one witness under two names would count twice"},
		{"log-as-its-own-witness", "log $log\nwitness a " + noteKey{testlog.Origin, 4, testlog.Key("log")}.vkey() + "\nquorum none\n", report.CodePolicyKeyTwice, "a log is never its own witness"},
		{"name-twice", "witness a $w1\nwitness a $w2\nquorum none\n", report.CodePolicyName, "a name is defined once"},
		{"witness-called-none", "witness none $w1\nquorum none\n", report.CodePolicyName, "none is reserved"},
		{"member-before-its-line", "group g any a\nwitness a $w1\nquorum g\n", report.CodePolicyName, "names are defined before they are used"},
		{"quorum-of-nobody", "quorum a\n", report.CodePolicyName, "names are defined before they are used"},
		{"member-of-two-groups", "witness a $w1\nwitness b $w2\ngroup g any a b\ngroup h any a\nquorum g\n", report.CodePolicyMember, "a member of at most one group"},
		{"member-twice", "witness a $w1\ngroup g any a a\nquorum g\n", report.CodePolicyMember, "a member once"},
		{"threshold-zero", "witness a $w1\ngroup g 0 a\nquorum g\n", report.CodePolicyThreshold, "from 1"},
		{"threshold-above-members", "witness a $w1\ngroup g 2 a\nquorum g\n", report.CodePolicyThreshold, "at most the number of members"},
		{"threshold-with-a-zero", "witness a $w1\ngroup g 01 a\nquorum g\n", report.CodePolicyThreshold, "decimal without leading zeros"},
	} {
		b.about("trust.md#policy")
		if strings.HasPrefix(c.name, "key-of-small") || c.name == "key-not-canonical" {
			b.about("trust.md#keys")
		}
		policy("not-"+c.name, c.text, no("form", c.code), c.why)
	}
	b.about("limits.md#sizes")
	var many strings.Builder
	many.WriteString("witness a $w1\ngroup g0 any a\n")
	for i := range 1023 {
		fmt.Fprintf(&many, "group g%d any g%d\n", i+1, i)
	}
	policy("not-1025-lines", many.String()+"quorum none\n", no("form", report.CodePolicyLimit), "1,024 lines of logs, witnesses and groups are the most")
	b.quorums()
	b.engineFiles()
}

// vkeyOf is a verifier key with its right ID over any bytes.
func vkeyOf(name string, typ byte, pub []byte) string {
	sum := sha256Of([]byte(name+"\n"), []byte{typ}, pub)
	return fmt.Sprintf("%s+%x+%s", name, sum[:4], base64.StdEncoding.EncodeToString(append([]byte{typ}, pub...)))
}

func wrongID(vkey string) string {
	at := strings.IndexByte(vkey, '+') + 1
	digit := byte('0')
	if vkey[at] == '0' {
		digit = '1'
	}
	return vkey[:at] + string(digit) + vkey[at+1:]
}

// quorums: bundles whose checkpoints are cosigned by these, under that policy.
func (b *builder) quorums() {
	b.about("trust.md#policy")
	log := b.denials(3)
	const twoLevels = "log $log\nwitness X1 $w1\nwitness X2 $w2\nwitness X3 $w3\ngroup X 2 X1 X2 X3\nwitness Y1 $w4\nwitness Y2 $w5\ngroup Y any Y1 Y2\ngroup both all X Y\n"
	unmet := unknown("policy", report.CodeQuorumUnmet)
	for _, c := range []struct {
		name, quorum, by string
		w                want
		why              string
	}{
		{"none-of-none", "none", "", ok(), "nothing is asked for: the log's word alone"},
		{"one-witness", "X1", "w1", ok(), "the one that is asked for"},
		{"another-witness", "X1", "w2", unmet, "another is not the one that is asked for: more cosignatures may exist"},
		{"two-of-three", "X", "w1 w3", ok(), "two of three"},
		{"one-of-three", "X", "w1", unmet, "two of three are asked for"},
		{"any", "Y", "w5", ok(), "any of two"},
		{"all-groups", "both", "w1 w2 w4", ok(), "both groups"},
		{"one-group-of-two", "both", "w1 w2 w3", unmet, "one group does not stand for the other"},
		{"stranger", "Y", "w9", unmet, "a witness that the policy does not know counts for nothing"},
	} {
		path := b.put("witness-policy/quorum-"+slug(c.quorum)+".policy", fill(twoLevels+"quorum "+c.quorum+"\n"))
		b.bundleBytes("quorum-"+c.name, plain(log, 2, 3, strings.Fields(c.by)...).Append(nil), path, plainTrust, c.w, c.why)
	}
	b.about("bundle.md#bundle")
	hint := plain(log, 2, 3)
	hint.Level = 1
	b.bundleBytes("level-is-a-hint", hint.Append(nil), oneWitness, plainTrust, unmet, "a bundle that calls itself witnessed is not")
	b.bundleBytes("level-promise", plain(log, 2, 3).Append(nil), noQuorum, plainTrust, ok(), "the log's word is called a promise", "level=promise")
	b.bundleBytes("level-witnessed", plain(log, 2, 3, "w1", "w2").Append(nil), twoWitnesses, plainTrust, ok(), "a quorum's word is called witnessed", "level=witnessed")
	b.bundleBytes("level-not-witnessed", plain(log, 2, 3, "w1", "w2").Append(nil), noQuorum, plainTrust, no("expect level", report.CodeExpectationUnmet), "under a policy that asks for nobody it is the log's word", "level=witnessed")
}

// engineFiles: which files are an engine trust file.
func (b *builder) engineFiles() {
	b.about("trust.md#engine-trust-file")
	const head = "obstat trust v1\norigin example.com/log\n"
	cid := b.world.log.Genesis.String()
	key := func(label string) string { return base64.StdEncoding.EncodeToString(public(label)) }
	one, two := key("engine"), key("approver")
	trust := func(name, text string, w want, why string) {
		b.one(corpus.AskTrust, "trust-"+name, ".trust", []byte(text), w, why)
	}
	trust("genesis", head+"genesis "+cid+"\n", ok(), "registry mode")
	trust("as-of", head+"as-of 7\ngenesis "+cid+"\n", ok(), "the caller knows every registry leaf below a size")
	trust("as-of-head", head+"genesis "+cid+"\nas-of 7 "+cid+"\n", ok(), "and which is the last")
	trust("keys", head+"key bob engine "+one+"\nkey eve approver "+two+" 5 9\n", ok(), "plain keys, one of them for some leaves")
	trust("comments", "# ours\n\n"+head+"genesis "+cid, ok(), "comments, empty lines, and no newline at the end")
	for _, c := range []struct {
		name, text string
		code       report.Code
		why        string
	}{
		{"empty", "", report.CodeTrustSyntax, "the first line says what it is"},
		{"next-version", "obstat trust v2\n", report.CodeTrustSyntax, "version 1"},
		{"without-header", "origin example.com/log\ngenesis " + cid + "\n", report.CodeTrustSyntax, "the first line comes first"},
		{"without-origin", "obstat trust v1\ngenesis " + cid + "\n", report.CodeTrustSyntax, "exactly one origin"},
		{"two-origins", head + "origin example.com/other\ngenesis " + cid + "\n", report.CodeTrustSyntax, "exactly one origin"},
		{"origin-with-a-plus", "obstat trust v1\norigin a+b\ngenesis " + cid + "\n", report.CodeTrustSyntax, "a plus ends the name of a key in a note"},
		{"carriage-return", "obstat trust v1\r\norigin example.com/log\ngenesis " + cid + "\n", report.CodeTrustSyntax, "lines end in a newline alone"},
		{"unknown-line", head + "keys " + one + "\n", report.CodeTrustSyntax, "no other line"},
		{"genesis-that-is-no-cid", head + "genesis bafy\n", report.CodeTrustSyntax, "a statement CID"},
		{"genesis-with-spare-bits", head + "genesis " + cid[:58] + "7\n", report.CodeTrustSyntax, "a CID has one text"},
		{"as-of-with-a-zero", head + "genesis " + cid + "\nas-of 07\n", report.CodeTrustSyntax, "decimal without leading zeros"},
		{"as-of-beyond-53-bits", head + "genesis " + cid + "\nas-of 9007199254740992\n", report.CodeTrustSyntax, "at most 2^53-1"},
		{"range-backwards", head + "key bob engine " + one + " 5 4\n", report.CodeTrustSyntax, "a range does not end before it begins"},
		{"principal-with-a-comma", head + "key b,b engine " + one + "\n", report.CodeTrustSyntax, "a principal is a name"},
		{"neither", head, report.CodeTrustMode, "a genesis or keys"},
		{"both", head + "genesis " + cid + "\nkey bob engine " + one + "\n", report.CodeTrustMode, "a genesis or keys, not both"},
		{"as-of-beside-keys", head + "key bob engine " + one + "\nas-of 4\n", report.CodeTrustMode, "plain keys need no as-of"},
		{"registrar", head + "key bob registrar " + one + "\n", report.CodeTrustRole, "engine or approver"},
		{"two-roles", head + "key bob engine " + one + "\nkey bob approver " + two + "\n", report.CodeTrustRole, "a principal has one role"},
		{"key-twice", head + "key bob engine " + one + "\nkey eve engine " + one + "\n", report.CodeTrustKey, "a key stands once"},
		{"key-of-31-bytes", head + "key bob engine " + base64.StdEncoding.EncodeToString(make([]byte, 31)) + "\n", report.CodeTrustKey, "32 bytes"},
		{"key-of-small-order", head + "key bob engine " + base64.StdEncoding.EncodeToString(smallOrder()) + "\n", report.CodeTrustKey, "under a key of small order one signature holds for many messages"},
		{"key-not-canonical", head + "key bob engine " + base64.StdEncoding.EncodeToString(unclean()) + "\n", report.CodeTrustKey, "one key has one encoding"},
		{"key-without-padding", head + "key bob engine " + strings.TrimRight(one, "=") + "\n", report.CodeTrustKey, "padded base64"},
	} {
		trust("not-"+c.name, c.text, no("form", c.code), c.why)
	}
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
