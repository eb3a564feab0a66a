// Package laws holds the statements of a log to the eight laws between
// receipts (spec/laws.md), as of a tree size.
//
//	law  name               says
//	1    judged first       an outcome answers a judgment, an open fault or an
//	                        outcome left open, of its own principal, run and
//	                        request, that stands earlier in the log
//	2    admitted first     an effect is attempted only after an admit, after the
//	                        first decision approved, or after an open fault
//	3    judged = executed  what was fired is what was judged
//	4    settled once       at most one outcome a call, an approval used once
//	5    nothing missing    seq contiguous, prev linked, run-close right
//	6    nothing hanging    no run open, no escalation expired and no call
//	                        admitted without an outcome
//	7    undone soundly     a compensation compared with what was recorded
//	8    closed vocabulary  every word is one of the vocabulary that the run pinned
//
// The log shows when statements were logged, not when they were made; a
// checkpoint that a call has seen narrows it, and the Report counts how often it
// does.
//
// A law is held, violated or not checked. Each finding belongs to the run of the
// signer who is responsible: what another principal says about my call counts
// neither for nor against me. An open run, a disclosed gap, a disowned leaf, an
// unknown version and a foreign run leave a law not checked, never held.
//
// # How it works
//
// [Check.Add] takes statements in log order and turns each into records of a few
// hundred bytes; [Check.Finish] sorts them twice. The first order is by
// statement: a statement, then the decisions on it, the outcomes of it and the
// compensations of it. Laws 1 to 4 and 7, and the hanging calls of law 6, are
// decided there, a dossier at a time. What is found becomes a record of the second
// order, which is by run: its statements by seq, then what was found about it.
// Laws 5 and 8 are decided there, and what was found is weighed: whether the run
// is closed, foreign or disowned. So no state grows but the records, and those
// go to the caller's [Sorter] once they are larger than MaxState.
package laws
