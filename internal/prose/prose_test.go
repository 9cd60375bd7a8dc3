package prose

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var table = flag.Bool("table", false, "print the counts of each package and document")

// root is the directory of the repository.
const root = "../.."

// kind is a kind of text. Each kind of text in a package is counted separately.
type kind string

const (
	comments     kind = "comments"
	testComments kind = "comments of tests"
	messages     kind = "messages"
	documents    kind = "documents"
	scripts      kind = "comments of scripts"
	subjects     kind = "commit subjects"
)

// rule is a construction that is limited.
type rule struct {
	name    string
	pattern *regexp.Regexp
	limit   float64 // occurrences per 1,000 words
}

var rules = []rule{
	{"what", regexp.MustCompile(`(?i)\bwhat\b`), 3},
	{"one that, those of", regexp.MustCompile(`(?i)\b(?:ones? (?:that|which|of which|with|without|whose)|(?:that|those|this) (?:of|that|which)|such (?:a one|ones))\b`), 0.5},
	{"private phrases", regexp.MustCompile(`(?i)\b(?:says? (?:of|so|what)|nothing (?:of it|says|is said)|it is (?:told|said)|is over\b|(?:is|are) gone\b|goes (?:by|on|there)\b|taken? in\b|held against|without a word|in silence|as it (?:is|was|comes)\b|there (?:is|are) none|under way|all the same|comes to (?:nothing|something)|stands? (?:in|for|at)\b|look(?:ed|s) at|is handed|of its own)\b`), 0},
}

// longest is the largest number of words in a sentence that is not long. longSentences is the largest allowed share of
// long sentences.
const (
	longest       = 40
	longSentences = 0.01
	// longestParagraph is the number of words that a paragraph of a document may have.
	longestParagraph = 120
)

// text is a paragraph: a group of comment lines, a string or a paragraph of a document.
type text struct {
	kind  kind
	place string // package or document, relative to the root
	at    string // file:line
	words string
}

// counts are the results for one kind of text in one place.
type counts struct {
	words, sentences int
	hits             [3]int // by rule
	long             int    // sentences that are too long
	paragraphs       int    // paragraphs that are too long
	worst            text
	worstHits        int
	found            []string // the first matches of rules, with their places
}

// add counts one text.
func (c *counts) add(t text) {
	n := len(strings.Fields(t.words))
	c.words += n
	found := 0
	for i, r := range rules {
		hits := r.pattern.FindAllString(t.words, -1)
		c.hits[i] += len(hits)
		found += len(hits)
		for _, hit := range hits {
			if len(c.found) < 20 {
				c.found = append(c.found, fmt.Sprintf("%s: %s", t.at, hit))
			}
		}
	}
	for _, s := range sentences(t.words) {
		c.sentences++
		if len(strings.Fields(s)) > longest {
			c.long++
			found++
		}
	}
	if t.kind == documents && n > longestParagraph {
		c.paragraphs++
		found++
	}
	if found > c.worstHits {
		c.worst, c.worstHits = t, found
	}
}

// broken returns a line for each limit that the counts exceed. A small text may have one occurrence of a construction
// whose limit is not zero.
func (c *counts) broken() []string {
	var out []string
	for i, r := range rules {
		if allowed := max(int(r.limit*float64(c.words)/1000), min(1, int(r.limit*1000))); c.hits[i] > allowed {
			out = append(out, fmt.Sprintf("%d × %s in %d words, at most %d", c.hits[i], r.name, c.words, allowed))
		}
	}
	if allowed := max(int(longSentences*float64(c.sentences)), 1); c.long > allowed {
		out = append(out, fmt.Sprintf("%d of %d sentences have over %d words, at most %d", c.long, c.sentences, longest, allowed))
	}
	if c.paragraphs > 0 {
		out = append(out, fmt.Sprintf("%d paragraphs have over %d words", c.paragraphs, longestParagraph))
	}
	return out
}

// TestEnglish compares the texts of each package and document with the limits. testdata/pending.txt lists the places
// that have not been rewritten yet; a listed place that keeps the limits must be deleted from the list.
func TestEnglish(t *testing.T) {
	data, err := os.ReadFile("testdata/pending.txt")
	if err != nil {
		t.Fatal(err)
	}
	pending := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		pending[strings.TrimSpace(line)] = true
	}
	all := map[string]*counts{}
	total := map[kind]*counts{}
	for _, x := range slices.Concat(goTexts(t), scriptTexts(t), markdownTexts(t)) {
		for _, c := range []*counts{entry(all, string(x.kind)+": "+x.place), entry(total, x.kind)} {
			c.add(x)
		}
	}
	for _, key := range slices.Sorted(keys(all)) {
		c := all[key]
		broken := c.broken()
		if *table {
			t.Logf("%s: %s", key, c)
		}
		switch {
		case pending[key] && len(broken) == 0:
			t.Errorf("%s keeps the limits: delete the line from testdata/pending.txt", key)
		case len(broken) > 0 && !pending[key]:
			t.Errorf("%s:\n  %s\n  worst: %s: %s\n  %s", key, strings.Join(broken, "\n  "), c.worst.at, c.worst.words, strings.Join(c.found, "\n  "))
		}
		delete(pending, key)
	}
	delete(pending, "")
	for key := range pending {
		t.Errorf("testdata/pending.txt lists %s, which does not exist", key)
	}
	for _, k := range slices.Sorted(keys(total)) {
		t.Logf("%s: %s", k, total[k])
	}
}

// String returns the rates per 1,000 words.
func (c *counts) String() string {
	out := fmt.Sprintf("%d words", c.words)
	for i, r := range rules {
		out += fmt.Sprintf("; %s %.1f", r.name, 1000*float64(c.hits[i])/float64(max(c.words, 1)))
	}
	return out + fmt.Sprintf("; long sentences %.1f %%", 100*float64(c.long)/float64(max(c.sentences, 1)))
}

// TestSubjects compares the commit subjects since the last release with the limits. Before the first release, the
// commit that added this package is the beginning.
func TestSubjects(t *testing.T) {
	git := func(args ...string) string {
		out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	since := git("describe", "--tags", "--abbrev=0", "--match", "v*")
	if since == "" {
		since = git("log", "--diff-filter=A", "--format=%H", "-1", "--", "internal/prose/doc.go")
	}
	if since == "" {
		t.Skip("there is no history: the sources are an export, or a clone without depth")
	}
	c := &counts{}
	for subject := range strings.Lines(git("log", "--format=%s", since+"..HEAD")) {
		subject = strings.TrimSpace(subject)
		c.add(text{kind: subjects, at: "git log", words: subject})
		if first, _, _ := strings.Cut(subject, " "); slices.Contains([]string{"Say", "Let", "Tell", "Look", "Word"}, first) {
			t.Errorf("the subject does not name the thing that changed: %s", subject)
		}
	}
	for _, line := range c.broken() {
		t.Errorf("commit subjects since %s: %s\n  worst: %s", since, line, c.worst.words)
	}
}

// TestCounting checks the counting of constructions, sentences and paragraphs.
func TestCounting(t *testing.T) {
	c := &counts{}
	c.add(text{kind: documents, words: "What is there, of what the plan knows, e.g. one that was read. Two sentences stand in 1.5 lines."})
	if c.sentences != 2 || c.hits != [3]int{2, 1, 1} || len(c.broken()) != 2 {
		t.Errorf("%d sentences, hits %v, broken %q", c.sentences, c.hits, c.broken())
	}
	c = &counts{}
	c.add(text{kind: documents, words: strings.Repeat("word ", 121)})
	c.add(text{kind: documents, words: strings.Repeat("word ", 41)})
	if c.long != 2 || c.paragraphs != 1 {
		t.Errorf("%d long sentences, %d long paragraphs", c.long, c.paragraphs)
	}
}

func entry[K comparable](m map[K]*counts, k K) *counts {
	if m[k] == nil {
		m[k] = &counts{}
	}
	return m[k]
}

func keys[K comparable, V any](m map[K]V) func(func(K) bool) {
	return func(yield func(K) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

var sentenceEnd = regexp.MustCompile(`[.!?:;](?:\s+|$)`)

// sentences splits a paragraph. Colons and semicolons end a sentence, too: the parts can be read alone.
func sentences(s string) []string {
	s = strings.NewReplacer("e.g. ", "e.g., ", "i.e. ", "i.e., ").Replace(s)
	var out []string
	for _, part := range sentenceEnd.Split(s, -1) {
		if strings.TrimSpace(part) != "" {
			out = append(out, part)
		}
	}
	return out
}

// sql matches a text with a keyword of SQL in capital letters. goTexts ignores such strings.
var sql = regexp.MustCompile(`\b(?:SELECT|FROM|WHERE|JOIN|VALUES|CREATE|ALTER)\b`)

// goTexts returns the comments of all Go files, and the strings of at least ten words outside tests,
// except SQL.
func goTexts(t *testing.T) []text {
	t.Helper()
	var out []text
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && rel != "." || e.Name() == "testdata" || e.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, ".pb.go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(f) {
			return nil
		}
		place, test := path.Dir(rel), strings.HasSuffix(rel, "_test.go") || strings.HasPrefix(rel, "test/")
		at := func(p token.Pos) string { return fmt.Sprintf("%s:%d", rel, fset.Position(p).Line) }
		k := comments
		if test {
			k = testComments
		}
		for _, g := range f.Comments {
			for paragraph := range strings.SplitSeq(g.Text(), "\n\n") {
				out = append(out, text{k, place, at(g.Pos()), strings.Join(strings.Fields(paragraph), " ")})
			}
		}
		if test {
			return nil
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil {
				return false
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if s, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(s)) >= 10 && !sql.MatchString(s) {
					for paragraph := range strings.SplitSeq(s, "\n\n") {
						out = append(out, text{messages, place, at(lit.Pos()), paragraph})
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// scriptTexts returns the comments above the files of script tests, without lines that programs read.
func scriptTexts(t *testing.T) []text {
	t.Helper()
	files, err := filepath.Glob(root + "/internal/cli/testdata/script/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no scripts", err)
	}
	var out []text
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		commands, _, _ := strings.Cut(string(data), "\n-- ")
		var comment []string
		n := 0
		for line := range strings.SplitSeq(commands+"\n", "\n") {
			n++
			if words, ok := strings.CutPrefix(line, "#"); ok && !strings.HasPrefix(words, " Terraform does the same.") {
				comment = append(comment, strings.TrimSpace(words))
			} else if len(comment) > 0 {
				out = append(out, text{scripts, path.Dir(rel), fmt.Sprintf("%s:%d", rel, n-len(comment)), strings.Join(comment, " ")})
				comment = nil
			}
		}
	}
	return out
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\]\([^)]*\)`)
	htmlNote   = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// markdownTexts returns the paragraphs, list items and table cells of the documents. Code is not prose.
func markdownTexts(t *testing.T) []text {
	t.Helper()
	var out []text
	err := filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		if e.IsDir() && (strings.HasPrefix(e.Name(), ".") && rel != "." || e.Name() == "testdata" || e.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(rel, ".md") {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		doc := htmlNote.ReplaceAllStringFunc(string(data), func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		var paragraph []string
		begin, code := 0, false
		flush := func() {
			if s := strings.Join(paragraph, " "); strings.TrimSpace(s) != "" {
				out = append(out, text{documents, rel, fmt.Sprintf("%s:%d", rel, begin), s})
			}
			paragraph = nil
		}
		n := 0
		for line := range strings.SplitSeq(doc, "\n") {
			n++
			trimmed := strings.TrimSpace(line)
			if strings.HasPrefix(trimmed, "```") {
				flush()
				code = !code
				continue
			}
			if code {
				continue
			}
			line = link.ReplaceAllString(inlineCode.ReplaceAllString(trimmed, "x"), "]")
			switch {
			case line == "":
				flush()
			case strings.HasPrefix(line, "#"):
				flush()
				if strings.HasSuffix(line, "?") { // questions are good headings
					continue
				}
			case strings.HasPrefix(line, "|"):
				flush()
				for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
					paragraph, begin = []string{strings.TrimSpace(strings.Trim(cell, " -:"))}, n
					flush()
				}
				continue
			case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), len(line) > 2 && line[0] >= '0' && line[0] <= '9' && strings.Contains(line[:min(4, len(line))], ". "):
				flush()
			}
			if paragraph == nil {
				begin = n
			}
			paragraph = append(paragraph, strings.TrimLeft(line, "# "))
		}
		flush()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
