package server

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/internal/index"
	"github.com/obstat/obstat/merkle"
	"github.com/obstat/obstat/report"
	"github.com/obstat/obstat/trust"
)

const jsonType = "application/json"

// statement answers the bundle of a statement against the newest checkpoint.
func (s *Server) statement(w http.ResponseWriter, r *request) error {
	withChain, err := r.chain()
	if err != nil {
		return err
	}
	c, err := dagcbor.ParseCID(r.args["cid"])
	if err != nil {
		return err
	}
	at, ok, err := s.log.Lookup(c)
	if err != nil {
		return err
	}
	if !ok {
		return &report.Error{
			Code: report.CodeStatementUnknown, Expected: "a statement of this log", Actual: c.String(),
			Fix: fmt.Sprintf("it is not among the first %d leaves", s.log.Size()),
		}
	}
	return s.prove(w, at, withChain)
}

// leaf answers the bundle of the receipt at an index against the newest
// checkpoint.
func (s *Server) leaf(w http.ResponseWriter, r *request) error {
	withChain, err := r.chain()
	if err != nil {
		return err
	}
	at, err := decimal("index", r.args["index"])
	if err != nil {
		return &report.Error{Code: report.CodeHTTPPath, Expected: "a decimal index", Actual: strconv.Quote(r.args["index"])}
	}
	return s.prove(w, at, withChain)
}

// prove answers the bundle of the leaf at an index.
func (s *Server) prove(w http.ResponseWriter, at uint64, withChain bool) error {
	res, err := s.log.Prove(at)
	if err != nil {
		return err
	}
	env, err := dsse.ParseLeaf(res.Leaf)
	if err != nil {
		return err
	}
	if env.Type != dsse.ReceiptType {
		return &report.Error{
			Code: report.CodeRegistryElsewhere, Expected: "a leaf that is a receipt", Actual: env.Type,
			Fix: "/v1/registry answers the registry leaves, with their proofs",
		}
	}
	return s.answer(w, env, res, http.StatusOK, withChain)
}

// chain reads the query of whoever is answered a bundle: nothing, or
// registry=chain.
func (r *request) chain() (bool, error) {
	switch r.query["registry"] {
	case "":
		return false, nil
	case "chain":
		return true, nil
	}
	return false, badQuery(r.URL, "registry=chain, or nothing")
}

// decimal reads a number in its one spelling.
func decimal(name, value string) (uint64, error) {
	n, err := strconv.ParseUint(value, 10, 63)
	if err != nil || strconv.FormatUint(n, 10) != value {
		return 0, &report.Error{Code: report.CodeHTTPQuery, Where: name, Expected: "a decimal of at most 2^63-1 without leading zeros", Actual: strconv.Quote(value)}
	}
	return n, nil
}

// number reads a number of the query.
func (r *request) number(name string, otherwise uint64) (uint64, error) {
	value, given := r.query[name]
	if !given {
		return otherwise, nil
	}
	return decimal(name, value)
}

// defaultPage is how many items a page has where nobody says.
const defaultPage = 100

func (r *request) limit() (int, error) {
	n, err := r.number("limit", defaultPage)
	if err == nil && (n < 1 || n > index.MaxPage) {
		err = &report.Error{Code: report.CodeHTTPQuery, Where: "limit", Expected: fmt.Sprintf("1 to %d", index.MaxPage), Actual: strconv.FormatUint(n, 10)}
	}
	return int(n), err
}

// derivedIndex is what pages come from.
func (s *Server) derivedIndex() (*index.Index, error) {
	if s.index == nil || s.index.Index == nil {
		return nil, &report.Error{Code: report.CodeIndexAbsent, Expected: "a log that keeps an index", Actual: "one that does not"}
	}
	return s.index.Index, nil
}

// receipt answers which leaves carry a receipt.
func (s *Server) receipt(w http.ResponseWriter, r *request) error {
	c, err := dagcbor.ParseCID(r.args["cid"])
	if err != nil {
		return err
	}
	return s.page(w, r, func(x *index.Index, from uint64, limit int) (index.Page, error) { return x.Receipt(c, from, limit) })
}

// search answers which leaves say something.
func (s *Server) search(w http.ResponseWriter, r *request) error {
	q := index.Query{
		Kind: r.query["kind"], Verdict: r.query["verdict"], Disposition: r.query["disposition"],
		Code: r.query["code"], Engine: r.query["engine"],
	}
	return s.page(w, r, func(x *index.Index, from uint64, limit int) (index.Page, error) { return x.Search(q, from, limit) })
}

func (s *Server) page(w http.ResponseWriter, r *request, ask func(x *index.Index, from uint64, limit int) (index.Page, error)) error {
	x, err := s.derivedIndex()
	if err != nil {
		return err
	}
	from, err := r.number("from", 0)
	if err != nil {
		return err
	}
	limit, err := r.limit()
	if err != nil {
		return err
	}
	p, err := ask(x, from, limit)
	if err != nil {
		return err
	}
	b := strconv.AppendUint([]byte(`{"covered":`), p.Covered, 10)
	b = append(b, `,"leaves":[`...)
	for i, leaf := range p.Leaves {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, leaf, 10)
	}
	b = append(b, ']')
	if p.More {
		b = strconv.AppendUint(append(b, `,"next":`...), p.Next, 10)
	}
	write(w, jsonType, "no-store", append(b, "}\n"...))
	return nil
}

// run answers the statements of a run, by seq.
func (s *Server) run(w http.ResponseWriter, r *request) error {
	x, err := s.derivedIndex()
	if err != nil {
		return err
	}
	var from index.Position
	if at, given := r.query["from"]; given {
		seq, leaf, two := strings.Cut(at, ".")
		if from.Seq, err = decimal("from", seq); err != nil {
			return err
		}
		if two {
			if from.Leaf, err = decimal("from", leaf); err != nil {
				return err
			}
		}
	}
	limit, err := r.limit()
	if err != nil {
		return err
	}
	p, err := x.Run(r.args["principal"], r.args["run"], from, limit)
	if err != nil {
		return err
	}
	b := strconv.AppendUint([]byte(`{"covered":`), p.Covered, 10)
	b = append(b, `,"statements":[`...)
	for i, at := range p.Statements {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"seq":%d,"leaf":%d,"statement":%q}`, at.Seq, at.Leaf, at.Statement)
	}
	b = append(b, ']')
	if p.More {
		b = fmt.Appendf(b, `,"next":"%d.%d"`, p.Next.Seq, p.Next.Leaf)
	}
	write(w, jsonType, "no-store", append(b, "}\n"...))
	return nil
}

// inclusion answers the proof that a leaf is in a tree of this log, as hashes.
func (s *Server) inclusion(w http.ResponseWriter, r *request) error {
	at, err := r.must("index")
	if err != nil {
		return err
	}
	size, err := r.number("size", s.log.Size())
	if err != nil {
		return err
	}
	hashes, err := s.log.InclusionProof(at, size)
	if err != nil {
		return err
	}
	leaf, err := s.log.Leaf(at)
	if err != nil {
		return err
	}
	b := fmt.Appendf(nil, `{"index":%d,"size":%d,"leaf":%q,"hashes":`, at, size, merkle.LeafHash(leaf))
	write(w, jsonType, "no-store", append(appendHashes(b, hashes), "}\n"...))
	return nil
}

// consistency answers that one tree of this log is a prefix of another: as an
// add-checkpoint body where the other is that of the newest checkpoint, and as
// hashes where the caller names it.
func (s *Server) consistency(w http.ResponseWriter, r *request) error {
	from, err := r.must("from")
	if err != nil {
		return err
	}
	head := s.log.Head()
	to, err := r.number("to", head.Size)
	if err != nil {
		return err
	}
	if from > to {
		return &report.Error{Code: report.CodeHTTPQuery, Where: "from", Expected: fmt.Sprintf("at most %d", to), Actual: strconv.FormatUint(from, 10)}
	}
	var hashes []merkle.Hash
	if from > 0 { // from the empty tree there is no proof, and none is needed
		if hashes, err = s.log.ConsistencyProof(from, to); err != nil {
			return err
		}
	}
	if _, named := r.query["to"]; named {
		b := fmt.Appendf(nil, `{"from":%d,"to":%d,"hashes":`, from, to)
		write(w, jsonType, "no-store", append(appendHashes(b, hashes), "}\n"...))
		return nil
	}
	a := checkpoint.AddCheckpoint{Old: from, Proof: hashes, Checkpoint: head.Note}
	write(w, "text/plain; charset=utf-8", "no-store", a.Bytes())
	return nil
}

// must reads a number that the query needs.
func (r *request) must(name string) (uint64, error) {
	if _, given := r.query[name]; !given {
		return 0, &report.Error{Code: report.CodeHTTPQuery, Where: name, Expected: "a value", Actual: "none"}
	}
	return r.number(name, 0)
}

func appendHashes(b []byte, hashes []merkle.Hash) []byte {
	b = append(b, '[')
	for i := range hashes {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, hashes[i][:])
		b = append(b, '"')
	}
	return append(b, ']')
}

// limitsAnswer answers what a client has to keep to.
func (s *Server) limitsAnswer(w http.ResponseWriter, _ *request) error {
	l := s.limits
	b := fmt.Appendf(nil, `{"body_bytes":%d,"payload_bytes":%d,"leaf_bytes":%d,"page_items":%d,"held_bytes":%d,`+
		`"registry_keys":%d,"registry_statements":%d,"registry_bytes":%d,`+
		`"head_seconds":%g,"request_seconds":%g,"answer_seconds":%g,"idle_seconds":%g}`+"\n",
		MaxBody, dsse.MaxPayload, dsse.MaxLeaf, index.MaxPage, l.held,
		trust.MaxKeys, trust.MaxVersions, trust.MaxLeaves, l.head.Seconds(), l.read.Seconds(), l.write.Seconds(), l.idle.Seconds())
	write(w, jsonType, "no-store", b)
	return nil
}
