package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/obstat/obstat/internal/server"
)

// TestProblemTypes: the type of a problem leads to a line of the page that it
// names.
func TestProblemTypes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "spec", "codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(server.ProblemBase, "/spec/codes.md#") {
		t.Fatalf("types begin with %s", server.ProblemBase)
	}
	for code := range server.Statuses {
		if !strings.Contains(string(page), `| <a id="`+string(code)+`"></a>`) {
			t.Errorf("%s%s leads nowhere", server.ProblemBase, code)
		}
	}
}
