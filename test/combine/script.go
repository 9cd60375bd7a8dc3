package combine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// text is all that a scenario says.
func (s *Scenario) text() string {
	var b strings.Builder
	for _, st := range s.Steps {
		files := st.Config.files()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "%s\n%s\n", name, files[name])
		}
		fmt.Fprintf(&b, "%+v %+v %+v\n", st.Do, st.Drifts, st.Faults)
	}
	return b.String()
}

// Script is a scenario as a script test: what a user would do by hand, and below it the files.
func (s *Scenario) Script(f Finding, outcomes []*Outcome) string {
	var b, files strings.Builder
	fmt.Fprintf(&b, "# %s\n", f.Class)
	for line := range strings.Lines(f.Detail) {
		fmt.Fprintf(&b, "#   %s\n", strings.TrimRight(line, "\n"))
	}
	fmt.Fprintf(&b, "# Seed %d, step %d.\n[!combine] skip 'the provider of the scenarios could not be built'\n", s.Seed, f.Step+1)
	last := ""
	for i, st := range slices.Concat(s.Steps, []*Step{s.last()}) {
		if i > f.Step || i == len(s.Steps) && f.Step < i {
			break
		}
		dir := fmt.Sprintf("step%d", i+1)
		text := (&Scenario{Steps: []*Step{{Config: st.Config}}}).text()
		if text != last {
			fmt.Fprintf(&b, "exec sh -c 'rm -rf *.tf *.tfvars mod* && cp -r %s/. .'\n", dir)
			all := st.Config.files()
			for _, name := range slices.Sorted(maps.Keys(all)) {
				fmt.Fprintf(&files, "-- %s --\n%s", path.Join(dir, name), all[name])
			}
		}
		last = text
		for _, e := range environ(st) {
			fmt.Fprintf(&b, "env %s\n", e)
		}
		if i < len(outcomes) {
			for _, d := range outcomes[i].Deeds {
				fmt.Fprintf(&b, "# outside: %s\n", d)
			}
		}
		for k, fault := range st.Faults {
			fmt.Fprintf(&b, "exec sh -c 'echo %s %s .cloud/.faults'\n", fault, []string{">", ">>"}[min(k, 1)])
		}
		options := strings.Join(quoted(st.Do.options()), " ")
		program := map[bool]string{true: "terraform", false: "lethe"}[st.Do.Peer]
		switch {
		case st.Do.Direct && st.Do.Apply:
			fmt.Fprintf(&b, "exec %s apply -auto-approve %s\n", program, options)
		default:
			fmt.Fprintf(&b, "exec %s plan -out=p %s\n", program, options)
			if st.Do.Apply {
				fmt.Fprintf(&b, "exec %s apply p\n", program)
			}
		}
		if i == f.Step && st.Do.full() {
			fmt.Fprintf(&b, "exec lethe plan -detailed-exitcode\n")
		}
	}
	return b.String() + "\n" + files.String()
}

func quoted(options []string) []string {
	var out []string
	for _, o := range options {
		out = append(out, "'"+o+"'")
	}
	return out
}
