package main

import (
	"fmt"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/merkle"
)

// proven checks that an entry stands in a tree that the key of its log signed.
func proven(entry []byte, index uint64, proof []merkle.Hash, note []byte, key checkpoint.VKey) error {
	head, err := checkpoint.Open(note, []checkpoint.VKey{key})
	if err != nil {
		return err
	}
	return merkle.VerifyInclusion(index, head.Size, merkle.LeafHash(entry), proof, head.Root)
}

func hashesOf(raw [][]byte) ([]merkle.Hash, error) {
	hashes := make([]merkle.Hash, len(raw))
	for i, h := range raw {
		if len(h) != merkle.HashSize {
			return nil, fmt.Errorf("a hash of %d bytes", len(h))
		}
		hashes[i] = merkle.Hash(h)
	}
	return hashes, nil
}
