package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// The registries of Terraform and OpenTofu name the same providers. These tests move a working directory with a
// published provider from one program to the other.

const (
	terraformHost = "registry.terraform.io"
	tofuHost      = "registry.opentofu.org"
)

// shared is a working directory for several programs. The CLI configuration in rc names a mirror of the time provider.
type shared struct {
	*testing.T
	dir, rc string
}

// newShared returns an empty working directory. The mirror has the provider under each of the hosts.
func newShared(t *testing.T, hosts ...string) *shared {
	t.Helper()
	s := &shared{T: t, dir: t.TempDir(), rc: filepath.Join(t.TempDir(), "rc")}
	mirror := t.TempDir()
	program := binary(t, timeProvider)
	for _, host := range hosts {
		dir := filepath.Join(mirror, host, "hashicorp/time/0.14.2", runtime.GOOS+"_"+runtime.GOARCH)
		must(t, "making", os.MkdirAll(dir, 0o755))
		must(t, "linking", os.Symlink(program, filepath.Join(dir, "terraform-provider-time_v0.14.2")))
	}
	s.file(s.rc, "provider_installation {\n  filesystem_mirror {\n    path = \""+mirror+"\"\n  }\n}\n")
	return s
}

// file writes a file. A relative name is in the working directory.
func (s *shared) file(name, text string) {
	s.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	must(s.T, "writing", os.WriteFile(name, []byte(text), 0o644))
}

func (s *shared) read(name string) string {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, name))
	must(s.T, "reading", err)
	return string(text)
}

// run runs a program that must succeed, and returns its output and errors together.
func (s *shared) run(program string, args ...string) string {
	s.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TF_CLI_CONFIG_FILE=" + s.rc, "CHECKPOINT_DISABLE=1", "TF_CLI_ARGS=-no-color", "TF_IN_AUTOMATION=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.Fatalf("%s %s: %v\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out)
}

// stored returns the hosts of the providers in the state, by resource name.
func (s *shared) stored() map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`"name": "(\w+)",\s+"provider": "provider\[\\"([^/]+)/`).FindAllStringSubmatch(s.read("terraform.tfstate"), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// locked returns the hosts of the providers in the lock file.
func (s *shared) locked() []string {
	var out []string
	for _, m := range regexp.MustCompile(`provider "([^/]+)/`).FindAllStringSubmatch(s.read(".terraform.lock.hcl"), -1) {
		out = append(out, m[1])
	}
	return out
}

// TestFromTerraform continues the work of Terraform, and returns to Terraform.
func TestFromTerraform(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	lethe := binary(t, lethe)
	s := newShared(t, terraformHost)
	s.file("main.tf", "resource \"time_static\" \"first\" {}\n")
	s.run(terraform, "init")
	s.run(terraform, "apply", "-auto-approve")
	s.run(lethe, "plan", "-detailed-exitcode") // Lethe uses the provider that Terraform installed
	s.run(lethe, "init", "-lockfile=readonly")

	s.file("more.tf", "resource \"time_static\" \"second\" {}\nresource \"time_offset\" \"third\" {\n  base_rfc3339 = time_static.first.rfc3339\n  offset_days  = 1\n}\n")
	s.run(lethe, "init")
	s.run(lethe, "apply", "-auto-approve")
	for name, host := range s.stored() {
		if host != terraformHost {
			t.Errorf("%s is stored under %s", name, host)
		}
	}
	if got := s.locked(); !slices.Equal(got, []string{terraformHost}) {
		t.Errorf("locked under %v", got)
	}
	s.run(terraform, "init", "-lockfile=readonly")
	s.run(terraform, "plan", "-detailed-exitcode")

	s.file("more.tf", "resource \"time_offset\" \"third\" {\n  base_rfc3339 = time_static.first.rfc3339\n  offset_days  = 2\n}\n")
	s.run(lethe, "apply", "-auto-approve") // updates an object, and destroys an object that is no longer declared
	if got := s.stored(); len(got) != 2 || got["third"] != terraformHost {
		t.Errorf("stored: %v", got)
	}
	s.run(terraform, "plan", "-detailed-exitcode")
	s.run(terraform, "destroy", "-auto-approve")
}

// TestToTerraform begins with Lethe. Without a state Lethe uses its default host, and Terraform works with this host if
// the configuration names it. If the configuration names a host, Lethe uses that host for existing objects, too.
func TestToTerraform(t *testing.T) {
	terraform, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	lethe := binary(t, lethe)
	s := newShared(t, terraformHost, tofuHost)
	s.file("main.tf", "resource \"time_static\" \"first\" {}\n")
	s.run(lethe, "init")
	s.run(lethe, "apply", "-auto-approve")
	if got := s.stored()["first"]; got != tofuHost {
		t.Errorf("stored under %s", got)
	}
	named := "terraform {\n  required_providers {\n    time = { source = \"" + tofuHost + "/hashicorp/time\" }\n  }\n}\n"
	s.file("host.tf", named)
	s.run(lethe, "plan", "-detailed-exitcode")
	s.run(terraform, "init")
	s.run(terraform, "plan", "-detailed-exitcode")
	s.file("more.tf", "resource \"time_static\" \"second\" {}\n")
	s.run(terraform, "apply", "-auto-approve")
	s.run(lethe, "plan", "-detailed-exitcode")

	// Without a named host again, and with the other host.
	must(t, "removing", os.Remove(filepath.Join(s.dir, "host.tf")))
	s.run(lethe, "init")
	s.run(lethe, "plan", "-detailed-exitcode")
	s.file("host.tf", strings.ReplaceAll(named, tofuHost, terraformHost))
	s.run(lethe, "init")
	s.file("third.tf", "resource \"time_static\" \"third\" {}\n")
	s.run(lethe, "apply", "-auto-approve")
	if got := s.stored(); got["first"] != terraformHost || got["third"] != terraformHost {
		t.Errorf("stored: %v", got)
	}
	s.run(lethe, "destroy", "-auto-approve")
}

// TestMirrorOfOtherHost installs from a mirror that has the provider only under the other host.
func TestMirrorOfOtherHost(t *testing.T) {
	for _, host := range []string{terraformHost, tofuHost} {
		s := newShared(t, host)
		s.file("main.tf", "resource \"time_static\" \"first\" {}\n")
		s.run(binary(t, lethe), "init")
		s.run(binary(t, lethe), "apply", "-auto-approve")
		s.run(binary(t, lethe), "destroy", "-auto-approve")
	}
}
