package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

const traced = `
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = ephemeral.playground_lease.l.token
}
resource "terraform_data" "b" {
  input = playground_secret.a.name
  provisioner "local-exec" {
    command = "echo seen: $TRACEPARENT"
  }
}
`

// TestTraces checks that an OpenTelemetry collector receives the spans of a command without secrets, as children of the
// span of the caller (TRACEPARENT). Provisioners receive the span of the command as TRACEPARENT.
func TestTraces(t *testing.T) {
	t.Parallel()
	const id, parent, token = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "header-canary-5b1c"
	var mu sync.Mutex
	var bodies, header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		bodies, header = bodies+string(body), r.Header.Get("Api-Key")
	}))
	defer server.Close()
	p := newProcess(t, traced, "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key="+token,
		"OTEL_EXPORTER_OTLP_TIMEOUT=60000", "TRACEPARENT=00-"+id+"-"+parent+"-01", "NO_PROXY=127.0.0.1")
	code, out := p.run("apply", "-auto-approve")
	if code != 0 || strings.Contains(out, "Traces not sent") || strings.Contains(out, token) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID, Name string }
			}
		}
	}
	if err := json.Unmarshal([]byte(bodies), &doc); err != nil || header != token {
		t.Fatalf("header %q, %v: %s", header, err, bodies)
	}
	names, command := map[string]bool{}, ""
	for _, s := range doc.ResourceSpans[0].ScopeSpans[0].Spans {
		names[s.Name] = true
		if s.TraceID != id {
			t.Errorf("span %s is in the trace %s", s.Name, s.TraceID)
		}
		if s.Name == "apply" && s.ParentSpanID == parent {
			command = s.SpanID
		}
	}
	for _, want := range []string{"apply", "plan", "lock and read the state", "playground_secret.a", "create", "local-exec", "lease ephemeral.playground_lease.l", "start provider", "configure provider"} {
		if !names[want] {
			t.Errorf("there is no span %q in %v", want, names)
		}
	}
	if command == "" || !strings.Contains(out, "seen: 00-"+id+"-"+command+"-01") {
		t.Errorf("the provisioner did not receive the span %q:\n%s", command, out)
	}
	if strings.Contains(bodies, canary) || strings.Contains(bodies, token) {
		t.Error("the spans contain a secret")
	}
	p.forgotten(out)
}

// TestTracesOfFailure checks that the span of a command that fails before its first call has the status of an error.
func TestTracesOfFailure(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		body = string(text)
	}))
	defer server.Close()
	for config, failed := range map[string]bool{"locals {\n  a = var.nothing\n}\n": true, "locals {}\n": false} {
		p := newProcess(t, config, "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=60000", "NO_PROXY=127.0.0.1")
		if _, out := p.run("plan"); strings.Contains(body, `"status":{"code":2}`) != failed {
			t.Errorf("%q: spans %s after\n%s", config, body, out)
		}
	}
}

// TestTracesUnsent checks that an absent collector causes one warning, and so do settings that are not supported.
// Without OTEL_TRACES_EXPORTER=otlp, the other variables have no effect.
func TestTracesUnsent(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "locals {}\n")
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "NO_PROXY=127.0.0.1"}, "refused"},
		{[]string{"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, "supports only http/json"},
		{[]string{"OTEL_TRACES_EXPORTER=otlp", "TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}, ""},
		{[]string{"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, ""},
		{[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"}, ""},
	} {
		q := *p
		q.env = append(append([]string{}, p.env...), c.env...)
		code, out := q.run("plan")
		warnings := strings.Count(out, "Traces not sent")
		if code != 0 || c.want == "" && warnings > 0 || c.want != "" && (warnings != 1 || !strings.Contains(out, c.want)) {
			t.Errorf("%v: exit code %d:\n%s", c.env, code, out)
		}
	}
}
