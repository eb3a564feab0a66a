// Package corpus is frozen corpora (spec/corpus.md): receipts and logs as files,
// each with the one right answer, and a manifest that says which.
//
// A corpus is a directory with a manifest.json. Parse reads a manifest and
// Append writes one. Check holds a directory to its manifest: every file is
// there with its digest, none besides, and every case gets exactly the answer
// and code that it fixes. New begins a manifest from files.
//
// The directories beside this file, v1 and later, are the project's own. They
// are made by package internal/corpusgen, whose cases state their answers
// themselves. A released version never changes: its digest stands in
// testdata/released, and a test holds it. What changes makes a new version.
//
// Everything is read through an fs.FS, nothing is written, and no answer rests
// on a clock.
package corpus
