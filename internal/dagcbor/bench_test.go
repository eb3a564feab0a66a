package dagcbor

import (
	"strings"
	"testing"
)

// sample is a block of the shape and size of a judgment: about 1 KB, four
// levels, links, digests, short texts.
func sample() Value {
	digest := func(s string) Bytes { d := Sum([]byte(s)).Digest(); return Bytes(d[:]) }
	var inputs, changes List
	for _, name := range []string{"branch", "message", "author", "paths"} {
		inputs = append(inputs, Map{{"name", Text(name)}, {"value", digest(name)}})
	}
	for _, path := range []string{"README.md", "go.mod", "cmd/main.go"} {
		changes = append(changes, Map{{"path", digest(path)}, {"before", digest(path + "-")}, {"after", digest(path + "+")}})
	}
	return Map{
		{"call", Map{
			{"at", Int(1796000000000)}, {"by", digest("key")}, {"run", Text("run-2026-11-30-0001")}, {"seq", Int(17)},
			{"prev", Sum([]byte("prev")).Link()},
			{"seen", Map{{"root", digest("root")}, {"size", Int(123456)}, {"origin", Text("log.example.com/effects")}}},
		}},
		{"receipt", Map{{"judgment", Map{
			{"class", Text("yellow")},
			{"verdict", Map{{"admit", Map{{"by", List{Text("RULE-GIT-COMMIT"), Text("RULE-PATH-INSIDE")}}}}}},
			{"origin", Map{{"mixed", Map{{"intent", Text("llm_originated")}, {"rendering", Text("deterministic_replay")}}}}},
			{"reads", List{}}, {"inverse", Map{{"escrowed", Map{{"delta", digest("delta")}}}}},
			{"request", Map{
				{"verb", Text("git.commit")}, {"digest", digest("preview")}, {"task", Text("task/4711")}, {"attempt", Int(1)},
				{"inputs", inputs}, {"changes", changes},
				{"context", Map{{"plan", digest("plan")}, {"lock", digest("lock")}, {"permits", digest("permits")}}},
			}},
		}}}},
	}
}

func sampleBlock(b testing.TB) []byte {
	block, err := Encode(sample())
	if err != nil {
		b.Fatal(err)
	}
	return block
}

func BenchmarkCheck(b *testing.B) {
	block := sampleBlock(b)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(block); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseAndWalk(b *testing.B) {
	block := sampleBlock(b)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		n, err := Parse(block)
		if err != nil {
			b.Fatal(err)
		}
		count := 0
		for _, part := range n.Entries() {
			for range part.Entries() {
				count++
			}
		}
		if count == 0 {
			b.Fatal("nothing there")
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	v := sample()
	b.SetBytes(int64(len(sampleBlock(b))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Encode(v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	block := sampleBlock(b)
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	for b.Loop() {
		Sum(block)
	}
}

func BenchmarkParseCID(b *testing.B) {
	b.ReportAllocs()
	s := strings.Clone(emptyMap)
	for b.Loop() {
		if _, err := ParseCID(s); err != nil {
			b.Fatal(err)
		}
	}
}
