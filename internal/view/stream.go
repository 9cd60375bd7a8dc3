package view

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// JSON prints one JSON object per line: the machine-readable user interface, version 1.2. Readers must ignore types of
// lines that they do not know. The methods of JSON may be called concurrently.
type JSON struct {
	o Options

	mu     sync.Mutex
	ops    running
	shown  map[string]bool // the diagnostics that were printed
	behind bool            // the operations belong to tests: the view prints no lines about them
	out    jsontext.Writer
}

const streamVersion = "1.2"

// streamLine is a line of -json. The comment at a member names the types of lines that have the member. A member
// without a comment is in every line, except listMembers, which only lines about searches have.
type streamLine struct {
	Level      string              `json:"@level"`
	Message    string              `json:"@message"`
	Module     string              `json:"@module"`
	Timestamp  string              `json:"@timestamp"`
	Invocation *actionview.Planned `json:"invocation,omitempty"` // planned_action_invocation
	Change     *streamChange       `json:"change,omitempty"`     // resource_drift, planned_change
	Changes    *changeCounts       `json:"changes,omitempty"`    // change_summary
	Diagnostic *jsondoc.Diagnostic `json:"diagnostic,omitempty"` // diagnostic
	Hook       any                 `json:"hook,omitempty"`       // operations and provisioners (hook), actions (actionview.Hook)
	Leases     *leaseCounts        `json:"leases,omitempty"`     // ephemeral_summary
	listMembers
	MessageCode string       `json:"message_code,omitempty"` // init_output
	Outputs     any          `json:"outputs,omitempty"`      // outputs: streamOutput or outputDocument by name
	Retries     int          `json:"retries,omitempty"`      // retry_summary
	Round       *roundCounts `json:"round,omitempty"`        // round_start, round_complete
	Terraform   string       `json:"terraform,omitempty"`    // version
	Tofu        string       `json:"tofu,omitempty"`         // version, under the name of OpenTofu
	Type        string       `json:"type"`
	UI          string       `json:"ui,omitempty"` // version
}

// streamChange is a change that is planned or that was made outside of the program.
type streamChange struct {
	Resource  streamResource     `json:"resource"`
	Previous  *streamResource    `json:"previous_resource,omitempty"`
	Action    string             `json:"action"`
	Reason    string             `json:"reason,omitempty"`
	Importing *importingDocument `json:"importing,omitempty"`
	Generated string             `json:"generated_config,omitempty"`
}

// streamResource has the address of an object and the parts of the address.
type streamResource struct {
	Address    string      `json:"addr"`
	Module     string      `json:"module"`
	Resource   string      `json:"resource"`
	Implied    string      `json:"implied_provider"`
	Type       string      `json:"resource_type"`
	Name       string      `json:"resource_name"`
	Key        instanceKey `json:"resource_key"`
	KeyUnknown bool        `json:"resource_key_unknown,omitempty"` // present only for a deferred change
}

// hook is the member "hook" of a line: an event about an object.
type hook struct {
	Resource    streamResource `json:"resource"`
	Action      string         `json:"action,omitempty"`
	IDKey       string         `json:"id_key,omitempty"`
	ID          string         `json:"id_value,omitempty"`
	Provisioner string         `json:"provisioner,omitempty"`
	Output      *string        `json:"output,omitempty"`
	Elapsed     *int64         `json:"elapsed_seconds,omitempty"`
	Reason      string         `json:"reason,omitempty"`

	Call     string          `json:"call,omitempty"`
	Match    string          `json:"match,omitempty"`
	Attempt  int             `json:"attempt,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Pause    json.RawMessage `json:"pause_seconds,omitempty"` // the pause before the attempt in seconds, with three decimals
}

type leaseCounts struct {
	Opened  int             `json:"opened"`
	Renewed int             `json:"renewed"`
	Closed  int             `json:"closed"`
	Kept    int             `json:"kept_open,omitempty"` // leases that stay open for the next round
	Left    int             `json:"left_open"`
	Longest json.RawMessage `json:"longest_seconds"` // the longest time in seconds that a lease was open, with three decimals
}

type roundCounts struct {
	Number int `json:"number"`
	Left   int `json:"left"`
}

type streamOutput struct {
	Sensitive bool   `json:"sensitive"`
	Action    string `json:"action"`
}

// NewJSON makes the view and prints its first line, with the versions of the program and of the format.
func NewJSON(stdout io.Writer, version string, o Options) *JSON {
	j := &JSON{o: o, shown: map[string]bool{}}
	j.out = jsontext.Writer{W: stdout, Compact: true, Quote: jsondoc.AppendString, Scrub: o.Scrub}
	j.ops.now, j.ops.tick = o.now, j.beat
	j.line("version", o.product()+" "+version, j.o.versionLine(version))
	return j
}

// versionLine returns the members of the first line. If the program runs as OpenTofu, the version has OpenTofu's name.
func (o Options) versionLine(version string) streamLine {
	if o.isOpenTofu() {
		return streamLine{Tofu: version, UI: streamVersion}
	}
	return streamLine{Terraform: version, UI: streamVersion}
}

// line prints a line.
func (j *JSON) line(typ, message string, l streamLine) {
	if l.Level == "" {
		l.Level = "info"
	}
	l.Type, l.Message, l.Module = j.o.lineType(typ), message, j.o.StreamModule()
	l.Timestamp = j.o.now().UTC().Format(StreamTime)
	j.write(l)
}

// Write prints a line whose type is not streamLine.
func (j *JSON) Write(line any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.write(line)
}

func (j *JSON) write(line any) {
	j.out.Value(line)
	j.out.Buf = append(j.out.Buf, '\n')
	j.out.Flush() // ignore a failed write: the program that reads the lines may have ended
}

// StreamTime is the form of times in lines of -json.
const StreamTime = "2006-01-02T15:04:05.000000Z07:00"

// StreamModule returns the value of "@module" in each line of -json. The value for OpenTofu differs.
func (o Options) StreamModule() string {
	if o.isOpenTofu() {
		return "tofu.ui"
	}
	return "terraform.ui"
}

func (o Options) isOpenTofu() bool { return o.product() == "OpenTofu" }

// lineType returns the type of a line of -json. If the program runs as OpenTofu, lines about operations on ephemeral
// resources have OpenTofu's types. All other lines have Terraform's types.
func (o Options) lineType(typ string) string {
	rest, ok := strings.CutPrefix(typ, "ephemeral_op_")
	if !ok || !o.isOpenTofu() {
		return typ
	}
	if rest == "start" {
		rest = "started"
	}
	return "ephemeral_action_" + rest
}

func (j *JSON) log(message string) { j.line("log", message, streamLine{}) }

// Send prints an event.
func (j *JSON) Send(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ops.follow(e)
	switch e := e.(type) {
	case event.Started:
		j.started(e)
	case event.Done:
		j.done(e)
	case event.Failed:
		j.failed(e)
	case event.Retried:
		pause := json.RawMessage(fmt.Sprintf("%.3f", e.Pause.Seconds()))
		j.hook(e.Object, retryText(e), "retry", hook{Call: string(e.Call), Match: j.o.message(e.Match), Attempt: e.Attempt, Attempts: e.Attempts, Pause: pause})
	case event.Pending:
		if e.Object.Mode == addr.Ephemeral {
			j.hook(e.Object, "Configuration unknown, deferring...", "ephemeral_op_deferred", hook{Action: "open"})
		}
	case event.Stored:
		j.log(e.Object.String() + ": Using stored result")
	case event.ProvisionStarted:
		j.hook(e.Object, fmt.Sprintf("Provisioning with '%s'...", e.Type), "provision_start", hook{Provisioner: e.Type})
	case event.ProvisionOutput:
		j.hook(e.Object, fmt.Sprintf("(%s): %s", e.Type, e.Line), "provision_progress", hook{Provisioner: e.Type, Output: &e.Line})
	case event.ActionStarted:
		j.action("action_start", "Action started", e.Invocation, actionview.Hook{})
	case event.ActionProgress:
		j.action("action_progress", "Action progress - "+e.Message, e.Invocation, actionview.Hook{Message: e.Message})
	case event.ActionDone:
		if e.Failed {
			j.action("action_errored", strings.TrimSuffix("Action errored - "+j.o.message(e.Error), " - "), e.Invocation, actionview.Hook{Error: j.o.message(e.Error)})
		} else {
			j.action("action_complete", "Action complete", e.Invocation, actionview.Hook{})
		}
	case event.ProvisionDone:
		j.provisioned(e)
	case event.Summary:
		if e.Failed { // print no change_summary: it would tell programs that the apply was successful
			j.log(strings.TrimSpace(summaryText(e) + " " + notStartedText(e)))
			return
		}
		j.summary(summaryText(e), changeCounts{e.Added, e.Changed, e.Imported, e.Destroyed, e.Forgotten, e.Invoked, e.Operation})
	case event.Leases:
		j.leases(e)
	case event.Round:
		j.round(e)
	case event.ListStarted:
		j.listStarted(e)
	case event.ListFound:
		j.listFound(e)
	case event.ListDone:
		j.listDone(e)
	case event.Diagnosed:
		j.diagnostic(e.Diagnostic)
	case event.Behind:
		j.behind = true
	case event.Interrupted:
		j.interrupted(e.Times)
	case event.Note:
		if e.Kind != "" {
			j.line(e.Kind, strings.TrimSpace(e.Text), streamLine{})
			return
		}
		j.note(strings.TrimSpace(cmp.Or(e.Record, e.Text)), e.Code)
	}
}

func (j *JSON) listStarted(e event.ListStarted) {
	j.line("list_start", e.List.String()+": Starting query...", streamLine{listMembers: listMembers{ListStart: &listStart{e.List.String(), e.List.Type, e.Config}}})
}

func (j *JSON) listFound(e event.ListFound) {
	j.line("list_resource_found", e.List.String()+": Result found", streamLine{listMembers: listMembers{ListFound: &listFound{
		e.List.String(), e.Name, e.Identity, e.IdentityVersion, e.List.Type, e.Object, e.Config, e.Import, e.Managed,
	}}})
}

func (j *JSON) listDone(e event.ListDone) {
	j.line("list_complete", e.List.String()+": List complete", streamLine{listMembers: listMembers{ListComplete: &listComplete{
		e.List.String(), e.List.Type, e.Total, e.Managed, e.Unsure, e.Ignored,
	}}})
}

// note prints a line of progress. Without a code, it prints a log line.
func (j *JSON) note(text, code string) {
	if code == "" {
		j.log(text)
		return
	}
	j.line("init_output", text, streamLine{MessageCode: code})
}

// hook prints an event about an object.
func (j *JSON) hook(o addr.Object, text, typ string, h hook) {
	h.Resource = resourceOf(o.Instance)
	j.line(typ, o.String()+": "+text, streamLine{Hook: &h})
}

func resourceOf(i addr.Instance) streamResource {
	implied, _, _ := strings.Cut(i.Type, "_")
	return streamResource{i.String(), i.Module.String(), i.Local(), implied, i.Type, i.Name, instanceKey(i.Key), false}
}

// streamWords returns the words for an operation in lines of -json. In these lines, reading a data source is a refresh.
func streamWords(o event.Op) words {
	w := vocabulary[o]
	if o == event.ReadData {
		w.begins, w.ends, w.still, w.fails = "Refreshing...", "Refresh complete", "refreshing", "Refresh errored"
	}
	return w
}

// identified returns the end of a message, such as " [id=i-1]", and sets the same name and value in h. Without a value,
// it returns "" and does not change h.
func identified(key, value string, h *hook) string {
	if value == "" {
		return ""
	}
	h.IDKey, h.ID = cmp.Or(key, "id"), value
	return fmt.Sprintf(" [%s=%s]", h.IDKey, value)
}

func elapsed(d time.Duration) *int64 { return new(int64(d / time.Second)) }

func (j *JSON) started(e event.Started) {
	w := streamWords(e.Op)
	if w.kind == "" {
		return
	}
	var h hook
	if e.Op != event.Refresh {
		h.Action = w.action
	}
	text := w.begins + identified(e.IDKey, e.ID, &h)
	j.hook(e.Object, text, w.kind+"_start", h)
}

func (j *JSON) done(e event.Done) {
	w := streamWords(e.Op)
	if w.kind == "" {
		return
	}
	if e.Op == event.Delete {
		e.ID = ""
	}
	var h hook
	text := w.ends
	if e.Op != event.Refresh {
		text += " after " + seconds(e.Took)
		h.Action, h.Elapsed = w.action, elapsed(e.Took)
	}
	text += identified(e.IDKey, e.ID, &h)
	j.hook(e.Object, text, w.kind+"_complete", h)
}

func (j *JSON) failed(e event.Failed) {
	w := streamWords(e.Op)
	if w.kind == "" || e.Op == event.Refresh || e.Eased {
		return
	}
	j.hook(e.Object, w.fails+" after "+seconds(e.Took), w.kind+"_errored", hook{Action: w.action, Elapsed: elapsed(e.Took), Reason: j.o.message(e.Reason)})
}

// beat reports operations that take long.
func (j *JSON) beat(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, op := range j.ops.due(now) {
		if w := streamWords(op.op); w.kind != "" && !j.behind {
			j.hook(op.object, fmt.Sprintf("Still %s... [%s elapsed]", w.still, seconds(op.heard)), w.kind+"_progress", hook{Action: w.action, Elapsed: elapsed(op.heard)})
		}
	}
}

func (j *JSON) provisioned(e event.ProvisionDone) {
	text, typ := "Provisioning complete", "provision_complete"
	if e.Failed {
		text, typ = "Provisioning errored", "provision_errored"
	}
	j.hook(e.Object, fmt.Sprintf("(%s) %s", e.Type, text), typ, hook{Provisioner: e.Type})
}

func (j *JSON) summary(text string, n changeCounts) {
	j.line("change_summary", text, streamLine{Changes: &n})
}

func (j *JSON) leases(e event.Leases) {
	longest := json.RawMessage(fmt.Sprintf("%.3f", e.Longest.Seconds()))
	j.line("ephemeral_summary", leasesText(e), streamLine{Leases: &leaseCounts{e.Opened, e.Renewed, e.Closed, e.Kept, e.Left, longest}})
}

func (j *JSON) round(e event.Round) {
	typ := "round_start"
	if e.Ended {
		typ = "round_complete"
	}
	j.line(typ, roundText(e), streamLine{Round: &roundCounts{e.Number, e.Left}})
}

func (j *JSON) interrupted(times int) { j.log(interruptText(times, j.o.product(), &j.ops)) }

// Plan prints drift, changes, invocations of actions, deferred changes, counts, and outputs. If the plan was shown when
// it was saved (PlanOptions.Earlier), Plan prints only the changes with an action.
func (j *JSON) Plan(p *plan.Plan, o PlanOptions) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range review.Ordered(p.Drift) {
		if !o.Earlier && (c.Action != plan.NoOp || review.Moved(c) && p.Mode == plan.RefreshOnly) {
			j.change("resource_drift", fmt.Sprintf("Drift detected (%s)", changeAction(c)), c)
		}
	}
	for _, c := range review.Ordered(p.Changes) {
		if review.Shown(c) && !(o.Earlier && c.Action == plan.NoOp) {
			j.change("planned_change", "Plan to "+changeAction(c), c)
		}
	}
	for _, i := range p.Invocations {
		if !o.Earlier {
			doc := actionview.Planned{Action: actionview.ActionOf(i.Action), Triggers: actionview.TriggersOf(i.Trigger, resourceOf(i.Trigger.Object.Instance))}
			j.line("planned_action_invocation", "planned action invocation: "+i.Action.String(), streamLine{Invocation: &doc})
		}
	}
	for _, c := range review.Ordered(p.Deferred) {
		if !o.Earlier {
			j.deferred(c)
		}
	}
	if o.Earlier {
		return
	}
	if p.Mode != plan.RefreshOnly || !p.Errored {
		n := count(p)
		j.summary("Plan: "+n.text(), n)
	}
	if len(p.Outputs) == 0 {
		return
	}
	j.outputs(len(p.Outputs), jsondoc.EachNamed(p.Outputs, func(o *plan.OutputChange) (string, streamOutput) {
		return o.Name, streamOutput{staysSensitive(p, o), strings.ReplaceAll(o.Action.String(), "-", "")}
	}))
}

// deferred prints a change that a later plan decides.
func (j *JSON) deferred(c *plan.Change) {
	doc := &streamChange{Resource: resourceOf(c.Object.Instance), Action: changeAction(c), Reason: c.Deferral.Reason}
	if c.Deferral.Pattern != "" {
		doc.Resource.Address, doc.Resource.KeyUnknown = c.Deferral.Pattern, true
	}
	j.line("deferred_change", c.Subject()+": "+DeferralText(c), streamLine{Change: doc})
}

func (j *JSON) change(typ, text string, c *plan.Change) {
	doc := &streamChange{
		Resource: resourceOf(c.Object.Instance), Action: changeAction(c), Reason: changeReason(c.Why),
		Importing: importing(c.Importing), Generated: c.Generated,
	}
	if review.Moved(c) {
		doc.Previous = new(resourceOf(c.Was.Instance))
	}
	j.line(typ, c.Object.String()+": "+text, streamLine{Change: doc})
}

// changeAction returns the name of an action in lines of -json.
func changeAction(c *plan.Change) string {
	switch {
	case c.Action.Replaces():
		return "replace"
	case c.Action == plan.Forget:
		return "remove"
	case c.Action == plan.NoOp && review.Moved(c):
		return "move"
	case c.Action == plan.NoOp && c.Importing != nil:
		return "import"
	case c.Action == plan.NoOp:
		return "noop"
	}
	return c.Action.String()
}

// changeReason returns the name of a reason in lines of -json.
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

// Outputs prints root outputs. A sensitive output has no value, and a type without names of attributes.
func (j *JSON) Outputs(outs map[string]state.Output) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.outputs(len(outs), jsondoc.Members(outs, func(o state.Output) outputDocument {
		doc := outputDocumentOf(o)
		if o.Sensitive {
			doc.Type, doc.Value = doc.Type.Nameless(), jsonValue{}
		}
		return doc
	}))
}

func (j *JSON) outputs(n int, document any) {
	j.line("outputs", fmt.Sprintf("Outputs: %d", n), streamLine{Outputs: document})
}

// Diagnostics prints the diagnostics that were not printed yet, one line each.
func (j *JSON) Diagnostics(ds []diag.Diagnostic) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, d := range ds {
		j.diagnostic(d)
	}
}

func (j *JSON) diagnostic(dg diag.Diagnostic) {
	key := dg.Severity.String() + dg.Error()
	if j.shown[key] || j.o.Silence.Hides(dg) {
		return
	}
	j.shown[key] = true
	level, title := "error", "Error: "
	if dg.Severity == diag.Warning {
		level, title = "warn", "Warning: "
	}
	j.line("diagnostic", title+j.o.named(dg).Summary, streamLine{Level: level, Diagnostic: new(jsondoc.DiagnosticOf(j.o.named(dg), j.o.Sources))})
}

// Finish stops the clock and prints the number of repeated calls.
func (j *JSON) Finish() {
	j.ops.stop()
	j.mu.Lock()
	defer j.mu.Unlock()
	if text, n := j.ops.retries.end(); n > 0 {
		j.line("retry_summary", text, streamLine{Retries: n})
	}
}

// action prints an event about an invocation.
func (j *JSON) action(typ, text string, of event.Invocation, doc actionview.Hook) {
	doc.Action, doc.Triggers = actionview.ActionOf(of.Action), actionview.TriggersOf(of.Trigger, resourceOf(of.Trigger.Object.Instance))
	j.line(typ, of.Action.String()+": "+text, streamLine{Hook: &doc})
}
