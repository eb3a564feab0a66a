// Package secondreader answers the cases of a corpus a second time: written from
// spec/ alone, over the standard library and BLAKE3, with none of this module's
// other packages. Where it and the verifier differ, one of them or the page is
// wrong. It is for tests: it is slow, its errors say nothing but a code, and
// what it leaves out is in Skipped.
//
// Each file is one page of the specification.
package secondreader
