package stores

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// single lists the places that keep one state.
var single = []string{"http", "remote", "cloud"}

// everywhere returns all places by name, and their names, sorted.
func everywhere(t *testing.T) (map[string]place, []string) {
	all := places(t)
	all["pg in rows"] = place{rowsPlace("", "everywhere").backend, all["pg"].env}
	return all, slices.Sorted(maps.Keys(all))
}

// settings returns the type of a backend, and the content of its block as a value of "config".
func (p place) settings() (backend, config string) {
	_, rest, _ := strings.Cut(p.backend, `backend "`)
	backend, config, _ = strings.Cut(rest, "\" {\n")
	return backend, "{\n" + strings.ReplaceAll(strings.TrimSuffix(config, "  }\n}\n"), "workspaces {", "workspaces = {") + "}"
}

// stored returns the lineage and the serial of the state that a directory uses.
func (u *directory) stored() (s struct {
	Lineage string
	Serial  int
}) {
	u.Helper()
	check(u.T, json.Unmarshal([]byte(u.run(0, "state", "pull")), &s))
	return s
}

// TestCommands checks that saved plans, commands about states and workspaces, and data sources of remote state work in
// every place.
func TestCommands(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	all, names := everywhere(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := all[name]
			u := newDirectory(t, ours, p)
			u.run(0, "plan", "-out=p", "-var", "v=1")
			u.run(0, "apply", "p")
			if out := u.run(1, "apply", "p"); !strings.Contains(out, "Saved plan is stale") {
				t.Errorf("the plan a second time: %s", out)
			}
			before := u.stored()
			u.run(0, "state", "mv", "terraform_data.a", "terraform_data.b")
			if list := u.run(0, "state", "list"); list != "terraform_data.b\n" {
				t.Errorf("after state mv there is %s", list)
			}
			kept := filepath.Join(u.dir, "kept")
			check(t, os.WriteFile(kept, []byte(u.run(0, "state", "pull")), 0o600))
			u.run(0, "state", "rm", "terraform_data.b")
			if list := u.run(0, "state", "list"); list != "" {
				t.Errorf("after state rm there is %s", list)
			}
			u.run(1, "state", "push", kept) // the command fails, because the pushed state is older
			u.run(0, "state", "push", "-force", kept)
			u.run(0, "state", "mv", "terraform_data.b", "terraform_data.a")
			u.run(0, "plan", "-detailed-exitcode", "-var", "v=1")
			if s := u.stored(); s.Lineage != before.Lineage || s.Serial <= before.Serial {
				t.Errorf("there is %+v, and there was %+v", s, before)
			}

			workspace := "default"
			if slices.Contains(single, name) {
				u.run(1, "workspace", "new", "w")
			} else {
				workspace = "w"
				u.run(0, "workspace", "new", "w")
				u.run(0, "apply", "-auto-approve", "-var", "v=2")
				if list := u.run(0, "workspace", "list"); list != "  default\n* w\n\n" {
					t.Errorf("there are the workspaces %q", list)
				}
			}
			value := u.run(0, "output", "-raw", "o")
			if backend, config := p.settings(); name != "cloud" {
				reader := &directory{t, ours, t.TempDir(), u.env}
				check(t, os.WriteFile(filepath.Join(reader.dir, "main.tf"), []byte("data \"terraform_remote_state\" \"s\" {\n  workspace = \""+workspace+"\"\n  backend = \""+backend+"\"\n  config = "+config+"\n}\noutput \"o\" {\n  value = data.terraform_remote_state.s.outputs.o\n}\n"), 0o600))
				reader.run(0, "apply", "-auto-approve")
				if out := reader.run(0, "output", "-raw", "o"); out != value {
					t.Errorf("another configuration reads %q, not %q", out, value)
				}
			}
			if workspace == "w" {
				u.run(0, "workspace", "select", "default")
				u.run(1, "workspace", "delete", "w")
				u.run(0, "workspace", "delete", "-force", "w")
				if out := u.run(0, "output", "-raw", "o"); out != "1" {
					t.Errorf("in the default workspace there is %q", out)
				}
			}
		})
	}
}

// TestMigrations moves two workspaces from each kind of place to the next, and back. It also moves one workspace into
// places with one state, and out again. The states stay the same, and each former place keeps a copy.
func TestMigrations(t *testing.T) {
	t.Parallel()
	all, names := everywhere(t)
	all["local"] = place{}
	many, one := []string{"local"}, []string{"local", "http", "remote", "local"}
	for _, name := range names {
		if !slices.Contains(single, name) && name != "gcs with a key" { // the environment variable of "gcs with a key" also configures the other place
			many = append(many, name)
		}
	}
	back := slices.Clone(many[:len(many)-1])
	slices.Reverse(back)
	t.Run("many", func(t *testing.T) { migrate(t, all, append(many, back...), "default", "w") })
	t.Run("one", func(t *testing.T) { migrate(t, all, one, "default") })
}

// migrate creates the workspaces in the first place of way, with one apply each, and moves them with "init
// -migrate-state" from each place to the next. It checks that a plan before a move asks for init, that each workspace
// keeps its value and its lineage, and that the former place keeps a copy. The parameter all has the places by name.
func migrate(t *testing.T, all map[string]place, way []string, workspaces ...string) {
	ours, err := lethe()
	check(t, err)
	var env []string
	for _, name := range way {
		env = append(env, all[name].env...)
	}
	u := newDirectory(t, ours, place{env: env})
	type kept struct{ value, lineage string }
	is := map[string]kept{}
	for _, w := range workspaces {
		if w != "default" {
			u.run(0, "workspace", "new", w)
		}
		u.run(0, "apply", "-auto-approve", "-var", "v="+w)
		is[w] = kept{w, u.stored().Lineage}
	}
	for i, to := range way[1:] {
		from := way[i]
		u.configure(config + all[to].backend)
		if out := u.run(1, "plan", "-var", "v=x"); !strings.Contains(out, "\"lethe init") && !strings.Contains(out, "lethe init -migrate-state") {
			t.Errorf("from %s to %s, without init: %s", from, to, out)
		}
		u.run(0, "init", "-migrate-state", "-force-copy")
		for _, w := range workspaces {
			if len(workspaces) > 1 {
				u.run(0, "workspace", "select", w)
			}
			u.run(0, "plan", "-detailed-exitcode", "-var", "v="+is[w].value)
			if lineage := u.stored().Lineage; lineage != is[w].lineage {
				t.Errorf("from %s to %s, workspace %s: the lineage is %s, and was %s", from, to, w, lineage, is[w].lineage)
			}
			if from != "local" {
				former := &directory{t, ours, t.TempDir(), append(slices.Clip(u.env), "TF_WORKSPACE="+w)}
				former.configure(config + all[from].backend)
				if w == "default" {
					former.env = u.env
				}
				former.run(0, "init")
				if out := former.run(0, "output", "-raw", "o"); out != is[w].value {
					t.Errorf("from %s to %s, workspace %s: the former place has %q", from, to, w, out)
				}
			}
			next := kept{w + " in " + to, is[w].lineage}
			u.run(0, "apply", "-auto-approve", "-var", "v="+next.value)
			is[w] = next
		}
	}
}
