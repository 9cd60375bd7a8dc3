package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// humanOutput runs f with a human view, and returns its text for standard output and standard error.
func humanOutput(o Options, f func(*Human)) (string, string) {
	var out, err bytes.Buffer
	if o.Now == nil {
		o.Now = newClock().now
	}
	h := NewHuman(&out, &err, o)
	f(h)
	h.Finish()
	return out.String(), err.String()
}

func TestHumanLines(t *testing.T) {
	a := object(t, "module.m[\"k\"].terraform_data.a[0]")
	deposed := object(t, "a.b")
	deposed.Deposed = "0a1b2c3d"
	data := object(t, "data.a.b")
	lease := object(t, "ephemeral.a.b")
	out, errOut := humanOutput(Options{}, func(h *Human) {
		for _, e := range []event.Event{
			event.Started{Object: a, Op: event.Refresh, IDKey: "id", ID: "x"},
			event.Done{Object: a, Op: event.Refresh, IDKey: "id", ID: "x"},
			event.Started{Object: a, Op: event.Import, ID: "i-1"},
			event.Done{Object: a, Op: event.Import, ID: "i-1"},
			event.Imported{Object: a, ID: "i-1"},
			event.Started{Object: data, Op: event.ReadData},
			event.Done{Object: data, Op: event.ReadData, IDKey: "id", ID: "static"},
			event.Stored{Object: data},
			event.Pending{Object: data},
			event.Started{Object: a, Op: event.Create},
			event.ProvisionStarted{Object: a, Type: "local-exec"},
			event.ProvisionOutput{Object: a, Type: "local-exec", Line: "hello\x1b[2J"},
			event.ProvisionDone{Object: a, Type: "local-exec"},
			event.Done{Object: a, Op: event.Create, IDKey: "id", ID: "x", Took: 3*time.Second + 900*time.Millisecond},
			event.Started{Object: a, Op: event.Update, IDKey: "id", ID: "x"},
			event.Done{Object: a, Op: event.Update, IDKey: "id", ID: "x", Took: 70 * time.Second},
			event.Started{Object: deposed, Op: event.Delete, IDKey: "name", ID: "n"},
			event.Failed{Object: deposed, Op: event.Delete},
			event.Started{Object: a, Op: event.Delete, IDKey: "id", ID: "x"},
			event.Done{Object: a, Op: event.Delete, IDKey: "id", ID: "x"},
			event.Done{Object: a, Op: event.Forget},
			event.Pending{Object: lease, Reason: "Configuration unknown"},
			event.Started{Object: lease, Op: event.Open},
			event.Done{Object: lease, Op: event.Open},
			event.Started{Object: lease, Op: event.Renew},
			event.Done{Object: lease, Op: event.Renew},
			event.Failed{Object: lease, Op: event.Renew, Took: 7 * time.Second, Reason: "Denied: no"},
			event.Started{Object: lease, Op: event.Close},
			event.Done{Object: lease, Op: event.Close},
			event.Note{Text: "Acquiring state lock."},
			event.Leases{Opened: 1, Renewed: 1, Closed: 1, Longest: 2130 * time.Millisecond},
			event.Summary{Operation: "apply", Added: 1, Changed: 2, Destroyed: 3},
			event.Interrupted{Times: 1},
			event.Interrupted{Times: 2},
		} {
			h.Send(e)
		}
	})
	want := `module.m["k"].terraform_data.a[0]: Refreshing state... [id=x]
module.m["k"].terraform_data.a[0]: Preparing import... [id=i-1]
module.m["k"].terraform_data.a[0]: Importing... [id=i-1]
module.m["k"].terraform_data.a[0]: Import complete [id=i-1]
data.a.b: Reading...
data.a.b: Read complete after 0s [id=static]
data.a.b: Using stored result
module.m["k"].terraform_data.a[0]: Creating...
module.m["k"].terraform_data.a[0]: Provisioning with 'local-exec'...
module.m["k"].terraform_data.a[0] (local-exec): hello\u{1b}[2J
module.m["k"].terraform_data.a[0]: Creation complete after 3s [id=x]
module.m["k"].terraform_data.a[0]: Modifying... [id=x]
module.m["k"].terraform_data.a[0]: Modifications complete after 1m10s [id=x]
a.b (deposed object 0a1b2c3d): Destroying... [name=n]
module.m["k"].terraform_data.a[0]: Destroying... [id=x]
module.m["k"].terraform_data.a[0]: Destruction complete after 0s
module.m["k"].terraform_data.a[0]: Removed from the state, not destroyed
ephemeral.a.b: Configuration unknown, deferring...
ephemeral.a.b: Opening...
ephemeral.a.b: Opening complete after 0s
ephemeral.a.b: Renewing...
ephemeral.a.b: Renewal complete after 0s
ephemeral.a.b: Renewal errored after 7s: Denied: no
ephemeral.a.b: Closing...
ephemeral.a.b: Closing complete after 0s
Acquiring state lock.

Apply complete! Resources: 1 added, 2 changed, 3 destroyed.
Leases: 1 opened, 1 renewed, 1 closed; longest held 2.1s.

Interrupt received.
Please wait for Lethe to exit or data loss may occur.
Gracefully shutting down...
No operation is in progress.
A second interrupt abandons operations in progress and ends within 3 seconds. A third ends at once.

`
	if out != want {
		t.Errorf("-want +got:\n%s", lineDiff(want, out))
	}
	if want := "\nTwo interrupts received. Exiting immediately. Note that data loss may have occurred.\nNo operation is in progress.\nCalls are abandoned after a second, then leases are closed. Lethe ends within 3 seconds. A third interrupt ends at once.\n\n"; errOut != want {
		t.Errorf("%q", errOut)
	}
}

func TestHumanConcise(t *testing.T) {
	a := object(t, "a.b")
	out, _ := humanOutput(Options{Concise: true}, func(h *Human) {
		h.Send(event.Started{Object: a, Op: event.Refresh})
		h.Send(event.Done{Object: a, Op: event.Refresh})
		h.Send(event.Started{Object: a, Op: event.Create})
	})
	if out != "a.b: Creating...\n" {
		t.Errorf("%q", out)
	}
}

func TestHumanHeartbeat(t *testing.T) {
	clock := newClock()
	a, b, lease := object(t, "a.a"), object(t, "a.b"), object(t, "ephemeral.a.b")
	out, _ := humanOutput(Options{Now: clock.now}, func(h *Human) {
		h.ops.stop() // stops the real clock, because the test sets the time
		h.Send(event.Started{Object: a, Op: event.Create, At: clock.now()})
		h.Send(event.Started{Object: b, Op: event.Refresh, At: clock.now()})
		clock.advance(5 * time.Second)
		h.Send(event.Started{Object: lease, Op: event.Open, At: clock.now()})
		for range 70 {
			clock.advance(time.Second)
			if clock.now().Sub(newClock().now()) == 32*time.Second {
				h.Send(event.Done{Object: lease, Op: event.Open})
			}
			h.beat(clock.now())
		}
	})
	want := `a.a: Creating...
a.b: Refreshing state...
ephemeral.a.b: Opening...
a.a: Still creating... [10s elapsed]
ephemeral.a.b: Still opening... [10s elapsed]
a.a: Still creating... [20s elapsed]
ephemeral.a.b: Still opening... [20s elapsed]
a.a: Still creating... [30s elapsed]
ephemeral.a.b: Opening complete after 0s
a.a: Still creating... [40s elapsed]
a.a: Still creating... [50s elapsed]
a.a: Still creating... [1m0s elapsed]
a.a: Still creating... [1m10s elapsed]
`
	if out != want {
		t.Errorf("-want +got:\n%s", lineDiff(want, out))
	}
}

func TestInterruptNamesWhatIsUnderWay(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	out, _ := humanOutput(Options{Now: func() time.Time { return at.Add(12 * time.Second) }}, func(h *Human) {
		h.ops.stop()
		h.Send(event.Started{Object: object(t, "a.a"), Op: event.Create, At: at})
		h.Send(event.Started{Object: object(t, "a.b"), Op: event.Refresh, At: at.Add(2 * time.Second)})
		h.Send(event.Done{Object: object(t, "ephemeral.a.b"), Op: event.Open})
		h.Send(event.Done{Object: object(t, "ephemeral.a.c"), Op: event.Open})
		h.Send(event.Done{Object: object(t, "ephemeral.a.c"), Op: event.Close})
		h.Send(event.Interrupted{Times: 1})
	})
	_, text, _ := strings.Cut(out, "shutting down...\n")
	want := `Under way:
  - a.a (creating, 12s)
  - a.b (refreshing, 10s)
  - ephemeral.a.b (open)
A second interrupt abandons operations in progress and ends within 3 seconds. A third ends at once.

`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
}

// planOf returns a plan with one change.
func planOf(t testing.TB) *plan.Plan {
	o := object(t, "a.b")
	v := mark.Plain(cty.ObjectVal(map[string]cty.Value{"id": cty.UnknownVal(cty.String)}))
	return &plan.Plan{Complete: true, Changes: []*plan.Change{{Object: o, Was: o, Action: plan.Create, Before: mark.Plain(cty.NullVal(cty.DynamicPseudoType)), After: v}}}
}

func TestWhatToDoNext(t *testing.T) {
	rule := "\n" + strings.Repeat("─", 77) + "\n\n"
	for name, c := range map[string]struct {
		o    Options
		po   PlanOptions
		fail bool
		want string
	}{
		"saved":        {po: PlanOptions{Saved: "tfplan"}, want: rule + "Saved the plan to: tfplan\n\nTo perform exactly these actions, run the following command to apply:\n    lethe apply \"tfplan\"\n"},
		"saved in CI":  {o: Options{Automation: true}, po: PlanOptions{Saved: "tfplan"}, want: ""},
		"not saved":    {want: rule + "Note: You didn't use the -out option to save this plan, so Lethe can't\nguarantee to take exactly these actions if you run \"lethe apply\" now.\n"},
		"in CI":        {o: Options{Automation: true}, want: ""},
		"applying":     {po: PlanOptions{Applying: true}, want: ""},
		"after errors": {fail: true, want: ""},
	} {
		out, _ := humanOutput(c.o, func(h *Human) {
			h.Plan(planOf(t), c.po)
			h.Diagnostics([]diag.Diagnostic{diag.Warningf("A warning", "comes before the hint")})
			if c.fail {
				h.Diagnostics([]diag.Diagnostic{diag.Errorf("An error", "")})
			}
		})
		_, end, ok := strings.Cut(out, "comes before the hint\n╵\n")
		if !ok || end != c.want {
			t.Errorf("%s: %q", name, out)
		}
	}
}

func TestHumanOutputs(t *testing.T) {
	out, _ := humanOutput(Options{}, func(h *Human) {
		h.Outputs(nil)
		h.Outputs(map[string]state.Output{
			"b": {Value: mark.Plain(cty.StringVal("x"))},
			"a": {Value: mark.Plain(cty.StringVal("secret")), Sensitive: true},
		})
	})
	if want := "\nOutputs:\n\na = <sensitive>\nb = \"x\"\n"; out != want {
		t.Errorf("%q", out)
	}
}

func TestProductName(t *testing.T) {
	p := planOf(t)
	var b strings.Builder
	PlanText(&b, p, nil, Options{Product: "OpenTofu"})
	if !strings.Contains(b.String(), "\nOpenTofu will perform the following actions:\n") {
		t.Error(b.String())
	}
}

// TestRunsUnderWay checks that an interrupt lists the open operations of all concurrent runs of a test, even if their
// objects have equal addresses.
func TestRunsUnderWay(t *testing.T) {
	a, l := object(t, "a.b"), object(t, "ephemeral.a.b")
	_, errOut := humanOutput(Options{}, func(h *Human) {
		tell := func(run string, e event.Event) { h.Send(event.Behind{Run: run, Event: e}) }
		for _, run := range []string{"one", "two"} {
			tell(run, event.Started{Object: l, Op: event.Open})
			tell(run, event.Done{Object: l, Op: event.Open})
			tell(run, event.Started{Object: a, Op: event.Create})
		}
		tell("two", event.Done{Object: a, Op: event.Create})
		tell("two", event.Done{Object: l, Op: event.Close})
		h.Send(event.Interrupted{Times: 2})
	})
	if want := "Under way:\n  - a.b (creating, 0s, run \"one\")\n  - ephemeral.a.b (open, run \"one\")\n"; !strings.Contains(errOut, want) {
		t.Error(errOut)
	}
}
