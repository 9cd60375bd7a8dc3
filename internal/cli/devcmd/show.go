package devcmd

import (
	"bytes"
	"context"
	"io"
	"os"
	"strconv"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/project"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/view"
)

// Show is `show`.
var Show = &base.Command{
	Name: "show", Args: "[path]", Short: "Show the current state or a saved plan",
	Long: `Reads and outputs a Lethe state or plan file in a human-readable
form. If no path is specified, the current state will be shown.

With -config, the configuration of the working directory is shown, and with
-module that of the module in one directory, without what it calls: neither
modules nor providers need to be installed for that. Both are for programs:
-json or -json-into has to be given as well.`,
	Examples: [][2]string{
		{"lethe show", "Show the state"},
		{"lethe show tfplan", "Show a saved plan"},
		{"lethe show -json tfplan", "Give a saved plan to a program"},
		{"lethe show -json -config", "Give the configuration to a program"},
		{"lethe show -json -module=modules/net", "Say what a module takes, makes and gives"},
		{"lethe show -json-into=plan.json tfplan", "Show a plan, and write it for a program"},
	},
	Setup: base.Flags(func(c *base.Call, f *showFlags) {
		c.DocumentFlags()
		c.SensitiveFlag()
		c.Flags.Var(stateFile{&f.state}, "state", "Show this state `file`; alone, the present state.")
		c.Flags.StringVar(&f.plan, "plan", "", "Show this plan `file`.")
		c.Flags.BoolVar(&f.config, "config", false, "Show the configuration. Needs -json.")
		c.Flags.StringVar(&f.module, "module", "", "Show the module in this `directory` alone. Needs -json.")
		f.VarFlags(c)
	}, runShow),
}

type showFlags struct {
	project.Options
	state, plan, module string
	config              bool
}

// stateFile is the value of -state, which may stand alone.
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

// fit refuses several things to show, and a configuration for people.
func (f *showFlags) fit(c *base.Call) bool {
	things := len(c.Operands)
	for _, given := range []bool{f.state != "", f.plan != "", f.module != "", f.config} {
		if given {
			things++
		}
	}
	switch {
	case things > 1:
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The command show shows one thing: a file; what one of the options -state, -plan, -config and -module names; or, with none of these, the present state."))
	case f.config && !c.ForPrograms():
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -config needs -json: what it shows is for programs."))
	case f.module != "" && !c.ForPrograms():
		c.Bag.Add(diag.Errorf("Wrong combination of options", "The option -module needs -json: what it shows is for programs."))
	}
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
	p, ok := project.Open(c, &f.Options)
	if !ok {
		return c.UI.Fail()
	}
	switch {
	case f.config:
		return showConfig(ctx, p)
	case f.module != "":
		return showModule(p, f.module)
	}
	if path == "" {
		return showCurrent(ctx, p)
	}
	data, err := os.ReadFile(p.Call.Path(path))
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "The file %s cannot be read: %s.", path, disk.Reason(err)))
		return p.UI.Fail()
	}
	if bytes.HasPrefix(data, []byte("PK")) || crypt.Sealed(data) && !crypt.IsState(data) {
		return showSaved(ctx, p, path, data)
	}
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] != '{' && state.Converted(data) == "" {
		p.Bag.Add(diag.Errorf("Failed to read the given file as a state or plan file", "%s is neither: a state is a JSON object, a saved plan a zip archive.", path))
		return p.UI.Fail()
	}
	s, ok := p.OpenState(ctx, data, "The file is "+path+".")
	if !ok {
		return p.UI.Fail()
	}
	return showSnapshot(p, s)
}

func showCurrent(ctx context.Context, p *project.Project) int {
	s, ok := p.ReadState(ctx)
	if !ok {
		return p.UI.Fail()
	}
	return showSnapshot(p, s)
}

// showConfig shows the configuration of the working directory.
func showConfig(ctx context.Context, p *project.Project) int {
	if !p.Load() || !p.Installed() || !p.Compile(ctx, vet.CheckOptions{}) {
		return p.UI.Fail()
	}
	if _, err := p.Call.Document(func(w io.Writer) error {
		return view.WriteConfigJSON(w, p.Program, p.Schemas(), p.Engine.Hosts(p.Tree, nil).Of)
	}); err != nil {
		p.Bag.Add(diag.Errorf("Failed to marshal configuration to json", "%s.", err))
	}
	return p.UI.DoneQuiet()
}

// showModule shows the module in one directory.
func showModule(p *project.Project, dir string) int {
	m, ok := config.Load(p.Call.Path(dir), p.LoadOptions(), p.Call.Sources, p.Bag)
	if ok && len(m.Files) == 0 {
		p.Bag.Add(diag.Errorf("No configuration files", "There is no module in %s: it has no files whose names end with .tf, .tofu, .tf.json or .tofu.json.", dir))
	}
	if p.Bag.HasErrors() {
		return p.UI.Fail()
	}
	if _, err := p.Call.Document(func(w io.Writer) error { return view.WriteModuleJSON(w, m) }); err != nil {
		p.Bag.Add(diag.Errorf("Failed to marshal configuration to json", "%s.", err))
	}
	return p.UI.DoneQuiet()
}

func showSnapshot(p *project.Project, s *state.Snapshot) int {
	schemas := p.Schemas()
	version := base.Version
	if s != nil && s.Version != "" {
		version = s.Version
	}
	alone, err := p.Call.Document(func(w io.Writer) error { return view.WriteStateJSON(w, s, schemas, version) })
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to marshal state to json", "%s.", err))
	}
	switch {
	case alone: // nothing but the document goes to standard output
		return p.UI.DoneQuiet()
	case s == nil:
		p.UI.Print("No state.\n")
		return p.UI.Done(base.ExitOK)
	case s.Len() == 0 && len(s.Outputs) == 0:
		p.UI.Print("The state file is empty. No resources are represented.\n")
		return p.UI.Done(base.ExitOK)
	}
	view.StateText(p.Call.Stdout, s, schemas, p.Call.ViewOptions())
	return p.UI.Done(base.ExitOK)
}

// showSaved shows a saved plan, with the configuration that is inside it.
func showSaved(ctx context.Context, p *project.Project, name string, data []byte) int {
	saved, ok := p.OpenPlan(ctx, name, data)
	if !ok {
		return p.UI.Fail()
	}
	p.Recall(saved)
	if !p.LoadSaved(ctx, saved) {
		return p.UI.Fail()
	}
	alone, err := p.Call.Document(func(w io.Writer) error {
		return view.WritePlanJSON(w, saved.Plan, p.Program, p.Schemas(), p.Engine.Hosts(p.Tree, saved.Plan.Refreshed).Of, base.Version)
	})
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to marshal plan to json", "%s.", err))
	}
	if alone {
		return p.UI.DoneQuiet()
	}
	saved.Plan.Leases = p.Engine.PreviewLeases(p.Program, p.LangOptions(), saved.Plan)
	view.PlanText(p.Call.Stdout, saved.Plan, p.Schemas(), p.Call.ViewOptions())
	return p.UI.Done(base.ExitOK)
}
