package explaincmd

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/diag/code"
)

// pagesOf returns the pages about the diagnostic codes in names. It returns nil and false if a name is not a code.
func pagesOf(names []string) ([]*code.Page, bool) {
	var pages []*code.Page
	for _, name := range names {
		p := code.Find(name)
		if p == nil {
			return nil, false
		}
		pages = append(pages, p)
	}
	return pages, true
}

// showPages prints whole pages about codes. With -json, it prints one JSON document.
func showPages(c *base.Call, pages []*code.Page) {
	if alone, _ := c.Document(func(w io.Writer) error { return writeCodes(w, pages) }); alone {
		return
	}
	for i, p := range pages {
		if i > 0 {
			c.UI.Print("\n")
		}
		printPage(c, p)
	}
}

// similarPages returns the pages that contain the operands, joined by spaces, in a title or in the first line, or that
// have a title with placeholders that matches the operands. The comparison ignores upper and lower case.
func similarPages(c *base.Call) []*code.Page {
	words := strings.ToLower(strings.Join(c.Operands, " "))
	var found []*code.Page
	for _, p := range code.All() {
		if strings.Contains(strings.ToLower(strings.Join(p.Titles, "\n")+"\n"+p.Head), words) || p.Has(strings.Join(c.Operands, " ")) {
			found = append(found, p)
		}
	}
	return found
}

// searchCodes lists the pages that match the operands, or reports an error if there are no such pages.
func searchCodes(c *base.Call) int {
	found := similarPages(c)
	if len(found) == 0 {
		hint := ""
		var codes []string
		for _, p := range code.All() {
			codes = append(codes, p.Code)
		}
		if len(c.Operands) == 1 {
			hint = diag.Meant(diag.Suggest(strings.ToUpper(c.Operands[0]), codes))
		}
		c.Bag.Add(diag.Errorf("Unknown code", "There is no code %q, and no title contains these words.%s To list all codes, run: lethe explain", strings.Join(c.Operands, " "), hint))
		return c.UI.Fail()
	}
	listCodes(c, found)
	return c.UI.Done(base.ExitOK)
}

// listCodes prints the codes of pages with their titles. With -json, it prints one JSON document.
func listCodes(c *base.Call, pages []*code.Page) {
	if alone, _ := c.Document(func(w io.Writer) error { return writeCodes(w, pages) }); alone {
		return
	}
	for _, p := range pages {
		c.UI.Print(fmt.Sprintf("%s  %s\n", p.Code, p.Head))
		for _, t := range p.Titles {
			c.UI.Print("        " + strings.ReplaceAll(t, "*", "…") + "\n")
		}
	}
}

func writeCodes(w io.Writer, pages []*code.Page) error {
	type page struct {
		Code   string   `json:"code"`
		About  string   `json:"about"`
		Titles []string `json:"titles"`
		Page   string   `json:"page"`
	}
	doc := struct {
		Format string `json:"format_version"`
		Codes  []page `json:"codes"`
	}{Format: "1.0", Codes: []page{}}
	for _, p := range pages {
		doc.Codes = append(doc.Codes, page{p.Code, p.Head, p.Titles, p.Text})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}

// printPage prints a page as text: without the punctuation of Markdown, with lines wrapped at the width of the
// terminal, and with indented examples.
func printPage(c *base.Call, p *code.Page) {
	print := func(s string) { c.UI.Print(s + "\n") }
	bold := func(s string) string {
		if c.Color() {
			return "\x1b[1m" + s + "\x1b[0m"
		}
		return s
	}
	print(bold(p.Code + ": " + p.Head))
	print("")
	for _, t := range p.Titles {
		print("  " + strings.ReplaceAll(t, "*", "…"))
	}
	print("")
	fenced := false
	for _, line := range strings.Split(strings.TrimSpace(p.Text), "\n") {
		head, isHead := strings.CutPrefix(line, "## ")
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence:
			fenced = !fenced
			if _, file, ok := strings.Cut(fence, " "); ok {
				print("    # " + file)
			}
		case line == "":
			print("")
		case fenced:
			print("    " + line)
		case isHead:
			print(bold(head))
		default:
			c.UI.Line(strong().ReplaceAllStringFunc(line, func(s string) string { return bold(strings.Trim(s, "*")) }))
		}
	}
}

// strong matches text between double asterisks.
var strong = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\*\*[^*]+\*\*`) })
