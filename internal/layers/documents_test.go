package layers

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDecisionsAreListed checks that docs/adr/README.md lists each decision with its number, its title and the
// questions that it answers.
func TestDecisionsAreListed(t *testing.T) {
	index, err := os.ReadFile("../../docs/adr/README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/adr/0*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		heading, _, _ := strings.Cut(string(text), "\n")
		number, title, _ := strings.Cut(strings.TrimPrefix(heading, "# "), ". ")
		begin := fmt.Sprintf("| %s | [%s](%s) | ", number, title, filepath.Base(file))
		_, row, found := strings.Cut(string(index), begin)
		if questions, _, _ := strings.Cut(row, " |\n"); !found || questions == "" {
			t.Errorf("docs/adr/README.md lacks a row %q with the questions that the decision answers", begin)
		}
		if !strings.HasPrefix(filepath.Base(file), fmt.Sprintf("%04s-", number)) {
			t.Errorf("%s has the heading %q", file, heading)
		}
	}
}

var (
	requirement   = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`) // a line of go.mod without "// indirect"
	majorVersion  = regexp.MustCompile(`/v\d+$`)
	ownerOnGitHub = regexp.MustCompile(`^github\.com/[^/]+/`)
)

// TestLibrariesHaveReasons checks that ADR 17 names each module that go.mod requires directly. A module of a repository
// with several modules is named by the repository.
func TestLibrariesHaveReasons(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("../../docs/adr/0017-libraries.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(reasons), "**Rejected alternatives.**")
	found := requirement.FindAllStringSubmatch(string(mod), -1)
	if len(found) < 30 {
		t.Fatalf("go.mod has only %d direct requirements", len(found))
	}
	for _, m := range found {
		name := strings.TrimPrefix(majorVersion.ReplaceAllString(m[1], ""), "google.golang.org/")
		if on := ownerOnGitHub.FindString(name); on != "" {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, on), "/")
		}
		if !strings.Contains(table, name) {
			t.Errorf("docs/adr/0017-libraries.md lacks a row with a reason for %s", m[1])
		}
	}
}

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?```")
	localLink   = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor = regexp.MustCompile(`\]\([^)]*\)|[^\pL\pN_ -]`)
)

// hasAnchor reports whether the document text has a heading from which GitHub derives this anchor.
func hasAnchor(text, anchor string) bool {
	return slices.ContainsFunc(heading.FindAllStringSubmatch(text, -1), func(m []string) bool {
		return strings.ReplaceAll(strings.ToLower(notInAnchor.ReplaceAllString(m[1], "")), " ", "-") == anchor
	})
}

// TestLinks checks that the targets of links between documents exist, with their headings.
func TestLinks(t *testing.T) {
	err := filepath.WalkDir("../..", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && strings.HasPrefix(e.Name(), ".") && e.Name() != ".." {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, m := range localLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			target := name
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(name), m[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
			if m[2] == "" || filepath.Ext(target) != ".md" {
				continue
			}
			if to, err := os.ReadFile(target); err == nil && !hasAnchor(codeBlock.ReplaceAllString(string(to), ""), m[2]) {
				t.Errorf("%s links to the heading %s of %s, which does not exist", name, m[2], target)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
