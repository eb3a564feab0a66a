package receipt

// RunOpen opens a run, durable before the run's first effect, so that a run
// that vanishes leaves an open run (spec/receipt.md#run-open).
type RunOpen struct {
	Engine     Engine
	Plan       Pin      // optional
	Lock       Pin      // optional
	Permits    Pin      // optional
	Policy     Pin      // optional
	Vocabulary [32]byte // digest of the Vocabulary whose words the run uses
	Logs       []Name   // set of log origins that this run writes to
	Parent     CID      // optional: statement of an enclosing run
}

// Engine is the program that judges.
type Engine struct {
	Name    Name
	Version Name
}
