package stores

import (
	"os"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// TestLostMachine checks a crashed run whose directory is lost. The next command that changes objects recovers its
// changes on any machine, also after the first run of a state.
func TestLostMachine(t *testing.T) {
	t.Parallel()
	port := startPostgres(t)
	s := newShop(t, port, "lost machine")
	journals := func(want string) {
		t.Helper()
		if got := query(t, port, `SELECT count(DISTINCT run) FROM "lost machine".states_journals WHERE data <> ''`); got != want {
			t.Errorf("there are %s journals, want %s", got, want)
		}
	}
	s.directory().run(0, args("0", "1")...)
	s.directory().run(0, args("1", "1")...)
	journals("0")
	gone := s.directory()
	cmd, _, _ := s.hold(gone, "2", "1")
	journals("1")
	if out := s.directory().run(0, args("0", "2")...); strings.Contains(out, "Recovered") {
		t.Errorf("the journal of a run that goes on was taken in:\n%s", out)
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	check(t, os.RemoveAll(gone.dir))
	disconnected(t, port)
	journals("1")
	if out := s.directory().run(0, "state", "check"); !strings.Contains(out, "in the backend: the run default-") || !strings.Contains(out, "recorded 2 changes that the state lacks") {
		t.Errorf("a look at the state does not find it:\n%s", out)
	}
	if list := s.directory().run(0, "state", "list"); !strings.Contains(list, "module.m[\"2\"].terraform_data.a") {
		t.Errorf("a command that only looks does not see it:\n%s", list)
	}
	journals("1")
	if out := s.directory().run(0, "plan", "-target=module.m[\"3\"]"); !strings.Contains(out, "Recovered an interrupted run") {
		t.Errorf("a plan does not know of it:\n%s", out)
	}
	journals("1")
	u := s.directory()
	if out := u.run(0, args("0", "3")...); !strings.Contains(out, "Recovered an interrupted run") {
		t.Errorf("another command does not take it in:\n%s", out)
	}
	journals("0")
	if list := u.run(0, "state", "list"); !strings.Contains(list, "module.m[\"2\"].terraform_data.a") {
		t.Errorf("it is not in the state:\n%s", list)
	}
	// A killed run that continues in its directory recovers from the file, once.
	d := s.directory()
	cmd, _, done := s.hold(d, "3", "1")
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	disconnected(t, port)
	if out := d.run(0, args("3", "1")...); strings.Count(out, "Recovered an interrupted run") != 1 || strings.Contains(out, "another state") {
		t.Errorf("taken in:\n%s", out)
	}
	journals("0")
	// The state does not exist yet.
	first := rowsPlace(port, "lost first")
	n := newDirectory(t, s.program, first)
	cmd, done = n.holding("1")
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	disconnected(t, port)
	if out := newDirectory(t, s.program, first).run(0, "apply", "-auto-approve", "-var", "v=1"); strings.Contains(out, "another state") {
		t.Errorf("the first run:\n%s", out)
	}
	if out := n.run(0, "apply", "-auto-approve", "-var", "v=1"); strings.Contains(out, "another state") {
		t.Errorf("in its own directory:\n%s", out)
	}
}

// disconnected waits until the server at a port has noticed that all its clients have ended.
func disconnected(t *testing.T, port string) {
	t.Helper()
	waittest.Until(t, "no client is connected", func() bool {
		return query(t, port, `SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`) == "0"
	})
}

// TestCameBack checks that the directory of a killed run does not restore objects that another run recovered and
// destroyed.
func TestCameBack(t *testing.T) {
	t.Parallel()
	port := startPostgres(t)
	s := newShop(t, port, "came back")
	s.directory().run(0, args("0", "1")...)
	u, v := s.directory(), s.directory()
	cmd, _, done := s.hold(u, "2", "1")
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	disconnected(t, port)
	if out := v.run(0, args("0", "2")...); !strings.Contains(out, "Recovered an interrupted run") {
		t.Errorf("another directory does not take it in:\n%s", out)
	}
	if list := v.run(0, "state", "list"); !strings.Contains(list, `module.m["2"].terraform_data.a`) {
		t.Fatalf("it is not in the state:\n%s", list)
	}
	v.run(0, "state", "rm", `module.m["2"]`)
	for _, args := range [][]string{{"state", "list"}, {"state", "check"}, args("0", "3")} {
		if out := u.run(0, args...); strings.Contains(out, `module.m["2"].terraform_data.a`) || strings.Contains(out, "Recovered") || strings.Contains(out, "Changes not recovered") {
			t.Errorf("%s:\n%s", args[0], out)
		}
	}
	if list := v.run(0, "state", "list"); strings.Contains(list, `module.m["2"]`) {
		t.Errorf("it is in the state again:\n%s", list)
	}
}
