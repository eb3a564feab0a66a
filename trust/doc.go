// Package trust holds what a caller trusts and what follows from it: log and
// witness keys with a quorum (C2SP tlog-policy), the engine trust file, and
// the registry of engine, approver and registrar keys that lives in the log
// itself. Log and verifier share it (spec/trust.md).
//
// Nothing here comes from the artifact under examination: a Policy and an
// Engines are read from files that the caller names, and a Registry is folded
// from leaves only after its genesis statement matched the caller's pin.
package trust
