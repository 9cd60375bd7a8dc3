package funcs

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// -record runs the terraform binary on PATH and rewrites testdata/peer. To add an expression, write a line that begins
// with "> ".
var record = flag.Bool("record", false, "record testdata/peer from the terraform binary on PATH")

func TestRecordPeer(t *testing.T) {
	if !*record {
		t.Skip("run with -record to ask terraform again")
	}
	for _, file := range peerFiles(t) {
		cases, head := readGolden(t, file)
		dir := peerDir(t)
		if slices.Contains([]string{"unknown.golden", "typenames.golden"}, filepath.Base(file)) {
			askConsole(t, dir, cases)
		} else {
			askApply(t, dir, cases)
		}
		writeGolden(t, file, head, cases)
	}
}

// peerDir creates a working directory with the variables and files that the expressions refer to.
func peerDir(t *testing.T) string {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS("testdata/data")); err != nil {
		t.Fatal(err)
	}
	vars, err := os.ReadFile("testdata/vars.tf")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "vars.tf"), vars, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func terraform(t *testing.T, dir, stdin string, args ...string) (string, error) {
	cmd := exec.Command("terraform", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String() + errs.String(), err
}

// askApply evaluates expressions as outputs with terraform apply, and records the answers in cases. It identifies
// failed outputs by their line. It repeats the run without them, because some mistakes prevent Terraform from finding
// the others.
func askApply(t *testing.T, dir string, cases []*golden) {
	left := cases
	for {
		var b strings.Builder
		for i, c := range left {
			fmt.Fprintf(&b, "output \"e%d\" {\n  value = [%s]\n  sensitive = true\n}\n", i, c.expr)
		}
		if err := os.WriteFile(filepath.Join(dir, "out.tf"), []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := terraform(t, dir, "", "apply", "-auto-approve", "-json", "-input=false")
		failed := applyErrors(t, out)
		if len(failed) == 0 {
			if err != nil {
				t.Fatal(out)
			}
			break
		}
		var rest []*golden
		for i, c := range left {
			if d, ok := failed[i]; ok {
				c.answer = []string{"! " + d[0]}
				detail, _, _ := strings.Cut(d[1], "\ngoroutine ") // Terraform reports a recovered panic with its stack
				for _, l := range strings.Split(detail, "\n") {
					c.answer = append(c.answer, "  "+l)
				}
				continue
			}
			rest = append(rest, c)
		}
		left = rest
	}
	out, err := terraform(t, dir, "", "output", "-json")
	if err != nil {
		t.Fatal(out)
	}
	var results map[string]struct {
		Type  []json.RawMessage
		Value json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	for i, c := range left {
		r, ok := results[fmt.Sprintf("e%d", i)]
		if !ok {
			t.Fatalf("no answer for %s", c.expr)
		}
		var ty, val bytes.Buffer
		var types, vals []json.RawMessage
		if err := errors.Join(json.Unmarshal(r.Type[1], &types), json.Unmarshal(r.Value, &vals)); err != nil {
			t.Fatal(c.expr, err)
		}
		if err := errors.Join(json.Compact(&ty, types[0]), json.Compact(&val, vals[0])); err != nil {
			t.Fatal(c.expr, err)
		}
		c.answer = []string{"= " + ty.String(), "  " + val.String()}
	}
}

// applyErrors returns the title and detail of the first error of each output, by the output's number in out.tf. The
// test fails at an error without a place in out.tf.
func applyErrors(t *testing.T, out string) map[int][2]string {
	failed := map[int][2]string{}
	for _, line := range strings.Split(out, "\n") {
		var msg struct {
			Diagnostic *struct {
				Severity, Summary, Detail string
				Range                     *struct {
					Filename string
					Start    struct{ Line int }
				}
			}
		}
		if json.Unmarshal([]byte(line), &msg) != nil || msg.Diagnostic == nil || msg.Diagnostic.Severity != "error" {
			continue
		}
		d := msg.Diagnostic
		if d.Range == nil || d.Range.Filename != "out.tf" {
			t.Fatalf("error elsewhere: %s: %s", d.Summary, d.Detail)
		}
		n := (d.Range.Start.Line - 1) / 4
		if _, ok := failed[n]; !ok {
			failed[n] = [2]string{d.Summary, d.Detail}
		}
	}
	return failed
}

// askConsole evaluates each expression in a separate console.
func askConsole(t *testing.T, dir string, cases []*golden) {
	for _, c := range cases {
		out, err := terraform(t, dir, c.expr+"\n", "console", "-no-color")
		if err == nil {
			c.answer = []string{"= console"}
			for _, l := range strings.Split(strings.TrimRight(out, "\n"), "\n") {
				c.answer = append(c.answer, "  "+l)
			}
			continue
		}
		title, detail := consoleError(out)
		c.answer = []string{"! " + title, "  " + detail}
	}
}

// consoleError extracts title and detail from the box that the console draws.
func consoleError(out string) (title, detail string) {
	var paras []string
	for _, l := range strings.Split(out, "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(l, "│ "), "Error: "); ok && title == "" {
			title = rest
			paras = nil
			continue
		}
		l = strings.TrimSpace(strings.Trim(l, "│╷╵"))
		if strings.HasPrefix(l, "on <console-input>") || strings.HasPrefix(l, "(source code not") || l == "" {
			continue
		}
		paras = append(paras, l)
	}
	return title, strings.Join(paras, " ")
}
