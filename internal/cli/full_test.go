package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
)

// site is a working directory in which the program runs inside the test process, with a replaceable file system.
type site struct {
	*testing.T
	dir, home string
	env       []string // more environment variables
}

func newSite(t *testing.T, config string) *site {
	t.Helper()
	s := &site{T: t, dir: filepath.Join(t.TempDir(), "work"), home: filepath.Join(t.TempDir(), "home")}
	for _, dir := range []string{s.dir, s.home} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a command, and returns its exit code and its output on both streams. files is the file system for states and
// journals; nil means the disk.
func (s *site) run(files disk.FS, args ...string) (int, string) {
	var out bytes.Buffer
	code := cli.Main(cli.Env{
		Args: args, Program: "lethe", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: s.dir, Files: files, Now: time.Now,
		Environ: append([]string{"HOME=" + s.home, "TMPDIR=" + s.home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0"}, s.env...),
	})
	return code, out.String()
}

func (s *site) must(args ...string) string {
	s.Helper()
	code, out := s.run(nil, args...)
	if code != 0 {
		s.Fatalf("lethe %s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

// read returns the contents of a file, and "" if the file does not exist.
func (s *site) read(name string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil && !os.IsNotExist(err) {
		s.Fatal(err)
	}
	return string(text)
}

// rooms returns, for each write, two sizes of the disk in bytes: with the first, the disk is full before this write,
// and with the second in the middle of the write.
func rooms(writes []int) []int {
	var out []int
	sum := 0
	for _, n := range writes {
		out = append(out, sum, sum+n/2)
		sum += n
	}
	return out
}

const growing = `
variable "n" {
  default = 2
}
resource "terraform_data" "a" {
  count = var.n
  input = count.index
}
`

// TestFullDiskApply fills the disk at each write of an apply. The state file must have the old state or the new state.
// Each created object must be in the state, in the journal, in another file or in the output. After space is freed, the
// next command must succeed.
func TestFullDiskApply(t *testing.T) {
	t.Parallel()
	apply := []string{"apply", "-auto-approve", "-no-color", "-parallelism=1", "-var=n=4"}
	measure := newSite(t, growing)
	measure.must("apply", "-auto-approve")
	all := &disktest.Full{FS: disk.OS, Under: measure.dir, Limit: math.MaxInt}
	if code, out := measure.run(all, apply...); code != 0 {
		t.Fatal(out)
	}
	if len(all.Writes()) < 6 { // the writes of the lock, the journal, announced calls, results, the backup and the state
		t.Fatalf("only %d writes were seen", len(all.Writes()))
	}
	for _, everywhere := range []bool{false, true} {
		for _, room := range rooms(all.Writes()) {
			t.Run(fmt.Sprintf("everywhere %v, room for %d bytes", everywhere, room), func(t *testing.T) {
				s := newSite(t, growing)
				s.must("apply", "-auto-approve")
				before := s.read("terraform.tfstate")
				full := &disktest.Full{FS: disk.OS, Under: s.dir, Limit: room}
				if everywhere {
					full.Under = ""
				}
				code, out := s.run(full, apply...)
				s.intact(before, code, out)
				s.keepsEverything(out)
				s.must(apply...)
				if out := s.must("plan", "-no-color", "-var=n=4"); !strings.Contains(out, "No changes.") {
					t.Errorf("with room again:\n%s", out)
				}
			})
		}
	}
}

// intact checks the state file after a command on a full disk: the file must be valid JSON, and must differ from its
// former content if the command succeeded. If the command failed, its output must report the full disk. No temporary
// file may remain.
func (s *site) intact(before string, code int, out string) {
	s.Helper()
	after := s.read("terraform.tfstate")
	switch {
	case !json.Valid([]byte(after)):
		s.Errorf("the state is torn: %q\n%s", after, out)
	case code == 0 && after == before:
		s.Errorf("success was said, and the state is the old one:\n%s", out)
	case code != 0 && !strings.Contains(out, "no space left on device"):
		s.Errorf("exit code %d, and nothing is said of the disk:\n%s", code, out)
	}
	if left, _ := filepath.Glob(filepath.Join(s.dir, ".*.tmp")); len(left) > 0 {
		s.Errorf("left over: %v", left)
	}
}

var (
	created = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(terraform_data\.a\[\d\]): Creation complete after \d+s \[id=([0-9a-f-]+)\]`)
	})
	dumped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`The updated state was written to (\S+)\. To store`) })
)

// keepsEverything checks that every created object can be found. If the state was written to another file,
// keepsEverything first stores this file with "state push".
func (s *site) keepsEverything(out string) {
	s.Helper()
	if m := dumped().FindStringSubmatch(out); m != nil {
		s.must("state", "push", m[1])
	}
	known := s.must("state", "pull")
	_, said, _ := strings.Cut(out, "Failed to save state")
	for _, m := range created().FindAllStringSubmatch(out, -1) {
		if !strings.Contains(known, m[2]) && !strings.Contains(said, m[1]+" [id="+m[2]+"]") {
			s.Errorf("%s is lost:\n%s", m[1], out)
		}
	}
}

// TestFullDiskCommands fills the disk at each write of commands that change the state or files of the working
// directory. Each command must either do its work, or leave the file that it writes unchanged and report the full disk.
func TestFullDiskCommands(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		file string // the file that the command writes
	}{
		"plan":      {[]string{"plan", "-no-color", "-var=n=3", "-out=saved"}, "saved"},
		"refresh":   {[]string{"apply", "-no-color", "-refresh-only", "-auto-approve", "-var=n=3"}, "terraform.tfstate"},
		"destroy":   {[]string{"destroy", "-no-color", "-auto-approve"}, "terraform.tfstate"},
		"mv":        {[]string{"state", "mv", "-no-color", "terraform_data.a[0]", "terraform_data.a[9]"}, "terraform.tfstate"},
		"rm":        {[]string{"state", "rm", "-no-color", "terraform_data.a[0]"}, "terraform.tfstate"},
		"taint":     {[]string{"taint", "-no-color", "terraform_data.a[0]"}, "terraform.tfstate"},
		"workspace": {[]string{"workspace", "select", "-no-color", "other"}, ".terraform/environment"},
	} {
		t.Run(name, func(t *testing.T) {
			prepared := func() *site {
				s := newSite(t, growing)
				s.must("apply", "-auto-approve")
				s.must("plan", "-out=saved")
				s.must("workspace", "new", "other")
				s.must("workspace", "select", "default")
				return s
			}
			measure := prepared()
			all := &disktest.Full{FS: disk.OS, Limit: math.MaxInt}
			if code, out := measure.run(all, c.args...); code != 0 {
				t.Fatal(out)
			}
			for _, room := range rooms(all.Writes()) {
				s := prepared()
				before := s.read(c.file)
				code, out := s.run(&disktest.Full{FS: disk.OS, Limit: room}, c.args...)
				after := s.read(c.file)
				switch {
				case code == 0 && after == before && name != "refresh":
					t.Errorf("room %d: success was said, and nothing was written:\n%s", room, out)
				case code != 0 && !strings.Contains(out, "no space left on device"):
					t.Errorf("room %d: exit code %d, and nothing is said of the disk:\n%s", room, code, out)
				case code != 0 && after != before:
					t.Errorf("room %d: failure was said, and %s changed", room, c.file)
				}
				if code, out := s.run(nil, c.args...); code == 1 && name != "mv" && name != "rm" {
					t.Errorf("room %d: with room again:\n%s", room, out)
				}
			}
		})
	}
}
