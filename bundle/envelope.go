package bundle

import (
	"strconv"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/report"
)

// CheckEnvelope reads one envelope, DSSE JSON or canonical leaf, and makes
// every check that the given trust allows: form, schema, signature, identity
// and signer. Where it stands in a log, and so whether its key was listed when
// the log took it, is asked of a bundle.
func CheckEnvelope(data []byte, o Options) *report.Report {
	doc, carried, err := envelopeOf(data)
	if err != nil {
		return unreadable("receipt", data, err, RequiredOfEnvelope(), o)
	}
	j := &judge{o: o}
	names := append(RequiredOfEnvelope(), o.Require...)
	if o.Registry != nil { // an envelope alone is of no log; the registry is
		j.follow(o.Registry.Checkpoint, o)
		o = j.o
	}
	j.readEnvelope(doc, carried)
	j.readRegistry()
	r := &report.Report{Command: "receipt"}
	add(r, CheckForm, j.form)
	add(r, CheckSchema, j.schema)
	add(r, CheckSignature, j.signature())
	add(r, CheckIdentity, j.identity())
	add(r, CheckSigner, j.knownSigner())
	if len(o.Successions) > 0 {
		add(r, CheckSuccession, j.followed())
		names = append(names, CheckSuccession)
	}
	r.Says = j.content.says
	if j.content.values == nil {
		j.content.values = map[string]string{}
	}
	j.envelopeFacts(r)
	for _, e := range o.Expect {
		add(r, expectName(e), j.expect(e))
	}
	r.Ignored = j.ignored
	require(r, names, o)
	return r
}

// envelopeOf returns the DSSE JSON of either spelling, and the leaf where that
// is what came.
func envelopeOf(data []byte) (doc, leaf []byte, err error) {
	switch {
	case len(data) == 0:
		return nil, nil, empty()
	case len(data) > MaxBundle:
		return nil, nil, tooLarge(len(data), MaxBundle)
	case data[0] != 0xa3: // a DAG-CBOR map of three
		_, err = dsse.ParseJSON(data)
		return data, nil, err
	}
	env, err := dsse.ParseLeaf(data)
	if err != nil {
		return nil, nil, err
	}
	return env.JSON(), data, nil
}

// knownSigner holds that the caller's trust has the signer in the role that
// signs this kind. An envelope alone has no index, so a key of which that
// matters is not checked.
func (j *judge) knownSigner() report.Check {
	k, c := j.signer()
	if c.Answer != report.Verified {
		if j.chain.Answer == report.Refuted {
			return j.chain
		}
		return c
	}
	if wrong, is := j.wrongRole(k); is {
		return wrong
	}
	if j.o.Engines.PlainMode() {
		if line, _ := j.o.Engines.Key(k.id); line.From > 0 || line.HasTo {
			return unchecked(report.CodeKeyOutOfRange, "a bundle, since the trust file vouches for the key at some indexes only", "an envelope")
		}
		return verified("the caller's own word")
	}
	if j.chainHead.Answer != report.Verified { // a log that nobody vouches for may have listed it
		return j.chainHead
	}
	if _, may := j.registry.MaySign(k.id); !may {
		return unchecked(report.CodeKeyEnded, "a bundle, since the key was retired or revoked", "an envelope")
	}
	return verified("listed in registry version " + strconv.FormatUint(j.registry.Version(), 10))
}
