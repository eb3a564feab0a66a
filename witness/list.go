package witness

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/obstat/obstat/checkpoint"
	"github.com/obstat/obstat/report"
)

// MaxList is the most bytes of a log list.
const MaxList = 4 << 20

// Log is a log that a witness cosigns.
type Log struct {
	Origin string
	Keys   []checkpoint.VKey // TypeEd25519; a checkpoint needs a signature by one
	PerDay float64           // checkpoints cosigned a day; 0: as many as come
}

const listHeader = "logs/v0"

// ParseList reads a log list in the format of the public witness network
// (spec/witness.md#log-list): a line "logs/v0", then for each log a line "vkey"
// and, behind it, "origin" where that is not the name of the key, "qpd" for how
// many checkpoints a day are cosigned, and "contact" for people. Two keys of one
// origin are two ways to sign as one log, and share the larger qpd. The error is
// WITNESS-LIST, with the line.
func ParseList(b []byte) ([]Log, error) {
	if len(b) > MaxList {
		return nil, badList(0, fmt.Sprintf("at most %d bytes", MaxList), strconv.Itoa(len(b)))
	}
	p := listParser{}
	for i, line := range strings.Split(string(b), "\n") {
		p.line = i + 1
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if err := p.take(line); err != nil {
			return nil, err
		}
	}
	if !p.begun {
		return nil, badList(p.line, `the line "`+listHeader+`"`, "none")
	}
	return p.logs()
}

type listParser struct {
	line    int
	begun   bool
	entries []listEntry
}

// listEntry is one vkey line and what stands behind it.
type listEntry struct {
	line   int
	key    checkpoint.VKey
	origin string
	perDay float64
	given  map[string]bool
}

func (p *listParser) take(line string) error {
	word, value, _ := strings.Cut(line, " ")
	value = strings.Trim(value, " \t")
	if !p.begun {
		if line != listHeader {
			return badList(p.line, `the line "`+listHeader+`" before any other`, strconv.Quote(line))
		}
		p.begun = true
		return nil
	}
	if word == "vkey" {
		key, err := checkpoint.ParseVKey(value)
		if err != nil {
			return badList(p.line, "a verifier key", err.Error())
		}
		if key.Type != checkpoint.TypeEd25519 {
			return badList(p.line, "a log's key, of signature type 0x01", fmt.Sprintf("0x%02x", key.Type))
		}
		p.entries = append(p.entries, listEntry{line: p.line, key: key, origin: key.Name, given: map[string]bool{}})
		return nil
	}
	if len(p.entries) == 0 {
		return badList(p.line, "a vkey line before what is said of a log", strconv.Quote(line))
	}
	e := &p.entries[len(p.entries)-1]
	if e.given[word] {
		return badList(p.line, "each word once for a log", strconv.Quote(word)+" again")
	}
	e.given[word] = true
	switch word {
	case "origin":
		if value == "" || len(value) > checkpoint.MaxName {
			return badList(p.line, fmt.Sprintf("an origin of 1 to %d bytes", checkpoint.MaxName), strconv.Itoa(len(value)))
		}
		e.origin = value
	case "qpd":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0) || n > math.MaxInt32 {
			return badList(p.line, "a number above 0", strconv.Quote(value))
		}
		e.perDay = n
	case "contact":
	default:
		return badList(p.line, "vkey, origin, qpd or contact", strconv.Quote(word))
	}
	return nil
}

// logs brings the keys of one origin together.
func (p *listParser) logs() ([]Log, error) {
	var out []Log
	lines := map[string]int{}
	for _, e := range p.entries {
		if first, twice := lines[string(e.key.Public)]; twice {
			return nil, badList(e.line, "each public key once", fmt.Sprintf("that of line %d again", first))
		}
		lines[string(e.key.Public)] = e.line
		i := slices.IndexFunc(out, func(l Log) bool { return l.Origin == e.origin })
		if i < 0 {
			out = append(out, Log{Origin: e.origin, Keys: []checkpoint.VKey{e.key}, PerDay: e.perDay})
			continue
		}
		l := &out[i]
		l.Keys = append(l.Keys, e.key)
		if e.perDay == 0 || l.PerDay == 0 {
			l.PerDay = 0
		} else {
			l.PerDay = max(l.PerDay, e.perDay)
		}
	}
	return out, nil
}

func badList(line int, expected, actual string) error {
	where := "log list"
	if line > 0 {
		where = "line " + strconv.Itoa(line)
	}
	return &report.Error{Code: report.CodeWitnessList, Where: where, Expected: expected, Actual: actual}
}
