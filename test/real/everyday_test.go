package real

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/test/providers/source"
)

// A story is the work of a user in one directory. It runs with Lethe and, if Terraform is on PATH, with Terraform. They
// must agree about exit codes, planned actions and their reasons, and the state, except for random values.
type story struct {
	name      string
	providers []string // the providers to install from a mirror, in the versions of their suites
	server    bool     // the story needs a PostgreSQL server
	steps     []step
}

// step is one command with the expected exit code. Its files are written before it, or removed if their text is empty.
type step struct {
	files map[string]string
	args  string
	code  int
	says  string // a text that the output must contain
}

// place is a working directory of one program, with a home directory and additional environment variables.
type place struct {
	*testing.T
	program, dir, home string
	env                []string
}

// run runs a command and returns its output and errors together, and its exit code.
func (p *place) run(args ...string) (string, int) {
	p.Helper()
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TMPDIR=" + p.home, "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1"}, p.env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// tell runs step n of a story and returns its results as text: the planned actions, if it saves a plan, and the state.
// It ends the test if the exit code is wrong.
func (p *place) tell(n int, s step) string {
	p.Helper()
	for name, text := range s.files {
		path := filepath.Join(p.dir, name)
		if text == "" {
			check(p.T, os.Remove(path))
			continue
		}
		check(p.T, os.MkdirAll(filepath.Dir(path), 0o755))
		check(p.T, os.WriteFile(path, []byte(text), 0o644))
	}
	args := append(strings.Fields(s.args), "-no-color")
	planning := args[0] == "plan" && strings.Contains(s.args, "-out=p")
	out, code := p.run(args...)
	where := fmt.Sprintf("%s, step %d, %s", filepath.Base(p.program), n, s.args)
	if code != s.code {
		p.Fatalf("%s: exit %d and not %d\n%s", where, code, s.code, out)
	}
	if !strings.Contains(strings.Join(strings.Fields(out), " "), s.says) {
		p.Errorf("%s: %q is not in\n%s", where, s.says, out)
	}
	if strings.Contains(out, "canary") {
		p.Errorf("%s shows a secret:\n%s", where, out)
	}
	if planning {
		return where[strings.Index(where, ","):] + "\n" + p.planned() + p.stored()
	}
	return where[strings.Index(where, ","):] + "\n" + p.stored()
}

// planned returns the actions of the plan in the file p, as sorted lines.
func (p *place) planned() string {
	text, code := p.run("show", "-json", "p")
	var doc struct {
		Changes []struct {
			Address, Mode string
			Reason        string `json:"action_reason"`
			Change        struct {
				Actions   []string
				Importing any
				Paths     any `json:"replace_paths"`
			}
		} `json:"resource_changes"`
		Outputs map[string]struct{ Actions []string } `json:"output_changes"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || code != 0 {
		p.Fatalf("show -json p: %d %v\n%s", code, err, text)
	}
	var lines []string
	for _, c := range doc.Changes {
		lines = append(lines, fmt.Sprintf("  %s %v %s %v importing %v", c.Address, c.Change.Actions, c.Reason, c.Change.Paths, c.Change.Importing != nil))
	}
	for name, o := range doc.Outputs {
		lines = append(lines, fmt.Sprintf("  output %s %v", name, o.Actions))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// chance lists the attributes with random values.
var chance = strings.Fields("id result value rfc3339 unix output private_key_pem private_key_openssh private_key_pem_pkcs8 " +
	"public_key_pem public_key_openssh public_key_fingerprint_md5 public_key_fingerprint_sha256 cert_pem cert_request_pem ca_cert_pem ca_private_key_pem " +
	"validity_start_time validity_end_time bcrypt_hash b64_std b64_url hex dec keepers triggers content content_md5 content_sha1 content_sha256 content_sha512 " +
	"content_base64sha256 content_base64sha512 base_rfc3339 rotation_rfc3339 day hour minute second month year input prefix seed password content_base64 rendered part certificates")

// stored returns the content of the state, as sorted lines. It replaces random values by "...".
func (p *place) stored() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate"))
	if errors.Is(err, os.ErrNotExist) {
		return "  no state\n"
	}
	check(p.T, err)
	if strings.Contains(string(text), "canary") {
		p.Errorf("a secret is in the state:\n%s", text)
	}
	var doc struct {
		Outputs   map[string]struct{ Sensitive bool }
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				Key          any `json:"index_key"`
				Status       string
				Schema       int `json:"schema_version"`
				Attributes   map[string]any
				Dependencies []string
			}
		}
	}
	check(p.T, json.Unmarshal(text, &doc))
	var lines []string
	for name, o := range doc.Outputs {
		lines = append(lines, fmt.Sprintf("  output %s %v", name, o.Sensitive))
	}
	for _, r := range doc.Resources {
		for _, i := range r.Instances {
			slices.Sort(i.Dependencies)
			i.Dependencies = slices.DeleteFunc(i.Dependencies, func(d string) bool { // ignore dependencies on leases, which Lethe does not store
				return strings.HasPrefix(d, "ephemeral.")
			})
			if r.Mode == "data" {
				i.Dependencies = nil // ignore these dependencies: Terraform records the dependencies of data that it reads during apply
			}
			for name, v := range i.Attributes {
				if slices.Contains(chance, name) && v != nil {
					i.Attributes[name] = "..."
				}
			}
			attrs, err := json.Marshal(i.Attributes)
			check(p.T, err)
			lines = append(lines, fmt.Sprintf("  %s %s %s.%s %v %s v%d %v %s", r.Module, r.Mode, r.Type, r.Name, i.Key, i.Status, i.Schema, i.Dependencies, strings.ReplaceAll(string(attrs), p.dir, "DIR")))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

// TestEveryday runs the stories.
func TestEveryday(t *testing.T) {
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) { s.tell(t) })
	}
}

// tell runs the story with both programs and compares the results of each step. At the end the state must be empty. It
// skips the test if the source of a provider is not available.
func (s *story) tell(t *testing.T) {
	home := t.TempDir()
	for _, name := range s.providers {
		p := suiteOf(name)
		if _, err := p.from(); errors.Is(err, source.ErrAbsent) {
			t.Skip(err)
		}
		p.offer(t, home, p.version)
	}
	programs := map[string]string{"lethe": must(lethe())(t)}
	if path, err := exec.LookPath("terraform"); err == nil {
		programs["terraform"] = path
	}
	told := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		p := &place{T: t, program: programs[name], dir: t.TempDir(), home: home}
		if s.server {
			p.env = startServer(t)
		}
		for n, one := range s.steps {
			told[name] = append(told[name], p.tell(n, one))
		}
		if left, err := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate")); err == nil && strings.Contains(string(left), `"instances"`) {
			t.Errorf("%s leaves something: %s", name, left)
		}
	}
	for n, ours := range told["lethe"] {
		if theirs, ok := told["terraform"]; ok && ours != theirs[n] {
			head, _, _ := strings.Cut(ours, "\n")
			t.Errorf("Lethe%s, has\n%s\nand Terraform\n%s", head, without(ours, theirs[n]), without(theirs[n], ours))
		}
	}
}

// without returns the lines of a text that are missing in another text.
func without(text, other string) string {
	var out []string
	lines := strings.Split(other, "\n")
	for _, l := range strings.Split(text, "\n") {
		if !slices.Contains(lines, l) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}
