package main

import (
	"crypto/ed25519"
	"io"

	"github.com/obstat/obstat/dsse"
)

// keys prints the public half of a private key file, which is what others need
// of it.
func keys(args []string, stdout io.Writer) error {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "--help") {
		return say(stdout, helpKeys)
	}
	if len(args) != 2 || args[0] != "public" {
		return usagef("keys: it is logd keys public FILE; logd help keys says more")
	}
	key, err := readPrivateKey(args[1])
	if err != nil {
		return err
	}
	return say(stdout, string(dsse.MarshalPublicKeyPEM(key.Public().(ed25519.PublicKey))))
}
