package rlog

// mutant plants a fault in the engine. The crash tests plant each in turn and
// must notice; there is no way to set one from outside the package.
type mutant struct {
	cutTooMuch  bool // recovery cuts the last whole record, too
	answerEarly bool // answers before the sync, so that an index is given again after a crash
	signEarly   bool // goes on in the old segment and signs before what was read is known to be on disk
	dropEarly   bool // drops segments that the published checkpoint does not cover
	forgetful   bool // does not make the statements of old leaves known again
}
