package server

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/obstat/obstat/internal/rlog"
	"github.com/obstat/obstat/report"
)

// Stages of a submission, as the metric of their durations names them.
const (
	stageReceive  = "receive"  // the body comes
	stageCheck    = "check"    // form, schema, signature, role
	stageSequence = "sequence" // queue, group, checkpoint, sync
	stageAnswer   = "answer"   // bundle made and written
)

// metrics are the numbers of one server (docs/operation.md#metrics). Those that
// the log has anyway are read when somebody asks.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	refusals  *prometheus.CounterVec
	items     *prometheus.CounterVec
	stages    *prometheus.HistogramVec
	groups    prometheus.Histogram
	syncs     prometheus.Histogram

	lastGroup atomic.Int64 // when the newest checkpoint was signed, Unix ms; 0: before this start
}

// seconds are the borders of durations: a sync of a fast disk to a slow client.
var seconds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "obstat_http_requests_total", Help: "Requests by route, method and status; status 0 is a client that went away.",
		}, []string{"route", "method", "status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "obstat_http_request_duration_seconds", Help: "From the head of a request to the end of its answer.", Buckets: seconds,
		}, []string{"route"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "obstat_http_refusals_total", Help: "Refused requests by route and code (spec/codes.md).",
		}, []string{"route", "code"}),
		items: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "obstat_batch_items_total", Help: "Items of batches by status and, where they were refused, code.",
		}, []string{"status", "code"}),
		stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "obstat_submit_stage_duration_seconds", Help: "Parts of a submission: receive, check, sequence, answer.", Buckets: seconds,
		}, []string{"stage"}),
		groups: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "obstat_log_group_leaves", Help: "Leaves that one sync makes durable.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "obstat_log_sync_duration_seconds", Help: "Write and sync of a group.", Buckets: seconds,
		}),
	}
	m.items.WithLabelValues("201", "") // there from the start, so that a rate begins at 0
	m.registry.MustRegister(m.requests, m.durations, m.refusals, m.items, m.stages, m.groups, m.syncs)
	return m
}

// group is told of every group by the engine, on its goroutine.
func (m *metrics) group(g rlog.Group) {
	m.groups.Observe(float64(g.Leaves))
	m.syncs.Observe(g.Sync.Seconds())
	m.lastGroup.Store(time.Now().UnixMilli())
}

// stage notes how long a stage took that began at since, and returns now.
func (m *metrics) stage(name string, since time.Time) time.Time {
	now := time.Now()
	m.stages.WithLabelValues(name).Observe(now.Sub(since).Seconds())
	return now
}

// answered counts a request. err is what it was refused with, or nil.
func (m *metrics) answered(route, method string, status int, took time.Duration, err error) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
	if err != nil {
		code := report.CodeOf(err)
		if code == "" {
			code = report.CodeInternal
		}
		m.refusals.WithLabelValues(route, string(code)).Inc()
	}
}

// item counts one of a batch; code is empty where it was taken.
func (m *metrics) item(status int, code report.Code) {
	m.items.WithLabelValues(strconv.Itoa(status), string(code)).Inc()
}

// methodLabel is one of a few words, whatever a client sends.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return method
	}
	return "other"
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK { // 1xx are no answers
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// own is the writer behind a statusWriter.
func own(w http.ResponseWriter) http.ResponseWriter {
	if sw, ok := w.(*statusWriter); ok {
		return sw.ResponseWriter
	}
	return w
}

// Metrics are what Prometheus is told of this server. Nothing in them is of any
// client: labels are routes, codes, and the anchors that the operator named.
func (s *Server) Metrics() prometheus.Gatherer { return s.metrics.registry }

// state is what the log knows of itself, read at every scrape.
type state struct{ s *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("obstat_"+name, help, labels, nil)
}

var (
	descSize       = describe("log_size_leaves", "Leaves of the newest signed checkpoint.")
	descLeaves     = describe("log_leaves_total", "Leaves submitted and answered since the start.")
	descRepeats    = describe("log_repeats_total", "Submissions answered with a leaf that stood already.")
	descBusy       = describe("log_busy_total", "Submissions refused because the queue was full.")
	descQueueItems = describe("log_queue_items", "Submissions that wait for a sync.")
	descQueueBytes = describe("log_queue_bytes", "Bytes of leaves that wait for a sync.")
	descHeld       = describe("http_held_bytes", "Bytes of bodies in memory or on their way.")
	descSegments   = describe("log_segments", "Segments on disk.")
	descPublished  = describe("log_published_leaves", "Size of the checkpoint among the static files on disk.")
	descSigned     = describe("log_checkpoint_timestamp_seconds", "When the newest checkpoint was signed, Unix seconds; 0 if before this start.")
	descIndexed    = describe("index_leaves", "Leaves that the index covers.")
	descUnabsorbed = describe("index_unabsorbed_statements", "Statements in memory because the index does not cover them.")
	descScrubbed   = describe("scrub_bundles_total", "Entry bundles read back and hashed again since the start.")
	descDamage     = describe("log_damaged", "1 if reading back found damage.")
	descStopped    = describe("log_stopped", "1 if the log takes no more submissions until it is started again.")
	descProtection = describe("rollback_protection", "1 for the state that holds: none, asked, anchored or degraded.", "state")
	descAnchor     = describe("anchor_current", "1 if the last attempt to keep or to ask this anchor succeeded.", "anchor")
	descRegistry   = describe("registry_version", "Changes of the registry since its genesis.")
	descFrozen     = describe("log_frozen", "1 if the log's registrars froze it: it takes nothing new, for good.")
)

// Describe implements prometheus.Collector.
func (c state) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c state) Collect(ch chan<- prometheus.Metric) {
	s := c.s
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { send(d, prometheus.GaugeValue, v, labels...) }
	counter := func(d *prometheus.Desc, v uint64) { send(d, prometheus.CounterValue, float64(v)) }
	truth := func(is bool) float64 {
		if is {
			return 1
		}
		return 0
	}
	st := s.log.Stats()
	gauge(descSize, float64(st.Size))
	counter(descLeaves, st.Leaves)
	counter(descRepeats, st.Repeats)
	counter(descBusy, st.Busy)
	gauge(descQueueItems, float64(st.QueueItems))
	gauge(descQueueBytes, float64(st.QueueBytes))
	gauge(descHeld, float64(s.held.Load()+s.changes.Load()))
	gauge(descSegments, float64(st.Segments))
	gauge(descPublished, float64(st.OnDisk))
	gauge(descSigned, float64(s.metrics.lastGroup.Load())/1000)
	gauge(descUnabsorbed, float64(st.Unabsorbed))
	counter(descScrubbed, st.Scrubbed)
	gauge(descDamage, truth(st.Damage != ""))
	gauge(descStopped, truth(s.log.Err() != nil))
	registry := s.registry.durable(st.Size)
	gauge(descRegistry, float64(registry.Version()))
	gauge(descFrozen, truth(registry.ended() != nil))
	if s.index != nil {
		if size, _, err := s.index.Covered(); err == nil {
			gauge(descIndexed, float64(size))
		}
	}
	now := s.Protection()
	for _, word := range []string{"none", "asked", "anchored", "degraded"} {
		gauge(descProtection, truth(word == now), word)
	}
	for _, a := range s.anchors {
		gauge(descAnchor, truth(a.current.Load()), a.path)
	}
	for _, w := range s.witnesses {
		gauge(descAnchor, truth(w.anchor.current.Load()), w.anchor.path)
	}
}
