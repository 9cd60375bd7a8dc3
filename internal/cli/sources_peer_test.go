package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
)

// TestSourcesBesidePeer installs modules from random addresses of one git repository with Lethe and Terraform. Both
// must install the same modules and record them with the same source and directory. LETHE_LONG=1 tries more addresses,
// and other addresses in each run.
func TestSourcesBesidePeer(t *testing.T) {
	secondLane(t, runsPeer)
	t.Parallel()
	peer, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	seed, count := uint64(1), 30
	if os.Getenv("LETHE_LONG") != "" {
		seed, count = uint64(time.Now().Unix()), 400
	}
	t.Logf("seed %d", seed)
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(home, "repo")
	environ := []string{
		"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=" + os.DevNull, "CHECKPOINT_DISABLE=1",
		"GIT_CONFIG_GLOBAL=" + filepath.Join(home, "gitconfig"), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=false",
		"HTTPS_PROXY=http://127.0.0.1:1", "https_proxy=http://127.0.0.1:1",
	}
	put := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"repo/main.tf": "# root", "repo/c/main.tf": "# c", "repo/c/d/main.tf": "# d",
		"gitconfig": fmt.Sprintf("[user]\nname = a\nemail = a@example.test\n[url %q]\ninsteadOf = https://github.com/a/b.git\ninsteadOf = https://bitbucket.org/a/b.git\ninsteadOf = ssh://git@github.com/a/b.git\n", repo),
	} {
		put(filepath.Join(home, name), text)
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "x"}, {"tag", "v1"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = repo, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %s", args, out)
		}
	}
	g := rand.New(rand.NewPCG(seed, 0))
	pick := func(list ...string) string { return list[g.IntN(len(list))] }
	sources := map[string]string{}
	for i := range count {
		sources[fmt.Sprintf("m%d", i)] = pick("github.com/a/b", "github.com/a/b.git", "git::github.com/a/b", "git::https://github.com/a/b.git", "git@github.com:a/b.git",
			"git::git@github.com:a/b.git", "git::ssh://git@github.com/a/b.git", "bitbucket.org/a/b", "git::bitbucket.org/a/b", "git::"+repo, "git::file://"+repo) +
			pick("", "", "", "/", "/c", "/c/d", "//c", "//c/d/", "//c/../c", "//./c", "//*/d", "/../x", "//../x", "/c//d") +
			pick("", "", "?ref=v1", "?ref=", "?depth=1", "?ref=none", "?depth=0&ref=v1")
	}
	install := func(run func(dir string) string) (map[string]bool, map[string]string) {
		failed, good := map[string]bool{}, map[string]string{}
		for range 4 { // Terraform reports errors in addresses before it installs anything: remove the wrong addresses and run again
			dir := t.TempDir()
			var text bytes.Buffer
			for name, source := range sources {
				if !failed[name] {
					fmt.Fprintf(&text, "module %q {\n  source = %q\n}\n", name, source)
				}
			}
			put(filepath.Join(dir, "main.tf"), text.String())
			out := run(dir)
			before := len(failed)
			for _, m := range inModule().FindAllStringSubmatch(out, -1) {
				failed[m[1]] = true
			}
			var list struct {
				Modules []struct{ Key, Source, Dir string }
			}
			data, _ := os.ReadFile(filepath.Join(dir, ".terraform", "modules", "modules.json"))
			_ = json.Unmarshal(data, &list)
			clear(good)
			for _, m := range list.Modules {
				good[m.Key] = m.Source + " in " + m.Dir
			}
			if len(failed) == before {
				break
			}
		}
		return failed, good
	}
	failed, got := install(func(dir string) string {
		var out bytes.Buffer
		cli.Main(cli.Env{Args: []string{"init"}, Program: "lethe", Stdout: &out, Stderr: &out, Stdin: &bytes.Buffer{}, Dir: dir, Now: time.Now, Environ: environ})
		return out.String()
	})
	peerFailed, want := install(func(dir string) string {
		cmd := exec.CommandContext(t.Context(), peer, "init", "-no-color")
		cmd.Dir, cmd.Env = dir, environ
		out, _ := cmd.CombinedOutput()
		return string(out)
	})
	if len(want) < count/4 {
		t.Errorf("terraform installed %d of %d modules", len(want), count)
	}
	for name, source := range sources {
		if bare, _, _ := strings.Cut(source, "?"); strings.HasSuffix(bare, "bitbucket.org/a/b/") { // Lethe accepts a slash at the end for each host, Terraform for one
			continue
		}
		if failed[name] != peerFailed[name] || got[name] != want[name] {
			t.Errorf("%s\nlethe     failed: %t, %s\nterraform failed: %t, %s", source, failed[name], got[name], peerFailed[name], want[name])
		}
	}
}

// inModule finds the module that an error names.
var inModule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?:[Mm]odule |module \.?|module\.)"?(m\d+)\b`) })
