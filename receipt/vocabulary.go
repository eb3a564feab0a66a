package receipt

import (
	"slices"
	"strings"

	"github.com/zeebo/blake3"

	"github.com/obstat/obstat/internal/dagcbor"
	"github.com/obstat/obstat/report"
)

// Vocabulary is a closed list of words that receipts of a run use: the codes
// of every place and the recoveries (spec/vocabulary.md). It is a document of
// its own, canonical DAG-CBOR
//
//	{name, version, codes: {<place>: [code …]}, recovery: [{code, class, hints: [code …]} …]}
//
// whose lists are sets, and a run-open pins its BLAKE3 digest. Vocabularies are
// immutable; the zero Vocabulary knows no word.
type Vocabulary struct {
	name       Name
	version    uint64
	codes      map[Place][]Code
	recoveries []RecoveryWords
	document   []byte
	digest     [32]byte
}

// Place is where in a receipt a code stands.
type Place string

// The closed list of places.
const (
	PlaceReason      Place = "reason"      // judgment.verdict.deny.reasons, escalate.reasons
	PlaceInverse     Place = "inverse"     // judgment.inverse.none.code
	PlaceRefused     Place = "refused"     // outcome.disposition.refused.code
	PlaceCancelled   Place = "cancelled"   // outcome.disposition.cancelled.code
	PlaceWithheld    Place = "withheld"    // outcome.disposition.withheld.code
	PlaceFailed      Place = "failed"      // outcome.disposition.failed.code
	PlaceUnobserved  Place = "unobserved"  // outcome.disposition.unobserved.code
	PlaceObservation Place = "observation" // outcome.compensates.observation.unobservable.code
	PlaceFault       Place = "fault"       // fault.code
	PlaceGap         Place = "gap"         // gap.code
)

// Places is every place, in the order above.
func Places() []Place {
	return []Place{
		PlaceReason, PlaceInverse, PlaceRefused, PlaceCancelled, PlaceWithheld,
		PlaceFailed, PlaceUnobserved, PlaceObservation, PlaceFault, PlaceGap,
	}
}

// RecoveryWords is one code of a recovery with the class it belongs to and the
// hints that may stand beside it.
type RecoveryWords struct {
	Code  Code
	Class RecoveryClass
	Hints []Code // set
}

func (w RecoveryWords) order(x RecoveryWords) int { return w.Code.order(x.Code) }

// NewVocabulary makes a vocabulary; order and repetition of codes and hints do
// not matter. It fails as ParseVocabulary does.
func NewVocabulary(name Name, version uint64, codes map[Place][]Code, recoveries []RecoveryWords) (*Vocabulary, error) {
	var places fields
	for place, list := range codes {
		places.add(string(place), texts(sortedSet(list)))
	}
	rows := slices.Clone(recoveries)
	slices.SortFunc(rows, RecoveryWords.order)
	document, err := dagcbor.Encode(dagcbor.Map{
		{Key: "name", Value: dagcbor.Text(name)},
		{Key: "version", Value: dagcbor.Int(version)},
		{Key: "codes", Value: dagcbor.Map(places)},
		{Key: "recovery", Value: listValue(rows, func(w *RecoveryWords) dagcbor.Value {
			return dagcbor.Map{
				{Key: "code", Value: codeValue(w.Code)},
				{Key: "class", Value: dagcbor.Text(w.Class)},
				{Key: "hints", Value: texts(sortedSet(w.Hints))},
			}
		})},
	})
	if err != nil {
		return nil, dotted(err)
	}
	return ParseVocabulary(document)
}

func sortedSet(list []Code) []Code {
	set := slices.Clone(list)
	SortSet(set)
	return slices.Compact(set)
}

// ParseVocabulary reads a vocabulary document. The error is that of the strict
// check, or VOCABULARY with the path of what is wrong.
func ParseVocabulary(document []byte) (*Vocabulary, error) {
	root, err := dagcbor.Parse(document)
	if err != nil {
		return nil, err
	}
	v := &Vocabulary{document: slices.Clone(document), digest: blake3.Sum256(document), codes: make(map[Place][]Code)}
	if e := v.read(root); e != nil {
		e.Code = report.CodeVocabulary
		return nil, e
	}
	return v, nil
}

func (v *Vocabulary) read(n node) (e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	found := 0
	for key, value := range n.Entries() {
		found++
		switch key {
		case "name":
			v.name, e = readName(value)
		case "version":
			v.version, e = readUint(value, 1)
		case "codes":
			e = v.readCodes(value)
		case "recovery":
			v.recoveries, e = readSet(value, readRecoveryWords, RecoveryWords.order)
		default:
			e = unknown(key)
		}
		if e != nil {
			return under(key, e)
		}
	}
	return lacks(n, found, "name", "version", "codes", "recovery")
}

func (v *Vocabulary) readCodes(n node) *report.Error {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return e
	}
	for key, value := range n.Entries() {
		if !slices.Contains(Places(), Place(key)) {
			return under(key, unknown(key))
		}
		set, e := readSet(value, readCode, Code.order)
		if e != nil {
			return under(key, e)
		}
		v.codes[Place(strings.Clone(key))] = set
	}
	return nil
}

func readRecoveryWords(n node) (w RecoveryWords, e *report.Error) {
	if e := isKind(n, dagcbor.KindMap); e != nil {
		return w, e
	}
	found := 0
	for key, v := range n.Entries() {
		found++
		switch key {
		case "code":
			w.Code, e = readCode(v)
		case "class":
			w.Class, e = readRecoveryClass(v)
		case "hints":
			w.Hints, e = readSet(v, readCode, Code.order)
		default:
			e = unknown(key)
		}
		if e != nil {
			return w, under(key, e)
		}
	}
	return w, lacks(n, found, "code", "class", "hints")
}

// Name and Version say which vocabulary this is, for a person; the digest does
// for a program.
func (v *Vocabulary) Name() Name { return v.name }

// Version is counted from 1.
func (v *Vocabulary) Version() uint64 { return v.version }

// Digest is BLAKE3 of the document: what a run-open pins.
func (v *Vocabulary) Digest() [32]byte { return v.digest }

// Document returns the canonical document, which the caller owns.
func (v *Vocabulary) Document() []byte { return slices.Clone(v.document) }

// Codes returns the codes of a place, strictly ascending. The caller owns the
// slice.
func (v *Vocabulary) Codes(place Place) []Code { return slices.Clone(v.codes[place]) }

// Recoveries returns the recovery words, strictly ascending by code. The caller
// does not change the hints.
func (v *Vocabulary) Recoveries() []RecoveryWords { return slices.Clone(v.recoveries) }

// Knows reports whether a code is a word of its place.
func (v *Vocabulary) Knows(place Place, code Code) bool {
	_, ok := slices.BinarySearch(v.codes[place], code)
	return ok
}

// KnowsRecovery reports whether a recovery is made of words of the vocabulary
// that belong together.
func (v *Vocabulary) KnowsRecovery(r Recovery) bool {
	i, ok := slices.BinarySearchFunc(v.recoveries, r.Code, func(w RecoveryWords, c Code) int { return w.Code.order(c) })
	if !ok || v.recoveries[i].Class != r.Class {
		return false
	}
	_, ok = slices.BinarySearch(v.recoveries[i].Hints, r.Hint)
	return ok
}

// Unknown returns the path of the first word of a receipt that the vocabulary
// does not know, and the word; both are empty where it knows them all (law 8,
// spec/laws.md#closed-vocabulary).
func (v *Vocabulary) Unknown(r Receipt) (where, word string) {
	code := func(place Place, c Code, path string) {
		if where == "" && !v.Knows(place, c) {
			where, word = path, string(c)
		}
	}
	recovery := func(rec Recovery, path string) {
		if where == "" && !v.KnowsRecovery(rec) {
			where, word = path, string(rec.Class)+" "+string(rec.Code)+" "+string(rec.Hint)
		}
	}
	switch r := r.(type) {
	case Judgment:
		for _, reason := range r.Ruling.verdict.Reasons() {
			code(PlaceReason, Code(reason), "judgment.verdict."+r.Ruling.verdict.Arm().String()+".reasons")
		}
		if none, ok := r.Inverse.(NoInverse); ok {
			code(PlaceInverse, none.Code, "judgment.inverse.none.code")
		}
		if rec, refuses := r.Ruling.Recovery(); refuses {
			recovery(rec, "judgment.recovery")
		}
	case Outcome:
		if place, c := codeOf(r.Disposition); place != "" {
			code(place, c, "outcome.disposition."+r.Disposition.Word()+".code")
		}
		if rec, refuses := RecoveryOf(r.Disposition); refuses {
			recovery(rec, "outcome.disposition."+r.Disposition.Word()+".recovery")
		}
		if r.Compensates != nil {
			if u, ok := r.Compensates.Observation.(Unobservable); ok {
				code(PlaceObservation, u.Code, "outcome.compensates.observation.unobservable.code")
			}
		}
	case Fault:
		code(PlaceFault, r.Code, "fault.code")
	case Gap:
		code(PlaceGap, r.Code, "gap.code")
	}
	return where, word
}

// codeOf returns the code of a disposition and its place, where it has one.
func codeOf(d Disposition) (Place, Code) {
	switch d := d.(type) {
	case Refused:
		return PlaceRefused, d.Code
	case Cancelled:
		return PlaceCancelled, d.Code
	case Withheld:
		return PlaceWithheld, d.Code
	case Failed:
		return PlaceFailed, d.Code
	case Unobserved:
		return PlaceUnobserved, d.Code
	}
	return "", ""
}
