// Package collector sends the spans of runs to the receiver of the published OpenTelemetry collector.
package collector

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// programs builds Lethe and the playground provider once, and returns their directory. After a failed build it returns
// the directory and the error.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "collector")
	if err != nil {
		return "", err
	}
	if err := source.Build("../..", "./cmd/lethe", filepath.Join(dir, "lethe")); err != nil {
		return dir, err
	}
	return dir, source.Build("../providers", "./cmd/terraform-provider-playground", filepath.Join(dir, "terraform-provider-playground"))
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// receive starts a receiver until the end of the test. It returns the URL of the receiver and the sink of its spans.
func receive(t *testing.T) (string, *consumertest.TracesSink) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	settings := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"http": map[string]any{"endpoint": address}}})
	if err := settings.Unmarshal(config); err != nil {
		t.Fatal(err)
	}
	sink := new(consumertest.TracesSink)
	r, err := factory.CreateTraces(context.Background(), receivertest.NewNopSettings(factory.Type()), config, sink)
	if err == nil {
		err = r.Start(context.Background(), componenttest.NewNopHost())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return "http://" + address, sink
}

// caller and trace are the span and the trace that TRACEPARENT names. canary is a secret value of a variable.
const (
	caller = "b7ad6b7169203331"
	trace  = "0af7651916cd43dd8448eb211c80319c"
	canary = "canary-collector-41"
)

const config = `terraform {
  required_providers {
    playground = { source = "lethe/playground" }
  }
}
variable "token" {
  type      = string
  sensitive = true
}
ephemeral "playground_lease" "l" {
  name = "l"
}
resource "playground_secret" "a" {
  name      = "a"
  secret_wo = "${ephemeral.playground_lease.l.token}${var.token}"
}
resource "terraform_data" "bad" {
  input = playground_secret.a.name
  lifecycle {
    postcondition {
      condition     = self.output != "a"
      error_message = "This always fails."
    }
  }
}
`

// span has the parts of a span that the tests read.
type span struct {
	name, id, parent string
	failed           bool
	attributes       map[string]any
}

// spans returns the received spans. It fails the test if a span is outside the trace of the caller, has no start time,
// ends before it begins, or belongs to another service than lethe.
func spans(t *testing.T, list []ptrace.Traces) []span {
	t.Helper()
	var out []span
	for _, td := range list {
		for _, rs := range td.ResourceSpans().All() {
			if name, ok := rs.Resource().Attributes().Get("service.name"); !ok || name.Str() != "lethe" {
				t.Errorf("the resource has the attributes %v", rs.Resource().Attributes().AsRaw())
			}
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					if s.TraceID().String() != trace || s.EndTimestamp() < s.StartTimestamp() || s.StartTimestamp() == 0 {
						t.Errorf("span %q: trace %s, from %d to %d", s.Name(), s.TraceID(), s.StartTimestamp(), s.EndTimestamp())
					}
					out = append(out, span{s.Name(), s.SpanID().String(), s.ParentSpanID().String(), s.Status().Code() == ptrace.StatusCodeError, s.Attributes().AsRaw()})
				}
			}
		}
	}
	return out
}

// TestCollector checks that the receiver of a collector accepts the spans of a failed apply, plain and compressed: one
// tree below the span of the caller, with the failed object marked and without a secret.
func TestCollector(t *testing.T) {
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	for _, compression := range []string{"none", "gzip"} {
		t.Run(compression, func(t *testing.T) {
			url, sink := receive(t)
			dir := t.TempDir()
			rc := "provider_installation {\n  dev_overrides { \"registry.opentofu.org/lethe/playground\" = \"" + bin + "\" }\n}\n"
			for name, text := range map[string]string{"main.tf": config, ".rc": rc} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(filepath.Join(bin, "lethe"), "apply", "-auto-approve", "-no-color")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, ".rc"), "TF_VAR_token="+canary, "PLAYGROUND_LOG="+filepath.Join(dir, ".calls"),
				"PLAYGROUND_CLOUD="+t.TempDir(), "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_ENDPOINT="+url, "OTEL_EXPORTER_OTLP_COMPRESSION="+compression,
				"OTEL_EXPORTER_OTLP_TIMEOUT=60000", "OTEL_SERVICE_NAME=lethe", "OTEL_RESOURCE_ATTRIBUTES=", "TRACEPARENT=00-"+trace+"-"+caller+"-01", "NO_PROXY=127.0.0.1")
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "This always fails.") || strings.Contains(string(out), "Traces not sent") || strings.Contains(string(out), canary) {
				t.Fatalf("%v:\n%s", err, out)
			}
			got := spans(t, sink.AllTraces())
			ids, names := map[string]bool{caller: true}, map[string]int{}
			failed := false
			for _, s := range got {
				ids[s.id] = true
				names[s.name]++
				failed = failed || s.failed && s.name == "terraform_data.bad"
			}
			for _, s := range got {
				if !ids[s.parent] {
					t.Errorf("the parent of span %q is not in the trace", s.name)
				}
			}
			for _, want := range []string{"apply", "plan", "playground_secret.a", "create", "lease ephemeral.playground_lease.l", "start provider", "configure provider"} {
				if names[want] == 0 {
					t.Errorf("there is no span %q in %v", want, names)
				}
			}
			if !failed {
				t.Error("no span of the failed object has the status of an error")
			}
			text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(sink.AllTraces()[0])
			if err != nil || strings.Contains(string(text), canary) || strings.Contains(string(text), "secret-of-") {
				t.Errorf("a secret is in the spans (%v): %s", err, text)
			}
		})
	}
}
