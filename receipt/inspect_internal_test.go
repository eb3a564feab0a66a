package receipt

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestDateOf holds the calendar of this package to the standard library's.
func TestDateOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 253_402_300_799_999).Draw(t, "ms")
		if got, want := dateOf(ms), time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"); got != want {
			t.Fatalf("%d is %s, want %s", ms, got, want)
		}
	})
	for ms, want := range map[int64]string{
		0:                   "1970-01-01T00:00:00.000Z",
		951_782_400_000:     "2000-02-29T00:00:00.000Z",
		4_107_542_400_000:   "2100-03-01T00:00:00.000Z",
		-1:                  "-1 ms",
		253_402_300_800_000: "253402300800000 ms",
	} {
		if got := dateOf(ms); got != want {
			t.Errorf("%d is %s, want %s", ms, got, want)
		}
	}
}
