package cli_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// TestPersona calls the program by the names of its peers. What reads the output of a peer then
// finds what it looks for: the server Atlantis and the wrapper terragrunt a version, the commenter
// tfcmt the heading of a plan.
func TestPersona(t *testing.T) {
	atlantis := regexp.MustCompile(`(?:Terraform|OpenTofu) v(.*?)(\s.*)?\n`)
	terragrunt := regexp.MustCompile(`^(\S+)\s(v?\d+\.\d+\.\d+)`)
	for program, product := range map[string]string{
		"lethe": "Lethe", "/usr/bin/lethe": "Lethe", "lethe-bin": "Lethe", "other": "Lethe",
		"terraform": "Terraform", "/opt/x/terraform-bin": "Terraform", "terraform.exe": "Terraform",
		"tofu": "OpenTofu", "./tofu-bin": "OpenTofu", "/a/tofu": "OpenTofu",
	} {
		s := newSite(t, "resource \"terraform_data\" \"a\" {}\n")
		run := func(args ...string) string {
			var out, err bytes.Buffer
			code := cli.Main(cli.Env{
				Args: args, Program: program, Stdin: strings.NewReader("no\n"), Stdout: &out, Stderr: &err, Dir: s.dir, Now: time.Now,
				Environ: []string{"HOME=" + s.home, "TF_CLI_CONFIG_FILE=/dev/null"},
			})
			if code != 0 && args[0] != "apply" {
				t.Fatalf("%s %v: %s", program, args, err.String())
			}
			return out.String()
		}
		version := run("version")
		if m := terragrunt.FindStringSubmatch(version); m == nil || m[1] != product || m[2] != "v"+cli.Version {
			t.Errorf("%s: version: %q", program, version)
		}
		if m := atlantis.FindStringSubmatch(version); m == nil || m[1] != cli.Version {
			t.Errorf("%s: version: %q", program, version)
		}
		if plan := run("plan"); !strings.Contains(plan, "\n"+product+" will perform the following actions:\n") {
			t.Errorf("%s: plan:\n%s", program, plan)
		}
		if asked := run("apply"); !strings.Contains(asked, "\n  "+product+" will perform the actions described above.\n  Only 'yes' will be accepted to approve.\n") {
			t.Errorf("%s: apply:\n%s", program, asked)
		}
	}
}
