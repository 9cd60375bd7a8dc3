package funcs

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// TestPeer evaluates the recorded expressions and compares type and value, or the title of the error, with Terraform's
// answer. differences_test.go lists the intended differences with their reasons.
func TestPeer(t *testing.T) {
	ctx := peerContext(t)
	total := 0
	for _, file := range peerFiles(t) {
		cases, _ := readGolden(t, file)
		total += len(cases)
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, c := range cases {
				if runtime.GOOS == "windows" && ofPaths.MatchString(c.expr) {
					continue // TestPathsOfWindows
				}
				if len(c.answer) == 0 {
					t.Errorf("%s:%d: not recorded: %s", file, c.line, c.expr)
					continue
				}
				got := answerOf(t, ctx, c)
				want := expected(c)
				if got != want {
					t.Errorf("%s:%d: %s\n got  %s\n want %s", file, c.line, c.expr, got, want)
				}
			}
		})
	}
	if total < 2000 {
		t.Errorf("only %d expressions", total)
	}
}

// ofPaths matches expressions whose value has other separators on Windows.
var ofPaths = regexp.MustCompile(`^(\w+\()?(abspath|basename|dirname|pathexpand)\(`)

func peerFiles(t *testing.T) []string {
	files, err := filepath.Glob("testdata/peer/*.golden")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded expressions", err)
	}
	return files
}

// peerContext returns the variables and locals of testdata/vars.tf, and the files that were present during the
// recording.
func peerContext(t *testing.T) *hcl.EvalContext {
	env := &Env{BaseDir: "testdata", PlanTime: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), Console: true}
	ctx := &hcl.EvalContext{
		Functions: Table(env),
		Variables: map[string]cty.Value{
			"terraform_data": cty.ObjectVal(map[string]cty.Value{"u": cty.DynamicVal}),
			"var": cty.ObjectVal(map[string]cty.Value{
				"sens": mark.With(cty.StringVal("hushhush-canary"), mark.Sensitive, nil),
				"eph":  mark.With(cty.StringVal("gone-canary"), mark.Ephemeral, nil),
			}),
		},
	}
	src, err := os.ReadFile("testdata/vars.tf")
	if err != nil {
		t.Fatal(err)
	}
	file, diags := hclsyntax.ParseConfig(src, "vars.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	locals := map[string]cty.Value{}
	for _, b := range file.Body.(*hclsyntax.Body).Blocks {
		if b.Type != "locals" {
			continue
		}
		for name, a := range b.Body.Attributes {
			v, diags := a.Expr.Value(ctx)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			locals[name] = v
		}
	}
	ctx.Variables["local"] = cty.ObjectVal(locals)
	return ctx
}

func eval(ctx *hcl.EvalContext, expr string) (cty.Value, hcl.Diagnostics) {
	e, diags := hclsyntax.ParseExpression([]byte(expr), "test", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilVal, diags
	}
	return e.Value(ctx)
}

// answerOf returns the answer of Lethe in one line, in the form of a recorded answer. For an error it returns only the
// title. c is the recorded expression: its answer decides between JSON and the text of the console.
func answerOf(t *testing.T, ctx *hcl.EvalContext, c *golden) string {
	v, diags := eval(ctx, c.expr)
	if diags.HasErrors() {
		return "! " + diags[0].Summary
	}
	if c.answer[0] == "= console" || c.answer[0][0] == '!' && !v.IsWhollyKnown() {
		return "= console " + consoleText(v)
	}
	v = mark.Split(v).Raw
	ty, err := json.Marshal(v.Type())
	if err != nil {
		t.Fatal(c.expr, err)
	}
	val, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "cannot be written: " + err.Error()
	}
	return "= " + string(ty) + " " + canonical(val)
}

// expected returns the answer that Lethe must give, in one line: the one in differences, or otherwise the recorded
// answer. For an error it returns only the title, because the details differ.
func expected(c *golden) string {
	if d, ok := differences[c.expr]; ok {
		return d.want
	}
	if c.answer[0][0] == '!' {
		return c.answer[0]
	}
	var rest []string
	for _, l := range c.answer[1:] {
		rest = append(rest, strings.TrimSpace(l))
	}
	text := strings.Join(rest, " ")
	if c.answer[0] != "= console" {
		text = canonical([]byte(text))
	}
	return c.answer[0] + " " + text
}

// canonical normalizes JSON. Numbers keep their text, except that a document -0 becomes 0. It returns a text that is
// not JSON unchanged.
func canonical(raw []byte) string {
	if string(raw) == "-0" {
		return "0"
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return string(raw)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// consoleText formats a value as the console does, for the kinds of values in the recorded expressions.
func consoleText(v cty.Value) string {
	if text, ok := TypeText(v, func(string) bool { return false }); ok {
		return strings.Join(strings.Fields(text), " ")
	}
	switch {
	case !v.IsKnown():
		return "(known after apply)"
	case v.Type().IsObjectType():
		var parts []string
		for k, e := range v.AsValueMap() {
			parts = append(parts, fmt.Sprintf("%q = %s", k, consoleText(e)))
		}
		return "{ " + strings.Join(parts, " ") + " }"
	case v.Type() == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	case v.Type() == cty.Bool:
		return fmt.Sprint(v.True())
	}
	return v.AsBigFloat().Text('f', -1)
}
