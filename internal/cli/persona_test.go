package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli"
)

// TestPersona runs Lethe under the names terraform and tofu, and checks the texts that other programs look for: the
// server Atlantis and the wrapper terragrunt parse a version, the commenter tfcmt the heading of a plan.
func TestPersona(t *testing.T) {
	atlantis := regexp.MustCompile(`(?:Terraform|OpenTofu) v(.*?)(\s.*)?\n`)
	terragrunt := regexp.MustCompile(`^(\S+)\s(v?\d+\.\d+\.\d+)`)
	for program, product := range map[string]string{
		"lethe": "Lethe", "/usr/bin/lethe": "Lethe", "lethe-bin": "Lethe", "other": "Lethe",
		"terraform": "Terraform", "/opt/x/terraform-bin": "Terraform", "terraform.exe": "Terraform",
		"tofu": "OpenTofu", "./tofu-bin": "OpenTofu", "/a/tofu": "OpenTofu", "tofu-lethe": "OpenTofu", "/x/terraform-lethe.exe": "Terraform",
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

// TestPersonaRegistry checks that under the name terraform new providers belong to Terraform's registry, unless the
// configuration or the state names another registry. Programs that run Terraform expect this registry.
func TestPersonaRegistry(t *testing.T) {
	const config = "terraform {\n  required_providers {\n    here = { source = \"hashicorp/here\" }\n    named = { source = \"registry.opentofu.org/hashicorp/named\" }\n  }\n}\n"
	const stored = `{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": [` +
		`{"mode": "managed", "type": "here_x", "name": "a", "provider": "provider[\"registry.opentofu.org/hashicorp/here\"]", "instances": [{"schema_version": 0, "attributes": {}}]}]}`
	for _, tt := range []struct{ program, state, here string }{
		{"lethe", "", addr.DefaultHost}, {"tofu", "", addr.DefaultHost}, {"terraform", "", addr.TerraformHost},
		{"terraform", stored, addr.DefaultHost}, {"lethe", strings.ReplaceAll(stored, addr.DefaultHost, addr.TerraformHost), addr.TerraformHost},
	} {
		s := newSite(t, config)
		platform := runtime.GOOS + "_" + runtime.GOARCH
		for _, name := range []string{"here", "named"} {
			dir := filepath.Join(s.home, ".terraform.d/plugins", addr.DefaultHost, "hashicorp", name, "1.0.0", platform)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "terraform-provider-"+name+"_v1.0.0"), []byte("#!"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if tt.state != "" {
			if err := os.WriteFile(filepath.Join(s.dir, "terraform.tfstate"), []byte(tt.state), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		run := func(args ...string) string {
			var out bytes.Buffer
			code := cli.Main(cli.Env{
				Args: args, Program: tt.program, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: s.dir, Now: time.Now,
				Environ: []string{"HOME=" + s.home},
			})
			if code != 0 {
				t.Fatalf("%s %v: %s", tt.program, args, out.String())
			}
			return out.String()
		}
		if got := run("init"); !strings.Contains(got, "- Installing hashicorp/here v1.0.0...") {
			t.Errorf("%s: init: %s", tt.program, got)
		}
		lock, err := os.ReadFile(filepath.Join(s.dir, ".terraform.lock.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		shown := run("providers")
		for name, host := range map[string]string{"here": tt.here, "named": addr.DefaultHost} {
			p := host + "/hashicorp/" + name
			if !strings.Contains(string(lock), `provider "`+p+`"`) || !strings.Contains(shown, "provider["+p+"]\n") {
				t.Errorf("%s: %s is not in\n%s\n%s", tt.program, p, lock, shown)
			}
		}
	}
}

// TestPersonaLines checks that Lethe under the name tofu writes the same names in the lines of -json as OpenTofu.
func TestPersonaLines(t *testing.T) {
	const config = "ephemeral \"lethe_random\" \"a\" {\n  length = 8\n  lifecycle {\n    postcondition {\n      condition     = self != null\n      error_message = \"Nothing.\"\n    }\n  }\n}\nterraform {\n  required_providers {\n    lethe = { source = \"terraform.io/builtin/lethe\" }\n  }\n}\n"
	for program, want := range map[string][]string{
		"lethe":     {`"@module":"terraform.ui"`, `"terraform":"`, `"type":"ephemeral_op_start"`, `"type":"ephemeral_op_complete"`},
		"terraform": {`"@module":"terraform.ui"`, `"terraform":"`, `"type":"ephemeral_op_start"`, `"type":"ephemeral_op_complete"`},
		"tofu":      {`"@module":"tofu.ui"`, `"tofu":"`, `"type":"ephemeral_action_started"`, `"type":"ephemeral_action_complete"`},
	} {
		s := newSite(t, config)
		var out, err bytes.Buffer
		code := cli.Main(cli.Env{
			Args: []string{"plan", "-json"}, Program: program, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Dir: s.dir, Now: time.Now,
			Environ: []string{"HOME=" + s.home, "TF_CLI_CONFIG_FILE=/dev/null"},
		})
		if code != 0 {
			t.Fatalf("%s: %s%s", program, out.String(), err.String())
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s: %s is not in\n%s", program, text, out.String())
			}
		}
	}
}
