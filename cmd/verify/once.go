package main

import (
	"errors"
	"flag"
)

// once is a flag that may be given one time: of two values one would count, and
// the caller who wrote the other would not see it.
type once struct {
	flag.Value
	given bool
}

func (o *once) Set(s string) error {
	if o.given {
		return errTwice
	}
	o.given = true
	return o.Value.Set(s)
}

// IsBoolFlag keeps --json a flag without a value.
func (o *once) IsBoolFlag() bool {
	b, ok := o.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

var errTwice = errors.New("given twice")

// onlyOnce makes every flag one that may be given once, but for lists.
func onlyOnce(fs *flag.FlagSet) *flag.FlagSet {
	fs.VisitAll(func(f *flag.Flag) {
		if _, repeats := f.Value.(*list); !repeats {
			f.Value = &once{Value: f.Value}
		}
	})
	return fs
}
