// Package plaintext finds the parts of a configuration that are not secret: literal values that the configuration does
// not declare sensitive or ephemeral.
package plaintext

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A literal value in the text of a configuration is not secret if the configuration uses it as a plain value. A value
// that is declared sensitive or ephemeral is not plain. Comments and descriptions are not values.

// notValues holds the arguments of variables and outputs that are texts for people. A secret may occur in such a text
// by chance, so the function Of replaces them by NUL bytes.
var notValues = map[string]bool{"description": true, "error_message": true, "deprecated": true}

// Of returns the text of a file with NUL bytes in the place of each part that is not a plain value. Strings in native
// syntax keep their escape sequences. For a file in JSON syntax, Of returns the result of plainJSON.
func Of(name string, src []byte) string {
	if strings.HasSuffix(name, ".json") {
		return plainJSON(src)
	}
	out := bytes.Clone(src)
	blank := func(r hcl.Range) {
		for i := r.Start.Byte; i < min(r.End.Byte, len(out)); i++ {
			out[i] = 0
		}
	}
	start := hcl.Pos{Line: 1, Column: 1}
	tokens, _ := hclsyntax.LexConfig(src, name, start)
	for _, t := range tokens {
		if t.Type == hclsyntax.TokenComment {
			blank(t.Range)
		}
	}
	f, _ := hclsyntax.ParseConfig(src, name, start)
	if body, ok := f.Body.(*hclsyntax.Body); ok {
		blankMarked(body, blank)
	}
	return string(out)
}

// blankMarked calls blank with the ranges that contain no plain values: descriptions and error messages, the values of
// sensitive and ephemeral variables and outputs, and calls of the function sensitive.
func blankMarked(body *hclsyntax.Body, blank func(hcl.Range)) {
	for _, b := range body.Blocks {
		if b.Type != "variable" && b.Type != "output" {
			continue
		}
		a := b.Body.Attributes
		marked := isTrue(a["sensitive"]) || isTrue(a["ephemeral"])
		for name, attr := range a {
			if notValues[name] || marked && (name == "default" || name == "value") {
				blank(attr.Expr.Range())
			}
		}
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		switch n := n.(type) {
		case *hclsyntax.FunctionCallExpr:
			if strings.TrimPrefix(n.Name, "core::") == "sensitive" {
				blank(n.Range())
			}
		case *hclsyntax.Attribute:
			if n.Name == "error_message" {
				blank(n.Expr.Range())
			}
		}
		return nil
	})
}

func isTrue(a *hclsyntax.Attribute) bool {
	if a == nil {
		return false
	}
	v, _ := a.Expr.Value(nil)
	return v.IsKnown() && !v.IsNull() && v.Type() == cty.Bool && v.True()
}

// plainJSON returns the strings of a file in JSON syntax that are plain values, one on each line. It returns "" if the
// file is not JSON.
func plainJSON(src []byte) string {
	var file map[string]any
	if json.Unmarshal(src, &file) != nil {
		return ""
	}
	var out strings.Builder
	delete(file, "//")
	for block, v := range file {
		jsonStrings(v, block == "variable" || block == "output", &out)
	}
	return out.String()
}

// jsonStrings writes the plain strings in v, including the names of members, to out. A string with a call of sensitive
// is not plain. declares is true if v is the content of variable or output blocks.
func jsonStrings(v any, declares bool, out *strings.Builder) {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, "sensitive(") {
			out.WriteString(v + "\n")
		}
	case []any:
		for _, e := range v {
			jsonStrings(e, declares, out)
		}
	case map[string]any:
		marked := declares && (v["sensitive"] == true || v["ephemeral"] == true)
		for name, e := range v {
			if name == "//" || name == "error_message" || declares && notValues[name] || marked && (name == "default" || name == "value") {
				continue
			}
			out.WriteString(name + "\n")
			jsonStrings(e, declares, out)
		}
	}
}
