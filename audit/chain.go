package audit

import (
	"fmt"
	"io/fs"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// Chain collects the registry leaves of a site, proven under its checkpoint. It
// verifies nothing: whoever uses the chain folds it (bundle.FoldChain), which
// shows that each leaf stands in the tree, and not that none was left out. That
// is for Log. A file that is missing is fs.ErrNotExist.
func Chain(site fs.FS) (*bundle.Chain, error) {
	note, err := readFile(site, "checkpoint", maxCheckpoint)
	if err != nil {
		return nil, err
	}
	n, err := checkpoint.ParseNote(note)
	if err != nil {
		return nil, err
	}
	head, err := checkpoint.ParseBody(n.Text)
	if err != nil {
		return nil, err
	}
	if head.Size > dagcbor.MaxInt {
		return nil, &report.Error{Code: report.CodeTreeSize, Expected: fmt.Sprintf("at most %d leaves", uint64(dagcbor.MaxInt)), Actual: fmt.Sprint(head.Size)}
	}
	read := merkle.TileReader(head.Size, func(t merkle.Tile) ([]byte, error) {
		data, _, err := readTile(site, t)
		if err == nil && len(data) < t.Width*merkle.HashSize {
			err = merkle.CheckTile(t, data)
		}
		if err != nil {
			return nil, err
		}
		return data[:t.Width*merkle.HashSize], nil
	})
	c := &bundle.Chain{Checkpoint: note}
	for i := uint64(0); i*merkle.TileWidth < head.Size; i++ {
		p := newPiece(i, head.Size)
		entries, err := p.entries(site)
		if err != nil {
			return nil, err
		}
		for at, entry := range entries {
			env, err := dsse.ParseLeaf(entry)
			if err != nil || !trust.IsRegistryType(env.Type) {
				continue
			}
			l := bundle.RegistryLeaf{Envelope: env.JSON(), Index: p.first + uint64(at)}
			if l.Proof, err = merkle.InclusionProof(l.Index, head.Size, read); err != nil {
				return nil, err
			}
			c.Leaves = append(c.Leaves, l)
		}
	}
	if len(c.Leaves) == 0 {
		return nil, &report.Error{Code: report.CodeRegistryNotGiven, Expected: "the genesis registry at leaf 0", Actual: "no registry leaf"}
	}
	return c, nil
}
