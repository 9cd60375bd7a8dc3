package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// namedCommands are commands that TestSentencesOfPeer runs one after the other in one directory.
var namedCommands = []string{
	"init", "init", "get", "validate", "validate -json", "fmt", "fmt -check", "plan", "plan -out=p1", "show p1", "apply p1",
	"apply -auto-approve", "plan", "output", "output o", "output -json", "output -raw o", "state list",
	"state show terraform_data.a", "state mv terraform_data.a terraform_data.z", "state mv terraform_data.z terraform_data.a",
	"show", "workspace list", "workspace show", "workspace new w2", "workspace select default", "workspace delete w2",
	"taint terraform_data.a", "plan", "untaint terraform_data.a", "refresh", "apply -refresh-only -auto-approve",
	"plan -refresh-only", "plan -destroy", "plan -target=terraform_data.a -var=v=y", "apply -auto-approve -target=terraform_data.a -var=v=y",
	"apply -auto-approve", "plan -replace=terraform_data.a", "plan -out=a-file-whose-name-is-so-long-that-its-line-does-not-fit-into-seventy-eight-columns",
	"graph", "providers", "state rm terraform_data.b[1]", "apply -auto-approve", "state rm terraform_data.c",
	"import terraform_data.c x", "force-unlock -force x", "plan -detailed-exitcode -var=v=k", "apply", "destroy", "destroy -auto-approve",
	"show", "state list", "output", "plan -destroy", "workspace select nope", "workspace select -or-create w3", "workspace list",
	"init -upgrade", "init -reconfigure", "test", "plan -compact-warnings -target=terraform_data.a", "apply -auto-approve", "plan -var=v=",
	"plan -no-color -refresh=false", "apply -auto-approve -destroy",
}

// TestSentencesOfPeer runs namedCommands with Lethe under the name of Terraform, and with Terraform. It compares
// standard output and exit codes. The sentences must be equal, because other programs search the output of Terraform
// for them.
func TestSentencesOfPeer(t *testing.T) {
	secondLane(t, runsPeer)
	t.Parallel()
	peer, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	const config = `variable "v" {
  default = "x"
}
resource "terraform_data" "a" {
  input = var.v
}
resource "terraform_data" "b" {
  count = 2
  input = "b"
}
resource "terraform_data" "c" {
}
output "o" {
  value = terraform_data.a.output
}
output "s" {
  value     = "canary-secret"
  sensitive = true
}
`
	ours, theirs := t.TempDir(), t.TempDir()
	for _, dir := range []string{ours, theirs} {
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range namedCommands {
		var out bytes.Buffer
		environ := func(home string) []string {
			return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1", "NO_COLOR=1"}
		}
		code := cli.Main(cli.Env{
			Args: strings.Fields(args), Program: "terraform", Stdin: strings.NewReader("no\n"), Stdout: &out, Stderr: io.Discard, Dir: ours, Now: time.Now,
			Environ: environ(ours),
		})
		cmd := exec.Command(peer, strings.Fields(args)...)
		cmd.Dir, cmd.Env, cmd.Stdin = theirs, environ(theirs), strings.NewReader("no\n")
		want, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if of := cmd.ProcessState.ExitCode(); code != of {
			t.Errorf("%s: exit code %d, and %d of Terraform", args, code, of)
		}
		said := paragraphs(out.String())
		for _, p := range paragraphs(string(want)) {
			if !slices.Contains(said, p) {
				t.Errorf("%s: Terraform prints\n  %s\nand Lethe does not. It prints\n  %s", args, p, strings.Join(said, "\n  "))
			}
		}
	}
}

var varying = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-9;]*m|[│╷╵─]+|[0-9a-f]{8}-[0-9a-f-]{27}|1\\.1[0-9]\\.[0-9]+|(?:after|elapsed\\]) [0-9]+s|Enter a value:|terraform explain LE[0-9]+")
})

// progress matches lines about one object and lines with symbols of a plan, which do not belong to sentences.
var progress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\S+: |  [-+~#/]|\w+ = )`) })

// paragraphs divides output into paragraphs of one line each, because programs wrap lines at different columns. It
// omits values that vary between runs.
func paragraphs(out string) []string {
	var all []string
	open := false // the next line continues the last paragraph
	for line := range strings.Lines(varying().ReplaceAllString(out, "")) {
		text := strings.TrimSpace(line)
		switch goes := !progress().MatchString(line) && !strings.HasPrefix(line, "   "); {
		case text == "":
			open = false
		case open && goes:
			all[len(all)-1] += " " + text
		default:
			all, open = append(all, text), goes
		}
	}
	return all
}
