package server

import (
	"net/http"
	"strings"
)

// traceOf is the trace ID of a request's W3C trace context, for the log's own
// lines; empty where there is none, or one that is malformed. A log is the end of
// a trace: it asks nobody else while it answers.
func traceOf(r *http.Request) string {
	parts := strings.Split(r.Header.Get("Traceparent"), "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 {
		return ""
	}
	for i, size := range []int{2, 32, 16, 2} {
		if len(parts[i]) != size || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return ""
		}
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return parts[1]
}
