package stores

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// company is a configuration with many instances of a module of 100 objects each. All of them refer to one object.
const company = `
variable "n" {}
variable "values" {
  type    = map(string)
  default = {}
}
resource "terraform_data" "base" {
  input = "base"
}
module "team" {
  for_each = toset(slice(flatten([for i in range(ceil(var.n / 1000)) : [for j in range(1000) : tostring(i * 1000 + j)]]), 0, var.n)) # range gives 1,024 at most
  source   = "./team"
  base     = terraform_data.base.id
  value    = lookup(var.values, each.key, "as it was")
}
`

const companyModule = `
variable "base" {}
variable "value" {}
resource "terraform_data" "a" {
  count = 99
  input = "${var.base} ${count.index}"
}
resource "terraform_data" "b" {
  input = var.value
}
`

// TestRowFigures measures the cost of a state in rows. LETHE_FIGURES=100000 sets the number of objects.
func TestRowFigures(t *testing.T) {
	n := 1_000
	if more, err := strconv.Atoi(os.Getenv("LETHE_FIGURES")); err == nil {
		n = more
	}
	port := startPostgres(t)
	ours, err := lethe()
	check(t, err)
	machine := func() *directory {
		u := newDirectory(t, ours, rowsPlace(port, "company"))
		u.env = append(u.env, "TF_VAR_n="+strconv.Itoa(n/100))
		u.configure(company + rowsPlace(port, "company").backend)
		check(t, os.Mkdir(filepath.Join(u.dir, "team"), 0o700))
		check(t, os.WriteFile(filepath.Join(u.dir, "team/main.tf"), []byte(companyModule), 0o600))
		u.run(0, "init")
		return u
	}
	cost := func(cmd *exec.Cmd, begun time.Time) string {
		s := cmd.ProcessState
		memory := int64(0)
		if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
			memory = usage.Maxrss >> 10
		}
		return fmt.Sprintf("%v, CPU %v, %d MB", time.Since(begun).Round(10*time.Millisecond), (s.UserTime() + s.SystemTime()).Round(10*time.Millisecond), memory)
	}
	u := machine()
	measure := func(what, want string, args ...string) {
		t.Helper()
		// The output goes to a file and not to memory: a new process starts with the memory peak of its parent.
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		check(t, err)
		defer file.Close()
		cmd, begun := u.cmd(append(args, "-no-color")...), time.Now()
		cmd.Stdout, cmd.Stderr = file, file
		err = cmd.Run()
		info, failed := file.Stat()
		check(t, failed)
		out := make([]byte, min(info.Size(), 4<<10))
		_, failed = file.ReadAt(out, info.Size()-int64(len(out)))
		check(t, failed)
		if err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("%s: %v\n%.2000s", what, err, out)
		}
		t.Logf("%7d objects: %-44s %s", n+1, what, cost(cmd, begun))
	}
	measure("apply of all", fmt.Sprintf("%d added", n+1), "apply", "-auto-approve")
	measure("plan of everything, no change", "No changes", "plan", "-refresh=false", "-changed=false")
	measure("plan -changed, no change", "No changes", "plan", "-changed")
	measure("plan -changed, one value", "1 to change", "plan", "-changed", `-var=values={"7"="x"}`)
	measure("apply -changed of that", "1 changed", "apply", "-auto-approve", "-changed", `-var=values={"7"="x"}`)
	serial, err := strconv.Atoi(query(t, port, `SELECT max(serial) FROM company.states_versions`))
	check(t, err)

	const runs = 20
	var all sync.WaitGroup
	var killed atomic.Int64
	dirs := make([]*directory, min(runs, n/100))
	for i := range dirs {
		dirs[i] = machine()
	}
	begun := time.Now()
	for i, d := range dirs {
		all.Go(func() {
			args := []string{"apply", "-auto-approve", "-lock-timeout=10m", fmt.Sprintf("-target=module.team[\"%d\"].terraform_data.b", i), fmt.Sprintf(`-var=values={"%d"="y"}`, i)}
			if i%3 == 0 {
				cmd := d.cmd(args...)
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				stop := time.AfterFunc(time.Duration(rand.N(3000))*time.Millisecond, func() { _ = cmd.Process.Kill() })
				if cmd.Wait() != nil {
					killed.Add(1)
				}
				stop.Stop()
			}
			if out, err := d.cmd(args...).CombinedOutput(); err != nil {
				t.Errorf("run %d: %v\n%s", i, err, out)
			}
		})
	}
	all.Wait()
	t.Logf("%7d objects: %d applies at once, %d of them killed: %v in all", n+1, len(dirs), killed.Load(), time.Since(begun).Round(10*time.Millisecond))
	if got := query(t, port, `SELECT count(*) FROM company.states_objects WHERE until IS NULL`); got != strconv.Itoa(n+1) {
		t.Errorf("there are %s objects", got)
	}
	if got := query(t, port, `SELECT count(*) FROM company.states_objects WHERE until IS NULL AND attributes::text LIKE '%"y"%'`); got != strconv.Itoa(len(dirs)) {
		t.Errorf("%s objects have the value of their run", got)
	}
	if got := query(t, port, `SELECT (max(serial) - count(*) + 1) || ' ' || min(serial) FROM company.states_versions`); !strings.HasPrefix(got, strings.Fields(got)[1]+" ") {
		t.Errorf("the serials are not consecutive: %s", got)
	}
	if last := query(t, port, `SELECT max(serial) FROM company.states_versions`); last == strconv.Itoa(serial) {
		t.Error("nothing was written")
	}
}
