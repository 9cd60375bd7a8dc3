package run

import (
	"context"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/leases"
)

// A walk (a plan or an apply) that fails without any reported error gets an internal error that names the failed part.
// The error that prevented a session from opening is reported once.
func TestAccount(t *testing.T) {
	refused := diag.Errorf("Refused", "why")
	for name, c := range map[string]struct {
		failed      []string
		session     diag.Shared
		reported    []diag.Diagnostic
		interrupted bool
		want        string
	}{
		"nothing failed":              {},
		"a lost reason":               {failed: []string{"thing.b", "thing.a", "thing.a"}, want: "Internal error: thing.a, thing.b failed without a message"},
		"many lost reasons":           {failed: []string{"d", "c", "b", "a"}, want: "Internal error: a, b and 2 more failed without a message"},
		"an error":                    {failed: []string{"thing.a"}, reported: []diag.Diagnostic{refused}, want: "Refused: why"},
		"only a warning":              {failed: []string{"thing.a"}, reported: []diag.Diagnostic{diag.Warningf("Hm", "why")}, want: "Internal error: thing.a failed without a message"},
		"an interrupt":                {failed: []string{"thing.a"}, interrupted: true},
		"a session":                   {session: diag.Shared{refused}, failed: []string{"thing.a"}, want: "Refused: why"},
		"a session that was reported": {session: diag.Shared{refused}, reported: []diag.Diagnostic{diag.Warningf("Refused", "why")}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Run{Bag: &diag.Bag{}, Sessions: &Sessions{failures: c.session}, Leases: leases.New(leases.Options{}), Budget: newBudget(1, context.Background())}
			r.Budget.interrupted.Store(c.interrupted)
			r.Bag.Add(c.reported...)
			r.Account(c.failed...)
			got := ""
			for _, d := range r.Bag.List() {
				if d.Severity == diag.Error {
					got += d.Summary + ": " + d.Detail
				}
			}
			if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
