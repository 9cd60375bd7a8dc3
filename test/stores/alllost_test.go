package stores

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// many is a configuration of objects that each take a while to create.
const many = `
terraform {
  required_providers {
    playground = {
      source = "lethe/playground"
    }
  }
}
resource "playground_thing" "a" {
  count = 40
  name  = "n${count.index}"
  delay = "400ms"
}
`

// TestAllLost kills the engine and the keeper during an apply and removes the directory. If the store keeps the
// journal, the next run knows each object or names its call. Otherwise it knows no object. The test logs the numbers.
func TestAllLost(t *testing.T) {
	t.Parallel()
	port, url := startPostgres(t), startS3(t, (&bucket{}).around)
	pg := func(schema, more string, env ...string) place {
		return place{fmt.Sprintf("terraform {\n  backend \"pg\" {\n    schema_name = %q\n%s  }\n}\n", schema, more), append(env, "PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:"+port+"/postgres?sslmode=disable")}
	}
	server := httptest.NewServer(&storetest.HTTP{User: "u", Password: "canary-4711"})
	t.Cleanup(server.Close)
	for _, tt := range []struct {
		name  string
		p     place
		keeps bool
	}{
		{"pg, rows", rowsPlace(port, "lost rows"), true},
		{"pg, journal", pg("lost journal", "    journal = true\n"), true},
		{"pg, journal of the environment", pg("lost environment", "", "LETHE_PG_JOURNAL=1"), true},
		{"pg", pg("lost document", ""), false},
		{"s3, journal", s3Place(url, "kept", journalOn), true},
		{"s3", s3Place(url, "lost", ""), false},
		{"http", place{"terraform {\n  backend \"http\" {\n    username = \"u\"\n  }\n}\n", []string{"TF_HTTP_PASSWORD=canary-4711", "TF_HTTP_ADDRESS=" + server.URL}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, tt.p)
			u := f.machine()
			u.configure(many + tt.p.backend)
			all := f.lose(u)
			v := f.machine()
			v.configure(many + tt.p.backend)
			free(v)
			plan := v.run2("plan")
			known, named := 0, 0
			for object := range all {
				switch {
				case strings.Contains(plan, object+": Refreshing state"):
					known++
				case strings.Contains(plan, "Outcome unknown") && strings.Contains(strings.ReplaceAll(plan, "# "+object, ""), object):
					named++
				}
			}
			t.Logf("%d were made: %d are in the state of the next run, %d others are named by it", len(all), known, named)
			if tt.keeps && (len(all) < 15 || known+named < len(all)) || !tt.keeps && known > 0 {
				t.Errorf("it says:\n%s", plan)
			}
		})
	}
}

// lose kills the engine and the keeper of an apply when 15 objects exist, and removes the directory of the machine. It
// returns the addresses of the objects that exist.
func (f *fleet) lose(u *directory) map[string]bool {
	f.Helper()
	cmd := u.cmd("apply", "-auto-approve", "-parallelism=4")
	check(f.T, cmd.Start())
	made := func() map[string]bool {
		all := map[string]bool{}
		files, _ := filepath.Glob(filepath.Join(f.real, "*"))
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for _, m := range regexp.MustCompile(`"n(\d+)"`).FindAllStringSubmatch(string(text), 1) {
				all["playground_thing.a["+m[1]+"]"] = true
			}
		}
		return all
	}
	waittest.Until(f.T, "15 objects exist", func() bool { return len(made()) >= 15 })
	keeper := child(cmd.Process.Pid, "_keep")
	if keeper == 0 {
		f.Fatal("there is no keeper")
	}
	check(f.T, syscall.Kill(keeper, syscall.SIGKILL))
	check(f.T, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(f.T, keeper)
	f.providersEnd()
	check(f.T, os.RemoveAll(u.dir))
	return made()
}

// TestWorkspaceOfJournal checks a workspace that consists only of the journal of its first, crashed run. The store
// lists the workspace, and it moves with the other workspaces.
func TestWorkspaceOfJournal(t *testing.T) {
	t.Parallel()
	port, url := startPostgres(t), startS3(t, (&bucket{}).around)
	for name, p := range map[string]place{
		"pg, rows": rowsPlace(port, "first rows"),
		"pg, journal": {"terraform {\n  backend \"pg\" {\n    schema_name = \"first journal\"\n    journal = true\n  }\n}\n",
			[]string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + port + "/postgres?sslmode=disable"}},
		"s3": s3Place(url, "first", journalOn),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, p)
			u := f.machine()
			u.configure(many + p.backend)
			u.env = append(u.env, "TF_WORKSPACE=other")
			made := f.lose(u)
			v := f.machine()
			v.configure(many + p.backend)
			if list := v.run(0, "workspace", "list"); !strings.Contains(list, "  other\n") {
				t.Errorf("the workspace is not there:\n%s", list)
			}
			there := *v
			there.env = append(slices.Clip(v.env), "TF_WORKSPACE=other")
			free(&there)
			v.configure(many)
			moved := v.run(0, "init", "-migrate-state", "-force-copy")
			v.run(0, "workspace", "select", "other")
			if has := strings.Count(v.run(0, "state", "list"), "playground_thing.a["); has == 0 || has+4 < len(made) {
				t.Errorf("of %d objects %d were moved:\n%s", len(made), has, moved)
			}
			v.configure(many + p.backend)
			v.run(0, "init", "-reconfigure")
			v.run(0, "workspace", "select", "default")
			if out := v.run2("workspace", "delete", "-force", "other"); !strings.Contains(out, "Deleted workspace") && !strings.Contains(out, "doesn't exist") {
				t.Errorf("what is left there cannot be deleted:\n%s", out)
			}
		})
	}
}

// TestJournalsUnread checks that a user who moves states or deletes a workspace without the journal setting is informed
// of journals in the store. No journal is left unseen.
func TestJournalsUnread(t *testing.T) {
	t.Parallel()
	port, url := startPostgres(t), startS3(t, (&bucket{}).around)
	for variable, p := range map[string]place{
		"LETHE_PG_JOURNAL": {"terraform {\n  backend \"pg\" {\n    schema_name = \"unread\"\n  }\n}\n",
			[]string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + port + "/postgres?sslmode=disable"}},
		"LETHE_S3_JOURNAL": s3Place(url, "unread", ""),
	} {
		t.Run(variable, func(t *testing.T) {
			f := newFleet(t, p)
			v := f.machine()
			v.configure(many + p.backend)
			v.run(0, "init", "-reconfigure")
			for _, name := range []string{"first", "empty"} {
				if name == "empty" {
					v.run(0, "workspace", "new", name)
					v.run(0, "workspace", "select", "default")
				}
				f.real = t.TempDir()
				u := f.machine()
				u.configure(many + p.backend)
				u.env = append(u.env, variable+"=true", "TF_WORKSPACE="+name)
				f.lose(u)
				there := *v
				there.env = append(slices.Clip(v.env), "TF_WORKSPACE="+name)
				free(&there)
			}
			if out := v.run(1, "workspace", "delete", "empty"); !strings.Contains(out, variable) {
				t.Errorf("it says:\n%s", out)
			}
			v.configure(many)
			out := v.run(1, "init", "-migrate-state", "-force-copy")
			for _, want := range []string{variable, "empty, first"} {
				if !strings.Contains(out, want) {
					t.Errorf("without %s it says:\n%s", want, out)
				}
			}
			v.env = append(v.env, variable+"=true")
			v.run(0, "init", "-migrate-state", "-force-copy")
			v.run(0, "workspace", "select", "first")
			if has := strings.Count(v.run(0, "state", "list"), "playground_thing.a["); has < 10 {
				t.Errorf("%d objects were moved", has)
			}
		})
	}
}

// TestMovedOnByTerraform checks an apply by Terraform after a crashed run. Terraform ignores journals. Its state stays
// unchanged: the next run recovers from the older journal only objects that the state does not have.
func TestMovedOnByTerraform(t *testing.T) {
	t.Parallel()
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	ours, err := lethe()
	check(t, err)
	port, url := startPostgres(t), startS3(t, (&bucket{}).around)
	for name, p := range map[string]place{
		"pg": {"terraform {\n  backend \"pg\" {\n    schema_name = \"moved on\"\n  }\n}\n",
			[]string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + port + "/postgres?sslmode=disable", "LETHE_PG_JOURNAL=1"}},
		"s3": s3Place(url, "moved on", "", "LETHE_S3_JOURNAL=true"),
	} {
		t.Run(name, func(t *testing.T) {
			runner(t, ours, p, "").run(0, "apply", "-auto-approve", "-var", "v=1", "-target=terraform_data.first[0]")
			lost := runner(t, ours, p, "")
			cmd, done := lost.holding("2") // the run updates first[0] and creates first[1] and first[2]
			there := inBucket(t, url)
			if name == "pg" {
				there = func() int64 {
					n, err := strconv.ParseInt(query(t, port, `SELECT coalesce(max(position + length(data)), 0) FROM "moved on".states_journals`), 10, 64)
					check(t, err)
					return n
				}
			}
			copied(lost, there)
			check(t, cmd.Process.Kill())
			_ = cmd.Wait()
			done()
			check(t, os.RemoveAll(lost.dir))
			time.Sleep(300 * time.Millisecond) // wait until the server has noticed the end of the connection
			tf := runner(t, terraform, p, "")
			if name == "s3" {
				unlocked(runner(t, ours, p, ""))
			}
			tf.run(0, "apply", "-auto-approve", "-var", "v=3", "-target=terraform_data.first[0]")
			next := runner(t, ours, p, "")
			out := next.run(0, "apply", "-auto-approve", "-var", "v=2", "-target=terraform_data.first")
			wants(t, out, "Recovered an interrupted run", "Changes not recovered", "terraform_data.first[0]", "0 added, 1 changed, 0 destroyed")
			if again := next.run(0, "plan", "-var", "v=2", "-target=terraform_data.first"); strings.Contains(again, "Recovered") {
				t.Errorf("the journal is still there:\n%s", again)
			}
			tf.run(0, "plan", "-var", "v=2", "-target=terraform_data.first", "-detailed-exitcode")
		})
	}
}
