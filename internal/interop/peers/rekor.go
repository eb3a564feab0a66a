package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
)

const (
	rekorProgram = "github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix"
	rekorVersion = "v2.2.1"
)

// newRekor builds Rekor v2 with its POSIX storage, outside of any module here.
func newRekor(ctx context.Context, dir string) (*system, error) {
	bin := filepath.Join(dir, "rekor")
	fmt.Fprintln(os.Stderr, "building Rekor, which takes minutes the first time")
	if err := goTool(ctx, []string{"CGO_ENABLED=0", "GOBIN=" + bin}, "install", "-trimpath", rekorProgram+"@"+rekorVersion); err != nil {
		return nil, err
	}
	// As fast as its flags make it: Tessera's POSIX driver takes no shorter
	// checkpoint interval.
	tuned := []string{"--checkpoint-interval=100ms", "--batch-max-age=10ms", "--log-level=error"}
	return &system{
		name:      "rekor",
		waits:     "a log entry: canonical body, inclusion proof, signed checkpoint",
		version:   rekorVersion,
		command:   append([]string{"rekor-server", "serve"}, tuned...),
		notes:     "DSSE entries; checks the signature; persistent dedup off",
		perCaller: 100, most: 5000,
		body:  rekorBody,
		start: func(ctx context.Context, dir string) (*instance, error) { return startRekor(ctx, bin, dir, tuned) },
	}, nil
}

// rekorRequest is a CreateEntryRequest of its API.
type rekorRequest struct {
	DSSE struct {
		Envelope  json.RawMessage `json:"envelope"`
		Verifiers []rekorVerifier `json:"verifiers"`
	} `json:"dsseRequestV002"`
}

type rekorVerifier struct {
	PublicKey struct {
		RawBytes []byte `json:"rawBytes"`
	} `json:"publicKey"`
	KeyDetails string `json:"keyDetails"`
}

func rekorBody(env *dsse.Envelope) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(enginePublic)
	if err != nil {
		return nil, err
	}
	v := rekorVerifier{KeyDetails: "PKIX_ED25519"}
	v.PublicKey.RawBytes = der
	var r rekorRequest
	r.DSSE.Envelope, r.DSSE.Verifiers = env.JSON(), []rekorVerifier{v}
	b, err := json.Marshal(r)
	return request("/api/v2/log/entries", "application/json", b), err
}

func startRekor(ctx context.Context, bin, dir string, tuned []string) (*instance, error) {
	public, private := generate()
	key, err := checkpoint.NewVKey(origin, checkpoint.TypeEd25519, public)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	keyFile := filepath.Join(dir, "signer.pem")
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	addr, port, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, grpcPort, err := freeAddr()
	if err != nil {
		return nil, err
	}
	_, metricsPort, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(ctx, dir, filepath.Join(bin, "posix"), append([]string{"serve", "--hostname=" + origin,
		"--http-port=" + port, "--grpc-port=" + grpcPort, "--http-metrics-port=" + metricsPort,
		"--storage-dir=" + filepath.Join(dir, "log"), "--signer-filepath=" + keyFile}, tuned...)...)
	if err != nil {
		return nil, err
	}
	if err := p.ready(ctx, func() error { return ask("http://" + addr + "/healthz") }); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return &instance{
		connect: func() caller {
			return &httpCaller{addr: addr, verify: func(answer []byte) error { return rekorVerify(answer, key) }}
		},
		stop: p.stop,
	}, nil
}

// rekorVerify checks that an answer proves its own entry in a tree that the
// log's key signed.
func rekorVerify(answer []byte, key checkpoint.VKey) error {
	var e struct {
		InclusionProof struct {
			LogIndex   uint64 `json:",string"`
			Hashes     [][]byte
			Checkpoint struct{ Envelope string }
		}
		CanonicalizedBody []byte
	}
	if err := json.Unmarshal(answer, &e); err != nil {
		return fmt.Errorf("%w in %.300s", err, answer)
	}
	proof, err := hashesOf(e.InclusionProof.Hashes)
	if err != nil {
		return err
	}
	return proven(e.CanonicalizedBody, e.InclusionProof.LogIndex, proof, []byte(e.InclusionProof.Checkpoint.Envelope), key)
}
