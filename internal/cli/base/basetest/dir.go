// Package basetest runs commands in the process of a test, in a temporary directory with a local state.
package basetest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli/base"
)

// Dir is a temporary working directory for the commands of one test.
type Dir struct {
	*testing.T
	Path    string
	Environ []string // "NAME=value", in addition to the variables that Run sets
}

// New creates a working directory with one configuration file, main.tf, which contains text.
func New(t *testing.T, text string) *Dir {
	t.Helper()
	d := &Dir{T: t, Path: t.TempDir()}
	d.Write("main.tf", text)
	return d
}

// Write writes a file in the directory. If the file cannot be written, Write ends the test.
func (d *Dir) Write(name, text string) {
	d.Helper()
	if err := os.WriteFile(filepath.Join(d.Path, name), []byte(text), 0o666); err != nil {
		d.Fatal(err)
	}
}

// Read returns the content of a file in the directory, or "" if the file does not exist. After any other error, it ends
// the test.
func (d *Dir) Read(name string) string {
	text, err := os.ReadFile(filepath.Join(d.Path, name))
	if err != nil && !os.IsNotExist(err) {
		d.Fatal(err)
	}
	return string(text)
}

// State writes a state with a terraform_data object for each name. The input of each object is "in".
func (d *Dir) State(names ...string) {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf(`{"mode":"managed","type":"terraform_data","name":%q,"provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"id-%s","input":{"value":"in","type":"string"},"output":{"value":"in","type":"string"},"triggers_replace":null},"sensitive_attributes":[]}]}`, n, n))
	}
	d.Write("terraform.tfstate", `{"version":4,"terraform_version":"1.9.0","serial":1,"lineage":"l","outputs":{},"resources":[`+strings.Join(all, ",")+`],"check_results":null}`)
}

// Run runs a command and returns its exit code and all its output, on standard output and standard error together. The
// command cannot ask questions.
func (d *Dir) Run(cmd *base.Command, args ...string) (int, string) {
	d.Helper()
	var out bytes.Buffer
	env := base.Env{
		Args: args, Program: "lethe", Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: d.Path, Now: time.Now,
		Environ: []string{"HOME=" + d.Path, "TMPDIR=" + d.Path, "TF_CLI_CONFIG_FILE=" + os.DevNull, "TF_INPUT=0"},
	}
	env.Environ = append(env.Environ, d.Environ...)
	if err := env.Settle(); err != nil {
		d.Fatal(err)
	}
	code := env.Run(cmd, args)
	return code, out.String()
}

// Do runs do as the function of a command, and returns all output of the command.
func (d *Dir) Do(do func(context.Context, *base.Call)) string {
	d.Helper()
	_, out := d.Run(&base.Command{Name: "try", Setup: base.NoFlags(func(ctx context.Context, c *base.Call) int {
		do(ctx, c)
		return c.UI.Done(base.ExitOK)
	})})
	return out
}

// Ends fails the test unless a command ends with the exit code and prints the text.
func (d *Dir) Ends(code int, text string, cmd *base.Command, args ...string) {
	d.Helper()
	if got, out := d.Run(cmd, args...); got != code || !strings.Contains(out, text) {
		d.Errorf("%s %q: %d, without %q:\n%s", cmd.Name, args, got, text, out)
	}
}

// TestObject returns the configuration of a terraform_data resource that matches State.
func TestObject(name string) string {
	return fmt.Sprintf("resource \"terraform_data\" %q {\n  input = \"in\"\n}\n", name)
}
