package client

import (
	"os"
	"strings"
	"testing"
)

// What docs/client.md shows stands in the examples, which run.
func TestThePageIsCutOutOfExamples(t *testing.T) {
	page, err := os.ReadFile("../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := strings.ReplaceAll(string(code), "\n\t", "\n") // bodies stand one tab in
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 6 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		block, _, _ := strings.Cut(b, "```")
		if !strings.Contains(examples, block) {
			t.Errorf("in no example:\n%s", block)
		}
	}
}
