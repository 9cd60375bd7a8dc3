package config

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// weighTokens is the same measure taken from the HCL library's own tokens: what the byte scanner
// is held against.
func weighTokens(toks hclsyntax.Tokens) *scale {
	s := newScale(DefaultLimits)
	for _, t := range toks {
		switch t.Type {
		case hclsyntax.TokenOParen:
			s.open(parenFrame, 0)
		case hclsyntax.TokenOBrack:
			s.open(brackFrame, 0)
		case hclsyntax.TokenOBrace:
			s.open(braceFrame, 0)
		case hclsyntax.TokenCParen:
			s.close(parenFrame, 0, holdsBrackets)
		case hclsyntax.TokenCBrack:
			s.close(brackFrame, 0, holdsBrackets)
		case hclsyntax.TokenCBrace, hclsyntax.TokenTemplateSeqEnd:
			s.closeBrace(0)
		case hclsyntax.TokenTemplateInterp:
			s.open(interpFrame, 0)
		case hclsyntax.TokenTemplateControl:
			s.open(controlFrame, 0).fresh = true
		case hclsyntax.TokenOQuote:
			s.open(quoteFrame, 0)
		case hclsyntax.TokenOHeredoc:
			s.open(heredocFrame, 0)
		case hclsyntax.TokenCQuote:
			s.close(quoteFrame, 0, func(k frameKind) bool { return k != directiveFrame })
		case hclsyntax.TokenCHeredoc:
			s.close(heredocFrame, 0, func(k frameKind) bool { return k != directiveFrame })
		case hclsyntax.TokenComma:
			s.next()
		case hclsyntax.TokenIdent:
			if f := s.inner(); f.fresh {
				f.word(t.Bytes)
			}
		case hclsyntax.TokenNewline, hclsyntax.TokenComment:
			k := s.inner().kind
			if strings.HasSuffix(string(t.Bytes), "\n") && (k == topFrame || k == braceFrame) {
				s.next()
			}
		case hclsyntax.TokenNumberLit:
			s.checkNumber(t.Bytes, 0)
		case hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit:
		default:
			for _, c := range t.Bytes {
				if strings.IndexByte("+-*/%!<>=&|?:", c) >= 0 {
					s.op(0)
				}
			}
		}
	}
	s.end(0)
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
	want := weighTokens(toks)
	got := &scanner{src: src, scale: newScale(DefaultLimits)}
	verdict := got.run()
	if verdict.kind == nameTooLong || verdict.kind == openComment || verdict.kind == textTooLong {
		return
	}
	same := got.peak == want.peak && got.frames[0].top == want.frames[0].top
	if verdict.kind != want.out.kind || verdict.kind == noTrouble && !same {
		t.Errorf("%q\nscanner %v peak %d weight %d\ntokens  %v peak %d weight %d", src,
			verdict, got.peak, got.frames[0].top, want.out, want.peak, want.frames[0].top)
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

func TestScanAgreesWithTheLibrary(t *testing.T) {
	for _, src := range scanSeeds {
		compareScan(t, []byte(src))
	}
}

func FuzzScan(f *testing.F) {
	for _, src := range scanSeeds {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) { compareScan(t, src) })
}

func TestWeigh(t *testing.T) {
	r := strings.Repeat
	tests := map[string]struct {
		src  string
		want troubleKind
	}{
		"plain":           {"a = 1\n", noTrouble},
		"parentheses":     {"a = " + r("(", 1001) + r(")", 1001), tooDeep},
		"not closed":      {"a = " + r("(", 100_000), tooDeep},
		"brackets ok":     {"a = " + r("[", 999) + r("]", 999), noTrouble},
		"blocks":          {r("b {\n", 100_000), tooDeep},
		"negations":       {"a = " + r("!", 1_000_000) + "true", tooLong},
		"minuses":         {"a = " + r("- ", 1_000_000) + "1", tooLong},
		"sum":             {"a = 1" + r("+1", 200_000), tooLong},
		"conditionals":    {"a = " + r("x ? y : ", 100_000) + "z", tooLong},
		"indexes":         {"a = b" + r("[c]", 100_000), tooLong},
		"splats":          {"a = b" + r("[*]", 100_000), tooLong},
		"legacy splats":   {"a = b" + r(".*", 100_000), tooLong},
		"templates":       {"a = " + r(`"${`, 100_000), tooDeep},
		"directives":      {`a = "` + r(`%{ if x }`, 100_000), tooDeep},
		"odd directives":  {`a = "` + r(`%{/* x */ if x }`, 100_000), tooDeep},
		"types":           {"a = " + r("list(", 100_000), tooDeep},
		"digits":          {"a = " + r("9", 10_001), numberTooLong},
		"exponent":        {"a = 1e100000", exponentTooLarge},
		"small exponent":  {"a = 1e-308", noTrouble},
		"comments":        {r("/* ", 100_000), openComment},
		"many in a list":  {"a = [" + r("(1 + 2), ", 100_000) + "]", noTrouble},
		"many arguments":  {r("a = (1 + 2)\n", 100_000), noTrouble},
		"many sequences":  {`a = "` + r("${a + b} ", 100_000) + `"`, noTrouble},
		"loops in a row":  {`a = "` + r("%{ for a in b }${a}%{ endfor }", 50_000) + `"`, noTrouble},
		"long name":       {r("a", 20_000) + " = 1", nameTooLong},
		"heredoc":         {"a = <<E\n" + r("some text\n", 5000) + "E\n", noTrouble},
		"long heredoc":    {"a = <<E\n" + r("some text\n", 100_000) + "E\n", textTooLong},
		"open heredoc":    {"a = <<E\n" + r("some text\n", 100_000), textTooLong},
		"long template":   {"a = <<E\n" + r("some ${x} text\n", 100_000) + "E\n", textTooLong},
		"signs":           {`a = "` + r("$", 100_000) + `"`, textTooLong},
		"many heredocs":   {r("a = <<E\nx\ny\nE\n", 100_000), noTrouble},
		"too many tokens": {r("a = 1\n", 1_500_000), tooManyTokens},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if _, got := weighNative([]byte(tt.src), DefaultLimits); got.kind != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
	for text, want := range map[string]troubleKind{
		r(`${[`, 2000):                     tooDeep,
		r(`(((( `, 2000):                   noTrouble,
		"${b}" + r(`\n`, 100_000):          textTooLong,
		r(`\n`, 100_000):                   noTrouble,
		`\u0024\u007b` + r("[", 2000):      tooDeep,
		`%{ if x }` + r("%{ if x }", 1000): tooDeep,
	} {
		if _, got := weighJSON([]byte(`{"a": "`+text+`"}`), DefaultLimits); got.kind != want {
			t.Errorf("%.20q in JSON: %v", text, got)
		}
	}
}
