package funcs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// samples holds for each function the arguments of a call that succeeds. Tests of rules for all functions replace one
// of the arguments by a null, unknown, marked or wrong value.
var samples = map[string][]string{
	"abs": {`-1`}, "abspath": {`"x"`}, "alltrue": {`[true]`}, "anytrue": {`[true]`},
	"base64decode": {`"eA=="`}, "base64encode": {`"x"`}, "base64gunzip": {`base64gzip("x")`}, "base64gzip": {`"x"`},
	"base64sha256": {`"x"`}, "base64sha512": {`"x"`}, "basename": {`"a/b"`}, "bcrypt": {`"x"`, `4`},
	"ceil": {`1.5`}, "chomp": {`"x\n"`}, "chunklist": {`["a", "b"]`, `1`},
	"cidrcontains": {`"10.0.0.0/8"`, `"10.1.0.0/16"`}, "cidrhost": {`"10.0.0.0/8"`, `1`}, "cidrnetmask": {`"10.0.0.0/8"`},
	"cidrsubnet": {`"10.0.0.0/8"`, `8`, `1`}, "cidrsubnets": {`"10.0.0.0/8"`, `8`, `4`},
	"coalesce": {`"a"`, `"b"`}, "coalescelist": {`["a"]`, `["b"]`}, "compact": {`["a", ""]`}, "concat": {`["a"]`, `["b"]`},
	"contains": {`["a"]`, `"a"`}, "csvdecode": {`"a\n1\n"`},
	"dirname": {`"a/b"`}, "distinct": {`["a", "a"]`}, "element": {`["a", "b"]`, `1`}, "endswith": {`"ab"`, `"b"`},
	"ephemeralasnull": {`"x"`}, "file": {`"data/hello.txt"`}, "filebase64": {`"data/hello.txt"`},
	"filebase64sha256": {`"data/hello.txt"`}, "filebase64sha512": {`"data/hello.txt"`}, "fileexists": {`"data/hello.txt"`},
	"filemd5": {`"data/hello.txt"`}, "fileset": {`"data"`, `"*.txt"`}, "filesha1": {`"data/hello.txt"`},
	"filesha256": {`"data/hello.txt"`}, "filesha512": {`"data/hello.txt"`}, "flatten": {`[["a"], "b"]`}, "floor": {`1.5`},
	"format": {`"%s-%d"`, `"a"`, `1`}, "formatdate": {`"YYYY"`, `"2020-01-02T03:04:05Z"`}, "formatlist": {`"%s-%d"`, `["a"]`, `1`},
	"indent": {`2`, `"a\nb"`}, "index": {`["a", "b"]`, `"b"`}, "issensitive": {`"x"`}, "join": {`","`, `["a"]`, `["b"]`},
	"jsondecode": {`"[1]"`}, "jsonencode": {`[1]`}, "keys": {`{a = 1}`}, "length": {`["a"]`}, "log": {`8`, `2`},
	"lookup": {`{a = 1}`, `"a"`, `2`}, "lower": {`"X"`}, "matchkeys": {`["a"]`, `["x"]`, `["x"]`}, "max": {`1`, `2`},
	"md5": {`"x"`}, "merge": {`{a = 1}`, `{b = 2}`}, "min": {`1`, `2`}, "nonsensitive": {`"x"`}, "one": {`["a"]`},
	"parseint": {`"ff"`, `16`}, "pathexpand": {`"a"`}, "plantimestamp": {}, "pow": {`2`, `3`}, "range": {`1`, `3`},
	"regex": {`"a"`, `"cat"`}, "regexall": {`"a"`, `"cat"`}, "replace": {`"cat"`, `"c"`, `"b"`}, "reverse": {`["a", "b"]`},
	"rsadecrypt": {`local.cipher`, `local.rsa_key`}, "sensitive": {`"x"`}, "setintersection": {`["a"]`, `["a"]`},
	"setproduct": {`["a"]`, `["b"]`}, "setsubtract": {`["a"]`, `["b"]`}, "setunion": {`["a"]`, `["b"]`}, "sha1": {`"x"`},
	"sha256": {`"x"`}, "sha512": {`"x"`}, "signum": {`-2`}, "slice": {`["a", "b"]`, `0`, `1`}, "sort": {`["b", "a"]`},
	"split": {`","`, `"a,b"`}, "startswith": {`"ab"`, `"a"`}, "strcontains": {`"abc"`, `"b"`}, "strrev": {`"ab"`},
	"substr": {`"abc"`, `0`, `1`}, "sum": {`[1, 2]`}, "templatefile": {`"data/just.tmpl"`, `{x = "v"}`},
	"templatestring": {`local.just`, `{x = "v"}`}, "textdecodebase64": {`"eA=="`, `"UTF-8"`}, "textencodebase64": {`"x"`, `"UTF-8"`},
	"timeadd": {`"2020-01-02T03:04:05Z"`, `"1h"`}, "timecmp": {`"2020-01-02T03:04:05Z"`, `"2020-01-02T03:04:05Z"`},
	"timestamp": {}, "title": {`"ab"`}, "tobool": {`"true"`}, "tolist": {`["a"]`}, "tomap": {`{a = 1}`}, "tonumber": {`"1"`},
	"toset": {`["a"]`}, "tostring": {`1`}, "transpose": {`{a = ["x"]}`}, "trim": {`"xax"`, `"x"`}, "trimprefix": {`"ab"`, `"a"`},
	"trimspace": {`" a "`}, "trimsuffix": {`"ab"`, `"b"`}, "upper": {`"x"`}, "urldecode": {`"a%20b"`}, "urlencode": {`"a b"`},
	"uuid": {}, "uuidv5": {`"dns"`, `"x"`}, "values": {`{a = 1}`}, "yamldecode": {`"a: 1"`}, "yamlencode": {`{a = 1}`},
	"zipmap": {`["a"]`, `["b"]`},
	"can":    {`1`}, "try": {`1`}, "convert": {`"1"`, `number`},
}

func TestSamplesOfAllFunctions(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(samples)), Names(); !slices.Equal(got, want) {
		t.Errorf("samples of %v\nfunctions   %v", got, want)
	}
	ctx := peerContext(t)
	for name, args := range samples {
		for _, prefix := range []string{"", "core::"} {
			v, diags := eval(ctx, prefix+name+"("+strings.Join(args, ", ")+")")
			if diags.HasErrors() {
				t.Errorf("%s%s: %s", prefix, name, diags)
			} else if !v.IsWhollyKnown() || v.IsNull() {
				t.Errorf("%s%s: %#v", prefix, name, v)
			}
		}
	}
}

// variant is a sample whose argument i is replaced by the variable x.
type variant struct {
	name string
	i    int
	expr string
	was  cty.Value // the replaced argument, as a value
}

// variants returns each sample once for each argument, except for argument 1 of convert, which is a type and not a
// value.
func variants(t *testing.T, ctx *hcl.EvalContext) []variant {
	var out []variant
	for _, name := range slices.Sorted(maps.Keys(samples)) {
		for i, arg := range samples[name] {
			if name == "convert" && i == 1 {
				continue
			}
			was, diags := eval(ctx, arg)
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			args := slices.Clone(samples[name])
			args[i] = "x"
			out = append(out, variant{name, i, name + "(" + strings.Join(args, ", ") + ")", was})
		}
	}
	return out
}

func with(ctx *hcl.EvalContext, x cty.Value) *hcl.EvalContext {
	child := ctx.NewChild()
	child.Variables = map[string]cty.Value{"x": x}
	return child
}

// nullable lists the arguments that may be null.
var nullable = []string{
	"can 0", "coalesce 0", "coalesce 1", "contains 1", "convert 0", "ephemeralasnull 0", "issensitive 0", "jsonencode 0", "lookup 2",
	"merge 0", "merge 1", "nonsensitive 0", "sensitive 0", "tobool 0", "tolist 0", "tomap 0", "tonumber 0", "toset 0",
	"tostring 0", "try 0", "yamlencode 0",
}

func TestNullArguments(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		for _, null := range []cty.Value{cty.NullVal(c.was.Type()), cty.NullVal(cty.DynamicPseudoType)} {
			_, diags := eval(with(ctx, null), c.expr)
			may := slices.Contains(nullable, fmt.Sprint(c.name, " ", c.i))
			if may == diags.HasErrors() && c.name != "coalescelist" { // coalescelist ignores null lists, but refuses other nulls
				t.Errorf("%s, argument %d: may be null: %v; %v", c.name, c.i, may, diags)
			}
			checkError(t, c, diags)
		}
	}
}

// checkError checks that errors have a title of the HCL evaluator, and that their details do not mention the
// implementation.
func checkError(t *testing.T, c variant, diags hcl.Diagnostics) {
	for _, d := range diags {
		if !slices.Contains([]string{"Invalid function argument", "Error in function call"}, d.Summary) {
			t.Errorf("%s: title %q", c.expr, d.Summary)
		}
		for _, bad := range []string{"panic", "goroutine", "internal error", "%!", "cty."} {
			if strings.Contains(d.Detail, bad) {
				t.Errorf("%s: %s", c.expr, d.Detail)
			}
		}
	}
}

// TestUnknownArguments checks results for unknown arguments. Such a result is unknown, or equal to the result for the
// known argument. Its type and refinements must hold for the known argument, too.
func TestUnknownArguments(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		known, diags := eval(with(ctx, c.was), c.expr)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		known, _ = mark.Unmark(known)
		for _, x := range []cty.Value{
			cty.UnknownVal(c.was.Type()), cty.UnknownVal(c.was.Type()).RefineNotNull(), cty.DynamicVal, unknownInside(c.was),
		} {
			got, diags := eval(with(ctx, x), c.expr)
			if diags.HasErrors() {
				t.Errorf("%s with %#v: %s", c.expr, x, diags)
				continue
			}
			if errs := known.Type().TestConformance(got.Type()); errs != nil && !unsure(c.name, got.Type()) {
				t.Errorf("%s with %#v: unknown %#v, known %#v", c.expr, x, got.Type(), known.Type())
			}
			got, _ = mark.Unmark(got)
			if !got.IsKnown() && got.Type() != cty.DynamicPseudoType && got.Range().DefinitelyNotNull() && known.IsNull() {
				t.Errorf("%s: said to be not null", c.expr)
			}
			if got.IsWhollyKnown() && !got.RawEquals(known) && !impure(c.name) {
				t.Errorf("%s with %#v: %#v, later %#v", c.expr, x, got, known)
			}
		}
	}
}

// unsure reports whether the type of an unknown result may be wrong: a value of unknown type can become a tuple, and
// the result then has another type.
func unsure(name string, ty cty.Type) bool {
	return ty.HasDynamicTypes() || slices.Contains([]string{"coalesce", "coalescelist", "setproduct"}, name)
}

func impure(name string) bool { return find(name).impure }

// unknownInside returns v with each element replaced by an unknown value of the same type. If v has no elements, it
// returns v.
func unknownInside(v cty.Value) cty.Value {
	if !v.CanIterateElements() || v.LengthInt() == 0 {
		return v
	}
	out, err := cty.Transform(v, func(p cty.Path, e cty.Value) (cty.Value, error) {
		if len(p) == 1 {
			return cty.UnknownVal(e.Type()), nil
		}
		return e, nil
	})
	if err != nil {
		panic(err)
	}
	return out
}

// unmarkedResults lists the cases in which the result does not have the mark of the argument, by function, argument and
// tag, with the reason.
var unmarkedResults = map[string]string{
	"can 0 sensitive":             "whether it works is not sensitive, in both peers",
	"issensitive 0 sensitive":     "the answer itself is not sensitive",
	"nonsensitive 0 sensitive":    "that is what it is for",
	"ephemeralasnull 0 ephemeral": "that is what it is for",
	"lookup 2 sensitive":          "a default that is not needed",
	"lookup 2 ephemeral":          "a default that is not needed",
}

func TestMarkedArguments(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		for _, tag := range []mark.Tag{mark.Sensitive, mark.Ephemeral} {
			got, diags := eval(with(ctx, mark.With(c.was, tag, nil)), c.expr)
			if diags.HasErrors() {
				t.Errorf("%s, %s: %s", c.expr, tag, diags)
				continue
			}
			why := unmarkedResults[fmt.Sprint(c.name, " ", c.i, " ", tag)]
			if has := mark.Is(got, tag) || mark.Anywhere(got, tag); has != (why == "") {
				t.Errorf("%s, %s: marked %v; %s", c.expr, tag, has, why)
			}
			unknown, diags := eval(with(ctx, mark.With(cty.UnknownVal(c.was.Type()), tag, nil)), c.expr)
			if has := mark.Is(unknown, tag); !diags.HasErrors() && has != (why == "") {
				t.Errorf("%s of an unknown value, %s: marked %v; %s", c.expr, tag, has, why)
			}
		}
	}
}

// cleanOfElements lists the functions whose result does not have the marks of elements of argument 0, because the
// function does not read the elements, with the reason.
var cleanOfElements = map[string]string{
	"keys": "keys are not values", "length": "the number of elements is not their value",
	"issensitive": "it is asked of the value itself",
}

// TestMarkedElements checks that a mark inside an argument is also in the result, on the element or above it.
func TestMarkedElements(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		x, marked := markedInside(c.was)
		if !marked {
			continue
		}
		got, diags := eval(with(ctx, x), c.expr)
		if diags.HasErrors() {
			t.Errorf("%s: %s", c.expr, diags)
			continue
		}
		why := cleanOfElements[c.name]
		if why == "" {
			why = unmarkedResults[fmt.Sprint(c.name, " ", c.i, " ", mark.Ephemeral)]
		}
		if has := mark.Anywhere(got, mark.Ephemeral); has != (why == "") {
			t.Errorf("%s with %#v: marked %v; %s", c.expr, x, has, why)
		}
	}
}

// markedInside returns the elements of v with the ephemeral mark, in an object if v is an object, and otherwise in a
// tuple. If v has no elements or is a set, it returns v and false.
func markedInside(v cty.Value) (cty.Value, bool) {
	if !v.CanIterateElements() || v.LengthInt() == 0 || v.Type().IsSetType() {
		return v, false
	}
	if v.Type().IsObjectType() {
		m := v.AsValueMap()
		for k, e := range m {
			m[k] = mark.With(e, mark.Ephemeral, nil)
		}
		return cty.ObjectVal(m), true
	}
	vals := v.AsValueSlice()
	for i, e := range vals {
		vals[i] = mark.With(e, mark.Ephemeral, nil)
	}
	return cty.TupleVal(vals), true
}

// odd lists values that most functions refuse.
var odd = []cty.Value{
	cty.StringVal("canary-7f3a"), cty.StringVal(""), cty.NumberFloatVal(1.5), cty.NumberIntVal(-1), cty.MustParseNumberVal("1e400000"), cty.PositiveInfinity,
	cty.True, cty.EmptyTupleVal, cty.EmptyObjectVal, cty.ListValEmpty(cty.String), cty.SetValEmpty(cty.Bool), cty.MapValEmpty(cty.Number),
	cty.TupleVal([]cty.Value{cty.StringVal("canary-7f3a"), cty.Zero}), cty.ObjectVal(map[string]cty.Value{"canary-7f3a": cty.StringVal("canary-7f3a")}),
	cty.ListVal([]cty.Value{cty.StringVal("canary-7f3a")}), cty.MapVal(map[string]cty.Value{"canary-7f3a": cty.True}),
	cty.TupleVal([]cty.Value{cty.NullVal(cty.String)}), cty.ObjectVal(map[string]cty.Value{"a": cty.NullVal(cty.DynamicPseudoType)}),
	cty.SetVal([]cty.Value{cty.UnknownVal(cty.String)}), cty.StringVal("{{[[${ %{ <% %s /( \x00"), cty.StringVal("9999999999999999999999"),
}

// TestWrongArguments checks that a wrong argument causes an error in the user's terms and not a panic.
func TestWrongArguments(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		for _, x := range odd {
			_, diags := eval(with(ctx, x), c.expr)
			checkError(t, c, diags)
		}
	}
}

// TestErrorsKeepSecrets checks that no message shows a sensitive or ephemeral value.
func TestErrorsKeepSecrets(t *testing.T) {
	ctx := peerContext(t)
	for _, c := range variants(t, ctx) {
		for _, x := range odd {
			for _, tag := range []mark.Tag{mark.Sensitive, mark.Ephemeral} {
				for _, x := range []cty.Value{mark.With(x, tag, nil), deeply(x, tag)} {
					_, diags := eval(with(ctx, x), c.expr)
					for _, d := range diags {
						if strings.Contains(d.Detail, "canary") || strings.Contains(d.Summary, "canary") {
							t.Errorf("%s: %s", c.expr, d.Detail)
						}
					}
				}
			}
		}
	}
}

// deeply marks the elements of v as ephemeral. If the tag is sensitive, or v is a set or has no elements, it puts the
// mark of the tag on v itself.
func deeply(v cty.Value, tag mark.Tag) cty.Value {
	x, ok := markedInside(v)
	if !ok || tag == mark.Sensitive {
		return mark.With(v, tag, nil)
	}
	return x
}

func TestWrongNumberOfArguments(t *testing.T) {
	ctx := peerContext(t)
	for _, name := range Names() {
		sig, _ := SignatureOf(name)
		if len(sig.Params) > 0 {
			if _, diags := eval(ctx, name+"()"); !diags.HasErrors() || diags[0].Summary != "Not enough function arguments" {
				t.Errorf("%s without arguments: %v", name, diags)
			}
		}
		if sig.Variadic == nil {
			many := strings.Repeat("1,", len(sig.Params)+1)
			if _, diags := eval(ctx, name+"("+many+")"); !diags.HasErrors() || diags[0].Summary != "Too many function arguments" {
				t.Errorf("%s with too many arguments: %v", name, diags)
			}
		}
	}
}

// TestImpureFunctions checks that impure functions return unknown values during plan and known values during apply.
func TestImpureFunctions(t *testing.T) {
	for _, expr := range []string{`uuid()`, `timestamp()`, `bcrypt("x", 4)`} {
		plan := &hcl.EvalContext{Functions: Table(&Env{Pure: true})}
		v, diags := eval(plan, expr)
		if diags.HasErrors() || v.IsKnown() || v.Type() != cty.String || !v.Range().DefinitelyNotNull() {
			t.Errorf("%s while planning: %#v %v", expr, v, diags)
		}
		apply := &hcl.EvalContext{Functions: Table(&Env{})}
		if v, diags := eval(apply, expr); diags.HasErrors() || !v.IsKnown() {
			t.Errorf("%s at apply: %#v %v", expr, v, diags)
		}
	}
	if v, _ := eval(&hcl.EvalContext{Functions: Table(&Env{})}, `plantimestamp()`); v.IsKnown() || v.Type() != cty.String {
		t.Errorf("plantimestamp without a plan: %#v", v)
	}
	at := time.Date(2020, 1, 2, 4, 4, 5, 6, time.FixedZone("", 3600))
	if v, _ := eval(&hcl.EvalContext{Functions: Table(&Env{PlanTime: at, Pure: true})}, `plantimestamp()`); !v.RawEquals(cty.StringVal("2020-01-02T03:04:05Z")) {
		t.Errorf("plantimestamp: %#v", v)
	}
}

func TestTypeIsForTheConsole(t *testing.T) {
	if _, ok := Table(&Env{})["type"]; ok {
		t.Error("type outside of the console")
	}
}

// TestPure checks that pure functions return the same at any time and in any directory. varying lists all other
// functions.
func TestPure(t *testing.T) {
	varying := []string{
		"abspath", "bcrypt", "file", "filebase64", "filebase64sha256", "filebase64sha512", "fileexists", "filemd5", "fileset", "filesha1",
		"filesha256", "filesha512", "pathexpand", "plantimestamp", "templatefile", "templatestring", "timestamp", "uuid",
	}
	here, there := peerContext(t), peerContext(t).NewChild()
	there.Functions = Table(&Env{BaseDir: t.TempDir(), Pure: true})
	for _, name := range Names() {
		if Pure(name) == slices.Contains(varying, name) || Pure("core::"+name) != Pure(name) {
			t.Errorf("%s: pure: %v", name, Pure(name))
		}
		if !Pure(name) {
			continue
		}
		expr := name + "(" + strings.Join(samples[name], ", ") + ")"
		a, diags := eval(here, expr)
		b, more := eval(there, expr)
		if diags.HasErrors() || more.HasErrors() || !a.RawEquals(b) {
			t.Errorf("%s: %#v and %#v; %s %s", name, a, b, diags, more)
		}
	}
	if Pure("type") || Pure("no_such_function") {
		t.Error("what is no function of every table is pure")
	}
}
