// Package spec holds the specification beside it to the code: the worked
// examples in its pages are generated and compared, the schemas are held against
// examples and against what the decoders refuse, and every test that a page
// names exists. It has no code of its own.
package spec
