package receipt

import "github.com/obstat/obstat/internal/dagcbor"

func (o *Outcome) value() dagcbor.Map {
	f := make(fields, 0, 4)
	f.add("of", linkValue(o.Of))
	f.add("request", digestValue(o.Request))
	f.add("disposition", dispositionValue(o.Disposition))
	if c := o.Compensates; c != nil {
		f.add("compensates", dagcbor.Map{
			{Key: "outcome", Value: linkValue(c.Outcome)},
			{Key: "observation", Value: observationValue(c.Observation)},
		})
	}
	return dagcbor.Map(f)
}

func dispositionValue(d Disposition) dagcbor.Map {
	var f fields
	switch d := d.(type) {
	case Committed:
		f.add("fired", digestValue(d.Fired))
		if len(d.Wrote) > 0 {
			f.add("wrote", listValue(d.Wrote, (*Wrote).value))
		}
		f.link("approval", d.Approval)
	case Diverged:
		f.add("fired", digestValue(d.Fired))
	case Refused:
		f.add("code", codeValue(d.Code))
	case Rejected:
		f.add("decision", linkValue(d.Decision))
	case Expired:
	case Cancelled:
		f.add("code", codeValue(d.Code))
	case Stale:
		f.add("key", d.Key.value())
		f.add("expected", commitmentValue(d.Expected))
		f.add("seen", commitmentValue(d.Seen))
	case Withheld:
		f.add("code", codeValue(d.Code))
	case Rendered:
		f.add("digest", digestValue(d.Digest))
	case Failed:
		f.add("code", codeValue(d.Code))
		f.add("restored", dagcbor.Text(d.Restored))
		f.link("approval", d.Approval)
	case Unobserved:
		f.add("code", codeValue(d.Code))
		f.link("approval", d.Approval)
	default:
		return noArmValue()
	}
	if r, refuses := RecoveryOf(d); refuses && !r.IsZero() {
		f.add("recovery", r.value())
	}
	return arm(d.Word(), dagcbor.Map(f))
}

func (w *Wrote) value() dagcbor.Value {
	return dagcbor.Map{
		{Key: "key", Value: w.Key.value()},
		{Key: "value", Value: commitmentValue(w.Value)},
	}
}

func observationValue(o Observation) dagcbor.Map {
	switch o := o.(type) {
	case Attested:
		return arm(wordAttested, dagcbor.Map{{Key: "compared", Value: listValue(o.Compared, (*Comparison).value)}})
	case Unobservable:
		return arm(wordUnobservable, dagcbor.Map{{Key: "code", Value: codeValue(o.Code)}})
	}
	return noArmValue()
}

func (c *Comparison) value() dagcbor.Value {
	return dagcbor.Map{
		{Key: "key", Value: c.Key.value()},
		{Key: "expected", Value: commitmentValue(c.Expected)},
		{Key: "seen", Value: commitmentValue(c.Seen)},
	}
}
