package syntax

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/limits"
)

var full = limits.Limits{}.Filled()

// libraryScan takes the same measure from the library's own tokens: what the scanner is held against.
func libraryScan(toks hclsyntax.Tokens) *scanner {
	s := newScanner(full, code)
	for _, t := range toks {
		k := s.inner().kind
		switch t.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenComma:
			s.symbol(t.Bytes[0], 0)
		case hclsyntax.TokenTemplateSeqEnd:
			s.closeBrace()
		case hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			s.op(0)
			s.push(t.Bytes[0], 0)
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			s.push(t.Bytes[0], 0)
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if k == quote || k == heredoc {
				s.pop()
			}
		case hclsyntax.TokenIdent:
			s.src, s.pos = t.Bytes, 0
			s.word(0)
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			if strings.HasSuffix(string(t.Bytes), "\n") && (k == code || k == '{') {
				s.next()
			}
		case hclsyntax.TokenNumberLit:
			if p := checkNumber(t.Bytes); p.Kind != None {
				s.fail(p.Kind, 0, p.Limit)
			}
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		default:
			for _, c := range t.Bytes {
				if strings.IndexByte("+-*/%!<>=&|?:", c) >= 0 {
					s.op(0)
				}
			}
		}
	}
	s.src, s.pos = nil, 0
	s.run(nil)
	return s
}

func compareScan(t *testing.T, src []byte) {
	t.Helper()
	if firstBad(src) >= 0 {
		return
	}
	toks, diags := hclsyntax.LexConfig(src, "x", hcl.InitialPos)
	if diags.HasErrors() {
		return
	}
	want := libraryScan(toks)
	got := newScanner(full, code)
	p := got.run(src)
	if p.Kind == Name || p.Kind == Comment || p.Kind == Text {
		return
	}
	if p.Kind != want.out.Kind || p.Kind == None && got.frames[0].top != want.frames[0].top {
		t.Errorf("%q\nscanner %v weight %d\ntokens  %v weight %d", src, p, got.frames[0].top, want.out, want.frames[0].top)
	}
}

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

func TestCheckAgreesWithTheLibrary(t *testing.T) {
	for _, src := range scanSeeds {
		compareScan(t, []byte(src))
	}
}

func FuzzCheck(f *testing.F) {
	for _, src := range scanSeeds {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) { compareScan(t, src) })
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
			if _, got := Check([]byte(tt.src), full); got.Kind != tt.want {
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
		if _, got := CheckJSON([]byte(`{"a": "`+text+`"}`), full); got.Kind != want {
			t.Errorf("%.20q in JSON: %v", text, got)
		}
	}
}
