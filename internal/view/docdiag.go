package view

import (
	"bytes"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// WriteValidateJSON writes the result of `validate -json`: format 1.0, for eyes too.
func WriteValidateJSON(w io.Writer, ds []diag.Diagnostic, sources *diag.Sources) error {
	var b bytes.Buffer
	d := newDoc(&b)
	src := newSources(sources)
	errors := 0
	for _, dg := range ds {
		if dg.Severity == diag.Error {
			errors++
		}
	}
	d.object(func() {
		d.keyStr("format_version", formatValidate)
		d.KeyBool("valid", errors == 0)
		d.KeyInt("error_count", int64(errors))
		d.KeyInt("warning_count", int64(len(ds)-errors))
		d.Key("diagnostics")
		d.array(func() {
			for _, dg := range ds {
				d.object(func() { d.diagnostic(dg, src) })
			}
		})
	})
	if err := d.end(); err != nil {
		return err
	}
	return indented(w, b.Bytes())
}

// diagnostic writes a diagnostic in the documented format.
func (d *doc) diagnostic(dg diag.Diagnostic, src *sources) {
	dg = dg.Coded()
	d.keyStr("severity", dg.Severity.String())
	d.keyStr("summary", dg.Summary)
	d.keyStr("detail", dg.Detail)
	if dg.Code != "" {
		d.keyStr("code", dg.Code)
	}
	if dg.Address != "" {
		d.keyStr("address", dg.Address)
	}
	if dg.Subject == nil {
		return
	}
	d.Key("range")
	d.rang(*dg.Subject)
	if s, ok := src.snippet(*dg.Subject, dg.Context); ok {
		d.Key("snippet")
		d.object(func() { d.snippet(s, dg) })
	}
}

// rang writes a range; one without an extent is widened to one character, as the peers do.
func (d *doc) rang(r diag.Range) {
	if r.Start.Byte == r.End.Byte {
		r.End = r.Start
		r.End.Byte++
		r.End.Column++
	}
	d.object(func() {
		d.keyStr("filename", r.Filename)
		for _, p := range []struct {
			name string
			pos  diag.Pos
		}{{"start", r.Start}, {"end", r.End}} {
			d.Key(p.name)
			d.object(func() {
				d.KeyInt("line", int64(p.pos.Line))
				d.KeyInt("column", int64(p.pos.Column))
				d.KeyInt("byte", int64(p.pos.Byte))
			})
		}
	})
}

func (d *doc) snippet(s snippet, dg diag.Diagnostic) {
	d.Key("context")
	if s.context == "" {
		d.Word("null")
	} else {
		d.str(s.context)
	}
	d.keyStr("code", strings.TrimSuffix(s.code, "\n"))
	d.KeyInt("start_line", int64(s.line))
	d.KeyInt("highlight_start_offset", int64(s.start))
	d.KeyInt("highlight_end_offset", int64(s.end))
	d.Key("values")
	d.array(func() {
		for _, v := range dg.Values {
			d.object(func() {
				d.keyStr("traversal", v.Traversal)
				d.keyStr("statement", v.Statement)
			})
		}
	})
	if dg.Call != nil {
		d.Key("function_call")
		d.object(func() { d.call(dg.Call) })
	}
}

// call describes the function that complained.
func (d *doc) call(c *diag.Call) {
	d.keyStr("called_as", c.Function)
	d.Key("signature")
	d.object(func() {
		d.keyStr("name", c.Function[strings.LastIndexByte(c.Function, ':')+1:])
		if len(c.Params) > 0 {
			d.Key("params")
			d.array(func() {
				for _, p := range c.Params {
					d.parameter(p.Name, "", p.Nullable, p.Type)
				}
			})
		}
		if p := c.Variadic; p != nil {
			d.Key("variadic_param")
			d.parameter(p.Name, "", p.Nullable, p.Type)
		}
		d.Key("return_type")
		d.typeOf(c.Returns)
	})
}
