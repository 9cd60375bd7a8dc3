package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// clock is a clock that tests move.
type clock struct{ t time.Time }

func newClock() *clock { return &clock{time.Date(2026, 1, 2, 3, 4, 5, 678900000, time.UTC)} }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

func object(t testing.TB, s string) addr.Object {
	t.Helper()
	i, err := addr.ParseInstance(s)
	if err != nil {
		t.Fatal(err)
	}
	return i.Current()
}

// streamLines runs f with a JSON view. It returns the lines after the first one, without the members @module and
// @timestamp. If o.Now is nil, the time is that of a new clock.
func streamLines(t *testing.T, o Options, f func(*JSON)) []string {
	t.Helper()
	var b bytes.Buffer
	if o.Now == nil {
		o.Now = newClock().now
	}
	j := NewJSON(&b, "1.12.0", o)
	f(j)
	j.Finish()
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	for i, l := range lines {
		if !json.Valid([]byte(l)) {
			t.Errorf("not JSON: %s", l)
		}
		lines[i] = strings.Replace(l, `"@module":"terraform.ui","@timestamp":"2026-01-02T03:04:05.678900Z",`, "", 1)
	}
	return lines[1:]
}

// TestStreamHidesNamesInSensitiveOutputs checks that the type of a sensitive output has no names of attributes: they may
// come from the keys of a sensitive map.
func TestStreamHidesNamesInSensitiveOutputs(t *testing.T) {
	keyed := mark.Plain(cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"canary-key": cty.True})}))
	for sensitive, want := range map[bool]string{true: `"type":"dynamic"`, false: `["object",{"canary-key":"bool"}]`} {
		lines := streamLines(t, Options{}, func(j *JSON) { j.Outputs(map[string]state.Output{"o": {Value: keyed, Sensitive: sensitive}}) })
		text := strings.Join(lines, "")
		if !strings.Contains(text, want) || strings.Contains(text, "canary") == sensitive {
			t.Errorf("%s", text)
		}
	}
}

func TestStreamBegins(t *testing.T) {
	var b bytes.Buffer
	NewJSON(&b, "1.12.0", Options{Now: newClock().now})
	want := `{"@level":"info","@message":"Lethe 1.12.0","@module":"terraform.ui","@timestamp":"2026-01-02T03:04:05.678900Z","terraform":"1.12.0","type":"version","ui":"1.2"}` + "\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

// TestStreamEvents compares the lines with the lines of Terraform 1.11.4, if Terraform has such lines.
func TestStreamEvents(t *testing.T) {
	a := object(t, "terraform_data.a[0]")
	inner := object(t, `module.m["k"].terraform_data.inner`)
	data := object(t, "data.playground_null.n")
	lease := object(t, "ephemeral.playground_lease.l")
	const (
		resA     = `"resource":{"addr":"terraform_data.a[0]","module":"","resource":"terraform_data.a[0]","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"a","resource_key":0}`
		resInner = `"resource":{"addr":"module.m[\"k\"].terraform_data.inner","module":"module.m[\"k\"]","resource":"terraform_data.inner","implied_provider":"terraform","resource_type":"terraform_data","resource_name":"inner","resource_key":null}`
		resData  = `"resource":{"addr":"data.playground_null.n","module":"","resource":"data.playground_null.n","implied_provider":"playground","resource_type":"playground_null","resource_name":"n","resource_key":null}`
		resLease = `"resource":{"addr":"ephemeral.playground_lease.l","module":"","resource":"ephemeral.playground_lease.l","implied_provider":"playground","resource_type":"playground_lease","resource_name":"l","resource_key":null}`
	)
	for _, c := range []struct {
		e    event.Event
		want string
	}{
		{event.Started{Object: a, Op: event.Refresh, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Refreshing state... [id=x]","hook":{` + resA + `,"id_key":"id","id_value":"x"},"type":"refresh_start"}`},
		{event.Done{Object: a, Op: event.Refresh, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Refresh complete [id=x]","hook":{` + resA + `,"id_key":"id","id_value":"x"},"type":"refresh_complete"}`},
		{event.Started{Object: data, Op: event.ReadData}, `{"@level":"info","@message":"data.playground_null.n: Refreshing...","hook":{` + resData + `,"action":"read"},"type":"apply_start"}`},
		{event.Done{Object: data, Op: event.ReadData, IDKey: "id", ID: "static"}, `{"@level":"info","@message":"data.playground_null.n: Refresh complete after 0s [id=static]","hook":{` + resData + `,"action":"read","id_key":"id","id_value":"static","elapsed_seconds":0},"type":"apply_complete"}`},
		{event.Started{Object: inner, Op: event.Create}, `{"@level":"info","@message":"module.m[\"k\"].terraform_data.inner: Creating...","hook":{` + resInner + `,"action":"create"},"type":"apply_start"}`},
		{event.Done{Object: inner, Op: event.Create, IDKey: "id", ID: "i", Took: 11 * time.Second}, `{"@level":"info","@message":"module.m[\"k\"].terraform_data.inner: Creation complete after 11s [id=i]","hook":{` + resInner + `,"action":"create","id_key":"id","id_value":"i","elapsed_seconds":11},"type":"apply_complete"}`},
		{event.Failed{Object: a, Op: event.Create, Took: 3 * time.Second}, `{"@level":"info","@message":"terraform_data.a[0]: Creation errored after 3s","hook":{` + resA + `,"action":"create","elapsed_seconds":3},"type":"apply_errored"}`},
		{event.Started{Object: a, Op: event.Update, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Modifying... [id=x]","hook":{` + resA + `,"action":"update","id_key":"id","id_value":"x"},"type":"apply_start"}`},
		{event.Done{Object: a, Op: event.Update, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Modifications complete after 0s [id=x]","hook":{` + resA + `,"action":"update","id_key":"id","id_value":"x","elapsed_seconds":0},"type":"apply_complete"}`},
		{event.Started{Object: a, Op: event.Delete, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Destroying... [id=x]","hook":{` + resA + `,"action":"delete","id_key":"id","id_value":"x"},"type":"apply_start"}`},
		{event.Done{Object: a, Op: event.Delete, IDKey: "id", ID: "x"}, `{"@level":"info","@message":"terraform_data.a[0]: Destruction complete after 0s","hook":{` + resA + `,"action":"delete","elapsed_seconds":0},"type":"apply_complete"}`},
		{event.Started{Object: lease, Op: event.Open}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Opening...","hook":{` + resLease + `,"action":"open"},"type":"ephemeral_op_start"}`},
		{event.Done{Object: lease, Op: event.Open}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Opening complete after 0s","hook":{` + resLease + `,"action":"open","elapsed_seconds":0},"type":"ephemeral_op_complete"}`},
		{event.Done{Object: lease, Op: event.Renew, Took: 2 * time.Second}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Renewal complete after 2s","hook":{` + resLease + `,"action":"renew","elapsed_seconds":2},"type":"ephemeral_op_complete"}`},
		{event.Failed{Object: lease, Op: event.Renew, Took: 7 * time.Second, Reason: "Denied: no"}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Renewal errored after 7s","hook":{` + resLease + `,"action":"renew","elapsed_seconds":7,"reason":"Denied: no"},"type":"ephemeral_op_errored"}`},
		{event.Failed{Object: lease, Op: event.Close}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Closing errored after 0s","hook":{` + resLease + `,"action":"close","elapsed_seconds":0},"type":"ephemeral_op_errored"}`},
		{event.Pending{Object: lease, Reason: "Configuration unknown"}, `{"@level":"info","@message":"ephemeral.playground_lease.l: Configuration unknown, deferring...","hook":{` + resLease + `,"action":"open"},"type":"ephemeral_op_deferred"}`},
		{event.Pending{Object: data}, ``},
		{event.Stored{Object: data}, `{"@level":"info","@message":"data.playground_null.n: Using stored result","type":"log"}`},
		{event.ProvisionStarted{Object: a, Type: "local-exec"}, `{"@level":"info","@message":"terraform_data.a[0]: Provisioning with 'local-exec'...","hook":{` + resA + `,"provisioner":"local-exec"},"type":"provision_start"}`},
		{event.ProvisionOutput{Object: a, Type: "local-exec", Line: "hello"}, `{"@level":"info","@message":"terraform_data.a[0]: (local-exec): hello","hook":{` + resA + `,"provisioner":"local-exec","output":"hello"},"type":"provision_progress"}`},
		{event.ProvisionDone{Object: a, Type: "local-exec"}, `{"@level":"info","@message":"terraform_data.a[0]: (local-exec) Provisioning complete","hook":{` + resA + `,"provisioner":"local-exec"},"type":"provision_complete"}`},
		{event.ProvisionDone{Object: a, Type: "local-exec", Failed: true}, `{"@level":"info","@message":"terraform_data.a[0]: (local-exec) Provisioning errored","hook":{` + resA + `,"provisioner":"local-exec"},"type":"provision_errored"}`},
		{event.Summary{Operation: "apply", Added: 1, Changed: 2, Destroyed: 3, Imported: 4}, `{"@level":"info","@message":"Apply complete! Resources: 4 imported, 1 added, 2 changed, 3 destroyed.","changes":{"add":1,"change":2,"import":4,"remove":3,"operation":"apply"},"type":"change_summary"}`},
		{event.Summary{Operation: "destroy", Destroyed: 3, Forgotten: 1}, `{"@level":"info","@message":"Destroy complete! Resources: 3 destroyed, 1 forgotten.","changes":{"add":0,"change":0,"import":0,"remove":3,"forget":1,"operation":"destroy"},"type":"change_summary"}`},
		{event.Leases{Opened: 3, Renewed: 1, Closed: 2, Left: 1, Longest: 2100 * time.Millisecond}, `{"@level":"info","@message":"Leases: 3 opened, 1 renewed, 2 closed, 1 left open; longest held 2.1s.","leases":{"opened":3,"renewed":1,"closed":2,"left_open":1,"longest_seconds":2.100},"type":"ephemeral_summary"}`},
		{event.Note{Text: "Acquiring state lock. This may take a few moments..."}, `{"@level":"info","@message":"Acquiring state lock. This may take a few moments...","type":"log"}`},
		{event.Note{Kind: "state_lock_release", Text: "Releasing state lock. This may take a few moments..."}, `{"@level":"info","@message":"Releasing state lock. This may take a few moments...","type":"state_lock_release"}`},
		{event.Diagnosed{Diagnostic: diag.Warningf("A title", "A detail")}, `{"@level":"warn","@message":"Warning: A title","diagnostic":{"severity":"warning","summary":"A title","detail":"A detail"},"type":"diagnostic"}`},
	} {
		got := strings.Join(streamLines(t, Options{}, func(j *JSON) { j.Send(c.e) }), "\n")
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%#v: %s", c.e, diff)
		}
	}
}

func TestStreamHeartbeat(t *testing.T) {
	clock := newClock()
	a := object(t, "a.b")
	lines := streamLines(t, Options{Now: clock.now}, func(j *JSON) {
		j.Send(event.Started{Object: a, Op: event.Create, At: clock.now()})
		for range 25 {
			clock.advance(time.Second)
			j.beat(clock.now())
		}
	})
	if len(lines) != 3 || !strings.Contains(lines[1], "a.b: Still creating... [10s elapsed]") || !strings.Contains(lines[2], `"action":"create","elapsed_seconds":20}`) || !strings.Contains(lines[2], "apply_progress") {
		t.Error(lines)
	}
	lines = streamLines(t, Options{Now: clock.now}, func(j *JSON) {
		j.Send(event.Started{Object: object(t, "ephemeral.a.b"), Op: event.Close, At: clock.now()})
		clock.advance(11 * time.Second)
		j.beat(clock.now())
	})
	if len(lines) != 2 || !strings.Contains(lines[1], "ephemeral.a.b: Still closing... [10s elapsed]") || !strings.Contains(lines[1], `"action":"close","elapsed_seconds":10},"type":"ephemeral_op_progress"`) {
		t.Error(lines)
	}
}

func TestStreamPlan(t *testing.T) {
	null := mark.Plain(cty.NullVal(cty.DynamicPseudoType))
	change := func(address string, a plan.Action, why plan.Reason) *plan.Change {
		o := object(t, address)
		return &plan.Change{Object: o, Was: o, Action: a, Why: why}
	}
	was := change("a.new", plan.NoOp, "")
	was.Was = object(t, "a.old")
	imported := change("a.imported", plan.NoOp, "")
	imported.Importing = &plan.Importing{ID: "i"}
	p := &plan.Plan{
		Changes: []*plan.Change{
			change("a.made", plan.Create, ""), change("a.replaced", plan.CreateDelete, plan.ReplaceCannotUpdate), was, imported,
			change("a.gone", plan.Delete, plan.DeleteNoResource), change("a.forgotten", plan.Forget, ""), change("a.same", plan.NoOp, ""),
			change("data.a.read", plan.Read, plan.ReadConfigUnknown), change("data.a.dropped", plan.Delete, ""),
		},
		Drift: []*plan.Change{change("a.drifted", plan.Update, "")},
		Outputs: []*plan.OutputChange{
			{Name: "n", Action: plan.NoOp, Before: null, After: null},
			{Name: "o", Action: plan.Create, Before: null, After: mark.Plain(cty.StringVal("x")), Sensitive: true},
		},
	}
	lines := streamLines(t, Options{}, func(j *JSON) {
		j.Plan(p, PlanOptions{})
		j.Outputs(map[string]state.Output{"s": {Value: mark.Plain(cty.StringVal("secret")), Sensitive: true}, "v": {Value: mark.Plain(cty.NumberIntVal(1))}})
	})
	var got []string
	for _, l := range lines {
		var m struct {
			Message string `json:"@message"`
			Type    string
			Change  struct {
				Action, Reason string
				Previous       *struct{ Addr string } `json:"previous_resource"`
				Importing      *struct{ ID string }
			}
		}
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			t.Fatal(err)
		}
		s := m.Type + ": " + m.Message + " | " + m.Change.Action + " " + m.Change.Reason
		if m.Change.Previous != nil {
			s += " from " + m.Change.Previous.Addr
		}
		if m.Change.Importing != nil {
			s += " import " + m.Change.Importing.ID
		}
		got = append(got, s)
	}
	want := []string{
		"resource_drift: a.drifted: Drift detected (update) | update ",
		"planned_change: data.a.read: Plan to read | read read_because_config_unknown",
		"planned_change: a.forgotten: Plan to remove | remove ",
		"planned_change: a.gone: Plan to delete | delete delete_because_no_resource_config",
		"planned_change: a.imported: Plan to import | import  import i",
		"planned_change: a.made: Plan to create | create ",
		"planned_change: a.new: Plan to move | move  from a.old",
		"planned_change: a.replaced: Plan to replace | replace cannot_update",
		"change_summary: Plan: 1 to import, 2 to add, 0 to change, 2 to destroy, 1 to forget. |  ",
		"outputs: Outputs: 2 |  ",
		"outputs: Outputs: 2 |  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, `"outputs":{"s":{"sensitive":true,"type":"string"},"v":{"sensitive":false,"type":"number","value":1}}`) {
		t.Error(last)
	}
}

func TestStreamScrubs(t *testing.T) {
	scrub := func(s string) string { return strings.ReplaceAll(s, "canary", "(scrubbed)") }
	a := object(t, "a.b")
	for _, l := range streamLines(t, Options{Scrub: scrub}, func(j *JSON) {
		j.Send(event.ProvisionOutput{Object: a, Type: "local-exec", Line: "the canary sings"})
		j.Send(event.Note{Text: "canary"})
		j.Diagnostics([]diag.Diagnostic{diag.Errorf("canary", "canary")})
	}) {
		if strings.Contains(l, "canary") {
			t.Error(l)
		}
	}
	for _, l := range streamLines(t, Options{ScrubMessage: scrub}, func(j *JSON) {
		j.Send(event.ActionDone{Invocation: event.Invocation{Action: a.Instance}, Failed: true, Error: "canary"})
		j.Send(event.Failed{Object: a, Op: event.Renew, Reason: "canary"})
		j.Diagnostics([]diag.Diagnostic{diag.Errorf("canary", "canary")})
	}) {
		if strings.Contains(l, "canary") {
			t.Error(l)
		}
	}
}
