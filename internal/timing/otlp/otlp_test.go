package otlp

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/timing"
)

// collector is a fake OpenTelemetry collector that records the spans, the header and the path of requests. It replies
// with answer and status.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	spans  []span
	header http.Header
	path   string
	answer string
	status int
}

func newCollector(t *testing.T) *collector {
	c := &collector{answer: "{}", status: 200}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		var doc document
		if err := json.NewDecoder(body).Decode(&doc); err != nil {
			t.Error(err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.spans = append(c.spans, doc.Resources[0].Scopes[0].Spans...)
		c.header, c.path = r.Header, r.URL.Path
		w.WriteHeader(c.status)
		_, _ = io.WriteString(w, c.answer)
	}))
	t.Cleanup(c.Close)
	return c
}

func environment(list map[string]string) func(string) string {
	return func(name string) string { return list[name] }
}

func same(s string) string { return s }

func run(rows int) *timing.Run {
	r := &timing.Run{Command: "apply", Began: time.Now(), Took: time.Second, Phases: []timing.Span{{Name: "apply", Ended: time.Second}}}
	for range rows {
		r.Rows = append(r.Rows, timing.Row{Name: "test_thing.canary-77", Walk: "apply", Ended: time.Millisecond, Failed: true, Spans: []timing.Span{
			{Kind: timing.Call, Name: "create", Ended: time.Millisecond}, {Kind: timing.Limit, Name: "-parallelism"}, {Kind: timing.Configure, Name: "p"},
		}})
	}
	r.Leases = []timing.Window{{Name: "ephemeral.test.l", Ended: time.Second, Renewed: []time.Duration{1}}}
	r.Starts = []timing.Span{{Name: "p"}}
	return r
}

// All spans of a run arrive at the collector, in several requests. They have the spans of their objects as parents, and
// contain no secrets.
func TestSend(t *testing.T) {
	c := newCollector(t)
	s, err := Read(environment(map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "api-key=a%20b, other=x", "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip",
		"OTEL_SERVICE_NAME": "mine", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other,team=a", "OTEL_EXPORTER_OTLP_TIMEOUT": "60000",
	}), same)
	if err != nil {
		t.Fatal(err)
	}
	trace, ok := NewTrace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if !ok {
		t.Fatal("not sampled")
	}
	scrub := func(text string) string { return strings.ReplaceAll(text, "canary-77", "hidden") }
	if err := Send(context.Background(), s, trace, run(1000), About{Product: "Lethe", Version: "1", Scrub: scrub}); err != nil {
		t.Fatal(err)
	}
	if n := len(c.spans); n != 1+1+1000*4+1+1 || c.path != "/base/v1/traces" || c.header.Get("Api-Key") != "a b" || c.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d spans at %s: %v", n, c.path, c.header)
	}
	ids := map[string]bool{"b7ad6b7169203331": true}
	for _, s := range c.spans {
		if s.Trace != trace.ID || !ids[s.Parent] || ids[s.ID] || strings.Contains(s.Name, "canary") {
			t.Fatalf("%+v", s)
		}
		ids[s.ID] = true
	}
	if s.Attributes[len(s.Attributes)-1] != [2]string{"service.name", "mine"} || len(s.Attributes) != 2 {
		t.Errorf("attributes %v", s.Attributes)
	}
}

// Send returns an error after a short time if the collector refuses, is absent or does not answer.
func TestRefused(t *testing.T) {
	c := newCollector(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, of := range map[string]struct {
		url, answer string
		status      int
		want        string
	}{
		"rejected": {c.URL, `{"partialSuccess":{"rejectedSpans":"7"}}`, 200, "rejected 7 spans"},
		"refused":  {c.URL, "", 401, "answered 401"},
		"silent":   {"http://" + silent.Addr().String(), "", 200, "did not answer within 50ms"},
		"absent":   {"http://127.0.0.1:1", "", 200, "refused"},
	} {
		c.answer, c.status = of.answer, of.status
		timeout := "60000"
		if name == "silent" {
			timeout = "50"
		}
		s, err := Read(environment(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": of.url + "/t", "OTEL_EXPORTER_OTLP_TIMEOUT": timeout}), same)
		if err != nil {
			t.Fatal(err)
		}
		trace, _ := NewTrace("")
		if err := Send(context.Background(), s, trace, run(1), About{}); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A setting that Read does not support is an error, which names the variable and contains no token.
func TestSettings(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf", "OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318",
		"OTEL_EXPORTER_OTLP_TIMEOUT": "soon", "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd", "OTEL_EXPORTER_OTLP_HEADERS": "token-canary", "OTEL_RESOURCE_ATTRIBUTES": "x",
		"OTEL_EXPORTER_OTLP_CERTIFICATE": "missing.pem", "OTEL_EXPORTER_OTLP_CLIENT_KEY": "key.pem", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_PROPAGATORS": "b3",
	} {
		if _, err := Read(environment(map[string]string{name: value}), same); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "token-canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, timeout := range []string{"0", "-1", "9223372036854775807"} {
		if _, err := Read(environment(map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": timeout}), same); err == nil {
			t.Errorf("the timeout %s is accepted", timeout)
		}
	}
	for value, want := range map[string]bool{"": false, "none": false, "console": false, "otlp": true, "console, otlp": true} {
		if got := Enabled(environment(map[string]string{"OTEL_TRACES_EXPORTER": value})); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
	if Enabled(environment(map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"})) {
		t.Error("enabled although the SDK is disabled")
	}
	s, err := Read(environment(map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "a=secret", "OTEL_EXPORTER_OTLP_ENDPOINT": "https://me:pass@example.com"}), same)
	if err != nil || len(s.Secrets()) != 2 || strings.Contains(s.Collector(), "pass@") {
		t.Errorf("%v, %v", s, err)
	}
	s, err = Read(environment(map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://canary@example.com:1/canary?key=canary#canary"}), same)
	if err != nil || s.Collector() != "https://example.com:1" {
		t.Errorf("%s, %v", s.Collector(), err)
	}
}

// NewTrace joins the trace of TRACEPARENT only if the header is well-formed, and reports whether the trace is sampled.
func TestTraceparent(t *testing.T) {
	const id, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]struct{ joined, sampled bool }{
		"": {false, true}, "00-" + id + "-" + parent + "-01": {true, true}, "00-" + id + "-" + parent + "-00": {true, false},
		"cc-" + id + "-" + parent + "-01-more": {true, true}, "00-" + id + "-" + parent + "-01-more": {false, true},
		"ff-" + id + "-" + parent + "-01": {false, true}, "00-" + strings.ToUpper(id) + "-" + parent + "-01": {false, true},
		"00-" + strings.Repeat("0", 32) + "-" + parent + "-01": {false, true}, "00-" + id + "-x-01": {false, true},
	} {
		trace, sampled := NewTrace(header)
		if (trace.ID == id) != want.joined || sampled != want.sampled || len(trace.ID) != 32 || len(trace.Span) != 16 || trace.Span == parent {
			t.Errorf("%q: %+v, %v", header, trace, sampled)
		}
	}
}
