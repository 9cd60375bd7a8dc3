package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

const sampleJSON = 8 // one of so many cases runs in its JSON form, unless LETHE_LONG is set

// TestJSONForm runs cases with their configuration translated to JSON syntax. A successful case has the same outputs,
// and a failed case fails. Places and some titles depend on the syntax.
func TestJSONForm(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{bin: bin, product: true}
	slots := make(chan struct{}, atOnce)
	for _, k := range load(t, "cases") {
		if k.set.bomb || k.set.providers || k.set.stop == "init" || !long() && !drawn(k, sampleJSON) {
			continue
		}
		translated, why := inJSON(k)
		if why == "" {
			why = k.set.hclOnly
		} else if k.set.hclOnly != "" {
			t.Errorf("%s says that it has no JSON form because %s; none is made anyway: %s", k.name, k.set.hclOnly, why)
		}
		if why != "" {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			all := r.run(t, translated)
			want, got := values(k.want), values(r.text(all, k.want))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: case %s in JSON (-want +got):\n%s", k.file, k.short, diff)
			}
		})
	}
}

// values returns the lines of a result that do not depend on the syntax. All errors together become one line.
func values(text string) []string {
	var out []string
	failed := false
	for l := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(l, "error"), strings.HasPrefix(l, "unexpected"):
			failed = true
		case l == "", strings.HasPrefix(l, "warning"), strings.HasPrefix(l, "  "):
		default:
			out = append(out, l)
		}
	}
	if failed {
		return []string{"an error"}
	}
	return out
}

// inJSON returns a copy of a case with its native files in JSON. If that is impossible, it returns nil and the reason.
func inJSON(k *kase) (*kase, string) {
	out := *k
	out.steps = nil
	for _, step := range k.steps {
		next := files{}
		for name, text := range step {
			ext := path.Ext(name)
			if ext != ".tf" && ext != ".tofu" {
				next[name] = text
				continue
			}
			translated, why := translate(text)
			if why != "" {
				return nil, why
			}
			next[name+".json"] = translated
		}
		out.steps = append(out.steps, next)
	}
	if len(k.set.crlf)+len(k.set.bom) > 0 || strings.Contains(strings.Join(k.set.args, " "), ".tf") {
		return nil, "it is about native files"
	}
	return &out, ""
}

// translator translates one native file to JSON.
type translator struct {
	src []byte
	why string // the construct without a counterpart
}

// translate returns a native file in JSON, and the reason why the result is wrong, or "".
func translate(text string) (string, string) {
	f, diags := hclsyntax.ParseConfig([]byte(text), "x.tf", hcl.InitialPos)
	if diags.HasErrors() {
		return "", "it is not well-formed"
	}
	tr := &translator{src: []byte(text)}
	body := tr.body(f.Body.(*hclsyntax.Body), "")
	return body, tr.why
}

// body returns the attributes and blocks of a body as a JSON object. Blocks of one type are a list, and each is below
// its labels. typ is the type of the block with the body, or "" for the top of a file and for the content of dynamic
// blocks.
func (tr *translator) body(b *hclsyntax.Body, typ string) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(b.Attributes)) {
		members = append(members, quoted(name)+":"+tr.attribute(typ, name, b.Attributes[name].Expr))
	}
	if len(b.Blocks) > 0 && typ == "locals" {
		tr.why = "in JSON there are no blocks in locals"
	}
	byType := map[string][]*hclsyntax.Block{}
	for _, inner := range b.Blocks {
		byType[inner.Type] = append(byType[inner.Type], inner)
	}
	for _, name := range slices.Sorted(maps.Keys(byType)) {
		var list []string
		for _, inner := range byType[name] {
			if name == "locals" && len(inner.Labels) > 0 {
				tr.why = "in JSON locals have no labels"
			}
			about := name
			if typ == "dynamic" {
				about = ""
			}
			text := tr.body(inner.Body, about)
			for _, label := range slices.Backward(inner.Labels) {
				text = "{" + quoted(label) + ":" + text + "}"
			}
			list = append(list, text)
		}
		members = append(members, quoted(name)+":["+strings.Join(list, ",")+"]")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// plain lists the arguments that are references, types or words and not expressions. Their strings have no template
// around the content.
var plain = map[string]bool{
	"type": true, "depends_on": true, "provider": true, "providers": true, "from": true, "to": true, "ignore_changes": true,
	"replace_triggered_by": true, "configuration_aliases": true, "experiments": true, "language": true, "iterator": true, "when": true, "on_failure": true,
}

// attribute returns the expression of an attribute in JSON. block is the type of the block with the attribute.
func (tr *translator) attribute(block, name string, e hclsyntax.Expression) string {
	isPlain := plain[name] && !(name == "type" && block != "variable" && block != "output")
	switch {
	case block == "required_providers":
		return tr.plain(e)
	case isPlain && block != "locals":
		return tr.plain(e)
	}
	v, diags := e.Value(nil)
	if block == "variable" && name == "default" {
		if diags.HasErrors() {
			tr.why = "in JSON a default is never an expression"
			return "null"
		}
		return tr.constant(v, false)
	}
	switch e.(type) {
	case *hclsyntax.LiteralValueExpr, *hclsyntax.TemplateExpr:
		if !diags.HasErrors() && (v.Type() != cty.Number || v.IsNull()) {
			return tr.constant(v, true)
		}
	}
	return tr.template(e) // verbatim
}

// constant returns a value in JSON. If templates is set, because the language parses strings in this place as
// templates, it escapes template sequences. A value without a JSON form sets tr.why.
func (tr *translator) constant(v cty.Value, templates bool) string {
	if templates {
		v, _ = cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
			if v.Type() == cty.String && !v.IsNull() {
				v = cty.StringVal(strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v.AsString()))
			}
			return v, nil
		})
	}
	raw, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		tr.why = "a constant has no JSON form: " + err.Error()
	}
	return string(raw)
}

// template returns an expression as a string with one interpolation. An expression that contains a heredoc or may
// contain a comment sets tr.why.
func (tr *translator) template(e hclsyntax.Expression) string {
	text := tr.text(e)
	if strings.Contains(text, "<<") {
		tr.why = "a heredoc cannot stand in an interpolation"
	}
	if strings.ContainsAny(text, "#") || strings.Contains(text, "//") {
		tr.why = "a comment may stand in an expression"
	}
	return quoted("${" + text + "}")
}

// plain returns references, types and words as strings, also inside lists and objects. Constants keep their type.
func (tr *translator) plain(e hclsyntax.Expression) string {
	switch e := e.(type) {
	case *hclsyntax.TupleConsExpr:
		var list []string
		for _, item := range e.Exprs {
			list = append(list, tr.plain(item))
		}
		return "[" + strings.Join(list, ",") + "]"
	case *hclsyntax.ObjectConsExpr:
		var members []string
		for _, item := range e.Items {
			members = append(members, quoted(tr.key(item.KeyExpr))+":"+tr.plain(item.ValueExpr))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	if v, diags := e.Value(nil); !diags.HasErrors() && v.Type() != cty.DynamicPseudoType {
		return tr.constant(v, false)
	}
	return quoted(tr.text(e))
}

func (tr *translator) key(e hclsyntax.Expression) string {
	if k, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		e = k.Wrapped
	}
	if v, diags := e.Value(nil); !diags.HasErrors() && v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
		return v.AsString()
	}
	return tr.text(e)
}

func (tr *translator) text(e hclsyntax.Expression) string {
	return string(e.Range().SliceBytes(tr.src))
}

// TestTranslation shows examples of the translation.
func TestTranslation(t *testing.T) {
	got, why := translate("variable \"a\" {\n  type    = list(string)\n  default = [\"$${x}\"]\n}\nresource \"t\" \"n\" {\n  count      = 1 + 1\n  a          = \"x$${y}\"\n  depends_on = [t.b]\n  b {\n    c = var.a\n  }\n}\n")
	want := `{"resource":[{"t":{"n":{"a":"x$${y}","count":"${1 + 1}","depends_on":["t.b"],"b":[{"c":"${var.a}"}]}}}],"variable":[{"a":{"default":["${x}"],"type":"list(string)"}}]}`
	if got != want || why != "" {
		t.Errorf("got  %s (%s)\nwant %s", got, why, want)
	}
	if !json.Valid(bytes.TrimSpace([]byte(got))) {
		t.Error(fmt.Sprint("not JSON: ", got))
	}
}
