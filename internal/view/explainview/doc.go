// Package explainview shows types of providers and explanations of values, as text and as JSON.
package explainview

import (
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/view"
)

// printer writes lines. After the first error of w, it writes nothing, and keeps this error in err.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(depth int, text string) {
	if p.err == nil {
		text = strings.Repeat("  ", depth) + view.EscapeLine(text)
		_, p.err = io.WriteString(p.w, strings.TrimRight(text, " ")+"\n")
	}
}

// paragraph writes a text of several lines, without the white space around it. It indents each line by depth steps.
func (p *printer) paragraph(depth int, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		p.line(depth, strings.TrimRight(line, "\r\n"))
	}
}

// rangeDocument is a place in the configuration.
type rangeDocument struct {
	File string `json:"filename"`
	Line int    `json:"line"`
}

// at returns the document of a place. It returns nil if r names no file.
func at(r diag.Range) *rangeDocument {
	if r.Filename == "" {
		return nil
	}
	return &rangeDocument{r.Filename, r.Start.Line}
}
