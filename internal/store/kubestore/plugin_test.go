package kubestore

import (
	"context"
	"net/url"
	"testing"
	"time"
)

// TestPluginLeavesProcesses checks that a command does not wait for processes that a credentials plugin started and
// that hold its output open, neither after the plugin has ended nor after the context has ended.
func TestPluginLeavesProcesses(t *testing.T) {
	a := &access{server: &url.URL{Scheme: "https", Host: "cluster"}}
	answer := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"canary-4711"}}`
	p := &plugin{APIVersion: "client.authentication.k8s.io/v1", Command: "sh", Args: []string{"-c", "sleep 60 & printf '%s' '" + answer + "'"}}
	began := time.Now()
	if reply, err := p.run(t.Context(), a); err != nil || reply.Token != "canary-4711" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	p.Args[1] = "sleep 60; echo"
	if _, err := p.run(ctx, a); err == nil {
		t.Error("a program that was interrupted answered")
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
}
