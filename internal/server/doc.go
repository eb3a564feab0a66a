// Package server is the log over HTTP (spec/http.md).
//
// [Create] makes a log: it writes the genesis registry as leaf 0 and returns
// the two trust files that a verifier needs. [Open] recovers one, folds its
// registry, and refuses to go on where the trust files it was given would not
// verify what it answers. [Server.Serve] answers requests until its context
// ends, and then answers whatever it had accepted.
//
// A submission goes through one sequence of checks, each with its code, and
// what is refused leaves no trace:
//
//	size, media type, form, key known, signature, schema, role, key current, queue
//
// Reads are C2SP tlog-tiles at the root. Everything else is under /v1/. Errors
// are RFC 9457 problems; statuses is the one table from codes to statuses.
package server
