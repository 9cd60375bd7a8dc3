package cli_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// movingObjects has an object that every state keeps, and objects that each apply creates or destroys.
const movingObjects = `
variable "n" {
  default = 0
}
resource "terraform_data" "a" {
}
resource "terraform_data" "b" {
  count = var.n
}
output "id" {
  value = terraform_data.a.id
}
`

// movingBlocks are the backends between which the states move.
var movingBlocks = []string{
	"",
	otherFiles,
	"terraform {\n  backend \"local\" {\n    path = \"third/s\"\n  }\n}\n",
	"terraform {\n  backend \"local\" {\n    workspace_dir = \"spaces\"\n  }\n}\n",
}

// moving is a directory whose states move between backends, and the objects that its states must have.
type moving struct {
	*site
	r     *rand.Rand
	block int               // the backend that the configuration declares
	ids   map[string]string // the ID of the object that each workspace keeps
	n     map[string]string // the value of the last apply that succeeded; "" if a later apply was killed
	log   []string
}

// TestMovesKilled runs random commands that move states, change them and select workspaces. Many are killed at a call of
// the file system. No later command may lose the object of a workspace or plan to create it again, and the last init must
// complete the move.
func TestMovesKilled(t *testing.T) {
	t.Parallel()
	first, seeds := 0, 2
	if os.Getenv("LETHE_LONG") != "" {
		seeds = 100
	}
	if text := os.Getenv("LETHE_MOVES_FROM"); text != "" {
		var err error
		if first, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		seeds, _ = strconv.Atoi(os.Getenv("LETHE_MOVES"))
	}
	for seed := first; seed < first+max(1, seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			m := &moving{site: newSite(t, movingObjects), r: rand.New(rand.NewPCG(uint64(seed), 4)), ids: map[string]string{}, n: map[string]string{}}
			for _, name := range []string{"default", "w"} {
				m.env = []string{"TF_WORKSPACE=" + name}
				m.must("apply", "-auto-approve")
				m.ids[name], m.n[name] = m.must("output", "-raw", "id"), "0"
			}
			m.env = nil
			for range 12 {
				m.step()
				m.check(true)
				if t.Failed() {
					break
				}
			}
			m.must("init", "-migrate-state", "-force-copy")
			m.check(false)
			if t.Failed() {
				t.Log(strings.Join(m.log, "\n"))
			}
		})
	}
}

// step runs one random command, which may be killed.
func (m *moving) step() {
	names := []string{"default", "w"}
	name := names[m.r.IntN(2)]
	switch m.r.IntN(6) {
	case 0, 1:
		if m.r.IntN(2) == 0 {
			m.block = m.r.IntN(len(movingBlocks))
			m.write("main.tf", movingObjects+movingBlocks[m.block])
		}
		m.killed("init", "-migrate-state", "-force-copy")
	case 2, 3:
		n := strconv.Itoa(m.r.IntN(3))
		m.env = []string{"TF_WORKSPACE=" + name}
		m.n[name] = ""
		if m.killed("apply", "-auto-approve", "-var=n="+n) == 0 {
			m.n[name] = n
		}
	case 4:
		m.killed("workspace", "select", name)
	default:
		m.env = []string{"TF_WORKSPACE=" + name}
		m.killed("taint", "-allow-missing", "terraform_data.b[0]")
		m.n[name] = ""
	}
	m.env = nil
}

// killed runs a command, which may be killed at a random call of the file system, and returns its exit code. After a
// kill, it returns another code than 0.
func (m *moving) killed(args ...string) int {
	var files disk.FS
	faults := &disktest.Faults{FS: disk.OS, At: 1 + m.r.IntN(60), Err: errors.New("the process was killed"), Dead: true, Half: true}
	if m.r.IntN(3) > 0 {
		files = faults
	}
	code, out := m.run(files, args...)
	when := "not killed"
	if files != nil && faults.Last() != "none" {
		when = fmt.Sprintf("killed at call %d (%s)", faults.At, faults.Last())
		code = max(code, 1)
	}
	m.log = append(m.log, fmt.Sprintf("backend %d, %v: lethe %s: %s, exit code %d", m.block, m.env, strings.Join(args, " "), when, code))
	if code != 0 {
		if i := strings.Index(out, "Error: "); i >= 0 {
			m.log = append(m.log, "    "+strings.Join(strings.Fields(out[i:min(len(out), i+300)]), " "))
		}
	}
	return code
}

// check checks that commands use the object of each workspace. mayRefuse permits that they fail.
func (m *moving) check(mayRefuse bool) {
	m.Helper()
	for name, id := range m.ids {
		m.env = []string{"TF_WORKSPACE=" + name}
		n := m.n[name]
		code, out := m.run(nil, "plan", "-no-color", "-var=n="+n+strings.Repeat("0", 1-len(n)))
		switch {
		case code != 0 && !mayRefuse:
			m.Errorf("%s: plan failed:\n%s", name, out)
		case code == 0 && strings.Contains(out, "terraform_data.a will be created"):
			m.Errorf("%s: the object would be created again:\n%s", name, out)
		case code == 0 && n != "" && !strings.Contains(out, "No changes."):
			m.Errorf("%s: objects are lost:\n%s", name, out)
		}
		if code, out := m.run(nil, "state", "list", "-id="+id); code == 0 && !strings.Contains(out, "terraform_data.a") || code != 0 && !mayRefuse {
			m.Errorf("%s: exit code %d, and the object is not in the state:\n%s", name, code, out)
		}
		m.env = nil
	}
}
