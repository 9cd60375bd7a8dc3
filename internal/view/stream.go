package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// JSON prints one JSON object per line: the machine-readable user interface, version 1.2. Readers
// must be able to tolerate types that they do not know. It may be used from many goroutines.
type JSON struct {
	o       Options
	sources *sources

	mu    sync.Mutex
	ops   running
	shown map[string]bool
	doc   *doc
}

const (
	streamModule  = "terraform.ui" // as readers expect it
	streamVersion = "1.2"
)

// NewJSON makes the view and prints its first line, with the versions of program and format.
func NewJSON(stdout io.Writer, version string, o Options) *JSON {
	j := &JSON{o: o, sources: newSources(o.Sources), shown: map[string]bool{}, doc: newDoc(stdout)}
	j.doc.scrub = o.Scrub
	j.ops.now, j.ops.tick = o.now, j.beat
	j.line("info", o.product()+" "+version, "version", func(d *doc) {
		d.keyStr("terraform", version)
	}, func(d *doc) { d.keyStr("ui", streamVersion) })
	return j
}

// line prints one object. Its members stand in the order of their names, around "type".
func (j *JSON) line(level, message, typ string, before func(*doc), after ...func(*doc)) {
	d := j.doc
	d.object(func() {
		d.keyStr("@level", level)
		d.keyStr("@message", message)
		d.keyStr("@module", streamModule)
		d.keyStr("@timestamp", j.o.now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
		if before != nil {
			before(d)
		}
		d.keyStr("type", typ)
		for _, f := range after {
			f(d)
		}
	})
	_ = d.end() // nobody to tell that nobody listens
}

func (j *JSON) log(message string) { j.line("info", message, "log", nil) }

// Tell prints what happened.
func (j *JSON) Tell(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ops.follow(e)
	switch e.(type) {
	case event.Started, event.Done, event.ProvisionOutput:
		j.doc.later = true
		defer func() { j.doc.later = false }()
	}
	switch e := e.(type) {
	case event.Started:
		j.started(e)
	case event.Done:
		j.done(e)
	case event.Failed:
		j.failed(e)
	case event.Deferred:
		if e.Object.Mode == addr.Ephemeral {
			j.hook(e.Object, "Configuration unknown, deferring...", "ephemeral_op_deferred", func(d *doc) { d.keyStr("action", "open") })
		}
	case event.Stored:
		j.log(e.Object.String() + ": Using stored result")
	case event.ProvisionStarted:
		j.hook(e.Object, fmt.Sprintf("Provisioning with '%s'...", e.Type), "provision_start", func(d *doc) { d.keyStr("provisioner", e.Type) })
	case event.ProvisionOutput:
		j.hook(e.Object, fmt.Sprintf("(%s): %s", e.Type, e.Line), "provision_progress", func(d *doc) {
			d.keyStr("provisioner", e.Type)
			d.keyStr("output", e.Line)
		})
	case event.ProvisionDone:
		j.provisioned(e)
	case event.Summary:
		j.summary(summaryText(e), counts{e.Imported, e.Added, e.Changed, e.Destroyed, e.Forgotten}, e.Operation)
	case event.Leases:
		j.leases(e)
	case event.Diagnosed:
		j.diagnostic(e.Diagnostic)
	case event.Interrupted:
		j.interrupted(e.Times)
	case event.Note:
		j.note(strings.TrimSpace(e.Text), e.Code)
	}
}

// note prints a line of progress.
func (j *JSON) note(text, code string) {
	if code == "" {
		j.log(text)
		return
	}
	j.line("info", text, "init_output", func(d *doc) { d.keyStr("message_code", code) })
}

// hook prints an event about an object.
func (j *JSON) hook(o addr.Object, text, typ string, rest func(*doc)) {
	j.line("info", o.String()+": "+text, typ, func(d *doc) {
		d.Key("hook")
		d.object(func() {
			d.resource("resource", o.Instance)
			rest(d)
		})
	})
}

// resource writes what an object is called, in the form of the stream.
func (d *doc) resource(name string, i addr.Instance) {
	d.Key(name)
	d.object(func() {
		d.keyStr("addr", i.String())
		d.keyStr("module", i.Module.String())
		d.keyStr("resource", i.Local())
		implied, _, _ := strings.Cut(i.Type, "_")
		d.keyStr("implied_provider", implied)
		d.keyStr("resource_type", i.Type)
		d.keyStr("resource_name", i.Name)
		d.Key("resource_key")
		d.instanceKey(i.Key)
	})
}

// ephemeralOp reports whether an operation has types of its own in the stream.
func ephemeralOp(o event.Op) bool { return o == event.Open || o == event.Renew || o == event.Close }

// kindOf is the first part of the type of a line about an operation; "" if there are none.
func kindOf(o event.Op) string {
	switch {
	case ephemeralOp(o):
		return "ephemeral_op"
	case o == event.Refresh:
		return "refresh"
	case o == event.ReadData || o == event.Create || o == event.Update || o == event.Delete:
		return "apply"
	}
	return ""
}

// streamWords are the words of lines about an operation: here, reading data is refreshing.
func streamWords(o event.Op) words {
	w := vocabulary[o]
	if o == event.ReadData {
		w.begins, w.ends, w.still, w.fails = "Refreshing...", "Refresh complete", "refreshing", "Refresh errored"
	}
	return w
}

func (d *doc) identified(key, value string) {
	if value != "" {
		if key == "" {
			key = "id"
		}
		d.keyStr("id_key", key)
		d.keyStr("id_value", value)
	}
}

// rawIdent is ident for a line of JSON, which escapes by itself.
func rawIdent(key, value string) string {
	if value == "" {
		return ""
	}
	if key == "" {
		key = "id"
	}
	return fmt.Sprintf(" [%s=%s]", key, value)
}

func (j *JSON) started(e event.Started) {
	kind, w := kindOf(e.Op), streamWords(e.Op)
	if kind == "" {
		return
	}
	j.hook(e.Object, w.begins+rawIdent(e.IDKey, e.ID), kind+"_start", func(d *doc) {
		if e.Op != event.Refresh {
			d.keyStr("action", w.action)
		}
		d.identified(e.IDKey, e.ID)
	})
}

func (j *JSON) done(e event.Done) {
	kind, w := kindOf(e.Op), streamWords(e.Op)
	if kind == "" {
		return
	}
	if e.Op == event.Delete {
		e.ID = ""
	}
	text := w.ends
	if e.Op != event.Refresh {
		text += " after " + seconds(e.Took)
	}
	j.hook(e.Object, text+rawIdent(e.IDKey, e.ID), kind+"_complete", func(d *doc) {
		if e.Op != event.Refresh {
			d.keyStr("action", w.action)
		}
		d.identified(e.IDKey, e.ID)
		if e.Op != event.Refresh {
			d.KeyInt("elapsed_seconds", int64(e.Took/time.Second))
		}
	})
}

func (j *JSON) failed(e event.Failed) {
	kind, w := kindOf(e.Op), streamWords(e.Op)
	if kind == "" || kind == "refresh" {
		return
	}
	j.hook(e.Object, w.fails+" after "+seconds(e.Took), kind+"_errored", func(d *doc) {
		d.keyStr("action", w.action)
		d.KeyInt("elapsed_seconds", int64(e.Took/time.Second))
		if e.Reason != "" {
			d.keyStr("reason", e.Reason)
		}
	})
}

// beat says what takes long.
func (j *JSON) beat(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, op := range j.ops.due(now) {
		w := streamWords(op.op)
		if kind := kindOf(op.op); kind != "" {
			j.hook(op.object, fmt.Sprintf("Still %s... [%s elapsed]", w.still, seconds(op.heard)), kind+"_progress", func(d *doc) {
				d.keyStr("action", w.action)
				d.KeyInt("elapsed_seconds", int64(op.heard/time.Second))
			})
		}
	}
}

func (j *JSON) provisioned(e event.ProvisionDone) {
	text, typ := "Provisioning complete", "provision_complete"
	if e.Failed {
		text, typ = "Provisioning errored", "provision_errored"
	}
	j.hook(e.Object, fmt.Sprintf("(%s) %s", e.Type, text), typ, func(d *doc) { d.keyStr("provisioner", e.Type) })
}

func (j *JSON) summary(text string, n counts, operation string) {
	j.line("info", text, "change_summary", func(d *doc) {
		d.Key("changes")
		d.object(func() {
			d.KeyInt("add", int64(n.added))
			d.KeyInt("change", int64(n.changed))
			d.KeyInt("import", int64(n.imported))
			d.KeyInt("remove", int64(n.destroyed))
			if n.forgotten > 0 {
				d.KeyInt("forget", int64(n.forgotten))
			}
			d.keyStr("operation", operation)
		})
	})
}

func (j *JSON) leases(e event.Leases) {
	j.line("info", leasesText(e), "ephemeral_summary", func(d *doc) {
		d.Key("leases")
		d.object(func() {
			d.KeyInt("opened", int64(e.Opened))
			d.KeyInt("renewed", int64(e.Renewed))
			d.KeyInt("closed", int64(e.Closed))
			d.KeyInt("left_open", int64(e.Left))
			d.Key("longest_seconds")
			d.Word(fmt.Sprintf("%.3f", e.Longest.Seconds()))
		})
	})
}

func (j *JSON) interrupted(times int) { j.log(interruptText(times, j.o.product(), &j.ops)) }

// Plan prints drift, changes, their number, and outputs; of a plan that was saved the changes alone.
func (j *JSON) Plan(p *plan.Plan, o PlanOptions) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range ordered(p.Drift) {
		if !o.Earlier && (c.Action != plan.NoOp || moved(c) && p.Mode == plan.RefreshOnly) {
			j.change("resource_drift", fmt.Sprintf("Drift detected (%s)", changeAction(c)), c)
		}
	}
	for _, c := range ordered(p.Changes) {
		if shown(c) {
			j.change("planned_change", "Plan to "+changeAction(c), c)
		}
	}
	if o.Earlier {
		return
	}
	if p.Mode != plan.RefreshOnly || !p.Errored {
		n := count(p)
		j.summary("Plan: "+n.text(), n, "plan")
	}
	j.outputChanges(p.Outputs)
}

func (j *JSON) change(typ, text string, c *plan.Change) {
	j.line("info", c.Object.String()+": "+text, typ, func(d *doc) {
		d.Key("change")
		d.object(func() {
			d.resource("resource", c.Object.Instance)
			if moved(c) {
				d.resource("previous_resource", c.Was.Instance)
			}
			d.keyStr("action", changeAction(c))
			if why := changeReason(c.Why); why != "" {
				d.keyStr("reason", why)
			}
			if c.Importing != nil {
				d.Key("importing")
				d.object(func() { d.importing(c.Importing) })
			}
			if c.Generated != "" {
				d.keyStr("generated_config", c.Generated)
			}
		})
	})
}

// changeAction is an action in the words of the stream.
func changeAction(c *plan.Change) string {
	switch {
	case c.Action.Replaces():
		return "replace"
	case c.Action == plan.Forget:
		return "remove"
	case c.Action == plan.NoOp && moved(c):
		return "move"
	case c.Action == plan.NoOp && c.Importing != nil:
		return "import"
	case c.Action == plan.NoOp:
		return "noop"
	}
	return c.Action.String()
}

// changeReason is a reason in the words of the stream.
func changeReason(r plan.Reason) string {
	switch r {
	case plan.ReplaceTainted:
		return "tainted"
	case plan.ReplaceByRequest:
		return "requested"
	case plan.ReplaceByTriggers:
		return "replace_triggered_by"
	case plan.ReplaceCannotUpdate:
		return "cannot_update"
	}
	return string(r)
}

func (j *JSON) outputChanges(outs []*plan.OutputChange) {
	if len(outs) == 0 {
		return
	}
	j.line("info", fmt.Sprintf("Outputs: %d", len(outs)), "outputs", func(d *doc) {
		d.Key("outputs")
		d.object(func() {
			for _, o := range outs {
				d.Key(o.Name)
				d.object(func() {
					d.KeyBool("sensitive", o.Sensitive)
					d.keyStr("action", strings.ReplaceAll(o.Action.String(), "-", ""))
				})
			}
		})
	})
}

// Outputs prints root outputs; of sensitive ones the type only.
func (j *JSON) Outputs(outs map[string]state.Output) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.line("info", fmt.Sprintf("Outputs: %d", len(outs)), "outputs", func(d *doc) {
		d.Key("outputs")
		d.object(func() {
			for _, name := range slices.Sorted(maps.Keys(outs)) {
				d.Key(name)
				d.object(func() { d.output(outs[name]) })
			}
		})
	})
}

func (d *doc) output(o state.Output) {
	d.KeyBool("sensitive", o.Sensitive)
	ty := cty.DynamicPseudoType
	if o.Value.Raw != cty.NilVal {
		ty = o.Value.Raw.Type()
	}
	d.Key("type")
	d.typeOf(ty)
	if !o.Sensitive {
		d.Key("value")
		d.value(o.Value.Raw)
	}
}

// Diagnostics prints what was not printed yet, one line each.
func (j *JSON) Diagnostics(ds []diag.Diagnostic) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range ds {
		j.diagnostic(d)
	}
}

func (j *JSON) diagnostic(dg diag.Diagnostic) {
	key := dg.Severity.String() + dg.Error()
	if j.shown[key] {
		return
	}
	j.shown[key] = true
	level, title := "error", "Error: "
	if dg.Severity == diag.Warning {
		level, title = "warn", "Warning: "
	}
	j.line(level, title+dg.Summary, "diagnostic", func(d *doc) {
		d.Key("diagnostic")
		d.object(func() { d.diagnostic(dg, j.sources) })
	})
}

// Finish ends the view.
func (j *JSON) Finish() { j.ops.stop() }
