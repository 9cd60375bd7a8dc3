package syntax

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/limits"
)

var full = limits.Limits{}.Filled()

var scanSeeds = []string{
	"",
	"a = 1\n",
	"a = [1, 2, (3 + 4) * 5]\nb {\n  c = \"x${d[\"e\"].f}y\"\n}\n",
	"a = <<EOT\nx ${y} z\n  EOT \nEOT\nb = 1\n",
	"a = <<-EOT\n\t%{ if x ~}\n${<<B\nq\nB\n}\n\t%{ endif }\n  EOT\n",
	"a = \"$${b} %%{c} $$${d} \\\" \\${ %{ for x in y }${x}%{ else }%{ endfor }\"\n",
	"# c (((\n// d [[[\n/* ((( \n*/ a = !-1 == 2 && x ? y : z\n",
	"a = 1.5e+10.x.0.*.y[*].z\nb = 1..2\nc = a::b(c...)\n",
	"a = \"x\n\"\n}}}(((\n",
	"é = ü-1\nb = <<é\nx\né\n",
	"a = \"${ { b = { c = 1 } } }\"\r\nb = 2\r\n",
	"a = \"$\"\nb = \"%\"\nc = \"$${\"\n",
	"a = <<EOT\n$\n%\nx$\nEOT\n",
	"x = \"${\"${\"${a}\"}\"}\"\n",
}

// comparePieces checks that parsing a text in pieces and at once leads to the same result.
func comparePieces(t *testing.T, src []byte) {
	t.Helper()
	body, _, _ := Parse(src, "x", full)
	pieces := parsePieces(src, "x", full)
	file, diags := hclsyntax.ParseConfig(src, "x", hcl.InitialPos)
	if diags.HasErrors() {
		if pieces != nil {
			t.Errorf("%q: no mistake in pieces, but %v", src, diags)
		}
		return
	}
	for _, got := range []*hclsyntax.Body{body, pieces} {
		if got != nil && !reflect.DeepEqual(got.Attributes, file.Body.(*hclsyntax.Body).Attributes) || got != nil && (len(got.Blocks)+len(file.Body.(*hclsyntax.Body).Blocks) > 0) && !reflect.DeepEqual(got.Blocks, file.Body.(*hclsyntax.Body).Blocks) {
			t.Errorf("%q: another body in pieces", src)
		}
		if got != nil && (got.SrcRange != file.Body.(*hclsyntax.Body).SrcRange || got.EndRange != file.Body.(*hclsyntax.Body).EndRange) {
			t.Errorf("%q: %v, %v in pieces, %v, %v at once", src, got.SrcRange, got.EndRange, file.Body.(*hclsyntax.Body).SrcRange, file.Body.(*hclsyntax.Body).EndRange)
		}
	}
}

// long returns a text of several pieces that contains src.
func long(src string) []byte {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, "resource \"a\" \"r%d\" {\n  é = \"${x}\"\n}\n\n", i)
		if i == 200 {
			b.WriteString(src)
		}
	}
	return []byte(b.String())
}

func TestPieces(t *testing.T) {
	for _, src := range append(scanSeeds, "a = {\n}\n", "a = <<E\n"+strings.Repeat("x\n}\n", 5000)+"E\n", "/*\n"+strings.Repeat("x\n}\n", 5000)+"*/\n", "b {\n"+strings.Repeat("}\n", 5000), strings.Repeat("b {\n}\n", 5000)) {
		comparePieces(t, []byte(src))
		comparePieces(t, long(src))
	}
	if parsePieces(long(""), "x", full) == nil {
		t.Error("ordinary blocks are not parsed in pieces")
	}
	if parsePieces(append(long("a = 1\n"), "a = 2\n"...), "x", full) != nil {
		t.Error("an argument may be set twice")
	}
}

func FuzzPieces(f *testing.F) {
	for _, src := range scanSeeds {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) { comparePieces(t, src) })
}

// TestUnbalanced checks that the parser does not recurse without limit after a bracket of the wrong kind.
func TestUnbalanced(t *testing.T) {
	deep := strings.Repeat("{a="+strings.Repeat("[", 970)+"}],", 3000)
	if _, diags, p := Parse([]byte("a = [\n"+deep+"\n]\n"), "x", full); p.Kind != None || !diags.HasErrors() {
		t.Errorf("%v, %v", p, diags)
	}
	if p := CheckTemplate([]byte("${["+deep), full); p.Kind != Unbalanced {
		t.Errorf("a template: %v", p)
	}
	if p := CheckJSON([]byte("["+strings.Repeat(`{"a": [[[}],`, 3000)), full); p.Kind != Unbalanced {
		t.Errorf("JSON: %v", p)
	}
}

func TestCheck(t *testing.T) {
	r := strings.Repeat
	tests := map[string]struct {
		src  string
		want Kind
	}{
		"plain":           {"a = 1\n", None},
		"parentheses":     {"a = " + r("(", 1001) + r(")", 1001), Deep},
		"not closed":      {"a = " + r("(", 100_000), Deep},
		"brackets ok":     {"a = " + r("[", 999) + r("]", 999), None},
		"blocks":          {r("b {\n", 100_000), Deep},
		"negations":       {"a = " + r("!", 1_000_000) + "true", Long},
		"minuses":         {"a = " + r("- ", 1_000_000) + "1", Long},
		"sum":             {"a = 1" + r("+1", 200_000), Long},
		"conditionals":    {"a = " + r("x ? y : ", 100_000) + "z", Long},
		"indexes":         {"a = b" + r("[c]", 100_000), Long},
		"splats":          {"a = b" + r("[*]", 100_000), Long},
		"legacy splats":   {"a = b" + r(".*", 100_000), Long},
		"templates":       {"a = " + r(`"${`, 100_000), Deep},
		"directives":      {`a = "` + r(`%{ if x }`, 100_000), Deep},
		"odd directives":  {`a = "` + r(`%{/* x */ if x }`, 100_000), Deep},
		"types":           {"a = " + r("list(", 100_000), Deep},
		"digits":          {"a = " + r("9", 10_001), Number},
		"exponent":        {"a = 1e100000", Exponent},
		"small exponent":  {"a = 1e-308", None},
		"comments":        {r("/* ", 100_000), Comment},
		"many in a list":  {"a = [" + r("(1 + 2), ", 100_000) + "]", None},
		"many arguments":  {r("a = (1 + 2)\n", 100_000), None},
		"many sequences":  {`a = "` + r("${a + b} ", 100_000) + `"`, None},
		"loops in a row":  {`a = "` + r("%{ for a in b }${a}%{ endfor }", 50_000) + `"`, None},
		"long name":       {r("a", 20_000) + " = 1", Name},
		"heredoc":         {"a = <<E\n" + r("some text\n", 5000) + "E\n", None},
		"long heredoc":    {"a = <<E\n" + r("some text\n", 100_000) + "E\n", Text},
		"open heredoc":    {"a = <<E\n" + r("some text\n", 100_000), Text},
		"long template":   {"a = <<E\n" + r("some ${x} text\n", 100_000) + "E\n", Text},
		"signs":           {`a = "` + r("$", 100_000) + `"`, Text},
		"many heredocs":   {r("a = <<E\nx\ny\nE\n", 100_000), None},
		"too many tokens": {r("a = 1\n", 1_500_000), Tokens},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, _, got := Parse([]byte(tt.src), "x", full); got.Kind != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for text, want := range map[string]Kind{
		r(`${[`, 2000):                     Deep,
		r(`(((( `, 2000):                   None,
		"${b}" + r(`\n`, 100_000):          Text,
		r(`\n`, 100_000):                   None,
		`\u0024\u007b` + r("[", 2000):      Deep,
		`%{ if x }` + r("%{ if x }", 1000): Deep,
	} {
		if got := CheckJSON([]byte(`{"a": "`+text+`"}`), full); got.Kind != want {
			t.Errorf("%.20q in JSON: %v", text, got)
		}
	}
}
