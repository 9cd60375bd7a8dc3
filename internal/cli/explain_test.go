package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/diag/code"
)

var updatePages = flag.Bool("update-pages", false, "write the messages of the pages about codes anew")

// TestPages runs the examples on the pages about diagnostic codes. Each mistake must print the message on the page,
// word for word, and its correction must not print it. A page without an example must explain why no example is
// possible.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, p := range code.All() {
		t.Run(p.Code, func(t *testing.T) {
			t.Parallel()
			testPage(t, p)
		})
	}
}

func testPage(t *testing.T, p *code.Page) {
	shown := map[string]bool{}
	var before *example
	text := strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n")
	for _, e := range examples(text) {
		if e.mending {
			if before == nil {
				t.Fatal("a mending without a mistake")
			}
			e.inherit(before)
		}
		if e.needsProviders() {
			if _, err := playground(); err != nil {
				t.Fatal(err)
			}
		}
		out := e.run(t)
		if e.mending {
			if strings.Contains(out, "lethe explain "+p.Code+"\n") {
				t.Errorf("mended, it still says:\n%s", out)
			}
			continue
		}
		before = e
		boxes, titles := boxesOf(out, p)
		for _, title := range titles {
			shown[title] = true
		}
		if len(boxes) == 0 {
			t.Errorf("no message of the page's in:\n%s\n%s", strings.Join(e.commands, "\n"), out)
			continue
		}
		if message := strings.Join(boxes, "\n\n"); message != e.message {
			if !*updatePages {
				t.Errorf("the message is now:\n%s\n\non the page:\n%s", message, e.message)
			}
			text = e.addMessage(text, message)
		}
	}
	for _, title := range p.Titles {
		_, unshown := p.Unshown[title]
		if shown[title] && unshown {
			t.Errorf("%q is shown: take it from the list of those that are not", title)
		}
		if !shown[title] && !unshown {
			t.Errorf("no example shows %q", title)
		}
	}
	if *updatePages {
		writePage(t, p, text)
	}
}

// writePage replaces the text of a page, below its front matter and heading.
func writePage(t *testing.T, p *code.Page, text []string) {
	t.Helper()
	name := "../diag/code/pages/" + p.Code + ".md"
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(src), "\n# "+p.Head+"\n")
	if !ok {
		t.Fatal("no heading")
	}
	if err := os.WriteFile(name, []byte(head+"\n# "+p.Head+"\n\n"+strings.Join(text, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// example is a mistake on a page about a diagnostic code, or the correction of the mistake.
type example struct {
	mending  bool              // the example is the correction
	files    map[string]string // the contents of files, by name
	commands []string          // the commands to run; the last command prints the message
	message  string            // the message on the page
	heading  string            // the heading line above the example; nth is its number among equal heading lines
	nth      int
}

// examples reads the examples of a page.
func examples(lines []string) []*example {
	var out []*example
	var fence []string
	info := ""
	counts := map[string]int{}
	for _, l := range lines {
		rest, isFence := strings.CutPrefix(l, "```")
		switch {
		case info == "" && strings.HasPrefix(l, "## "):
			out = append(out, &example{mending: strings.HasPrefix(l, "## Correct"), files: map[string]string{}, heading: l, nth: counts[l]})
			counts[l]++
		case info == "" && isFence:
			info, fence = rest, nil
		case isFence:
			out[len(out)-1].block(info, strings.Join(fence, "\n"))
			info = ""
		case info != "":
			fence = append(fence, l)
		}
	}
	return out
}

// block adds a fenced block with content text to an example. info is the text after the opening fence. If info has a
// second word, this word is the name of the file in the block. A block "sh" has the commands, and a block "text" the
// message. Any other block is main.tf.
func (e *example) block(info, text string) {
	kind, name, named := strings.Cut(info, " ")
	switch {
	case named:
		e.files[name] = text + "\n"
	case kind == "sh":
		e.commands = strings.Split(text, "\n")
	case kind == "text":
		e.message = text
	default:
		e.files["main.tf"] = text + "\n"
	}
}

// inherit adds to a correction the files of its mistake that the correction does not have. If the correction has no
// commands, inherit adds the commands of the mistake.
func (e *example) inherit(from *example) {
	for name, text := range from.files {
		if _, ok := e.files[name]; !ok {
			e.files[name] = text
		}
	}
	if e.commands == nil {
		e.commands = from.commands
	}
}

func (e *example) needsProviders() bool {
	for _, text := range e.files {
		if strings.Contains(text, "lethe/") {
			return true
		}
	}
	return false
}

// addMessage puts the message of an example into the lines of a page: into the last block of the section of the
// example, or into a new block.
func (e *example) addMessage(lines []string, message string) []string {
	at, n := -1, 0
	for i, l := range lines {
		if l == e.heading {
			if n == e.nth {
				at = i
			}
			n++
		}
	}
	end := len(lines)
	for i := at + 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "## ") {
			end = i
			break
		}
	}
	section := slices.Clone(lines[at:end])
	if i := slices.Index(section, "```text"); i >= 0 {
		section = section[:i]
	}
	for section[len(section)-1] == "" {
		section = section[:len(section)-1]
	}
	section = append(section, "", "```text")
	section = append(section, strings.Split(message, "\n")...)
	section = append(section, "```")
	if end < len(lines) {
		section = append(section, "")
	}
	return slices.Concat(lines[:at], section, lines[end:])
}

var box = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^╷\n((?:│.*\n)*)╵$`) })

// boxesOf returns the messages in the output out that have the code of the page, without their borders and codes.
// titles are the titles of these messages.
func boxesOf(out string, p *code.Page) (boxes, titles []string) {
	for _, m := range box().FindAllStringSubmatch(out, -1) {
		var lines []string
		for _, l := range strings.Split(strings.TrimSuffix(m[1], "\n"), "\n") {
			lines = append(lines, strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(l, "│"), " "), " "))
		}
		last := len(lines) - 1
		if lines[last] != "lethe explain "+p.Code {
			continue
		}
		_, title, _ := strings.Cut(lines[0], ": ")
		for _, t := range p.Titles {
			if (&code.Page{Titles: []string{t}}).Has(title) {
				titles = append(titles, t)
			}
		}
		boxes = append(boxes, strings.Join(lines[:last], "\n"))
	}
	return boxes, titles
}

// run creates the files of the example, runs its commands, and returns the output of the last command.
func (e *example) run(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "net")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range e.files {
		path := filepath.Join(work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := ""
	commands := e.commands
	if commands == nil {
		commands = []string{"lethe validate"}
	}
	environ := pageEnviron(t, dir, e.needsProviders())
	for _, line := range commands {
		out = command(t, work, environ, strings.ReplaceAll(line, "/home/you/net", work))
	}
	if e.needsProviders() {
		bin, _ := playground()
		out = strings.ReplaceAll(out, bin, "/opt/providers")
	}
	out = strings.NewReplacer(work, "/home/you/net", dir, "/home/you").Replace(out)
	return identifiers().ReplaceAllString(out, "${1}0a868da9320f")
}

// identifiers matches random identifiers in output, such as UUIDs.
var identifiers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(rogue-)[0-9a-f]{12}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
})

// pageEnviron returns an environment with only the variables that a page needs.
func pageEnviron(t *testing.T, dir string, plugins bool) []string {
	t.Helper()
	env := []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TF_INPUT=0", "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + filepath.Join(dir, "rc")}
	rc := ""
	if plugins {
		bin, _ := playground()
		rc = "provider_installation {\n  dev_overrides {\n"
		for _, name := range []string{"playground", "playground5", "rogue", "strict"} {
			rc += fmt.Sprintf("    \"registry.opentofu.org/lethe/%s\" = %q\n", name, bin)
		}
		rc += "  }\n}\n"
		env = append(env, "TMPDIR="+bin, "PLAYGROUND_IDS=name", "PLAYGROUND_CLOUD="+filepath.Join(dir, "cloud"))
		if err := os.MkdirAll(filepath.Join(dir, "cloud"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "rc"), []byte(rc), 0o600); err != nil {
		t.Fatal(err)
	}
	return env
}

// command runs one line of a page: `[NAME=VALUE...] [echo TEXT |] lethe ARGS`, `echo TEXT > FILE`, `rm FILE`, `mkdir
// DIR`. It returns the output of lethe, even if lethe fails, and "" for the other commands.
func command(t *testing.T, dir string, environ []string, line string) string {
	t.Helper()
	words := words(line)
	stdin := ""
	if len(words) == 4 && words[0] == "echo" && words[2] == ">" {
		if err := os.WriteFile(filepath.Join(dir, words[3]), []byte(words[1]+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return ""
	}
	if len(words) > 3 && words[0] == "echo" && words[2] == "|" {
		stdin, words = words[1]+"\n", words[3:]
	}
	env := slices.Clone(environ)
	for strings.Contains(words[0], "=") {
		env, words = append(env, words[0]), words[1:]
	}
	var err error
	switch words[0] {
	case "lethe":
	case "rm":
		err = os.RemoveAll(filepath.Join(dir, words[1]))
	case "mkdir":
		err = os.MkdirAll(filepath.Join(dir, words[1]), 0o755)
	default:
		t.Fatalf("no such command on a page: %s", line)
	}
	if err != nil {
		t.Fatal(err)
	}
	if words[0] != "lethe" {
		return ""
	}
	var out bytes.Buffer
	cli.Main(cli.Env{
		Args: words[1:], Program: "lethe", Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out,
		Dir: dir, Environ: env, Now: time.Now,
	})
	return out.String()
}

// words splits a line into words at spaces. It supports the quotes of a shell and no other shell syntax.
func words(line string) []string {
	var out []string
	word, quote, in := "", rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if in {
				out = append(out, word)
			}
			word, in = "", false
		default:
			word += string(r)
			in = true
		}
	}
	if in {
		out = append(out, word)
	}
	return out
}
