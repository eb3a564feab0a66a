package bundle_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/report"
)

// spare sets a spare bit of the base64 string that ends at the end of s, where
// it has any.
func spare(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	at := len(strings.TrimRight(s, "=")) - 1
	i := strings.IndexByte(alphabet, s[at])
	return s[:at] + alphabet[i|1:i|1+1] + s[at+1:]
}

// TestOneSpelling: what a careless reader takes for the same is refused, each with
// a code of its own, in a bundle and in a .tlog-proof file alike.
func TestOneSpelling(t *testing.T) {
	l, index, o := small(t)
	b := l.Bundle(index, l.Size(), "w1")
	doc := string(b.Append(nil))
	text, err := b.TlogProof()
	if err != nil {
		t.Fatal(err)
	}
	root := l.Root(l.Size()).String()
	hash := b.Proof.Hashes[0].String()
	line := regexp.MustCompile(`— w1 [^\n]*\n`).FindString(string(b.Proof.Checkpoint))
	for name, c := range map[string]struct {
		old, new string
		code     report.Code
	}{
		"a spare bit in a hash of the proof":     {hash, spare(hash), report.CodeTlogProofMalformed},
		"a spare bit in the root":                {root, spare(root), report.CodeCheckpointMalformed},
		"a spare bit in a cosignature":           {line, spare(line[:len(line)-1]) + "\n", report.CodeNoteMalformed},
		"CR LF":                                  {"\nindex ", "\r\nindex ", report.CodeTlogProofMalformed},
		"CR LF in the note":                      {"\n\n— ", "\r\n\r\n— ", report.CodeNoteMalformed},
		"a leading zero of the index":            {"\nindex ", "\nindex 0", report.CodeTlogProofMalformed},
		"a leading zero of the size":             {"\n3\n" + root, "\n03\n" + root, report.CodeCheckpointMalformed},
		"a plus before the size":                 {"\n3\n" + root, "\n+3\n" + root, report.CodeCheckpointMalformed},
		"a hash too few":                         {hash + "\n", "", report.CodeProofLength},
		"a hash too many":                        {hash + "\n", hash + "\n" + hash + "\n", report.CodeProofLength},
		"a line of a witness twice":              {line, line + line, report.CodeNoteDuplicate},
		"a line of a witness with another mark":  {"— w1", "- w1", report.CodeNoteMalformed},
		"no line break at the end of the note":   {line, line[:len(line)-1], report.CodeTlogProofMalformed},
		"more behind the note":                   {line, line + "\n", report.CodeNoteMalformed},
		"another header":                         {"c2sp.org/tlog-proof@v1\n", "c2sp.org/tlog-proof@v1 \n", report.CodeTlogProofMalformed},
		"an index with a space behind it":        {"\nindex 2\n", "\nindex 2 \n", report.CodeTlogProofMalformed},
		"an empty line among the hashes":         {hash + "\n", "\n" + hash + "\n", report.CodeCheckpointMalformed},
		"a root that is base64 for the web":      {root, strings.NewReplacer("+", "-", "/", "_").Replace(strings.Repeat("+", 43) + "="), report.CodeCheckpointMalformed},
		"a hash of 31 bytes":                     {hash, base64.StdEncoding.EncodeToString(make([]byte, 31)), report.CodeTlogProofMalformed},
		"a size that no integer has":             {"\n3\n" + root, "\n18446744073709551616\n" + root, report.CodeCheckpointMalformed},
		"an index that no integer has":           {"\nindex 2\n", "\nindex 18446744073709551616\n", report.CodeTlogProofMalformed},
		"an index that JSON readers do not keep": {"\nindex 2\n", "\nindex 9007199254740993\n", report.CodeProofBundleValue},
	} {
		inJSON := func(s string) string {
			return strings.NewReplacer("\n", `\n`, "\r", `\r`).Replace(s)
		}
		for form, artifact := range map[string][]byte{
			"bundle":      []byte(strings.Replace(doc, inJSON(c.old), inJSON(c.new), 1)),
			".tlog-proof": bytes.Replace(text, []byte(c.old), []byte(c.new), 1),
		} {
			if bytes.Equal(artifact, []byte(doc)) || bytes.Equal(artifact, text) {
				t.Errorf("%s, %s: nothing was changed", form, name)
				continue
			}
			r := bundle.Check(artifact, o)
			found := false
			for _, check := range r.Checks {
				found = found || check.Answer == no && check.Code == c.code
			}
			if !found || r.ExitCode() != 1 {
				t.Errorf("%s, %s: want %s\n%s", form, name, c.code, r.Text())
			}
		}
	}
}
