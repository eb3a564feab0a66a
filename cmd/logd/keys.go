package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"flag"
	"io"
	"strings"

	"github.com/obstat/obstat/dsse"
	"github.com/obstat/obstat/internal/keyfile"
	"github.com/obstat/obstat/internal/sshkey"
)

// keys dispatches the commands about keys and the registry.
func keys(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return usagef("keys: a command is needed; logd help keys names them")
	}
	switch command, rest := args[0], args[1:]; command {
	case "generate":
		return keysGenerate(rest, stdout)
	case "import":
		return keysImport(rest, stdout)
	case "passphrase":
		return keysPassphrase(rest, stdout)
	case "public":
		return keysPublic(rest, stdout)
	case "id":
		return keysID(rest, stdout)
	case "propose":
		return keysPropose(ctx, rest, stdout)
	case "show":
		return keysShow(rest, stdout)
	case "sign":
		return keysSign(rest, stdout)
	case "submit":
		return keysSubmit(ctx, rest, stdout)
	case "list":
		return keysList(ctx, rest, stdout)
	case "history":
		return keysHistory(ctx, rest, stdout)
	case "export":
		return keysExport(ctx, rest, stdout)
	case "-h", "--help", "-help", "help":
		return say(stdout, helpKeys)
	default:
		return usagef("keys: no command %q; logd help keys names them", command)
	}
}

// operands reads flags, which may stand before and behind the other arguments,
// and returns those.
func operands(f *flag.FlagSet, args []string, stdout io.Writer) ([]string, error) {
	var rest []string
	for {
		if err := f.Parse(args); errors.Is(err, flag.ErrHelp) {
			if err := help([]string{topic(f)}, stdout); err != nil {
				return nil, err
			}
			return nil, flag.ErrHelp
		} else if err != nil {
			return nil, usagef("%s: %v; logd help %s says more", f.Name(), err, topic(f))
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		if at := len(args) - f.NArg(); at > 0 && args[at-1] == "--" {
			return append(rest, f.Args()...), nil
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
}

// topic is what to ask logd help about a command.
func topic(f *flag.FlagSet) string {
	name, _, _ := strings.Cut(f.Name(), " ")
	return name
}

// operandsN is operands where so many are wanted.
func operandsN(f *flag.FlagSet, args []string, stdout io.Writer, names ...string) ([]string, error) {
	rest, err := operands(f, args, stdout)
	if err != nil {
		return nil, err
	}
	if len(rest) != len(names) {
		return nil, usagef("%s: %d files are wanted (%v), got %d; logd help %s says more", f.Name(), len(names), names, len(rest), topic(f))
	}
	return rest, nil
}

// making are the flags of a command that makes a key file.
type making struct {
	plain  bool
	phrase passphrases
}

func (m *making) flags(f *flag.FlagSet) {
	f.BoolVar(&m.plain, "plain", false, "")
	once(f, "passphrase-file", &m.phrase.file)
	m.phrase.env = passphraseEnv
}

// passphrase is nil for a file that is not encrypted.
func (m *making) passphrase(file string) ([]byte, error) {
	if m.plain {
		if m.phrase.file != "" {
			return nil, usagef("--plain and --passphrase-file contradict each other")
		}
		return nil, nil
	}
	return m.phrase.making(file)
}

func keysGenerate(args []string, stdout io.Writer) error {
	f, m := newFlags("keys generate"), making{}
	m.flags(f)
	files, err := operandsN(f, args, stdout, "FILE")
	if err != nil {
		return err
	}
	phrase, err := m.passphrase(files[0])
	if err != nil {
		return err
	}
	key, err := newKey(files[0], phrase)
	if err != nil {
		return err
	}
	return say(stdout, string(dsse.MarshalPublicKeyPEM(public(key))))
}

func keysImport(args []string, stdout io.Writer) error {
	f, m, from := newFlags("keys import"), making{}, passphrases{}
	m.flags(f)
	once(f, "from-passphrase-file", &from.file)
	files, err := operandsN(f, args, stdout, "FROM", "FILE")
	if err != nil {
		return err
	}
	b, err := readSmall(files[0])
	if err != nil {
		return err
	}
	key, err := sshkey.Import(b, from.opening(files[0]))
	if err != nil {
		return keyfile.At(files[0], err)
	}
	phrase, err := m.passphrase(files[1])
	if err != nil {
		return err
	}
	if err := keyfile.Create(files[1], key, phrase); err != nil {
		return err
	}
	return say(stdout, string(dsse.MarshalPublicKeyPEM(public(key))))
}

func keysPassphrase(args []string, stdout io.Writer) error {
	f, m, old := newFlags("keys passphrase"), making{}, passphrases{}
	f.BoolVar(&m.plain, "plain", false, "")
	once(f, "new-passphrase-file", &m.phrase.file)
	once(f, "passphrase-file", &old.file)
	old.env, m.phrase.env = passphraseEnv, newPassphraseEnv
	files, err := operandsN(f, args, stdout, "FILE")
	if err != nil {
		return err
	}
	key, err := keyfile.Read(files[0], old.opening(files[0]))
	if err != nil {
		return err
	}
	phrase, err := m.passphrase(files[0])
	if err != nil {
		return err
	}
	return keyfile.Replace(files[0], key, phrase)
}

// keysPublic prints the public half of a private key file, or a public key in
// the form that is used here.
func keysPublic(args []string, stdout io.Writer) error {
	key, err := publicOf("keys public", args, stdout)
	if err != nil {
		return err
	}
	return say(stdout, string(dsse.MarshalPublicKeyPEM(key)))
}

// keysID prints the name that registries and receipts have for a key.
func keysID(args []string, stdout io.Writer) error {
	key, err := publicOf("keys id", args, stdout)
	if err != nil {
		return err
	}
	return say(stdout, dsse.IDOf(key).String()+"\n")
}

func publicOf(command string, args []string, stdout io.Writer) (ed25519.PublicKey, error) {
	f, from := newFlags(command), passphrases{env: passphraseEnv}
	once(f, "passphrase-file", &from.file)
	files, err := operandsN(f, args, stdout, "FILE")
	if err != nil {
		return nil, err
	}
	b, err := readSmall(files[0])
	if err != nil {
		return nil, err
	}
	if key, err := parsePublicKey(files[0], b); err == nil {
		return key, nil
	}
	key, err := sshkey.Import(b, from.opening(files[0]))
	if err != nil {
		return nil, keyfile.At(files[0], err)
	}
	return public(key), nil
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }
