package gate

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/verdict"
)

// Resume takes up a request that was judged in this run and is not settled, maybe
// by a process that is gone: judgment is its statement, and req the request as it
// was handed to Judge. What req has become since shows when it is committed: it
// diverges. history is every statement of the run, among which there must be none
// that settles it.
func (g *Gate) Resume(_ context.Context, judgment receipt.CID, req Request, history iter.Seq2[*receipt.Decoded, error]) (*Judged, error) {
	var st *receipt.Decoded
	for s, err := range history {
		if err != nil {
			return nil, err
		}
		if s.CID == judgment {
			st = s
		}
		if s.Statement.Call.Settles == judgment {
			return nil, fmt.Errorf("%s is settled by %s", judgment, s.CID)
		}
	}
	if st == nil {
		return nil, fmt.Errorf("%s is no statement of this run", judgment)
	}
	jd, ok := st.Statement.Receipt.(receipt.Judgment)
	if !ok {
		return nil, fmt.Errorf("%s is no judgment", judgment)
	}
	if jd.Ruling.Verdict().Arm() == verdict.ArmDeny {
		return nil, errors.New("the request was denied")
	}
	s, err := g.reseal(st)
	if err != nil {
		return nil, err
	}
	return &Judged{gate: g, request: req, sealed: s, verdict: jd.Ruling.Verdict(), statement: st}, nil
}
