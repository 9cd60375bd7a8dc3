package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/review"
	"github.com/lethe-iac/lethe/internal/view"
	"github.com/lethe-iac/lethe/internal/view/comment"
	"github.com/lethe-iac/lethe/internal/view/page"
	"github.com/lethe-iac/lethe/internal/view/reviewdoc"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// facts are the facts that the page, the comment and the document of a review contain.
type facts struct {
	counts  string
	changes map[string]string // by address: the action and the reasons
}

// add adds a change. A second change of one address has the action "twice".
func (f *facts) add(address, action string, reasons []string) {
	if f.changes == nil {
		f.changes = map[string]string{}
	}
	if _, twice := f.changes[address]; twice {
		action = "twice"
	}
	f.changes[address] = action + ": " + strings.Join(reasons, "; ")
}

// TestForms checks that the page, the comment and the document of random plans contain the same counts, addresses,
// actions and reasons, and no sensitive value.
func TestForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPlan(t)
		r := review.New(p, nil, schemas())
		asPage, asComment, asDocument := pageOf(t, r), commentOf(t, r, 1<<30), documentOf(t, r)
		for _, form := range []string{asPage, asComment, asDocument} {
			if strings.Contains(form, canary) {
				t.Fatalf("a sensitive value is visible:\n%s", form)
			}
		}
		want := fromDocument(t, asDocument)
		for name, got := range map[string]facts{"page": fromPage(t, asPage), "comment": fromComment(asComment)} {
			if got.counts != want.counts {
				t.Errorf("%s: %s, and the document %s", name, got.counts, want.counts)
			}
			for address, fact := range want.changes {
				if got.changes[address] != fact {
					t.Errorf("%s: %s: %q, and the document %q", name, address, got.changes[address], fact)
				}
			}
			if len(got.changes) != len(want.changes) {
				t.Errorf("%s: %d changes, and the document %d: %v", name, len(got.changes), len(want.changes), got.changes)
			}
		}
	})
}

// TestSecretsAreOpaque checks that no form depends on sensitive values: other values of the same plan give the same
// bytes.
func TestSecretsAreOpaque(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPlan(t)
		var forms [2][3]string
		for i := range forms {
			if i == 1 {
				for _, c := range p.Changes {
					c.Before.Raw, c.After.Raw = disguised(c.Before.Raw), disguised(c.After.Raw)
				}
				for _, o := range p.Outputs {
					o.After = o.Before
				}
			}
			r := review.New(p, nil, schemas())
			forms[i] = [3]string{pageOf(t, r), commentOf(t, r, 1<<30), documentOf(t, r)}
		}
		for i, name := range []string{"page", "comment", "document"} {
			if forms[0][i] != forms[1][i] {
				t.Errorf("the %s depends on sensitive values: %s", name, difference(forms[0][i], forms[1][i]))
			}
		}
	})
}

// disguised returns a value in which one constant text replaces each sensitive text.
func disguised(v cty.Value) cty.Value {
	out, _ := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() && strings.HasPrefix(v.AsString(), canary) {
			return cty.StringVal(canary), nil
		}
		return v, nil
	})
	return out
}

type tester interface {
	Helper()
	Fatal(...any)
}

// pageOf returns the page of a review.
func pageOf(t tester, r *review.Review) string {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r, page.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commentOf returns the comment of a review with at most limit bytes.
func commentOf(t tester, r *review.Review, limit int) string {
	t.Helper()
	var b bytes.Buffer
	if err := comment.Write(&b, r, comment.Options{Max: limit}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// documentOf returns the JSON document of a review.
func documentOf(t tester, r *review.Review) string {
	t.Helper()
	var b bytes.Buffer
	if err := reviewdoc.Write(&b, r, nil, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// short maps the actions of documents to the actions of the other forms.
var short = map[string]string{"create": "create", "read": "read", "update": "update", "delete-create": "replace", "create-delete": "replace", "forget-create": "replace", "delete": "destroy", "forget": "forget", "no-op": "none"}

// fromDocument returns the facts in a JSON document.
func fromDocument(t tester, text string) (f facts) {
	t.Helper()
	var doc struct {
		Counts  review.Counts
		Changes []struct {
			Address, Action string
			Reasons         []review.Reason
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	f.counts = doc.Counts.Text()
	for _, c := range doc.Changes {
		var reasons []string
		for _, r := range c.Reasons {
			reasons = append(reasons, view.EscapeLine(r.String()))
		}
		f.add(view.EscapeLine(c.Address), short[c.Action], reasons)
	}
	return f
}

// fromPage returns the facts on a page. It leaves out the changes that were made outside.
func fromPage(t tester, text string) (f facts) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	f.counts = inner(find(root, func(n *html.Node) bool { return n.Data == "h1" })[0])
	for _, d := range find(root, hasClass("change")) {
		if strings.HasPrefix(attribute(d, "id"), "outside:") {
			continue
		}
		var reasons []string
		for _, why := range find(d, hasClass("why")) {
			reasons = append(reasons, inner(why))
		}
		addresses := []string{attribute(d, "id")}
		for _, list := range find(d, hasClass("members")) {
			addresses = nil
			for _, li := range find(list, func(n *html.Node) bool { return n.Data == "li" }) {
				addresses = append(addresses, attribute(li, "id"))
			}
		}
		for _, a := range addresses {
			f.add(a, attribute(d, "data-action"), reasons)
		}
	}
	return f
}

// find returns the elements below n that fits accepts, in the order of the document.
func find(n *html.Node, fits func(*html.Node) bool) (out []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && fits(d) {
			out = append(out, d)
		}
	}
	return out
}

func hasClass(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return slices.Contains(strings.Fields(attribute(n, "class")), name) }
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func inner(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// verbs matches the first words of a block that names a change.
var verbs = regexp.MustCompile(`^(create|read|update|replace|destroy|forget|no action)(, .*)?$`)

// fromComment returns the facts in a comment.
func fromComment(comment string) (f facts) {
	source := []byte(comment)
	f.counts = strings.TrimPrefix(strings.SplitN(comment, "\n", 2)[0], "## Plan: ")
	root := markdown.Parser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		strong, ok := n.FirstChild().(*ast.Emphasis)
		if !entering || !ok || strong.Level != 2 {
			return ast.WalkContinue, nil
		}
		verb := verbs.FindStringSubmatch(spanText(strong, source))
		span := next[*ast.CodeSpan](strong.NextSibling())
		if verb == nil || span == nil {
			return ast.WalkContinue, nil
		}
		var reasons []string
		list := n.NextSibling()
		if facts, ok := list.(*ast.List); ok {
			reasons = items(facts, source, true)
			list = facts.NextSibling()
		}
		addresses := []string{spanText(*span, source)}
		if p, ok := list.(*ast.Paragraph); ok && spanText(p, source) == "Objects:" {
			addresses = items(p.NextSibling(), source, false)
		}
		action := strings.ReplaceAll(verb[1], "no action", "none")
		for _, a := range addresses {
			f.add(a, action, reasons)
		}
		return ast.WalkContinue, nil
	})
	return f
}

// next returns the first node of type T among n and its later siblings, or nil.
func next[T ast.Node](n ast.Node) *T {
	for ; n != nil; n = n.NextSibling() {
		if found, ok := n.(T); ok {
			return &found
		}
	}
	return nil
}

// items returns the code spans with which the items of a list begin. If alone is true, it ignores items with other
// text.
func items(list ast.Node, source []byte, alone bool) (out []string) {
	for li := list.FirstChild(); li != nil; li = li.NextSibling() {
		line := li.FirstChild()
		if span, ok := line.FirstChild().(*ast.CodeSpan); ok && (!alone || span.NextSibling() == nil) {
			out = append(out, spanText(span, source))
		}
	}
	return out
}

func spanText(n ast.Node, source []byte) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(source))
		} else {
			b.WriteString(spanText(c, source))
		}
	}
	return b.String()
}

// TestCommentIsNotLive checks that no text from outside becomes a link, an element or a mention: outside of code, a
// comment contains only constant texts.
func TestCommentIsNotLive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := review.New(randomPlan(t), nil, schemas())
		limit := rapid.SampledFrom([]int{comment.LeastMax, 2000, 5000, 65536}).Draw(t, "limit")
		text := commentOf(t, r, limit)
		if len(text) > limit {
			t.Fatalf("%d bytes, more than %d", len(text), limit)
		}
		checkInert(t, text)
	})
}

// constant matches the texts outside of code.
var constant = regexp.MustCompile(`^[\w ,.:;()*←…'-]*$`)

// checkInert checks that a comment has no link, image or mention, no other elements than details and summary, and only
// constant texts outside of code.
func checkInert(t interface{ Errorf(string, ...any) }, comment string) {
	source := []byte(comment)
	root := markdown.Parser().Parse(text.NewReader(source))
	open := 0
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan, *ast.FencedCodeBlock:
			return ast.WalkSkipChildren, nil
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML:
			t.Errorf("live: %s in\n%s", n.Kind(), comment)
		case *ast.HTMLBlock:
			lines := string(n.Lines().Value(source))
			if !htmlBlock.MatchString(lines) {
				t.Errorf("an element: %q", lines)
			}
			open += strings.Count(lines, "<details>") - strings.Count(lines, "</details>")
		case *ast.Text:
			if s := string(n.Segment.Value(source)); !constant.MatchString(s) {
				t.Errorf("outside of code: %q in\n%s", s, comment)
			}
		}
		return ast.WalkContinue, nil
	})
	if open != 0 {
		t.Errorf("%d elements are open at the end of\n%s", open, comment)
	}
}

var htmlBlock = regexp.MustCompile(`^(<details><summary>[\w ,]+</summary>|</details>)\n?$`)

// TestLongComment checks that a comment of many changes keeps the dangerous ones at the beginning and the leases at the
// end, and says how much is missing.
func TestLongComment(t *testing.T) {
	r := many(t, 3000)
	r.Plan.Leases = []plan.Lease{{Addr: "ephemeral.test.last", Receivers: []string{"test_thing.x"}}}
	for _, limit := range []int{comment.LeastMax, 10_000, 32_768, comment.DefaultMax} {
		text := commentOf(t, r, limit)
		if len(text) > limit || len(text) < limit/2 {
			t.Errorf("%d bytes for the limit %d", len(text), limit)
		}
		checkInert(t, text)
		if !strings.Contains(text, "too long for all changes") || !strings.Contains(text, "ephemeral.test.last") && limit > comment.LeastMax {
			t.Errorf("the comment of %d bytes is:\n%s", limit, text)
		}
		if first := strings.Index(text, "**destroy**"); first < 0 || first > 300 {
			t.Errorf("the first destroyed object is at %d", first)
		}
	}
	if whole := commentOf(t, r, 1<<30); strings.Contains(whole, "too long") || strings.Count(whole, "**update**") != 2988 {
		t.Errorf("%d updates", strings.Count(whole, "**update**"))
	}
}

// TestLongValues checks that values of more than 4 KB are shortened, with their size, and shown as a whole on demand.
func TestLongValues(t *testing.T) {
	long := "begin " + strings.Repeat("0123456789", 100_000) + " end"
	r := reviewed(change(t, "test_thing.x", plan.Create, none(), object(map[string]cty.Value{"text": cty.StringVal(long)})))
	text := pageOf(t, r)
	if len(text) > 40_000 || !strings.Contains(text, "begin") || !strings.Contains(text, " end") || !strings.Contains(text, "1,000,010 bytes") {
		t.Errorf("%d bytes: %s", len(text), text[max(0, len(text)-9000):])
	}
	var full bytes.Buffer
	if err := page.Write(&full, r, page.Options{Full: true}); err != nil || !strings.Contains(full.String(), long) {
		t.Errorf("the whole value is missing: %v", err)
	}
	var lines strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	old := lines.String()
	changed := strings.Replace(old, "line 25000", "other line", 1) + "more\n"
	r = reviewed(change(t, "test_thing.x", plan.Update, object(map[string]cty.Value{"text": cty.StringVal(old)}), object(map[string]cty.Value{"text": cty.StringVal(changed)})))
	if text := pageOf(t, r); len(text) > 40_000 || !strings.Contains(text, "other line") || !strings.Contains(text, "more") || !strings.Contains(text, "unchanged lines hidden") {
		t.Errorf("%d bytes: %s", len(text), text[max(0, len(text)-9000):])
	}
}

// difference returns the parts of two texts around the place where they begin to differ.
func difference(a, b string) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return fmt.Sprintf("\n%s\n\nand\n\n%s", a[from:min(len(a), i+300)], b[from:min(len(b), i+300)])
}
