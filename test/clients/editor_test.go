package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-exec/tfexec"
)

// A language server runs the program through terraform-exec, and waits for it while a user types.

// TestLanguageServer makes the calls of terraform-ls in its order: when a directory is opened, when a file is saved,
// when it is formatted, and when its commands are called.
func TestLanguageServer(t *testing.T) {
	ctx := context.Background()
	s := newShared(t, tofuHost)
	s.file("main.tf", "resource \"time_static\" \"a\" {}\n")
	tf := client(t, s.dir)
	must(t, "environment", tf.SetEnv(map[string]string{"PATH": os.Getenv("PATH"), "HOME": s.dir, "TF_CLI_CONFIG_FILE": s.rc, "CHECKPOINT_DISABLE": "1"}))
	v, providers, err := tf.Version(ctx, true)
	must(t, "version", err)
	if v == nil || len(providers) != 0 {
		t.Errorf("%s %v", v, providers)
	}
	if _, err := tf.ProvidersSchema(ctx); err == nil {
		t.Error("there are schemas before init: what fails is taken for a directory that is not initialised")
	}
	must(t, "init", tf.Init(ctx, tfexec.Upgrade(true)))
	if _, providers, err = tf.Version(ctx, true); err != nil || len(providers) != 1 || providers[tofuHost+"/hashicorp/time"].String() != "0.14.2" {
		t.Errorf("after init: %v %v", providers, err)
	}
	schemas, err := tf.ProvidersSchema(ctx)
	must(t, "providers schema", err)
	if p := schemas.Schemas[tofuHost+"/hashicorp/time"]; p == nil || p.ResourceSchemas["time_static"] == nil || len(p.Functions) == 0 {
		t.Errorf("%v", schemas.Schemas)
	}
	functions, err := tf.MetadataFunctions(ctx)
	must(t, "metadata functions", err)
	if functions.Signatures["templatefile"] == nil {
		t.Error("functions are missing")
	}

	s.file("main.tf", "resource \"time_static\" \"a\" {\n  rfc = 1\n}\nresource \"time_offset\" \"b\" {}\n")
	valid, err := tf.Validate(ctx)
	must(t, "validate", err)
	if valid.Valid || len(valid.Diagnostics) != 2 && len(valid.Diagnostics) != 1 {
		t.Errorf("%+v", valid)
	}
	for _, d := range valid.Diagnostics { // an editor underlines the range of a diagnostic
		if d.Range == nil || d.Range.Filename != "main.tf" || d.Range.Start.Line == 0 || d.Range.End.Byte <= d.Range.Start.Byte {
			t.Errorf("%+v", d)
		}
	}
	text, err := tf.FormatString(ctx, "a=1\nbc   = 2\n")
	must(t, "fmt", err)
	if text != "a  = 1\nbc = 2\n" {
		t.Errorf("%q", text)
	}
	if _, err := tf.FormatString(ctx, "a = \n"); err == nil {
		t.Error("what cannot be read is formatted")
	}
	must(t, "get", tf.Get(ctx))
	if _, err := os.Stat(filepath.Join(s.dir, ".terraform.lock.hcl")); err != nil { // terraform-ls watches the lock file
		t.Error(err)
	}
}

// TestEditorSpeed checks the commands that editors run in a module with 300 blocks. With stored schemas they cost
// little more than the start of the program. A provider that validates its own resources would be started at its own
// cost; the provider here does not validate.
func TestEditorSpeed(t *testing.T) {
	s := newShared(t, tofuHost)
	var b strings.Builder
	b.WriteString("terraform {\n  required_providers { time = { source = \"hashicorp/time\" } }\n}\nvariable \"n\" {\n  default = 1\n}\n")
	for i := range 100 {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = { a = var.n + %d, b = upper(\"x${var.n}\") }\n}\nlocals {\n  l%d = terraform_data.r%d.output\n}\noutput \"o%d\" {\n  value = local.l%d\n}\n", i, i, i, i, i, i)
	}
	s.file("main.tf", b.String())
	program := binary(t, lethe)
	s.run(program, "init")
	s.file("time.tf", "resource \"time_static\" \"t\" {}\n")
	s.run(program, "validate") // validate stores the schemas of the provider for the next commands
	must(t, "removing", os.Remove(filepath.Join(s.dir, "time.tf")))
	start := s.least(program, "version")
	for _, args := range [][]string{{"validate", "-json"}, {"providers", "schema", "-json"}, {"metadata", "functions", "-json"}} {
		took := s.least(program, args...)
		t.Logf("%s: %s of CPU, %s to start", strings.Join(args, " "), took, start)
		if took > 7*start+10*time.Millisecond { // the constant is larger than the resolution of the CPU clock
			t.Errorf("%s takes %s, where to start takes %s", strings.Join(args, " "), took, start)
		}
	}
}

// least returns the least CPU time of a command in seven runs, after a run that fills the caches. The command must
// succeed.
func (s *shared) least(program string, args ...string) time.Duration {
	s.Helper()
	var all []time.Duration
	for range 8 {
		cmd := exec.Command(program, args...)
		cmd.Dir = s.dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TF_CLI_CONFIG_FILE=" + s.rc, "CHECKPOINT_DISABLE=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			s.Fatalf("%v: %v\n%s", args, err, out)
		}
		all = append(all, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	}
	return slices.Min(all[1:])
}
