package cli_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestGuide runs what the documentation shows. In a page,
//
//   - a fenced block whose first line names a file after its language (```terraform main.tf) is
//     that file,
//   - a block of the language console is run: lines that begin with "$ " are commands, what
//     follows one is what it prints on both streams,
//   - the comment <!-- new directory --> begins with an empty directory,
//
// and everything else is text. The readme finds the examples in its directory, and its `go run
// ./cmd/lethe` is the program under test. UPDATE_SCRIPTS=1 writes what is printed into the pages.
func TestGuide(t *testing.T) {
	pages := []string{"../../docs/coming-from.md"}
	for _, dir := range []string{"guide", "commands"} {
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

// guide is one page being run.
type guide struct {
	t    *testing.T
	page string
	dir  string
}

func (g *guide) begin() {
	g.dir = g.t.TempDir()
	if filepath.Base(g.page) == "README.md" {
		if err := os.CopyFS(filepath.Join(g.dir, "examples"), tracked{os.DirFS("../../examples")}); err != nil {
			g.t.Fatal(err)
		}
	}
}

// tracked leaves out what running an example left behind.
type tracked struct{ fs.FS }

func (f tracked) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(f.FS, name)
	var out []fs.DirEntry
	for _, e := range all {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".tf") {
			out = append(out, e)
		}
	}
	return out, err
}

var fence = regexp.MustCompile("(?m)^```(\\S*)[ ]?(\\S*)\n((?s:.*?))^```$|^<!-- new directory -->$")

// run runs a page and gives it with what was printed now.
func (g *guide) run(src string) string {
	return fence.ReplaceAllStringFunc(src, func(block string) string {
		m := fence.FindStringSubmatch(block)
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

// console runs a block and holds what is printed against what the page says.
func (g *guide) console(body string) string {
	var now strings.Builder
	for _, part := range strings.Split("\n"+strings.TrimSuffix(body, "\n"), "\n$ ")[1:] {
		command, want, _ := strings.Cut(part, "\n")
		got := g.shell(command)
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

func (g *guide) shell(command string) string {
	cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(command, "go run ./cmd/lethe", "lethe"))
	cmd.Dir = g.dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TF_") && !strings.HasPrefix(e, "PLAYGROUND_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+g.dir, "TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	out, _ := cmd.CombinedOutput() // commands that are meant to fail say so
	return strings.TrimRight(string(out), "\n")
}

// timeless takes out what is another time another.
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
	return strings.TrimSpace(s)
}
