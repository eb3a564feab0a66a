package dsse

import (
	"crypto/ed25519"
	"crypto/sha256"
)

// testKey returns a fixed key for a name.
func testKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte("obstat test key " + name))
	return ed25519.NewKeyFromSeed(seed[:])
}

func testKeys(names ...string) []ed25519.PrivateKey {
	keys := make([]ed25519.PrivateKey, len(names))
	for i, name := range names {
		keys[i] = testKey(name)
	}
	return keys
}

func publicOf(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

// ring is a lookup of Verify over these keys.
func ring(keys ...ed25519.PrivateKey) func(KeyID) (ed25519.PublicKey, bool) {
	known := map[KeyID]ed25519.PublicKey{}
	for _, key := range keys {
		known[IDOf(publicOf(key))] = publicOf(key)
	}
	return func(id KeyID) (ed25519.PublicKey, bool) {
		pub, ok := known[id]
		return pub, ok
	}
}
