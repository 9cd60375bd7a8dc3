package stores

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rowsPlace returns a place in a schema of the PostgreSQL server on a port, with the layout rows.
func rowsPlace(port, schema string) place {
	return place{"terraform {\n  backend \"pg\" {\n    schema_name = \"" + schema + "\"\n    layout = \"rows\"\n  }\n}\n", []string{"PG_CONN_STR=postgres://postgres:canary-4711@127.0.0.1:" + port + "/postgres?sslmode=disable"}}
}

// inDocument returns the same place with the layout document. p must be a result of rowsPlace.
func (p place) inDocument() place {
	return place{strings.Replace(p.backend, "    layout = \"rows\"\n", "", 1), p.env}
}

// configure replaces the file main.tf of a directory.
func (u *directory) configure(text string) {
	u.Helper()
	check(u.T, os.WriteFile(filepath.Join(u.dir, "main.tf"), []byte(text), 0o600))
}

// TestLayouts uses states in rows like other states, and moves them between the layouts.
func TestLayouts(t *testing.T) {
	t.Parallel()
	ours, err := lethe()
	check(t, err)
	port := startPostgres(t)
	p := rowsPlace(port, "layouts")
	t.Run("commands", func(t *testing.T) {
		l := newDirectory(t, ours, p)
		l.run(0, "apply", "-auto-approve", "-var", "v=1")
		l.run(0, "apply", "-auto-approve", "-var", "v=2")
		pulled := l.run(0, "state", "pull")
		l.run(0, "state", "mv", "terraform_data.a", "terraform_data.b")
		l.run(0, "state", "mv", "terraform_data.b", "terraform_data.a")
		if out := l.run(0, "state", "list"); out != "terraform_data.a\n" {
			t.Errorf("list: %s", out)
		}
		file := filepath.Join(l.dir, "pulled")
		check(t, os.WriteFile(file, []byte(pulled), 0o600))
		l.run(1, "state", "push", file)
		l.run(0, "state", "push", "-force", file)
		if out := l.run(0, "state", "pull"); out != pulled {
			t.Errorf("pushed:\n%s\npulled:\n%s", pulled, out)
		}
		l.run(0, "plan", "-detailed-exitcode", "-var", "v=2")
		l.run(0, "workspace", "new", "w")
		l.run(0, "apply", "-auto-approve", "-var", "v=w")
		if out := l.run(0, "workspace", "list"); !strings.Contains(out, "* w") {
			t.Errorf("workspaces: %s", out)
		}
		reader := newDirectory(t, ours, place{})
		for workspace, want := range map[string]string{"default": "2", "w": "w"} {
			reader.configure("data \"terraform_remote_state\" \"a\" {\n  backend = \"pg\"\n  workspace = \"" + workspace + "\"\n  config = {\n    schema_name = \"layouts\"\n    layout = \"rows\"\n    conn_str = \"" + strings.TrimPrefix(p.env[0], "PG_CONN_STR=") + "\"\n  }\n}\noutput \"o\" {\n  value = data.terraform_remote_state.a.outputs.o\n}\n")
			reader.run(0, "apply", "-auto-approve")
			if out := reader.run(0, "output", "-raw", "o"); out != want {
				t.Errorf("the data source of %s reads %q", workspace, out)
			}
		}
		l.run(0, "workspace", "select", "default")
		l.run(0, "workspace", "delete", "-force", "w")
		if left := query(t, port, `SELECT count(*) FROM layouts.states_objects o JOIN layouts.states s ON s.id = o.state WHERE s.name = 'w'`); left != "0" {
			t.Errorf("%s rows are left", left)
		}
	})
	t.Run("history", func(t *testing.T) { testRowHistory(t, newDirectory(t, ours, rowsPlace(port, "history")), port) })
	t.Run("moving", func(t *testing.T) { testMoving(t, ours, rowsPlace(port, "moving")) })
	t.Run("encrypting", func(t *testing.T) { testEncrypting(t, newDirectory(t, ours, rowsPlace(port, "encrypting")), port) })
	t.Run("refused", func(t *testing.T) { testWrongLayout(t, ours, rowsPlace(port, "refused")) })
}

// testRowHistory checks state history, state diff and state restore on a state in rows, and the removal of old
// versions.
func testRowHistory(t *testing.T, l *directory, port string) {
	for _, v := range []string{"1", "2", "3"} {
		l.run(0, "apply", "-auto-approve", "-var", "v="+v)
	}
	var h struct {
		States []struct {
			Serial         int
			Who, Operation string
			Changes        struct{ Added, Changed, Removed int }
		}
	}
	check(t, json.Unmarshal([]byte(l.run(0, "state", "history", "-json")), &h))
	if len(h.States) != 3 || h.States[0].Serial != 3 || h.States[0].Operation != "apply" || !strings.Contains(h.States[0].Who, "@") || h.States[0].Changes.Changed != 1 || h.States[2].Changes.Added != 1 {
		t.Errorf("%+v\n%s", h, l.run(0, "state", "history"))
	}
	before := l.run(0, "state", "pull")
	if out := l.run(0, "state", "diff", "1", "2"); !strings.Contains(out, "terraform_data.a was changed") || !strings.Contains(out, "Serial 1 to 2: 0 added, 1 changed, 0 removed") {
		t.Errorf("diff: %s", out)
	}
	if out := l.run(0, "state", "restore", "-auto-approve", "1"); !strings.Contains(out, "It has the serial 4 now") {
		t.Errorf("restore: %s", out)
	}
	if out := l.run(0, "output", "-raw", "o"); out != "1" {
		t.Errorf("restored is %s", out)
	}
	l.run(0, "state", "restore", "-auto-approve", "3")
	if out := l.run(0, "state", "pull"); strings.Replace(out, `"serial": 5`, `"serial": 3`, 1) != before {
		t.Errorf("restored is\n%s\nand was\n%s", out, before)
	}
	l.run(1, "state", "diff", "9")
	// Versions older than the retention time are removed at the next write, except the version that was the latest
	// then.
	query(t, port, `UPDATE history.states_versions SET time = time - interval '31 days' WHERE number <= 3`)
	l.run(0, "apply", "-auto-approve", "-var", "v=4")
	if out := query(t, port, `SELECT string_agg(number::text, ' ' ORDER BY number) FROM history.states_versions`); out != "3 4 5 6" {
		t.Errorf("the versions are %s", out)
	}
	l.run(0, "state", "diff", "3", "4")
	l.run(1, "state", "diff", "2")
	l.run(0, "init", "-reconfigure", "-backend-config=history_days=0")
	l.run(0, "apply", "-auto-approve", "-var", "v=5")
	if out := query(t, port, `SELECT (SELECT count(*) FROM history.states_versions) || ' ' || (SELECT count(*) FROM history.states_objects)`); out != "1 1" {
		t.Errorf("without history there are %s versions and objects", out)
	}
}

// testMoving checks that init moves states between the layouts of one table, and that no state counts as empty.
func testMoving(t *testing.T, ours string, p place) {
	l := newDirectory(t, ours, p.inDocument())
	l.run(0, "apply", "-auto-approve", "-var", "v=1")
	l.run(0, "workspace", "new", "w")
	l.run(0, "apply", "-auto-approve", "-var", "v=w")
	pulled := l.run(0, "state", "pull")
	remembered := filepath.Join(l.dir, ".terraform", "terraform.tfstate")
	for range 2 {
		for _, next := range []place{p, p.inDocument()} {
			before, err := os.ReadFile(remembered)
			check(t, err)
			l.configure(config + next.backend)
			l.run(1, "plan", "-var", "v=w")
			l.run(0, "init", "-migrate-state", "-force-copy")
			// A command that was killed before it recorded the move is run again.
			check(t, os.WriteFile(remembered, before, 0o600))
			l.run(0, "init", "-migrate-state", "-force-copy")
			if out := l.run(0, "state", "pull"); out != pulled {
				t.Errorf("moved is\n%s\nand was\n%s", out, pulled)
			}
			for _, w := range []string{"default", "w"} {
				l.run(0, "workspace", "select", w)
				l.run(0, "plan", "-detailed-exitcode", "-var", "v="+map[string]string{"default": "1", "w": "w"}[w])
			}
			l.run(0, "init", "-migrate-state", "-force-copy")
		}
	}
	// Another setting of the same layout moves no state.
	l.configure(config + strings.Replace(p.inDocument().backend, "schema_name", "skip_schema_creation = true\n    schema_name", 1))
	l.run(1, "plan", "-var", "v=w")
	l.run(0, "init", "-migrate-state", "-force-copy")
	// No state is moved while another run is active.
	other := newDirectory(t, ours, p.inDocument())
	cmd, done := other.holding("9")
	l.configure(config + p.backend)
	if out := l.run(1, "init", "-migrate-state", "-force-copy"); !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("moved while another applies: %s", out)
	}
	done()
	check(t, cmd.Wait())
	// Into rows, and from there to another place and back.
	for _, next := range []string{p.backend, "", p.backend} {
		l.configure(config + next)
		l.run(0, "init", "-migrate-state", "-force-copy")
		l.run(0, "workspace", "select", "w")
		if out := l.run(0, "state", "pull"); out != pulled {
			t.Errorf("moved is\n%s\nand was\n%s", out, pulled)
		}
	}
}

// testEncrypting checks that init moves a state in rows to an encrypted document in one step, if the configuration
// accepts unencrypted states, and back.
func testEncrypting(t *testing.T, l *directory, port string) {
	rows := rowsPlace(port, "encrypting")
	l.run(0, "apply", "-auto-approve", "-var", "v=canary-4711")
	pulled := l.run(0, "state", "pull")
	encryption := func(block string) string {
		return "terraform {\n  encryption {\n    key_provider \"pbkdf2\" \"k\" {\n      passphrase = \"correct horse battery staple\"\n    }\n    method \"aes_gcm\" \"m\" {\n      keys = key_provider.pbkdf2.k\n    }\n    method \"unencrypted\" \"u\" {}\n    state {\n      " + block + "\n    }\n  }\n}\n"
	}
	l.configure(config + rows.inDocument().backend + encryption("method = method.aes_gcm.m"))
	if out := l.run(1, "init", "-migrate-state", "-force-copy"); !strings.Contains(out, "fallback") || strings.Contains(out, "layout") {
		t.Errorf("without a fallback: %s", out)
	}
	l.configure(config + rows.inDocument().backend + encryption("method = method.aes_gcm.m\n      fallback {\n        method = method.unencrypted.u\n      }"))
	l.run(0, "init", "-migrate-state", "-force-copy")
	if out := l.run(0, "state", "pull"); out != pulled {
		t.Errorf("encrypted is\n%s\nand was\n%s", out, pulled)
	}
	if out := query(t, port, `SELECT data FROM encrypting.states`); strings.Contains(out, "canary-4711") || !strings.Contains(out, "encrypted_data") {
		t.Errorf("there is %s", out)
	}
	l.configure(config + rows.backend + encryption("method = method.unencrypted.u\n      fallback {\n        method = method.aes_gcm.m\n      }"))
	l.run(0, "init", "-migrate-state", "-force-copy")
	if out := l.run(0, "state", "pull"); out != pulled {
		t.Errorf("in rows again is\n%s\nand was\n%s", out, pulled)
	}
}

// testWrongLayout checks that every command fails if the backend block lacks the layout of a state in rows, and that
// Terraform fails, too. The state does not change.
func testWrongLayout(t *testing.T, ours string, p place) {
	l := newDirectory(t, ours, p)
	l.run(0, "apply", "-auto-approve", "-var", "v=1")
	cmd, done := l.holding("2")
	other := newDirectory(t, ours, p)
	if out := other.run(1, "apply", "-auto-approve", "-var", "v=3"); !strings.Contains(out, "Error acquiring the state lock") {
		t.Errorf("while another applies: %s", out)
	}
	done()
	check(t, cmd.Wait())
	never := func(program string) *directory {
		u := newDirectory(t, program, place{env: p.env})
		u.configure(config + p.inDocument().backend)
		return u
	}
	document := never(ours)
	for _, args := range [][]string{{"init"}, {"init", "-reconfigure"}, {"plan", "-var", "v=1"}, {"apply", "-auto-approve", "-lock=false", "-var", "v=1"}, {"state", "list"}, {"destroy", "-auto-approve", "-var", "v=1"}} {
		if out := document.run(1, args...); !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(out, "│", " ")), " "), `Set layout = "rows" in the settings of the backend`) {
			t.Errorf("%v: %s", args, out)
		}
	}
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	tf := never(terraform)
	tf.run2("init", "-reconfigure")
	for _, args := range [][]string{{"apply", "-auto-approve", "-var", "v=1"}, {"state", "list"}, {"state", "push", "-force", "x"}} {
		check(t, os.WriteFile(filepath.Join(tf.dir, "x"), []byte(`{"version":4,"terraform_version":"1.11.4","serial":9,"lineage":"x","outputs":{},"resources":[]}`), 0o600))
		tf.run(1, args...)
	}
	if out := l.run(0, "output", "-raw", "o"); out != "2" {
		t.Errorf("then there is %q", out)
	}
}
