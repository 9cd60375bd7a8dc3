package testview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/suite"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/actionview"
	"github.com/lethe-iac/lethe/internal/view/jsondoc"
)

// JSON reports the progress and the results of test files as JSON, one object per line.
type JSON struct {
	O   Options
	Out *view.JSON
}

var _ suite.Reporter = (*JSON)(nil)

// line is a line of the output. Of the members whose names begin with test_, a line has only the member with the name
// of the line's type.
type line struct {
	Level      string         `json:"@level"`
	Message    string         `json:"@message"`
	Module     string         `json:"@module"`
	File       string         `json:"@testfile,omitempty"`
	Run        string         `json:"@testrun,omitempty"`
	Timestamp  string         `json:"@timestamp"`
	Diagnostic any            `json:"diagnostic,omitempty"`
	Abstract   any            `json:"test_abstract,omitempty"`
	Cleanup    *cleanup       `json:"test_cleanup,omitempty"`
	Kept       *kept          `json:"test_kept,omitempty"`
	OfFile     *ofFile        `json:"test_file,omitempty"`
	Plan       *planDocument  `json:"test_plan,omitempty"`
	OfRun      *ofRun         `json:"test_run,omitempty"`
	State      *stateDocument `json:"test_state,omitempty"`
	Summary    *summary       `json:"test_summary,omitempty"`
	Type       string         `json:"type"`
}

// planDocument is a plan in a line. It lacks the configuration and the planned values.
type planDocument struct {
	Format     string          `json:"format_version,omitempty"` // the name of the member in the complete document of a plan
	PlanFormat string          `json:"plan_format_version"`
	Outputs    json.RawMessage `json:"output_changes,omitempty"`
	Changes    json.RawMessage `json:"resource_changes,omitempty"`
	Drift      json.RawMessage `json:"resource_drift,omitempty"`
	Relevant   json.RawMessage `json:"relevant_attributes,omitempty"`
	schemas
}

// stateDocument is the state of a run in a line of -json.
type stateDocument struct {
	Format  string          `json:"state_format_version"`
	Root    json.RawMessage `json:"root_module,omitempty"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
	schemas
}

// schemas are the schemas of a run's providers, in the form of `providers schema -json`.
type schemas struct {
	SchemaFormat string          `json:"provider_format_version,omitempty"`
	Schemas      json.RawMessage `json:"provider_schemas,omitempty"`
}

// schemas returns the schemas of a run's providers.
func (j *JSON) schemas(r *suite.Run) (out schemas) {
	var b bytes.Buffer
	var doc struct {
		Format  string          `json:"format_version"`
		Schemas json.RawMessage `json:"provider_schemas"`
	}
	if jsondoc.WriteSchemas(&b, r.Needs(), j.O.Schemas, nil) == nil && json.Unmarshal(b.Bytes(), &doc) == nil {
		out = schemas{doc.Format, doc.Schemas}
	}
	return out
}

type ofFile struct {
	Path     string `json:"path"`
	Progress string `json:"progress"`
	Status   string `json:"status,omitempty"`
}

type ofRun struct {
	Path     string     `json:"path"`
	Run      string     `json:"run"`
	Progress string     `json:"progress"`
	Status   string     `json:"status,omitempty"`
	Elapsed  *int64     `json:"elapsed,omitempty"`            // milliseconds
	Invoked  []ofAction `json:"action_invocations,omitempty"` // set only when a run is complete
}

// ofAction is an invocation of an action in a run.
type ofAction struct {
	Address string `json:"address"`
	actionview.PlanTriggers
	Failed bool `json:"failed,omitempty"`
}

type cleanup struct {
	Failed  []failed `json:"failed_resources"`
	Written string   `json:"state_file,omitempty"`
}

// kept describes objects that the test did not destroy, because the run requested that.
type kept struct {
	Resources []failed `json:"resources"`
	Written   string   `json:"state_file"`
}

type failed struct {
	Instance string `json:"instance"`
	Deposed  string `json:"deposed_key,omitempty"`
}

type summary struct {
	Status  string `json:"status"`
	Passed  int    `json:"passed"`
	Failed  int    `json:"failed"`
	Errored int    `json:"errored"`
	Skipped int    `json:"skipped"`
}

// print prints a line about a run r or a file f. Both are nil for a line about all files.
func (j *JSON) print(typ, level, message string, f *suite.File, r *suite.Run, l line) {
	l.Type, l.Level, l.Message, l.Module = typ, level, message, j.O.StreamModule()
	l.Timestamp = j.O.Now().UTC().Format(view.StreamTime)
	if f != nil {
		l.File = f.Name
	}
	if r != nil {
		l.Run = r.Name
	}
	j.Out.Write(l)
}

// Found prints the names of all files and runs.
func (j *JSON) Found(files []*suite.File) {
	runs := 0
	for _, f := range files {
		runs += len(f.Runs)
	}
	message := fmt.Sprintf("Found %s and %s", diag.Counted(len(files), "file", "files"), diag.Counted(runs, "run block", "run blocks"))
	j.print("test_abstract", "info", message, nil, nil, line{Abstract: jsondoc.EachNamed(files, func(f *suite.File) (string, []string) {
		names := []string{}
		for _, r := range f.Runs {
			names = append(names, r.Name)
		}
		return f.Name, names
	})})
}

// plain returns the options without colours and without a box around diagnostics.
func (j *JSON) plain() Options {
	o := j.O
	o.Color = false
	return o
}

// File prints a line for a step of a file.
func (j *JSON) File(f *suite.File, p suite.Progress) {
	doc := &ofFile{Path: f.Name, Progress: p.String()}
	if p == suite.Complete {
		doc.Status = f.Status.String()
	}
	j.print("test_file", "info", j.plain().Line(f.Name, p, f.Status), f, nil, line{OfFile: doc})
}

// Run prints a line for a step of a run. After the last step, it also prints the diagnostics, and with Options.Verbose
// the plan or the state.
func (j *JSON) Run(r *suite.Run, p suite.Progress) {
	doc := &ofRun{Path: r.File.Name, Run: r.Name, Progress: p.String()}
	if p == suite.Complete {
		doc.Status = r.Status.String()
		for _, e := range r.Invoked {
			doc.Invoked = append(doc.Invoked, ofAction{e.Action.String(), actionview.PlanTriggersOf(&plan.Invocation{Trigger: e.Trigger}), e.Failed})
		}
	} else {
		doc.Elapsed = new(int64)
	}
	j.print("test_run", "info", j.plain().Line("  \""+r.Name+"\"", p, r.Status), r.File, r, line{OfRun: doc})
	if p != suite.Complete {
		return
	}
	if j.O.Verbose && !r.Began.IsZero() {
		j.verbose(r)
	}
	j.diagnostics(r.Diags, r.File, r)
}

// Still prints a line about a step that is in progress, with its duration so far.
func (j *JSON) Still(r *suite.Run, p suite.Progress, since time.Duration) {
	ms := since.Milliseconds()
	doc := &ofRun{Path: r.File.Name, Run: r.Name, Progress: p.String(), Elapsed: &ms}
	j.print("test_run", "info", j.plain().Line("  \""+r.Name+"\"", p, r.Status), r.File, r, line{OfRun: doc})
}

func (j *JSON) diagnostics(ds []diag.Diagnostic, f *suite.File, r *suite.Run) {
	for _, d := range j.O.Silence.Filter(ds) {
		level, title := "error", "Error: "
		if d.Severity == diag.Warning {
			level, title = "warn", "Warning: "
		}
		doc := view.DiagnosticDocument(d, j.O.Options)
		j.print("diagnostic", level, title+doc.Summary, f, r, line{Diagnostic: doc})
	}
}

// verbose prints the plan of a run, or the state after its apply.
func (j *JSON) verbose(r *suite.Run) {
	var b bytes.Buffer
	switch {
	case r.State != nil:
		var doc struct {
			Values struct {
				Outputs    json.RawMessage `json:"outputs"`
				RootModule json.RawMessage `json:"root_module"`
			} `json:"values"`
			Format string `json:"format_version"`
		}
		if view.WriteStateJSON(&b, r.State, j.O.Schemas, j.O.Version) == nil && json.Unmarshal(b.Bytes(), &doc) == nil {
			j.print("test_state", "info", "-verbose flag enabled, printing state", r.File, r, line{State: &stateDocument{doc.Format, doc.Values.RootModule, doc.Values.Outputs, j.schemas(r)}})
		}
	case r.Planned != nil:
		var doc planDocument
		err := view.WritePlanJSON(&b, r.Planned, r.Program(), j.O.Schemas, nil, j.O.Version)
		if err == nil && json.Unmarshal(b.Bytes(), &doc) == nil {
			doc.PlanFormat, doc.Format, doc.schemas = doc.Format, "", j.schemas(r)
			j.print("test_plan", "info", "-verbose flag enabled, printing plan", r.File, r, line{Plan: &doc})
		}
	}
}

// Left prints the objects of a run that could not be destroyed, or that the test keeps, and the diagnostics.
func (j *JSON) Left(l *suite.Left) {
	doc := &cleanup{Failed: []failed{}, Written: l.Written}
	for _, o := range l.Objects {
		doc.Failed = append(doc.Failed, failed{o.Instance.String(), o.Deposed})
	}
	switch {
	case len(l.Objects) == 0:
	case l.Meant:
		message := fmt.Sprintf("%s keeps the objects of %s/%s, because skip_cleanup is set.", j.O.Name(), l.File.Name, l.Run.Name)
		j.print("test_kept", "info", message, l.File, l.Run, line{Kept: &kept{doc.Failed, l.Written}})
	default:
		message := fmt.Sprintf("%s left some resources in state after executing %s/%s, they need to be cleaned up manually.", j.O.Name(), l.File.Name, l.Run.Name)
		j.print("test_cleanup", "error", message, l.File, l.Run, line{Cleanup: doc})
	}
	j.diagnostics(l.Diags, l.File, l.Run)
}

// Summary prints the last line.
func (j *JSON) Summary(s suite.Summary) {
	doc := &summary{s.Status.String(), s.Passed, s.Failed, s.Errored, s.Skipped}
	j.print("test_summary", "info", j.plain().summary(s), nil, nil, line{Summary: doc})
}
