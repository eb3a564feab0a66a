// Package gatecorpus runs the gate through the designs that the corpus holds
// receipts of, and asks the verifier what it makes of the runs. It has no code
// but tests.
package gatecorpus
