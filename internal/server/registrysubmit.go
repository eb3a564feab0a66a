package server

import (
	"context"
	"fmt"
	"net/http"

	"github.com/obstat/obstat/bundle"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

// maxChanges is how many bytes of registry statements are held at a time. They
// do not compete with receipts: whoever floods a log cannot hold off the
// revocation of his key.
const maxChanges = 8 * MaxBody

// registryChain answers every registry leaf, proven under the newest checkpoint:
// the file that verify --registry takes.
func (s *Server) registryChain(w http.ResponseWriter, _ *request) error {
	return s.answerChain(w, s.log.Head(), http.StatusOK)
}

// answerChain answers the registry of the tree that head signs.
func (s *Server) answerChain(w http.ResponseWriter, head rlog.Head, status int) error {
	leaves, err := s.registry.durable(head.Size).chain(s.log, head.Size)
	if err != nil {
		return err
	}
	c := bundle.Chain{Leaves: leaves, Checkpoint: head.Note}
	writeStatus(w, status, bundle.ChainMediaType, "no-store", c.Append(nil))
	return nil
}

// changeRegistry answers POST /v1/registry: the registry chain that ends in the
// statement of the body, or in the freeze or successor statement
// (spec/http.md#registry).
func (s *Server) changeRegistry(w http.ResponseWriter, r *request) error {
	body, err := s.receive(w, r.Request, &s.changes, maxChanges)
	if err != nil {
		return err
	}
	defer body.done()
	c, err := parseChange(body)
	if err != nil {
		return err
	}
	if index, ok, err := s.log.Lookup(c.statement); err != nil {
		return err
	} else if ok {
		return s.repeatChange(w, index)
	}
	registry := s.registry.durable(s.log.Size())
	env, err := c.bind(registry)
	if err != nil {
		return err
	}
	if _, err := registry.Apply(env, s.log.Size()); err != nil {
		return err
	}
	leaf, err := env.Leaf()
	if err != nil {
		return err
	}
	// The statement may take its place whether somebody waits for it or not, and
	// whoever goes away does not take back what the registrars signed.
	res, err := s.log.Submit(context.WithoutCancel(r.Context()), rlog.Item{
		Leaf: leaf, Statement: c.statement, RegistryVersion: registry.Version(), Registry: true,
	})
	if err != nil {
		return err
	}
	if res.Repeat {
		return s.repeatChange(w, res.Index)
	}
	s.logger.Info("the registry changed", "type", env.Type, "leaf", res.Index, "statement", c.statement.String())
	return s.answerChain(w, res.Head, http.StatusCreated)
}

// repeatChange answers a statement that stands in the log. Nobody asks for its
// signatures again: those that stand there were checked.
func (s *Server) repeatChange(w http.ResponseWriter, index uint64) error {
	head := s.log.Head()
	if index >= head.Size {
		return fmt.Errorf("leaf %d is durable and stands behind the newest checkpoint", index)
	}
	w.Header().Set(RepeatHeader, "true")
	return s.answerChain(w, head, http.StatusOK)
}

// change is a registry statement that was read. Nothing is verified.
type change struct {
	statement dagcbor.CID
	envelope  *dsse.Envelope // of a leaf
	loose     *dsse.Loose    // of DSSE JSON
}

// parseChange reads a body as an envelope that carries a registry statement.
func parseChange(body posted) (c change, err error) {
	var payloadType string
	var payload []byte
	if body.leaf {
		if c.envelope, err = dsse.ParseLeaf(body.bytes); err != nil {
			return c, err
		}
		payloadType, payload = c.envelope.Type, c.envelope.Payload
	} else {
		if c.loose, err = dsse.ParseJSON(body.bytes); err != nil {
			return c, err
		}
		payloadType, payload = c.loose.Type, c.loose.Payload
	}
	switch payloadType {
	case dsse.RegistryType:
		_, err = trust.DecodeStatement(payload)
	case dsse.FreezeType:
		_, err = trust.DecodeFreeze(payload)
	case dsse.SuccessorType:
		_, err = trust.DecodeSuccessor(payload)
	case dsse.ReceiptType:
		return c, &report.Error{
			Code: report.CodeReceiptElsewhere, Expected: dsse.RegistryType, Actual: payloadType,
			Fix: "a receipt is no registry statement: submit it to /v1/receipts",
		}
	default:
		return c, &report.Error{Code: report.CodePayloadType, Expected: dsse.RegistryType, Actual: fmt.Sprintf("%q", payloadType)}
	}
	if err != nil {
		return c, inPayload(err)
	}
	c.statement = dagcbor.Sum(payload)
	return c, nil
}

// bind gives the signatures of DSSE JSON their keys.
func (c change) bind(r *registry) (*dsse.Envelope, error) {
	if c.envelope != nil {
		return c.envelope, nil
	}
	return trust.Bind(c.loose, r.Registry)
}
