package combine

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// text returns the whole scenario as text. Scenarios that differ in their configurations, commands, drifts or faults
// have different texts.
func (s *Scenario) text() string {
	var b strings.Builder
	for _, st := range s.Steps {
		b.WriteString(st.Config.text())
		fmt.Fprintf(&b, "%+v %+v %+v\n", st.Do, st.Drifts, st.Faults)
	}
	return b.String()
}

func (m *Module) text() string {
	var b strings.Builder
	files := m.files()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%s\n%s\n", name, files[name])
	}
	return b.String()
}

// Script returns a scenario as a script test: the commands of a user up to the step of the finding, and the files.
// outcomes are the outcomes of the steps; the script expects a failure of each command that failed.
func (s *Scenario) Script(f Finding, outcomes []*Outcome) string {
	w := &scripter{}
	w.line("# %s", f.Class)
	for line := range strings.Lines(f.Detail) {
		w.line("#   %s", strings.TrimRight(line, "\n"))
	}
	w.line("# Seed %d, step %d.", s.Seed, f.Step+1)
	w.line("combine")
	for i, st := range slices.Concat(s.Steps, []*Step{s.last()}) {
		if i <= f.Step && i < len(outcomes) {
			w.step(i, st, outcomes[i])
		}
	}
	return w.String() + "\n" + w.files.String()
}

type scripter struct {
	strings.Builder
	files strings.Builder
	last  string // the configuration that was written last, as text
	envs  []string
}

func (w *scripter) line(format string, args ...any) {
	fmt.Fprintf(w, strings.TrimRight(format, " ")+"\n", args...)
}

func (w *scripter) step(i int, st *Step, o *Outcome) {
	if text := st.Config.text(); text != w.last {
		w.last = text
		dir := fmt.Sprintf("step%d", i+1)
		w.line("exec sh -c 'rm -rf *.tf *.tf.json *.tfvars mod* && cp -r %s/. .'", dir)
		all := st.Config.files()
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&w.files, "-- %s --\n%s\n", path.Join(dir, name), strings.TrimSuffix(all[name], "\n"))
		}
	}
	for _, e := range environ(st) {
		if !slices.Contains(w.envs, e) {
			w.envs = append(w.envs, e)
			w.line("env %s", e)
		}
	}
	for _, d := range st.Drifts {
		if d.Do == "seed" {
			text, _ := json.MarshalIndent(seeded(d.ID), "", "  ")
			fmt.Fprintf(&w.files, "-- seed/%s.json --\n%s\n", d.ID, text)
		}
	}
	for _, d := range o.Deeds {
		if d != "" {
			w.line("exec %s", d)
		}
	}
	for k, fault := range st.Faults {
		w.line("exec sh -c 'echo %q %s .cloud/.faults'", fault.String(), []string{">", ">>"}[min(k, 1)])
	}
	if o.Lost != nil {
		w.command(st, o.Lost.Plan)
		w.command(st, o.Lost.Apply)
		w.line("exec lethe state repair -auto-approve")
	}
	w.command(st, o.Plan)
	w.command(st, o.Apply)
	w.command(st, o.Second)
}

// command writes a command. If it failed, the script expects the failure.
func (w *scripter) command(st *Step, i *Invocation) {
	if i == nil {
		return
	}
	program, not := "lethe", ""
	if st.Do.Peer {
		program = "terraform"
	}
	if i.Exit == 1 || i.Killed != "" {
		not = "! "
	}
	var args []string
	for _, a := range i.Args {
		switch {
		case a == "-input=false" || a == "-no-color" || a == "-out=p2" || a == "-detailed-exitcode" && slices.Contains(i.Args, "-out=p"):
		case strings.ContainsAny(a, `["`):
			args = append(args, "'"+a+"'")
		default:
			args = append(args, a)
		}
	}
	w.line("%sexec %s %s", not, program, strings.Join(args, " "))
}
