package gate

import (
	"context"
	"errors"
	"slices"

	"github.com/obstat/obstat/internal/jcs"
	"github.com/obstat/obstat/preview"
	"github.com/obstat/obstat/receipt"
)

// Tool calls one tool of a server that the engine talks to (spec/preview.md#tool).
// The arguments are a JSON value, so that two spellings of one are the same call.
type Tool struct {
	Server    string // name
	Name      string // what the server calls the tool
	Arguments []byte // a JSON object; empty: {}
	// Definition returns what the server says that the tool is, in bytes that are
	// the same as long as it is. The preview pins them as ctx.tool, so a call
	// whose definition has changed since it was judged does not happen.
	Definition func() ([]byte, error)
	// Call makes the call with the arguments in their RFC 8785 form. A
	// *FailedError or *UnobservedError says more than that it failed.
	Call func(ctx context.Context, arguments []byte) (output []byte, err error)
}

// Freeze reads the definition and the arguments.
func (t *Tool) Freeze() (Frozen, error) {
	if t.Definition == nil || t.Call == nil {
		return nil, errors.New("a tool needs its definition and a way to call it")
	}
	definition, err := t.Definition()
	if err != nil {
		return nil, err
	}
	arguments := slices.Clone(t.Arguments)
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	if arguments, err = jcs.Canonical(arguments); err != nil {
		return nil, err
	}
	return &frozenTool{server: t.Server, name: t.Name, arguments: arguments, pin: receipt.PinBLAKE3(definition), call: t.Call}, nil
}

type frozenTool struct {
	server, name string
	arguments    []byte
	pin          receipt.Pin
	call         func(context.Context, []byte) ([]byte, error)
	once
}

func (f *frozenTool) Plan() Plan {
	return Plan{
		Intent:  preview.Tool{Server: f.server, Tool: f.name, Arguments: slices.Clone(f.arguments)},
		Context: preview.Context{Tool: preview.Pin(f.pin)},
	}
}

func (f *frozenTool) Close() error { return nil }

// Invert says that what a tool changes is out of reach.
func (f *frozenTool) Invert() (Inverse, error) { return Inverse{None: codeExternal}, nil }

func (f *frozenTool) Check(context.Context) error { return nil }

func (f *frozenTool) Apply(ctx context.Context, _ Call) Result {
	if err := f.take(); err != nil {
		return Result{Err: err}
	}
	out, err := f.call(ctx, slices.Clone(f.arguments))
	if err != nil && !errors.As(err, new(*FailedError)) && !errors.As(err, new(*UnobservedError)) {
		err = &FailedError{codeRemoteRefused, receipt.RestoredUnknown, err}
	}
	return Result{Err: err, Output: out}
}
