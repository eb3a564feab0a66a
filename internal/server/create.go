package server

import (
	"crypto"
	"crypto/ed25519"
	"io"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/durable"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
	"github.com/obstat/obstat/verdict"
)

// Founding is what a new log begins with.
type Founding struct {
	Origin  string         // the log's name: a receipt.Name, at most 128 bytes
	LogKey  crypto.Signer  // signs checkpoints
	Genesis *dsse.Envelope // registry version 0, signed by its own threshold
	Rand    io.Reader      // as rlog.Config.Rand
}

// TrustFiles are the two files that a verifier of a log is given
// (spec/trust.md).
type TrustFiles struct {
	Policy  []byte // C2SP tlog-policy: the log's key, quorum none
	Engines []byte // engine trust file: origin and genesis statement CID
}

// Create makes a new log in fs, an existing and empty directory, with the
// genesis registry as leaf 0. Errors are those of trust.Genesis and rlog.Create.
func Create(fs durable.FS, f Founding) (*TrustFiles, error) {
	// An engine names the origin in call.seen, so it has to be a name there.
	if !verdict.ValidName(f.Origin) {
		return nil, &report.Error{
			Code: report.CodeSchemaName, Where: "origin",
			Expected: "1 to 128 characters of A-Z a-z 0-9 . _ / @ : -", Actual: f.Origin,
		}
	}
	signer, err := checkpoint.NewSigner(f.Origin, checkpoint.TypeEd25519, f.LogKey)
	if err != nil {
		return nil, err
	}
	engines := trust.Engines{Origin: f.Origin, Genesis: dagcbor.Sum(f.Genesis.Payload)}
	pin := trust.Pin{Origin: f.Origin, Genesis: engines.Genesis, Foreign: []ed25519.PublicKey{signer.Key.Public}}
	if _, err := trust.Genesis(f.Genesis, 0, pin); err != nil {
		return nil, err
	}
	leaf, err := f.Genesis.Leaf()
	if err != nil {
		return nil, err
	}
	if err := rlog.Create(rlog.Config{
		Origin: f.Origin, Signer: signer, FS: fs, Statement: statementOf, Rand: f.Rand,
	}, leaf); err != nil {
		return nil, err
	}
	return &TrustFiles{
		Policy:  []byte("log " + signer.Key.String() + "\nquorum none\n"),
		Engines: engines.Bytes(),
	}, nil
}

// statementOf names the statement that a stored leaf carries.
func statementOf(leaf []byte) (dagcbor.CID, error) {
	env, err := dsse.ParseLeaf(leaf)
	if err != nil {
		return dagcbor.CID{}, err
	}
	return dagcbor.Sum(env.Payload), nil
}
