package receipt

import "github.com/obstat/obstat/internal/dagcbor"

func (q *Request) value() dagcbor.Map {
	f := make(fields, 0, 9)
	f.add("verb", dagcbor.Text(q.Verb))
	f.add("digest", digestValue(q.Digest))
	f.name("task", q.Task)
	f.count("attempt", q.Attempt)
	if len(q.Inputs) > 0 {
		f.add("inputs", listValue(q.Inputs, (*Input).value))
	}
	if len(q.Changes) > 0 {
		f.add("changes", listValue(q.Changes, (*Change).value))
	}
	if len(q.Slots) > 0 {
		f.add("slots", listValue(q.Slots, (*Slot).value))
	}
	if len(q.Effects) > 0 {
		f.add("effects", listValue(q.Effects, (*Effect).value))
	}
	if !q.Context.IsZero() {
		f.add("context", q.Context.value())
	}
	return dagcbor.Map(f)
}

func (i *Input) value() dagcbor.Value {
	return dagcbor.Map{
		{Key: "name", Value: dagcbor.Text(i.Name)},
		{Key: "value", Value: i.Value.value()},
	}
}

func (c *Change) value() dagcbor.Value {
	f := fields{{Key: "path", Value: c.Path.value()}}
	switch e := c.Edit.(type) {
	case Create:
		f.add("after", commitmentValue(e.After))
	case Replace:
		f.add("before", commitmentValue(e.Before))
		f.add("after", commitmentValue(e.After))
	case Delete:
		f.add("before", commitmentValue(e.Before))
	}
	return dagcbor.Map(f)
}

func (s *Slot) value() dagcbor.Value {
	return dagcbor.Map{
		{Key: "name", Value: dagcbor.Text(s.Name)},
		{Key: "value", Value: s.Value.value()},
		{Key: "source", Value: dagcbor.Text(s.Source)},
	}
}

func (e *Effect) value() dagcbor.Value {
	return dagcbor.Map{
		{Key: "on", Value: dagcbor.Text(e.On)},
		{Key: "target", Value: e.Target.value()},
	}
}

func (c *Context) value() dagcbor.Map {
	f := make(fields, 0, 6)
	f.pin("plan", c.Plan)
	f.pin("lock", c.Lock)
	f.pin("permits", c.Permits)
	f.pin("tool", c.Tool)
	f.pin("sandbox", c.Sandbox)
	f.name("approval", c.Approval)
	return dagcbor.Map(f)
}
