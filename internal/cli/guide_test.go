package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestGuide runs the examples in the documentation. In a page,
//
//   - a fenced block whose first line names a file after its language (```terraform main.tf) is that file;
//   - a block of the language console is executed: lines that begin with "$ " are commands, and the lines after a
//     command are its output on both streams;
//   - a line "..." in an output replaces the lines that the page omits;
//   - the comment <!-- new directory --> starts with an empty directory;
//   - all other text is ignored.
//
// A page whose configuration requires lethe/playground can install this test provider. README.md uses the files in the
// directory examples, and its `go run ./cmd/lethe` runs the program under test. UPDATE_SCRIPTS=1 writes the current
// output into the pages.
func TestGuide(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, dir := range []string{"guide", "reference", "commands"} {
		found, err := filepath.Glob("../../docs/" + dir + "/*.md")
		if err != nil || len(found) == 0 {
			t.Fatalf("no pages: %v", err)
		}
		pages = append(pages, found...)
	}
	for _, page := range append(pages, "../../README.md") {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			g := &guide{t: t, page: page}
			if strings.Contains(string(src), `"lethe/playground"`) {
				g.env = mirrored(t)
			}
			g.begin()
			now := g.run(string(src))
			if os.Getenv("UPDATE_SCRIPTS") != "" && now != string(src) {
				if err := os.WriteFile(page, []byte(now), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// guide is the execution of one page.
type guide struct {
	t    *testing.T
	page string
	dir  string
	// env contains additional variables for the commands, and observe receives the output of each command.
	env     []string
	observe func(output string)
}

// mirrored returns variables with which init finds the provider lethe/playground in a filesystem mirror.
func mirrored(t *testing.T) []string {
	t.Helper()
	bin, err := playground()
	if err != nil {
		t.Fatal(err)
	}
	const name = "terraform-provider-playground"
	dir := t.TempDir()
	program, err := os.ReadFile(filepath.Join(bin, name+exe))
	if err != nil {
		t.Fatal(err)
	}
	rc := fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", dir)
	pack := filepath.Join(dir, "registry.opentofu.org", "lethe", "playground", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	cloud := filepath.Join(dir, "cloud")
	if err := errors.Join(os.MkdirAll(pack, 0o755), os.Mkdir(cloud, 0o755), os.WriteFile(filepath.Join(pack, name+"_v1.0.0"+exe), program, 0o755), os.WriteFile(filepath.Join(dir, "rc"), []byte(rc), 0o600)); err != nil {
		t.Fatal(err)
	}
	return []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "rc"), "PLAYGROUND_CLOUD=" + cloud}
}

func (g *guide) begin() {
	g.dir = g.t.TempDir()
	if filepath.Base(g.page) == "README.md" {
		if err := os.CopyFS(filepath.Join(g.dir, "examples"), tracked(g.t, examplesDir)); err != nil {
			g.t.Fatal(err)
		}
	}
}

var fence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("(?m)^```(\\S*)[ ]?(\\S*)\n((?s:.*?))^```$|^<!-- new directory -->$")
})

// run executes the page src and returns the page with the current output of its commands.
func (g *guide) run(src string) string {
	return fence().ReplaceAllStringFunc(src, func(block string) string {
		m := fence().FindStringSubmatch(block)
		language, file, body := m[1], m[2], m[3]
		switch {
		case language == "" && body == "" && file == "":
			g.begin()
		case language == "console":
			return "```console\n" + g.console(body) + "```"
		case file != "":
			path := filepath.Join(g.dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				g.t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
				g.t.Fatal(err)
			}
		}
		return block
	})
}

// console executes the commands in a block, compares their output with the block, and returns the block with the
// current output.
func (g *guide) console(body string) string {
	var now strings.Builder
	for _, part := range strings.Split("\n"+strings.TrimSuffix(body, "\n"), "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		got := g.shell(command)
		if g.observe != nil {
			g.observe(got)
		}
		got = shortened(got, want)
		if timeless(got) != timeless(want) {
			if os.Getenv("UPDATE_SCRIPTS") == "" {
				g.t.Errorf("%s: $ %s\nprints:\n%s\nthe page says:\n%s", g.page, command, got, want)
			}
			want = got
		}
		fmt.Fprintf(&now, "$ %s\n", command)
		if want != "" {
			fmt.Fprintf(&now, "%s\n", want)
		}
	}
	return now.String()
}

// shortened returns the output got, without the lines in whose place the page (want) has a line "...".
func shortened(got, want string) string {
	lines, page := strings.Split(got, "\n"), strings.Split(want, "\n")
	at := slices.Index(page, "...")
	if at < 0 || len(lines) < len(page) {
		return got
	}
	return strings.Join(slices.Concat(lines[:at], page[at:at+1], lines[len(lines)-(len(page)-1-at):]), "\n")
}

// foreign are prefixes of variables that examples do not inherit from the environment of the test.
var foreign = []string{"TF_", "PLAYGROUND_", "PG", "VAULT_", "LETHE="}

func (g *guide) shell(command string) string {
	cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(command, "go run ./cmd/lethe", "lethe"))
	cmd.Dir = g.dir
	for _, e := range os.Environ() {
		if !slices.ContainsFunc(foreign, func(prefix string) bool { return strings.HasPrefix(e, prefix) }) {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+g.dir, "TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	cmd.Env = append(cmd.Env, g.env...)
	out, _ := cmd.CombinedOutput() // err is ignored: some commands fail on purpose, and their output includes the error
	return strings.TrimRight(string(out), "\n")
}

// refreshes matches the consecutive lines about objects that are refreshed at the same time, whose order varies.
var refreshes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^\S+: Refreshing state\.\.\..*\n)+`) })

// timeless replaces text that differs from run to run.
func timeless(s string) string {
	for _, r := range []struct{ from, to string }{
		{`(after|held) [0-9.]+m?s`, "$1 0s"},
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+`, "uuid"},
		{`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`, "time"},
		{`rand("? *)= \d+`, "rand$1= 1"},
		{`\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ`, "time"},
		{`0\.1\.0-dev|on [a-z]+_[a-z0-9]+`, "release"},
	} {
		s = regexp.MustCompile(r.from).ReplaceAllString(s, r.to)
	}
	if strings.Contains(s, "SERIAL  WRITTEN") { // the width of the column depends on the names of the user and the host
		s = regexp.MustCompile(`\S+@\S+`).ReplaceAllString(regexp.MustCompile(` +`).ReplaceAllString(s, " "), "USER@HOST")
	}
	s = refreshes().ReplaceAllStringFunc(s, func(block string) string {
		return strings.Join(slices.Sorted(strings.Lines(block)), "")
	})
	return strings.TrimSpace(s)
}
