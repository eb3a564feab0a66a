// Package interop holds other people's readers of transparency logs against
// this one: Tessera's client, proof builder and fsck, transparency-dev's
// checkpoint and proof formats, and the checksum database client of
// golang.org/x/mod. It is a module of its own, so that what they depend on
// stays out of the main one.
package interop
