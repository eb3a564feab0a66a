package server_test

import (
	"fmt"
	"io/fs"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/obstat/obstat/internal/durable/faultfs"
	"github.com/obstat/obstat/internal/server/servertest"
	"github.com/obstat/obstat/receipt"
	"github.com/obstat/obstat/report"
)

// secret stands for a path of the machine in the error of an operation. None of
// it is anybody's business but the operator's.
const secret = "/var/lib/obstat/secret-path"

func failing(kind faultfs.Kind, prefix string) faultfs.Hook {
	return func(op faultfs.Op) *faultfs.Fault {
		if op.Kind == kind && strings.HasPrefix(op.Name, prefix) {
			return &faultfs.Fault{Err: &fs.PathError{Op: string(kind), Path: secret + "/" + op.Name, Err: syscall.EIO}}
		}
		return nil
	}
}

// faulted holds an answer about a fault of the server: status, code and a
// meaning, when to come again, and nothing of what only the operator may know.
func faulted(t *testing.T, what string, a answer, status int, code, retry string) {
	t.Helper()
	if a.status != status || a.code() != code || a.header.Get("Retry-After") != retry {
		t.Errorf("%s: %d %s, Retry-After %q, want %d %s, %q", what, a.status, a.code(), a.header.Get("Retry-After"), status, code, retry)
	}
	for _, told := range []string{"secret", "site", "segment", "seg", "input/output", `"where"`, `"expected"`, `"actual"`} {
		if strings.Contains(string(a.body), told) {
			t.Errorf("%s: the answer tells %q: %s", what, told, a.body)
		}
	}
}

// TestWriterBehindFails: what is written behind the log fails, and the server
// says no and why in every place alike.
func TestWriterBehindFails(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	files.SetHook(failing(faultfs.Create, "site/"))
	stored := signed(t, opening(servertest.Engine, "stored"), servertest.Engine)
	if a := submit(t, l, stored); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for end := time.Now().Add(time.Minute); l.Server.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log does not stop")
		}
	}
	faulted(t, "/readyz", get(t, l, "/readyz"), 503, "LOG-STOPPED", "60")
	faulted(t, "a submission", submit(t, l, signed(t, opening(servertest.Engine, "late"), servertest.Engine)), 503, "LOG-STOPPED", "60")
	if a := submit(t, l, stored); a.status != 200 {
		t.Errorf("a repeat: %d %s", a.status, a.body)
	}
	l.StopFailed("LOG-STOPPED")
}

// TestReadFails: a file that cannot be read now is 503, and damaged bytes are
// 500; both are told with a code and without a path.
func TestReadFails(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	stored := signed(t, opening(servertest.Engine, "stored"), servertest.Engine)
	if a := submit(t, l, stored); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	files.SetHook(failing(faultfs.Read, "segments/"))
	faulted(t, "entries", get(t, l, "/tile/entries/000.p/2"), 503, "LOG-IO", "5")
	faulted(t, "a repeat", submit(t, l, stored), 503, "LOG-IO", "5")
	files.SetHook(nil)
	if a := get(t, l, "/readyz"); a.status != 200 {
		t.Errorf("/readyz after a failed read: %d %s", a.status, a.body)
	}

	names, err := files.ReadDir("segments")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if err := files.Edit("segments/"+n.Name(), func(b []byte) []byte {
			for i := 128; i < len(b); i++ { // behind the head of the segment
				b[i] ^= 1
			}
			return b
		}); err != nil {
			t.Fatal(err)
		}
	}
	faulted(t, "a repeat of damaged bytes", submit(t, l, stored), 500, "LOG-DAMAGED", "")
}

// TestFileLost: an entry bundle that is gone is 500 with a code and no path.
func TestFileLost(t *testing.T) {
	files := faultfs.New()
	l := servertest.On(t, files)
	for i := range 256 {
		if a := submit(t, l, signed(t, opening(servertest.Engine, receipt.Name(fmt.Sprint("run-", i))), servertest.Engine)); a.status != 201 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	l.Stop() // the bundle is written
	l.Start()
	if err := files.Remove("site/tile/entries/000"); err != nil {
		t.Fatal(err)
	}
	faulted(t, "entries", get(t, l, "/tile/entries/000"), 500, "LOG-HISTORY-LOST", "")
}

// TestFaultsSayNothing: whatever code a fault of the server has, only the
// operator is told where it happened.
func TestFaultsSayNothing(t *testing.T) {
	l := servertest.New(t)
	for code := range report.Meaning {
		w := httptest.NewRecorder()
		l.Server.Refuse(w, httptest.NewRequest("GET", "/", nil),
			&report.Error{Code: code, Where: secret, Expected: secret, Actual: secret, Fix: secret})
		told := strings.Contains(w.Body.String(), secret)
		if fault := w.Code >= 500 && code != report.CodeBusy; told == fault {
			t.Errorf("%s: status %d, and the details are told: %v", code, w.Code, told)
		}
	}
}
