package provider

import (
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

func TestRetry(t *testing.T) {
	r := &Retry{Match: []string{"Throttling", "try again"}, Attempts: 3, Backoff: 2 * time.Second}
	for _, c := range []struct {
		d    diag.Diagnostic
		want string
	}{
		{diag.Errorf("Throttling: Rate exceeded", ""), "Throttling"},
		{diag.Errorf("Error", "please try again later"), "try again"},
		{diag.Errorf("Error", "throttling"), ""},
		{diag.Warningf("Throttling", ""), ""},
	} {
		if got := r.Matched(Diags{diag.Errorf("Other", ""), c.d}); got != c.want {
			t.Errorf("%s: got %q", c.d.Error(), got)
		}
	}
	for n, want := range []time.Duration{0, 2, 4, 8, 16, 32, 60, 60} {
		want *= time.Second
		if got := r.Pause(n); n > 0 && (got < want || got > want+want/4) {
			t.Errorf("pause %d: got %s, want %s", n, got, want)
		}
	}
	if got := (&Retry{Backoff: 5 * time.Minute}).Pause(9); got < 5*time.Minute || got > 7*time.Minute {
		t.Errorf("got %s", got)
	}
	x := addr.Provider{Host: "registry.terraform.io", Namespace: "hashicorp", Type: "aws"}
	all := Retries{x.Canon(): r}
	if all.Of(x) != r || all.Of(addr.Provider{Host: "registry.opentofu.org", Namespace: "hashicorp", Type: "aws"}) != r || all.Of(addr.Builtin("lethe")) != nil {
		t.Error("the policy of a provider was not found")
	}
}
