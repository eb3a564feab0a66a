// Package witness is a C2SP tlog-witness: it cosigns the checkpoints of the logs
// that it is told of, each only once it was proven that the tree extends the one
// that it cosigned before (spec/witness.md).
//
// What a witness knows of a log is one file, the checkpoint that it cosigned
// last. A cosignature is answered only after that file is durable, and check and
// store are one step under the log's lock, so that two requests at once cannot
// take the witness back. After a failed write nothing more is cosigned.
//
// [Witness] is the state and an http.Handler; [ParseList] reads which logs it
// cosigns; [Client] asks a witness, ours or another.
package witness
