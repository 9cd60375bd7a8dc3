package devcmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/savedplan"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/view"
)

// Show is the command `show`.
var Show = &base.Command{
	Name: "show", Args: "[path]", Short: "Show the current state or a saved plan",
	Long: `Reads and outputs a Lethe state or plan file in a human-readable
form. If no path is specified, the current state will be shown.

With -html, -markdown or -format=json-review, the command shows a saved plan
for people who must approve it: destroyed and replaced objects first, with
their reasons. These forms never contain sensitive values.

With -config, the command shows the configuration of the working directory.
With -module, it shows one module, without the modules that it calls, and
needs no installed modules or providers. Both need -json or -json-into.`,
	Examples: [][2]string{
		{"lethe show", "Show the state"},
		{"lethe show tfplan", "Show a saved plan"},
		{"lethe show -json tfplan", "Print a saved plan as JSON"},
		{"lethe show -html=plan.html tfplan", "Write a saved plan as a page"},
		{"lethe show -markdown tfplan", "Print a saved plan as a comment for a pull request"},
		{"lethe show -json -config", "Print the configuration as JSON"},
		{"lethe show -json -module=modules/net", "Print variables, resources and outputs of a module"},
		{"lethe show -json-into=plan.json tfplan", "Show a plan, and write it as JSON"},
	},
	Setup: base.Flags(func(c *base.Call, f *showFlags) {
		c.DocumentFlags()
		c.SensitiveFlag()
		f.review.define(c)
		c.Flags.Var(stateFile{&f.state}, "state", "Show this state `file`. Without a file, show the current state.")
		c.Flags.StringVar(&f.plan, "plan", "", "Show this plan `file`.")
		c.Flags.BoolVar(&f.config, "config", false, "Show the configuration. Needs -json.")
		c.Flags.StringVar(&f.module, "module", "", "Show the module in this `directory` alone. Needs -json.")
		f.VarFlags(c)
	}, runShow),
}

type showFlags struct {
	workdir.Options
	state, plan, module string
	config              bool
	review              reviewFlags
}

// stateFile is the value of -state. As in OpenTofu, the flag needs no value: -state alone sets the path "", which means
// the current state.
type stateFile struct{ path *string }

func (s stateFile) String() string   { return "" }
func (s stateFile) IsBoolFlag() bool { return true }
func (s stateFile) Set(text string) error {
	if alone, err := strconv.ParseBool(text); err == nil && alone {
		text = ""
	}
	*s.path = text
	return nil
}

// fit checks the options. It reports an error and returns false if they name more than one thing to show, if they
// request a configuration or a module without JSON, or if the options of a review are wrong (reviewFlags.fit).
func (f *showFlags) fit(c *base.Call) bool {
	things := len(c.Operands)
	for _, given := range []bool{f.state != "", f.plan != "", f.module != "", f.config} {
		if given {
			things++
		}
	}
	switch {
	case things > 1:
		c.Bag.Add(diag.Errorf("Wrong combination of options", "Give at most one of: a file, -state, -plan, -config, -module. Without any, show prints the current state."))
	case f.config && !c.ForPrograms():
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -config needs -json or -json-into, because it has no text form."))
	case f.module != "" && !c.ForPrograms():
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -module needs -json or -json-into, because it has no text form."))
	}
	f.review.fit(c, len(c.Operands) > 0 || f.plan != "")
	return !c.Bag.HasErrors()
}

func runShow(ctx context.Context, c *base.Call, f *showFlags) int {
	path := f.state + f.plan
	if len(c.Operands) == 1 {
		path = c.Operands[0]
	}
	if !f.fit(c) {
		return c.UI.Fail()
	}
	if f.module != "" {
		return showModule(c, f)
	}
	opened, ok := session.Open(c, &f.Options, operation.None)
	if !ok {
		return c.UI.Fail()
	}
	switch {
	case f.config:
		return showConfig(ctx, opened)
	case path == "":
		return showCurrent(ctx, opened)
	}
	data, err := os.ReadFile(c.Path(path))
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "The file %s cannot be read: %s.", base.Word(c, path), disk.Reason(err)))
		return c.UI.Fail()
	}
	if bytes.HasPrefix(data, []byte("PK")) || crypt.Sealed(data) && !crypt.IsState(data) {
		return showSaved(ctx, opened, path, data, &f.review)
	}
	if f.review.wanted() {
		c.Bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "%s is not a saved plan, and -html, -markdown and -format=json-review show only saved plans.", path))
		return c.UI.Fail()
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' && state.Converted(data) == "" {
		c.Bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "%s is neither a state (a JSON object) nor a saved plan (a zip archive).", path))
		return c.UI.Fail()
	}
	s, ok := opened.States.OpenState(ctx, data, "The file is "+path+".", &c.Bag)
	if !ok {
		return c.UI.Fail()
	}
	return showSnapshot(opened, s)
}

func showCurrent(ctx context.Context, opened *session.Session) int {
	s, ok := opened.States.Read(ctx)
	if !ok {
		return opened.Dir.Call.UI.Fail()
	}
	return showSnapshot(opened, s)
}

func showConfig(ctx context.Context, s *session.Session) int {
	c := s.Dir.Call
	if !s.Loader.Load() || !s.Installed() || !s.Compile(ctx, vet.CheckOptions{}) {
		return c.UI.Fail()
	}
	if _, err := c.Document(func(w io.Writer) error {
		return view.WriteConfigJSON(w, s.Program, s.Schemas(), s.Engine.Hosts(s.Loader.Tree, nil).Of)
	}); err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal configuration to json", "%s.", err))
	}
	return c.UI.DoneDocument()
}

// showModule prints the module in the directory of -module, and returns the exit code.
func showModule(c *base.Call, f *showFlags) int {
	d, ok := workdir.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	dir := f.module
	m, ok := config.Load(c.Path(dir), d.LoadOptions(), c.Sources, &c.Bag)
	if ok && len(m.Files) == 0 {
		c.Bag.Add(diag.Errorf("No configuration files", "There is no module in %s: it has no files whose names end with %s.", dir, strings.Join(config.Suffixes(), ", ")))
	}
	if c.Bag.HasErrors() {
		return c.UI.Fail()
	}
	if _, err := c.Document(func(w io.Writer) error { return view.WriteModuleJSON(w, m) }); err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal configuration to json", "%s.", err))
	}
	return c.UI.DoneDocument()
}

func showSnapshot(opened *session.Session, s *state.Snapshot) int {
	c, schemas := opened.Dir.Call, opened.Schemas()
	version := base.Version
	if s != nil && s.Version != "" {
		version = s.Version
	}
	alone, err := c.Document(func(w io.Writer) error { return view.WriteStateJSON(w, s, schemas, version) })
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal state to json", "%s.", err))
	}
	switch {
	case alone: // standard output contains only the document
		return c.UI.DoneDocument()
	case s == nil:
		c.UI.Print("No state.\n")
		return c.UI.Done(base.ExitOK)
	case s.Len() == 0 && len(s.Outputs) == 0:
		c.UI.Print("The state file is empty. No resources are represented.\n")
		return c.UI.Done(base.ExitOK)
	}
	view.StateText(c.Stdout, s, schemas, c.ViewOptions())
	return c.UI.Done(base.ExitOK)
}

// showSaved prints a saved plan, using the configuration inside the plan, and returns the exit code. name and data are
// the name and the content of the file.
func showSaved(ctx context.Context, s *session.Session, name string, data []byte, f *reviewFlags) int {
	c, plans := s.Dir.Call, savedplan.New(s)
	saved, ok := plans.Decode(ctx, name, data)
	if !ok {
		return c.UI.Fail()
	}
	plans.Recall(saved)
	if !plans.Load(ctx, saved) {
		return c.UI.Fail()
	}
	alone, err := c.Document(func(w io.Writer) error {
		return view.WritePlanJSON(w, saved.Plan, s.Program, s.Schemas(), s.Engine.Hosts(s.Loader.Tree, saved.Plan.Refreshed).Of, base.Version)
	})
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to marshal plan to json", "%s.", err))
	}
	if alone && !f.wanted() {
		return c.UI.DoneDocument()
	}
	saved.Plan.Leases = s.Engine.PreviewLeases(s.Program, s.FrameOptions(), saved.Plan)
	if f.wanted() {
		return f.show(s, saved.Plan, alone)
	}
	view.PlanText(c.Stdout, saved.Plan, s.Schemas(), c.ViewOptions())
	return c.UI.Done(base.ExitOK)
}
