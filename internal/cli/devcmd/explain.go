package devcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/diag/code"
)

// Explain is the command `explain`.
var Explain = &base.Command{
	Name: "explain", Args: "[CODE...]", Short: "Explain the code of an error or a warning",
	Long: `Shows the page about a code, such as LE0301: the mistake, a configuration
that makes it, the message, and the correction. The code is in the last line
of each message.

Without a code, the command lists all codes. With words instead of a code, it
lists the codes whose titles contain these words.`,
	Examples: [][2]string{
		{"lethe explain LE0301", "Show a mistake, its message and its correction"},
	},
	Setup: jsonOnly(runExplain),
}

func runExplain(_ context.Context, c *base.Call) int {
	if len(c.Operands) == 0 {
		listCodes(c, code.All())
		return c.UI.Done(base.ExitOK)
	}
	var pages []*code.Page
	for _, name := range c.Operands {
		p := code.Find(name)
		if p == nil {
			return searchCodes(c)
		}
		pages = append(pages, p)
	}
	if alone, _ := c.Document(func(w io.Writer) error { return writeCodes(w, pages) }); alone {
		return c.UI.Done(base.ExitOK)
	}
	for i, p := range pages {
		if i > 0 {
			c.UI.Print("\n")
		}
		printPage(c, p)
	}
	return c.UI.Done(base.ExitOK)
}

// searchCodes lists the pages whose title or head contains the operands, or that match them as a message.
func searchCodes(c *base.Call) int {
	words := strings.ToLower(strings.Join(c.Operands, " "))
	var found []*code.Page
	var codes []string
	for _, p := range code.All() {
		codes = append(codes, p.Code)
		if strings.Contains(strings.ToLower(strings.Join(p.Titles, "\n")+"\n"+p.Head), words) || p.Has(strings.Join(c.Operands, " ")) {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		hint := ""
		if len(c.Operands) == 1 {
			hint = diag.Meant(diag.Suggest(strings.ToUpper(c.Operands[0]), codes))
		}
		c.Bag.Add(diag.Errorf("Unknown code", "There is no code %q, and no title contains these words.%s To list all codes, run: lethe explain", strings.Join(c.Operands, " "), hint))
		return c.UI.Fail()
	}
	listCodes(c, found)
	return c.UI.Done(base.ExitOK)
}

// listCodes prints the codes with their titles.
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
			c.UI.Line(strong.ReplaceAllStringFunc(line, func(s string) string { return bold(strings.Trim(s, "*")) }))
		}
	}
}

// strong matches text between double asterisks.
var strong = regexp.MustCompile(`\*\*[^*]+\*\*`)
