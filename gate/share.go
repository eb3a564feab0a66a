package gate

import (
	"iter"

	"github.com/obstat/obstat/receipt"
)

// Share is how many of the committed effects of a run can be undone.
type Share struct {
	Committed uint64                  // effects that were committed, undoings included
	Escrowed  uint64                  // of those: the gate holds what undoes them
	Unneeded  uint64                  // of those: there is nothing to undo
	None      map[receipt.Code]uint64 // of those: they cannot be undone, by the reason that their judgment gives
	Unjudged  uint64                  // of those: they happened over a fault, which says nothing about undoing
}

// Reversible counts, over the statements of a run in order.
func Reversible(history iter.Seq2[*receipt.Decoded, error]) (Share, error) {
	s := Share{None: map[receipt.Code]uint64{}}
	calls := map[receipt.CID]receipt.Receipt{}
	for st, err := range history {
		if err != nil {
			return Share{}, err
		}
		switch r := st.Statement.Receipt.(type) {
		case receipt.Judgment, receipt.Fault:
			calls[st.CID] = r
		case receipt.Outcome:
			if _, ok := r.Disposition.(receipt.Committed); !ok {
				continue
			}
			s.Committed++
			jd, ok := calls[st.Statement.Call.Settles].(receipt.Judgment)
			if !ok {
				s.Unjudged++
				continue
			}
			switch inverse := jd.Inverse.(type) {
			case receipt.Escrowed:
				s.Escrowed++
			case receipt.Unneeded:
				s.Unneeded++
			case receipt.NoInverse:
				s.None[inverse.Code]++
			}
		}
	}
	return s, nil
}
