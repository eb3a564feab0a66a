// Package readme holds the documents to what they say: every command that the
// README shows is run, every link leads somewhere, and every section of spec/
// that code cites exists. It has no code of its own.
package readme
