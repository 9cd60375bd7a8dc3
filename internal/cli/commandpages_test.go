package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli"
	"github.com/lethe-iac/lethe/internal/cli/manual"
)

// made matches the part of a page about a command that is generated from the table of commands. The text below this
// part is written by hand, and TestGuide runs the examples in it.
var made = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^<!-- made from the table of commands: begin -->\n.*<!-- end -->\n`)
})

// TestCommandPages checks that each command has a page in docs/commands with the text of its help, and is in the list
// of pages. UPDATE_SCRIPTS=1 updates the help on the pages and creates missing pages.
func TestCommandPages(t *testing.T) {
	const dir = "../../docs/commands"
	update := os.Getenv("UPDATE_SCRIPTS") != ""
	pages := map[string]string{}
	list := "# Commands\n\nA page for each command: how it is called, its options, and what it prints. `lethe COMMAND -help` says the same, and so does `man lethe-COMMAND` where a package installed the manual pages.\n\n| command | |\n|---|---|\n"
	for _, about := range cli.Manual() {
		name := strings.ReplaceAll(about.Name, " ", "-") + ".md"
		list += fmt.Sprintf("| [`%s`](%s) | %s |\n", about.Name, name, about.Short)
		pages[name] = "<!-- made from the table of commands: begin -->\n" + manual.Reference(about) + "<!-- end -->\n"
	}
	list += "\nBefore the command stand the options that all commands have:\n\n" + manual.Table("global option", cli.GlobalOptions())
	for name, want := range pages {
		path := filepath.Join(dir, name)
		have, err := os.ReadFile(path)
		if err != nil && !update {
			t.Errorf("%s: there is no page, which UPDATE_SCRIPTS=1 begins", name)
			continue
		}
		now := want + made().ReplaceAllString(string(have), "")
		if now != string(have) && update {
			err = os.WriteFile(path, []byte(now), 0o644)
		} else if now != string(have) {
			t.Errorf("%s: the page does not say what help says, which UPDATE_SCRIPTS=1 mends", name)
		}
		if err != nil {
			t.Error(err)
		}
	}
	pages["README.md"] = list
	if update {
		if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(list), 0o644); err != nil {
			t.Error(err)
		}
	}
	if have, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(have) != list {
		t.Errorf("README.md is not the list of the pages, which UPDATE_SCRIPTS=1 mends (%v)", err)
	}
	files, err := filepath.Glob(dir + "/*.md")
	for _, f := range files {
		if _, ok := pages[filepath.Base(f)]; !ok {
			t.Errorf("%s is about no command", f)
		}
	}
	if err != nil {
		t.Error(err)
	}
}

// link matches a link to a file of the repository.
var link = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`) })

// TestLinks checks that the files to which the documentation links exist.
func TestLinks(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link().FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s, which is not there", page, m[1])
			}
		}
	}
}
