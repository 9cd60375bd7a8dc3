package jsondoc

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// Diagnostic is the document of a diagnostic, for validate and for the lines of -json.
type Diagnostic struct {
	Severity string           `json:"severity"`
	Summary  string           `json:"summary"`
	Detail   string           `json:"detail"`
	Code     string           `json:"code,omitempty"`
	Address  string           `json:"address,omitempty"`
	Range    *rangeDocument   `json:"range,omitempty"`
	Snippet  *snippetDocument `json:"snippet,omitempty"`
}

type rangeDocument struct {
	Filename string      `json:"filename"`
	Start    posDocument `json:"start"`
	End      posDocument `json:"end"`
}

type posDocument struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// snippetDocument is the source code around a place. Start and End are offsets in Code, in bytes.
type snippetDocument struct {
	Context *string         `json:"context"` // the header of the block that contains the place; null outside of blocks
	Code    string          `json:"code"`
	Line    int             `json:"start_line"`
	Start   int             `json:"highlight_start_offset"`
	End     int             `json:"highlight_end_offset"`
	Values  []valueDocument `json:"values"`
	Call    *callDocument   `json:"function_call,omitempty"`
}

type valueDocument struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

// callDocument describes the function that reported the diagnostic.
type callDocument struct {
	Function  string    `json:"called_as"`
	Signature signature `json:"signature"`
}

type signature struct {
	Name     string      `json:"name"`
	Params   []Parameter `json:"params,omitempty"`
	Variadic *Parameter  `json:"variadic_param,omitempty"`
	Returns  Type        `json:"return_type"`
}

// DiagnosticOf returns the document of a diagnostic. sources has the texts of the files; the document has no snippet if
// the file is not in it.
func DiagnosticOf(d diag.Diagnostic, sources *diag.Sources) Diagnostic {
	doc := Diagnostic{Severity: d.Severity.String(), Summary: d.Summary, Detail: d.Detail, Code: d.Code, Address: d.Address}
	if d.Subject == nil {
		return doc
	}
	doc.Range = rangeOf(*d.Subject)
	if s, ok := sources.Snippet(*d.Subject, d.Context); ok {
		doc.Snippet = snippetOf(s, d)
	}
	return doc
}

// rangeOf returns a range. An empty range is widened to one character, as in Terraform and OpenTofu.
func rangeOf(r diag.Range) *rangeDocument {
	if r.Start.Byte == r.End.Byte {
		r.End = r.Start
		r.End.Byte++
		r.End.Column++
	}
	pos := func(p diag.Pos) posDocument { return posDocument{p.Line, p.Column, p.Byte} }
	return &rangeDocument{r.Filename, pos(r.Start), pos(r.End)}
}

func snippetOf(s diag.Snippet, d diag.Diagnostic) *snippetDocument {
	doc := &snippetDocument{Code: strings.TrimSuffix(s.Code, "\n"), Line: s.Line, Start: s.Start, End: s.End}
	if s.Context != "" {
		doc.Context = &s.Context
	}
	for _, v := range d.Values {
		doc.Values = append(doc.Values, valueDocument(v))
	}
	if c := d.Call; c != nil {
		doc.Call = &callDocument{c.Function, signatureOf(c)}
	}
	return doc
}

func signatureOf(c *diag.Call) signature {
	parameter := func(p diag.Param) Parameter {
		return Parameter{Name: p.Name, Nullable: p.Nullable, Type: Type(p.Type)}
	}
	doc := SignatureOf(Function{}, c.Returns, c.Params, c.Variadic, parameter)
	return signature{c.Function[strings.LastIndexByte(c.Function, ':')+1:], doc.Parameters, doc.Variadic, doc.Returns}
}
