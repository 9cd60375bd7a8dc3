package lang

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

const sensitiveLoops = `
variable "s" {
  default   = ["canary-a", "canary-b"]
  sensitive = true
}
variable "m" {
  default   = { x = "canary-1", y = "canary-2" }
  sensitive = true
}
variable "o" {
  default   = [{ a = "canary-o", l = ["canary-l"] }]
  sensitive = true
}
variable "e" {
  default   = ["canary-e"]
  ephemeral = true
  sensitive = true
}
locals {
  l = [for x in var.s : x]
}
`

// TestLoopOverSensitive checks that the result of a loop through a sensitive collection is sensitive, and its elements
// are not.
func TestLoopOverSensitive(t *testing.T) {
	f := rootFrame(t, sensitiveLoops, frame.Options{})
	for src, paths := range map[string]string{
		`[for x in var.s : x]`:                                          "|",
		`nonsensitive([for x in var.s : x])`:                            "",
		`nonsensitive(local.l)`:                                         "",
		`nonsensitive([for i, x in var.s : i])`:                         "",
		`nonsensitive({ for k, v in var.m : k => v })`:                  "",
		`nonsensitive({ for k, v in var.m : v => k })`:                  "",
		`nonsensitive({ for k, v in var.m : "k" => v... })`:             "",
		`nonsensitive([for x in toset(var.s) : x if x != "a"])`:         "",
		`nonsensitive(flatten([for x in var.s : [x, upper(x)]]))`:       "",
		`nonsensitive(merge([for k, v in var.m : { (k) = v }]...))`:     "",
		`nonsensitive(tolist([for x in var.s : x]))`:                    "",
		`nonsensitive("%{for x in var.s}${x}%{endfor}")`:                "",
		`nonsensitive([for x in var.s : issensitive(x)])`:               "",
		`nonsensitive([for x in var.s : try(tonumber(x), x)])`:          "",
		`nonsensitive([for x in var.o : [for y in x.l : upper(y)]])`:    "",
		`nonsensitive([for x in [1] : [for y in var.s : y]])`:           "[0]|",
		`nonsensitive([for x in var.s : sensitive(x)])`:                 "[0]|[1]|",
		`nonsensitive([for x in var.s : [for k, v in var.m : "${v}"]])`: "[0]|[1]|",
		`[for x in nonsensitive(var.s) : x]`:                            "",
		`{ for i, x in [sensitive("k")] : "x" => x }`:                   "x|",
		`{ for i, x in [sensitive("k")] : x => i }`:                     "|",
		`try([for x in var.s : tonumber(x)], "d")`:                      "",
	} {
		v, ok := value(f, src)
		if !ok {
			t.Errorf("%s failed", src)
			continue
		}
		got := ""
		for _, p := range v.PathsOf(mark.Sensitive) {
			got += strings.TrimSuffix(mark.PathString(p), "|") + "|"
		}
		if got != paths {
			t.Errorf("%s: sensitive at %q, want %q", src, got, paths)
		}
	}
	if v, ok := value(f, `nonsensitive([for x in var.e : x])`); !ok || !v.Has(mark.Ephemeral) {
		t.Errorf("an ephemeral mark is lost: %v", v)
	}
	if v, _ := value(f, `nonsensitive([for x in var.s : x])`); !v.Raw.RawEquals(cty.TupleVal([]cty.Value{cty.StringVal("canary-a"), cty.StringVal("canary-b")})) {
		t.Errorf("%#v", v.Raw)
	}
}

// TestLoopMessagesHideElements checks that a message about a turn of a loop through a sensitive collection shows no
// element.
func TestLoopMessagesHideElements(t *testing.T) {
	for _, src := range []string{
		`[for x in var.s : tonumber(x)]`,
		`{ for x in var.s : "k" => x }`,
		`{ for x in var.s : substr(x, 0, 3) => x }`,
		`[for x in var.s : x if x]`,
		`[for x in var.s : x if tobool(x)]`,
		`[for x in var.s : file(x)]`,
		`[for x in var.s : regex("^z$", x)]`,
		`[for x in var.s : { a = 1 }[x]]`,
		`[for x in var.s : issensitive(x) ? "x" : tonumber(x)]`,
		`[for x in var.s : issensitive(x) ? "x" : { a = 1 }[x]]`,
		`[for x in var.o : x.nosuch]`,
		`[for x in var.o : x.a.nosuch]`,
		`[for x in var.o : x.a + 1]`,
		`[for x in var.o : [for y in x.l : tonumber(y)]]`,
		`[for x in var.o : [for y in x.l : x.l[0] + 1]]`,
		`[for x in var.o : { for y in [1, 2] : x.a => y }]`,
		`[for x in var.s : "${x}${tonumber(x)}"]`,
		`"%{for x in var.s}${tonumber(x)}%{endfor}"`,
		`[for x in var.s : x == "a" ? [] : tonumber(x)]`,
		`{ for k, v in var.m : v => tonumber(v) }`,
		`{ for k, v in var.m : (v) => [for z in [1] : tonumber(v)] }`,
		`[for x in var.s : [x, null][1] + length(x)]`,
	} {
		f := rootFrame(t, sensitiveLoops+"output \"o\" {\n  sensitive = true\n  value     = "+src+"\n}\n", frame.Options{})
		var bag diag.Bag
		f.Named(program.Output, "o", frame.After, &bag)
		text := show(&bag)
		for _, d := range bag.List() {
			for _, v := range d.Values {
				text += v.Traversal + v.Statement
			}
		}
		if !bag.HasErrors() || strings.Contains(text, "canary") {
			t.Errorf("%s:\n%s", src, text)
		}
	}
}
