package stores

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// parted is a configuration whose module instances are independent of each other. Each instance creates a file with its
// name in the directory of the variable real.
const parted = `
variable "n" {
  default = 4
}
variable "base" {
  default = "1"
}
variable "key" {
  default = ""
}
variable "v" {
  default = "0"
}
variable "hold" {
  default = ""
}
variable "real" {
  default = "/nowhere"
}
resource "terraform_data" "base" {
  input = var.base
}
module "m" {
  source   = "./m"
  for_each = toset([for i in range(var.n) : tostring(i)])
  name     = each.key
  base     = terraform_data.base.output
  real     = var.real
  v        = each.key == var.key ? var.v : "0"
  hold     = each.key == var.key ? var.hold : ""
}
`

// partedModule is the configuration of the module of parted.
const partedModule = `
variable "name" {}
variable "base" {}
variable "real" {}
variable "v" {}
variable "hold" {}
resource "terraform_data" "a" {
  input = [var.name, var.base, var.v]
}
resource "terraform_data" "b" {
  input            = { file = "${var.real}/${var.name}", a = terraform_data.a.id }
  triggers_replace = [var.v]
  provisioner "local-exec" {
    command = "touch ${self.input.file}"
  }
  provisioner "local-exec" {
    command = var.hold == "" ? "true" : "touch ${var.hold}.here; while test -e ${var.hold}; do sleep 0.02; done"
  }
  provisioner "local-exec" {
    when    = destroy
    command = "rm -f ${self.input.file}"
  }
}
`

// shop is a state in rows that many directories share.
type shop struct {
	*testing.T
	program, port, schema, real string // real is the directory of the files that the module creates
}

// newShop creates a state with the object terraform_data.base in a schema of a server.
func newShop(t *testing.T, port, schema string) *shop {
	ours, err := lethe()
	check(t, err)
	s := &shop{t, ours, port, schema, t.TempDir()}
	s.directory().run(0, "apply", "-auto-approve", "-target=terraform_data.base") // create the state, because a state that does not exist has no parts
	return s
}

// directory returns another working directory with the state.
func (s *shop) directory() *directory {
	s.Helper()
	d := newDirectory(s.T, s.program, rowsPlace(s.port, s.schema))
	d.env = append(d.env, "TF_VAR_real="+s.real)
	d.configure(parted + rowsPlace(s.port, s.schema).backend)
	check(s.T, os.Mkdir(filepath.Join(d.dir, "m"), 0o700))
	check(s.T, os.WriteFile(filepath.Join(d.dir, "m/main.tf"), []byte(partedModule), 0o600))
	d.run(0, "init")
	return d
}

// args returns the arguments of an apply of one module instance, with its key and the value v. The parameter more has
// further arguments.
func args(key, v string, more ...string) []string {
	return append([]string{"apply", "-auto-approve", "-no-color", "-target=module.m[\"" + key + "\"]", "-var=key=" + key, "-var=v=" + v}, more...)
}

// hold starts an apply of one module instance, with its key and the value v, and waits until the provisioner of its
// second object runs. The provisioner ends when done is called. out receives the output, and may be read when the
// command has ended.
func (s *shop) hold(d *directory, key, v string) (cmd *exec.Cmd, out *strings.Builder, done func()) {
	s.Helper()
	hold := filepath.Join(d.dir, "hold")
	check(s.T, os.WriteFile(hold, nil, 0o600))
	os.Remove(hold + ".here")
	cmd, out = d.cmd(args(key, v, "-var=hold="+hold)...), &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	check(s.T, cmd.Start())
	held(s.T, hold)
	return cmd, out, sync.OnceFunc(func() { os.Remove(hold) })
}

// held waits until a provisioner of a run has begun. The provisioner runs as long as the file hold exists.
func held(t *testing.T, hold string) {
	t.Helper()
	waittest.Until(t, "the provisioner has begun", func() bool {
		_, err := os.Stat(hold + ".here")
		return err == nil
	})
}

// over lets a held apply continue and waits for its end. The arguments are the results of hold. It fails the test if
// the apply fails.
func (s *shop) over(cmd *exec.Cmd, out *strings.Builder, done func()) {
	s.Helper()
	done()
	if err := cmd.Wait(); err != nil {
		s.Errorf("%v\n%s", err, out)
	}
}

// id returns the attribute id of an object in the current state, or "" if the state does not have the object.
func (s *shop) id(address string) string {
	s.Helper()
	return query(s.T, s.port, fmt.Sprintf(`SELECT attributes->>'id' FROM %s.states_objects WHERE until IS NULL AND address = '%s'`, s.schema, address))
}

// whole checks that the state and the files have the same module instances. It also checks that the serials of the
// versions are consecutive, and that no claim (the lock of a part) is left.
func (s *shop) whole() {
	s.Helper()
	d := s.directory()
	var doc struct{ Serial int }
	check(s.T, json.Unmarshal([]byte(d.run(0, "state", "pull")), &doc))
	var in []string
	for _, a := range strings.Fields(d.run(0, "state", "list")) {
		if key, ok := strings.CutPrefix(a, "module.m[\""); ok && strings.HasSuffix(a, ".b") {
			key, _, _ = strings.Cut(key, "\"")
			in = append(in, key)
		}
	}
	var real []string
	entries, err := os.ReadDir(s.real)
	check(s.T, err)
	for _, e := range entries {
		real = append(real, e.Name())
	}
	slices.Sort(in)
	slices.Sort(real)
	if !slices.Equal(in, real) {
		s.Errorf("in the state are %q, and there are %q", in, real)
	}
	var serials []int
	for _, text := range strings.Fields(query(s.T, s.port, `SELECT string_agg(serial::text, ' ' ORDER BY number) FROM `+s.schema+`.states_versions`)) {
		n, err := strconv.Atoi(text)
		check(s.T, err)
		serials = append(serials, n)
	}
	consecutive(s.T, serials)
	if left := query(s.T, s.port, `SELECT count(*) FROM `+s.schema+`.states_claims`); left != "0" {
		s.Errorf("%s claims are left", left)
	}
}

// says fails the test if an output does not contain all texts, where white space counts as one space.
func (s *shop) says(out string, words ...string) {
	s.Helper()
	for _, w := range words {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), w) {
			s.Errorf("it does not say %q:\n%s", w, out)
		}
	}
}

// TestParts lets several runs work on one state at the same time.
func TestParts(t *testing.T) {
	port := startPostgres(t)
	for name, run := range map[string]func(*shop){
		"disjoint": (*shop).disjoint, "same": (*shop).same, "queue": (*shop).queue, "died": (*shop).died, "exclusive": (*shop).exclusive, "destroy": (*shop).destroy, "dependency": (*shop).dependency,
		"saved": (*shop).saved, "killed": (*shop).killed, "overtaken": (*shop).overtaken, "edits": (*shop).edits, "connection": (*shop).connection,
		"one directory": (*shop).oneDirectory, "outputs": (*shop).outputs, "crowd": (*shop).crowd, "cut": (*shop).cut,
	} {
		t.Run(name, func(t *testing.T) { run(newShop(t, port, "s_"+strings.ReplaceAll(name, " ", "_"))) })
	}
}

// disjoint checks that a run can start and end while another run is active.
func (s *shop) disjoint() {
	a, b := s.directory(), s.directory()
	cmd, out, done := s.hold(a, "1", "x")
	b.run(0, args("2", "y")...)
	b.run(0, "plan", "-target=module.m[\"2\"]", "-detailed-exitcode", "-var=key=2", "-var=v=y")
	b.run(0, args("3", "y")...)
	b.run(0, args("2", "z")...)
	s.over(cmd, out, done)
	for _, key := range []string{"1", "2", "3"} {
		if s.id("module.m[\""+key+"\"].terraform_data.b") == "" {
			s.Errorf("%s is not in the state", key)
		}
	}
	s.whole()
}

// same lets two runs change the same object. The second is refused or waits. A waiting run plans again. If a user has
// approved its plan, the plan is out of date.
func (s *shop) same() {
	a, b, c := s.directory(), s.directory(), s.directory()
	cmd, out, done := s.hold(a, "1", "x")
	s.says(b.run(1, args("1", "y")...), "Error acquiring the state lock", `a run that is in progress changes module.m["1"].terraform_data.`, "Operation: OperationTypeApply", fmt.Sprintf("process %d", cmd.Process.Pid))
	var said, asked strings.Builder
	waits := b.cmd(args("1", "y", "-lock-timeout=1m")...)
	waits.Stdout, waits.Stderr = &said, &said
	check(s.T, waits.Start())
	approves := c.cmd(slices.DeleteFunc(args("1", "z", "-lock-timeout=1m"), func(a string) bool { return a == "-auto-approve" })...)
	approves.Stdin, approves.Stdout, approves.Stderr = strings.NewReader("yes\n"), &asked, &asked
	check(s.T, approves.Start())
	time.Sleep(1500 * time.Millisecond) // usually, the other runs wait by then. Their output is read when they have ended
	s.over(cmd, out, done)
	if err := waits.Wait(); err != nil {
		s.Errorf("%v\n%s", err, &said)
	}
	s.says(said.String(), "Planning again", "Apply complete!")
	var exit *exec.ExitError
	if err := approves.Wait(); !errors.As(err, &exit) {
		s.Errorf("the plan of a state that is no more was applied: %v\n%s", err, &asked)
	}
	s.says(asked.String(), "Plan is out of date", `module.m["1"].terraform_data.a`, "The state was written by", "Nothing was done")
	s.whole()
}

// queue checks that runs that wait for the same object run one after the other. Each plans from the result of the
// previous run.
func (s *shop) queue() {
	cmd, out, done := s.hold(s.directory(), "1", "x")
	var all sync.WaitGroup
	for i := range 6 {
		d := s.directory()
		all.Go(func() {
			if out, err := d.cmd(args("1", fmt.Sprint(i), "-lock-timeout=3m")...).CombinedOutput(); err != nil {
				s.Errorf("%v\n%s", err, out)
			}
		})
	}
	time.Sleep(time.Second) // usually, the other runs wait by then
	s.over(cmd, out, done)
	all.Wait()
	s.whole()
}

// died kills a run while another waits for its objects. The waiting run recovers the journal before it creates an
// object.
func (s *shop) died() {
	a, b, c := s.directory(), s.directory(), s.directory()
	c.run(0, "plan", "-target=module.m[\"1\"]", "-var=key=1", "-var=v=x", "-out=p")
	cmd, _, done := s.hold(a, "1", "x")
	var said strings.Builder
	waits := b.cmd(args("1", "x", "-lock-timeout=1m", "-unknown=create")...)
	waits.Stdout, waits.Stderr = &said, &said
	check(s.T, waits.Start())
	time.Sleep(1500 * time.Millisecond) // usually, the other runs wait by then. Their output is read when they have ended
	check(s.T, cmd.Process.Kill())
	_ = cmd.Wait()
	done()
	made := s.shown(a.run(0, "state", "show", "-no-color", `module.m["1"].terraform_data.a`)) // the ID comes from the journal
	if err := waits.Wait(); err != nil {
		s.Errorf("%v\n%s", err, &said)
	}
	s.says(said.String(), "Planning again", "Recovered an interrupted run")
	if now := s.id(`module.m["1"].terraform_data.a`); now != made || now == "" {
		s.Errorf("%s was made, and there is %s:\n%s", made, now, &said)
	}
	s.says(c.run(1, "apply", "p"), "Plan is out of date")
	s.whole()
}

// shown returns the first quoted text after the word id in the output of state show, or "".
func (s *shop) shown(text string) string {
	_, id, _ := strings.Cut(text, " id ")
	_, id, _ = strings.Cut(id, `"`)
	id, _, _ = strings.Cut(id, `"`)
	return id
}

// exclusive checks that an exclusive lock excludes shared locks, and the other way round.
func (s *shop) exclusive() {
	a, b := s.directory(), s.directory()
	b.run(0, args("2", "y")...)
	cmd, out, done := s.hold(a, "1", "x")
	s.says(b.run(1, "state", "rm", "module.m[\"2\"].terraform_data.a"), "Error acquiring the state lock", fmt.Sprintf("process %d", cmd.Process.Pid))
	s.says(b.run(1, "refresh"), "Error acquiring the state lock")
	s.over(cmd, out, done)
	c, err := pgconn.Connect(ctx, "postgres://postgres@127.0.0.1:"+s.port+"/postgres?sslmode=disable")
	check(s.T, err)
	defer c.Close(ctx)
	_, err = c.Exec(ctx, `SELECT pg_advisory_lock(id) FROM `+s.schema+`.states WHERE name = 'default'`).ReadAll() // Terraform locks a state with this statement
	check(s.T, err)
	s.says(b.run(1, args("2", "z")...), "Error acquiring the state lock")
	_, err = c.Exec(ctx, `SELECT pg_advisory_unlock_all()`).ReadAll()
	check(s.T, err)
	b.run(0, args("2", "z")...)
	s.whole()
}

// destroy checks that an object that another run needs is not destroyed, and that other objects are.
func (s *shop) destroy() {
	a, b := s.directory(), s.directory()
	b.run(0, args("1", "w")...)
	b.run(0, args("2", "w")...)
	cmd, out, done := s.hold(a, "1", "x")
	s.says(b.run(1, "destroy", "-auto-approve", "-target=terraform_data.base"), "Error acquiring the state lock")
	s.says(b.run(1, "destroy", "-auto-approve", "-target=module.m[\"1\"].terraform_data.a"), "Error acquiring the state lock")
	s.says(b.run(1, "destroy", "-auto-approve"), "Error acquiring the state lock")
	b.run(0, "destroy", "-auto-approve", "-target=module.m[\"2\"]")
	s.over(cmd, out, done)
	s.whole()
	b.run(0, "destroy", "-auto-approve")
	s.whole()
}

// dependency checks that a change of a dependency makes a plan out of date.
func (s *shop) dependency() {
	a, b := s.directory(), s.directory()
	a.run(0, "plan", "-out=p", "-target=module.m[\"1\"]")
	b.run(0, "apply", "-auto-approve", "-target=terraform_data.base", "-var=base=2")
	s.says(a.run(1, "apply", "p"), "Plan is out of date", " terraform_data.base ", "The state was written by")
	a.run(0, "apply", "-auto-approve", "-var=base=2", "-target=module.m[\"1\"]")
	// While a run needs the object, no other run may change it.
	cmd, out, done := s.hold(a, "2", "x")
	s.says(b.run(1, "apply", "-auto-approve", "-target=terraform_data.base", "-var=base=3"), "Error acquiring the state lock", "terraform_data.base")
	s.over(cmd, out, done)
	s.whole()
}

// saved checks that changes of independent objects do not make a plan out of date.
func (s *shop) saved() {
	a, b := s.directory(), s.directory()
	a.run(0, "plan", "-out=p", "-target=module.m[\"1\"]")
	b.run(0, args("2", "y")...)
	a.run(0, "apply", "p")
	s.says(a.run(1, "apply", "p"), "Plan is out of date", `module.m["1"].terraform_data.a`)
	s.whole()
}

// killed checks that the changes of a killed run are recovered into a state that other runs have changed.
func (s *shop) killed() {
	a, b := s.directory(), s.directory()
	cmd, _, _ := s.hold(a, "1", "x")
	check(s.T, cmd.Process.Kill())
	_ = cmd.Wait()
	pulled := a.run(0, "state", "show", "-no-color", `module.m["1"].terraform_data.a`) // the values come from the journal
	s.says(b.run(0, args("2", "y")...), "Recovered an interrupted run")
	b.run(0, args("3", "y")...)
	if id := s.id(`module.m["1"].terraform_data.a`); !strings.Contains(pulled, id) || id == "" {
		s.Errorf("it was not taken in: %s is not in\n%s", id, pulled)
	}
	if out := a.run(0, args("1", "x", "-lock-timeout=30s")...); strings.Contains(out, "Recovered") || strings.Contains(out, "not taken in") {
		s.Errorf("it was taken in twice:\n%s", out)
	}
	if id := s.id(`module.m["1"].terraform_data.a`); !strings.Contains(pulled, id) || id == "" {
		s.Errorf("it was made again: %s is not in\n%s", id, pulled)
	}
	s.whole()
}

// overtaken removes the journal of a killed run from the store, and lets another run change the object. The older
// change is not recovered, and a warning reports this.
func (s *shop) overtaken() {
	a, b := s.directory(), s.directory()
	cmd, _, _ := s.hold(a, "1", "x")
	check(s.T, cmd.Process.Kill())
	_ = cmd.Wait()
	query(s.T, s.port, `DELETE FROM `+s.schema+`.states_journals`)
	b.run(0, args("1", "y", "-lock-timeout=30s")...)
	id := s.id(`module.m["1"].terraform_data.a`)
	s.says(a.run(0, args("1", "y", "-lock-timeout=30s")...), "Changes not recovered", `module.m["1"].terraform_data.a`)
	if now := s.id(`module.m["1"].terraform_data.a`); now != id {
		s.Errorf("%s became %s", id, now)
	}
	if kept, _ := filepath.Glob(filepath.Join(a.dir, ".terraform", "*aside*")); len(kept) != 1 {
		s.Errorf("kept are %q", kept)
	}
	s.whole()
}

// edits checks two edits of one configuration, each with a new object, without targets.
func (s *shop) edits() {
	a, b := s.directory(), s.directory()
	hold := filepath.Join(a.dir, "hold")
	check(s.T, os.WriteFile(hold, nil, 0o600))
	p := rowsPlace(s.port, s.schema)
	base := "resource \"terraform_data\" \"base\" {\n  input = \"1\"\n}\n"
	a.configure(base + fmt.Sprintf("resource \"terraform_data\" \"one\" {\n  input = terraform_data.base.id\n  provisioner \"local-exec\" {\n    command = \"touch %[1]s.here; while test -e %[1]s; do sleep 0.02; done\"\n  }\n}\noutput \"one\" {\n  value = terraform_data.one.id\n}\n", hold) + p.backend)
	b.configure(base + "resource \"terraform_data\" \"two\" {\n  input = terraform_data.base.id\n}\noutput \"two\" {\n  value = terraform_data.two.id\n}\n" + p.backend)
	cmd := a.cmd("apply", "-auto-approve")
	check(s.T, cmd.Start())
	held(s.T, hold)
	b.run(0, "apply", "-auto-approve")
	os.Remove(hold)
	check(s.T, cmd.Wait())
	if out := a.run(0, "output", "-json"); !strings.Contains(out, s.id("terraform_data.one")) || !strings.Contains(out, s.id("terraform_data.two")) {
		s.Errorf("outputs: %s", out)
	}
	if out := b.run(0, "state", "list"); out != "terraform_data.base\nterraform_data.one\nterraform_data.two\n" {
		s.Errorf("list: %s", out)
	}
	s.whole()
}

// connection breaks the connection that holds the claims of a run. The run continues if no other run has taken the
// claims.
func (s *shop) connection() {
	a, b := s.directory(), s.directory()
	cmd, out, done := s.hold(a, "1", "x")
	endLocks(s.T, s.port)
	b.run(0, args("2", "y")...)
	s.over(cmd, out, done)
	s.whole()
	cmd, out, done = s.hold(a, "1", "y")
	endLocks(s.T, s.port)
	b.run(0, args("1", "z")...) // this run succeeds, because the other run has lost its lock
	done()
	if err := cmd.Wait(); err == nil {
		s.Errorf("it overwrote what another wrote:\n%s", out)
	}
	s.says(out.String(), "Failed to save state", "All changes are in the journal beside the state")
	s.says(a.run(0, args("1", "z")...), "Changes not recovered")
	s.whole()
}

// oneDirectory checks that commands in one directory run one after the other.
func (s *shop) oneDirectory() {
	a := s.directory()
	cmd, out, done := s.hold(a, "1", "x")
	s.says(a.run(1, args("2", "y")...), "Error acquiring the state lock", "another command is in progress in this directory", fmt.Sprintf("process %d", cmd.Process.Pid))
	s.over(cmd, out, done)
	a.run(0, args("2", "y")...)
	s.whole()
}

// outputs checks that a run holds a lock on each output that it changes: a second run that changes the same output
// fails to lock the state, although the two runs change different resources.
func (s *shop) outputs() {
	a, b := s.directory(), s.directory()
	for _, d := range []*directory{a, b} {
		d.configure(parted + "output \"all\" {\n  value = [for m in module.m : m.id]\n}\n" + rowsPlace(s.port, s.schema).backend)
		check(s.T, os.WriteFile(filepath.Join(d.dir, "m/out.tf"), []byte("output \"id\" {\n  value = terraform_data.b.id\n}\n"), 0o600))
	}
	a.run(0, "apply", "-auto-approve")
	hold := filepath.Join(a.dir, "hold")
	check(s.T, os.WriteFile(hold, nil, 0o600))
	cmd, out := a.cmd("apply", "-auto-approve", "-var=key=1", "-var=v=x", "-var=hold="+hold), &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, out
	check(s.T, cmd.Start())
	held(s.T, hold)
	s.says(b.run(1, "apply", "-auto-approve", "-var=key=2", "-var=v=y"), "Error acquiring the state lock")
	s.over(cmd, out, func() { os.Remove(hold) })
	s.says(b.run(0, "plan", "-var=key=1", "-var=v=x", "-no-color"), "No changes")
}

// cut breaks the connection at each request of a run (without LETHE_LONG at every fifth), before the request or before
// its answer. The state has all created objects, at once or after the run is repeated.
func (s *shop) cut() {
	d, p := s.directory(), newProxy(s.T, "127.0.0.1:"+s.port)
	through := &directory{s.T, s.program, d.dir, append(slices.Clone(d.env), "PG_CONN_STR="+strings.Replace(rowsPlace(p.port(), s.schema).env[0], "PG_CONN_STR=", "", 1))}
	failed, n, step := 0, 1, 5
	if os.Getenv("LETHE_LONG") != "" {
		step = 1
	}
	for reached := true; reached; n += step {
		for _, late := range []bool{false, true} {
			p.Interrupt(n, late)
			v := fmt.Sprintf("%d-%v", n, late)
			if _, err := through.cmd(args("1", v)...).CombinedOutput(); err != nil {
				failed++
				d.run(0, args("1", v, "-lock-timeout=1m")...)
			}
			reached = p.Reached()
			if out := d.run(0, "plan", "-no-color", "-target=module.m[\"1\"]", "-var=key=1", "-var=v="+v); !strings.Contains(out, "No changes") {
				s.Fatalf("request %d, late %v: it is not all in the state:\n%s", n, late, out)
			}
		}
	}
	s.Logf("%d requests, %d runs failed", n-step, failed)
	s.whole()
}

// crowd lets many runs work at once, and kills a third of them.
func (s *shop) crowd() {
	n := 8
	if os.Getenv("LETHE_LONG") != "" {
		n = 20
	}
	var kills, midway atomic.Int64
	round := func(command string, of func(i int) (key string, args []string)) {
		var wg sync.WaitGroup
		for i := range n {
			d := s.directory()
			d.env = append(d.env, "TF_VAR_n="+strconv.Itoa(n))
			key, more := of(i)
			all := append(args(key, command, "-lock-timeout=3m"), more...)
			wg.Go(func() {
				hold := filepath.Join(d.dir, "hold")
				for again := i%3 == 0; ; again = false {
					cmd := d.cmd(all...)
					if again { // the run waits for the file, so it is killed before it ends
						check(s.T, os.WriteFile(hold, nil, 0o600))
						cmd = d.cmd(append(all, "-var=hold="+hold)...)
					}
					var out strings.Builder
					cmd.Stdout, cmd.Stderr = &out, &out
					if err := cmd.Start(); err != nil {
						s.Error(err)
						return
					}
					if again {
						time.AfterFunc(time.Duration(rand.N(4000))*time.Millisecond, func() { _ = cmd.Process.Kill() })
						if err := cmd.Wait(); err != nil {
							kills.Add(1)
							if strings.Contains(out.String(), "provisioner") || strings.Contains(out.String(), "Provisioning") {
								midway.Add(1)
							}
						}
						os.Remove(hold)
						continue
					}
					if err := cmd.Wait(); err != nil {
						s.Errorf("worker %d: %v\n%s", i, err, &out)
					}
					return
				}
			})
		}
		wg.Wait()
	}
	began := time.Now()
	round("1", func(i int) (string, []string) { return strconv.Itoa(i), nil })
	s.whole()
	round("2", func(i int) (string, []string) {
		if i%2 == 0 {
			return strconv.Itoa(i), []string{"-destroy"}
		}
		return strconv.Itoa(i), nil
	})
	s.whole()
	s.Logf("%d workers, twice, %d of them killed, %d at work, %v", n, kills.Load(), midway.Load(), time.Since(began).Round(time.Second))
	if list := strings.Fields(s.directory().run(0, "state", "list")); len(list) != 1+n/2*2 {
		s.Errorf("the state has %q", list)
	}
}
