package cli_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// sameAsPeer is a line in each script that Terraform passes, too. If Terraform cannot pass a script because the
// programs differ, docs/differences.md gives the reason.
const sameAsPeer = "# Terraform does the same."

// sampled is the number of scripts with the line sameAsPeer that run with every commit. LETHE_LONG=1 runs all.
const sampled = 8

// TestPeer runs scripts with Terraform instead of Lethe, to check that they show behaviour that users know.
func TestPeer(t *testing.T) {
	secondLane(t, runsPeer)
	t.Parallel()
	if _, err := exec.LookPath("terraform"); err != nil {
		t.Skip("there is no terraform on PATH")
	}
	list, seed := peerScripts(t)
	if os.Getenv("LETHE_LONG") == "" {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(sampled, len(list))]
	}
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "lethe"), []byte("#!/bin/sh\nexec peer \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := params(func(e *testscript.Env) error {
		e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
		return setupFor(e, "registry.terraform.io")
	})
	servers(t, p)
	runScripts(t, p, list)
}

// peerScripts returns the scripts with the line sameAsPeer, or all scripts if LETHE_PEER is "all". It also returns a
// seed that changes if one of these scripts changes, so that the sample changes, too.
func peerScripts(t *testing.T) ([]script, uint64) {
	t.Helper()
	var list []script
	h := fnv.New64a()
	for _, s := range scripts(t) {
		commands, _, _ := strings.Cut(string(s.text), "\n-- ")
		if slices.Contains(strings.Split(commands, "\n"), sameAsPeer) || os.Getenv("LETHE_PEER") == "all" {
			list = append(list, s)
			h.Write(s.text)
		}
	}
	if len(list) == 0 {
		t.Fatal("no script is for Terraform too")
	}
	return list, h.Sum64()
}

// peer is the program that replaces Lethe in TestPeer. It runs Terraform, and converts the names and line breaks in its
// output to the names and line breaks of Lethe. Before, it runs "terraform get", because Lethe needs no command to
// install modules.
func peer() {
	dir, installs := ".", false
	for _, a := range os.Args[1:] {
		if d, ok := strings.CutPrefix(a, "-chdir="); ok {
			dir = d
		}
		installs = installs || a == "init" || a == "get"
	}
	if !installs && callsModules(dir) {
		get := exec.Command("terraform", "-chdir="+dir, "get")
		get.Env = append(os.Environ(), "TF_CLI_ARGS=", "TF_CLI_ARGS_get=")
		_ = get.Run() // the command after it reports the error, too
	}
	var out, complaint bytes.Buffer
	cmd := exec.Command("terraform", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, &out, &complaint
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Stdout.WriteString(asLethe(out.String()))
	os.Stderr.WriteString(asLethe(complaint.String()))
	os.Exit(cmd.ProcessState.ExitCode())
}

func callsModules(dir string) bool {
	files, _ := filepath.Glob(filepath.Join(dir, "*.tf*"))
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if bytes.Contains(text, []byte("module")) {
			return true
		}
	}
	return false
}

var (
	escapes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*m") })
	boxes   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[│╷╵] ?`) })
	// wrapped matches the end of a line that was wrapped at the width of a terminal. An item of a list begins a new
	// line.
	wrapped = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\S.{50,})\n([^\s-]|-\S)`) })
)

// asLethe removes colours, borders of messages and line breaks within paragraphs from output of Terraform, and replaces
// its name by Lethe.
func asLethe(text string) string {
	text = boxes().ReplaceAllString(escapes().ReplaceAllString(text, ""), "")
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		for range 20 { // a paragraph has at most 20 lines
			text = wrapped().ReplaceAllString(text, "$1 $2")
		}
	}
	return strings.NewReplacer("Terraform", "Lethe", "terraform plan", "lethe plan", "terraform apply", "lethe apply", "terraform init", "lethe init").Replace(text)
}
