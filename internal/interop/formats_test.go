package interop

import (
	"bytes"
	"testing"

	f_log "github.com/transparency-dev/formats/log"
	f_note "github.com/transparency-dev/formats/note"
	f_proof "github.com/transparency-dev/formats/proof"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"

	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/merkle"
)

// formatsRead: the checkpoint opens with transparency-dev's verifier and with
// Go's, says what we say, and is spelled as they would spell it.
func formatsRead(t *testing.T, l *grownLog, src source) {
	raw, err := src.ReadCheckpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(raw, l.latest().note) {
		t.Errorf("checkpoint %q, want the one of size %d that the server handed out", raw, l.latest().size)
	}
	dev, err := f_note.NewVerifier(l.vkey())
	if err != nil {
		t.Fatal(err)
	}
	goes, err := note.NewVerifier(l.vkey())
	if err != nil {
		t.Fatal(err)
	}
	for who, v := range map[string]note.Verifier{"transparency-dev": dev, "x/mod": goes} {
		c, rest, n, err := f_log.ParseCheckpoint(raw, servertest.Origin, v)
		if err != nil {
			t.Fatalf("%s: %v", who, err)
		}
		if c.Size != l.latest().size || merkle.Hash(c.Hash) != l.latest().root || c.Origin != servertest.Origin {
			t.Errorf("%s reads %+v, want size %d, root %v", who, c, l.latest().size, l.latest().root)
		}
		if len(rest) > 0 || n.Text != string(c.Marshal()) {
			t.Errorf("%s reads the body %q, and would write %q", who, n.Text, c.Marshal())
		}
		if len(n.Sigs) != 1 || len(n.UnverifiedSigs) > 0 {
			t.Errorf("%s opens %d signatures and leaves %d", who, len(n.Sigs), len(n.UnverifiedSigs))
		}
	}
	if _, _, _, err := f_log.ParseCheckpoint(raw, "test.example/other", dev); err == nil {
		t.Error("it opens under another origin")
	}
	if n, err := note.Open(bytes.Replace(raw, []byte("\n"), []byte("\n1"), 1), note.VerifierList(goes)); err == nil {
		t.Errorf("a changed size opens: %q", n.Text)
	}
}

// answersAgree: what the server answers to a receipt that stands in the log is
// a proof file for transparency-dev, and leads to the root that was signed.
func answersAgree(t *testing.T, l *grownLog) {
	now := l.latest()
	for _, i := range few(now.size) {
		if i == 0 {
			continue // the genesis is not submitted
		}
		b, ok := l.submit(l.leaves[i])
		if !ok {
			return
		}
		var p f_proof.TLogProof
		if err := p.Unmarshal(b.Proof.Bytes()); err != nil {
			t.Fatalf("leaf %d: %v", i, err)
		}
		if p.Index != i || !bytes.Equal(p.Checkpoint, now.note) || !bytes.Equal(p.Marshal(), b.Proof.Bytes()) {
			t.Errorf("leaf %d is answered by\n%s", i, b.Proof.Bytes())
		}
		if !equal(flat(p.Hashes), l.inclusion(i, now.size)) {
			t.Errorf("leaf %d: the engine proves otherwise", i)
		}
		leaf := rfc6962.DefaultHasher.HashLeaf(l.leaves[i])
		if err := proof.VerifyInclusion(rfc6962.DefaultHasher, i, now.size, leaf, flat(p.Hashes), now.root[:]); err != nil {
			t.Errorf("leaf %d: %v", i, err)
		}
	}
}
