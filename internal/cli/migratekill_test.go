package cli_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// migration is a change of the backend block, and init with the states of the workspaces default and w.
type migration struct {
	was, next string // backend blocks; "" means the files of the directory
	selected  string // the selected workspace
	single    bool   // the new backend stores one state
}

const migratedObject = `
resource "terraform_data" "a" {
}
output "id" {
  value = terraform_data.a.id
}
`

const otherFiles = `terraform {
  backend "local" {
    path          = "moved/all.tfstate"
    workspace_dir = "moved/spaces"
  }
}
`

// TestMigrationKilled ends init -migrate-state at each call of the file system (without LETHE_LONG at every ninth), as
// if the process was killed, or lets the call fail, or fills the disk. The next commands must use the object of their
// workspace, or refuse until init is run again. The same init must then complete the migration, and every workspace
// keeps its object.
func TestMigrationKilled(t *testing.T) {
	t.Parallel()
	server := &statesServer{states: map[string][]byte{}, locks: map[string][]byte{}}
	listen := httptest.NewServer(server)
	t.Cleanup(listen.Close)
	single := "terraform {\n  backend \"http\" {\n    address = \"" + listen.URL + "/%d\"\n  }\n}\n"
	step := 1
	if os.Getenv("LETHE_LONG") == "" {
		step = 9
	}
	for name, m := range map[string]migration{
		"files to other files":      {"", otherFiles, "default", false},
		"other files to files":      {otherFiles, "", "w", false},
		"files to a single state":   {"", single, "w", true},
		"backend to a single state": {otherFiles, single, "w", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &disktest.Faults{FS: disk.OS}
			m.endedAt(t, all, func() string { return "" })
			for at := 1 + rand.N(step); at <= all.Calls(); at += step {
				faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the process was killed"), Dead: at/step%2 == 0, Half: true}
				m.endedAt(t, faults, func() string { return fmt.Sprintf("ended at call %d (%s), dead %t", at, faults.Last(), faults.Dead) })
			}
			full := &disktest.Full{FS: disk.OS, Limit: math.MaxInt}
			m.endedAt(t, full, func() string { return "" })
			sizes := rooms(full.Writes())
			for at := rand.N(step); at < len(sizes); at += step {
				m.endedAt(t, &disktest.Full{FS: disk.OS, Limit: sizes[at]}, func() string { return fmt.Sprintf("room for %d bytes", sizes[at]) })
			}
		})
	}
}

// endedAt migrates the states with a file system that may fail, and checks the next commands. failure describes the
// failure; "" means that the file system works.
func (m migration) endedAt(t *testing.T, files disk.FS, failure func() string) {
	t.Helper()
	configure := func(s *site, block string) {
		if strings.Contains(block, "%d") {
			block = fmt.Sprintf(block, rand.Uint64())
		}
		s.write("main.tf", migratedObject+block)
	}
	s := newSite(t, "")
	configure(s, m.was)
	s.must("init")
	ids := map[string]string{}
	for _, name := range []string{"default", "w"} {
		s.must("workspace", "select", "-or-create", name)
		s.must("apply", "-auto-approve")
		ids[name] = s.must("output", "-raw", "id")
	}
	s.must("workspace", "select", m.selected)
	configure(s, m.next)
	code, out := s.run(files, "init", "-migrate-state", "-force-copy")
	when := failure()
	if code != 0 && when == "" {
		t.Fatal(out)
	}
	m.keeps(s, ids, when, true)
	s.must("init", "-migrate-state", "-force-copy")
	m.keeps(s, ids, when+", and init again", false)
}

// keeps checks that commands use the objects with these IDs, by workspace. mayRefuse permits that they fail.
func (m migration) keeps(s *site, ids map[string]string, when string, mayRefuse bool) {
	s.Helper()
	check := func(id string, env ...string) {
		s.Helper()
		s.env = env
		code, out := s.run(nil, "output", "-raw", "id")
		if code == 0 && out != id || code != 0 && !mayRefuse {
			s.Errorf("%s, %v: exit code %d, and the object is %q, not %s", when, env, code, out, id)
		}
		if code, out := s.run(nil, "plan", "-detailed-exitcode", "-no-color"); code == 2 || code != 0 && !mayRefuse {
			s.Errorf("%s, %v: exit code %d of plan:\n%s", when, env, code, out)
		}
		s.env = nil
	}
	check(ids[m.selected])
	for name, id := range ids {
		if !m.single {
			check(id, "TF_WORKSPACE="+name)
		}
	}
}

// TestStateCommandsKilled ends commands that write states at each call of the file system (without LETHE_LONG at every
// ninth), as if the process was killed. The object must be in one of the states afterwards, except after workspace
// delete, and the command can be run again: it succeeds, or the first one was complete.
func TestStateCommandsKilled(t *testing.T) {
	t.Parallel()
	const moved = "terraform_data.a"
	step := 1
	if os.Getenv("LETHE_LONG") == "" {
		step = 9
	}
	for name, c := range map[string]struct {
		args  []string
		holds []string // commands that list the states which may have the object
		done  string   // the message of a second run if the first one was complete
	}{
		"push":             {[]string{"state", "push", "newer.json"}, []string{"state list"}, ""},
		"move":             {[]string{"state", "mv", "-state-out=out", moved, moved}, []string{"state list", "state list -state=out"}, "does not match anything"},
		"move, existing":   {[]string{"state", "mv", "-state-out=old", moved, moved}, []string{"state list", "state list -state=old"}, "does not match anything"},
		"new workspace":    {[]string{"workspace", "new", "-state=terraform.tfstate", "x"}, []string{"state list -state=terraform.tfstate"}, "already exists"},
		"delete workspace": {[]string{"workspace", "delete", "-force", "w"}, []string{"state list"}, "doesn't exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepared := func() *site {
				s := newSite(t, "resource \"terraform_data\" \"a\" {\n}\n")
				s.must("workspace", "new", "w")
				s.must("apply", "-auto-approve")
				s.must("workspace", "select", "default")
				s.must("apply", "-auto-approve")
				s.write("newer.json", strings.Replace(s.read("terraform.tfstate"), `"serial": 1,`, `"serial": 7,`, 1))
				s.write("old", `{"version": 4, "terraform_version": "1.11.4", "serial": 3, "lineage": "o", "outputs": {}, "resources": []}`)
				return s
			}
			all := &disktest.Faults{FS: disk.OS}
			if code, out := prepared().run(all, c.args...); code != 0 {
				t.Fatal(out)
			}
			for at := 1 + rand.N(step); at <= all.Calls(); at += step {
				s := prepared()
				faults := &disktest.Faults{FS: disk.OS, At: at, Err: errors.New("the process was killed"), Dead: true, Half: true}
				s.run(faults, c.args...)
				when := fmt.Sprintf("killed at call %d (%s)", at, faults.Last())
				found := false
				for _, list := range c.holds {
					_, out := s.run(nil, strings.Fields(list)...)
					found = found || strings.Contains(out, moved)
				}
				if !found {
					t.Errorf("%s: no state has the object", when)
				}
				code, out := s.run(nil, c.args...)
				if both := strings.Contains(out, "there is already a resource instance"); code != 0 && !both && (c.done == "" || !strings.Contains(out, c.done)) {
					t.Errorf("%s, and again:\n%s", when, out)
				}
				s.must("plan")
			}
		})
	}
}

// stuck is a file system that cannot replace files of one name.
type stuck struct {
	disk.FS
	name string
}

func (s stuck) Rename(from, to string) error {
	if filepath.Base(to) == s.name {
		return errors.New("the disk failed")
	}
	return s.FS.Rename(from, to)
}

// TestMoveBetweenFilesFails checks the message of state mv if one of two files cannot be written, and that no further
// copy of a state is left.
func TestMoveBetweenFilesFails(t *testing.T) {
	t.Parallel()
	for name, both := range map[string]bool{"out": false, "terraform.tfstate": true} {
		s := newSite(t, "resource \"terraform_data\" \"a\" {\n}\n")
		s.must("apply", "-auto-approve")
		code, out := s.run(stuck{disk.OS, name}, "state", "mv", "-no-color", "-state-out=out", "terraform_data.a", "terraform_data.a")
		if code != 1 || strings.Contains(out, "so they are in both states") != both || !strings.Contains(out, "the disk failed") {
			t.Errorf("%s: exit code %d:\n%s", name, code, out)
		}
		if !strings.Contains(s.must("state", "list"), "terraform_data.a") || s.read("errored.tfstate") != "" {
			t.Errorf("%s: the object is lost, or a copy is left", name)
		}
	}
}
