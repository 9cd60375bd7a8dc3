package funcs

import (
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// tellingFailures lists calls that fail with a message that would normally quote the argument.
var tellingFailures = map[string]string{
	`lookup({a = 1}, x)`:                    "canary-7f3a",
	`lookup(tomap({a = 1}), x)`:             "canary-7f3a",
	`tonumber(x)`:                           "canary-7f3a",
	`tobool(x)`:                             "canary-7f3a",
	`convert(x, number)`:                    "canary-7f3a",
	`convert([x], list(number))`:            "canary-7f3a",
	`abs(x)`:                                "canary-7f3a",
	`parseint(x, 10)`:                       "canary-7f3a",
	`regex(x, "a")`:                         "(canary-7f3a",
	`regexall(x, "a")`:                      "(canary-7f3a",
	`replace("a", "/${x}/", "")`:            "(canary-7f3a",
	`format("%d", x)`:                       "canary-7f3a",
	`format(x, 1)`:                          "%5z canary-7f3a",
	`formatlist(x, ["a"])`:                  "canary-7f3a %",
	`formatdate(x, "2020-01-02T03:04:05Z")`: "QQcanary-7f3a",
	`formatdate("YYYY", x)`:                 "canary-7f3a",
	`timeadd(x, "1h")`:                      "canary-7f3a",
	`timeadd("2020-01-02T03:04:05Z", x)`:    "1canary-7f3a",
	`timecmp("2020-01-02T03:04:05Z", x)`:    "canary-7f3a",
	`cidrhost(x, 1)`:                        "canary-7f3a",
	`cidrnetmask(x)`:                        "canary-7f3a",
	`cidrsubnet(x, 1, 1)`:                   "canary-7f3a",
	`cidrsubnets(x, 1)`:                     "canary-7f3a",
	`cidrcontains("10.0.0.0/8", x)`:         "canary-7f3a",
	`uuidv5(x, "a")`:                        "canary-7f3a",
	`file(x)`:                               "canary-7f3a",
	`filebase64(x)`:                         "data/canary-7f3a",
	`filemd5(x)`:                            "canary-7f3a",
	`fileset("data", x)`:                    "[canary-7f3a",
	`fileexists("${x}/..")`:                 "canary-7f3a",
	`pathexpand(x)`:                         "~canary-7f3a",
	`jsondecode(x)`:                         "canary-7f3a",
	`yamldecode(x)`:                         "*canary-7f3a",
	`csvdecode(x)`:                          "canary-7f3a,canary-7f3a\n",
	`base64decode(x)`:                       "canary-7f3a",
	`base64gunzip(x)`:                       "canary-7f3a",
	`textdecodebase64("eA==", x)`:           "canary-7f3a",
	`textencodebase64("x", x)`:              "canary-7f3a",
	`urldecode(x)`:                          "%canary-7f3a",
	`templatefile(x, {})`:                   "canary-7f3a",
	`templatefile("data/just.tmpl", {x = tonumber(x)})`: "canary-7f3a",
	`templatefile("data/just.tmpl", {(x) = 1})`:         "1canary-7f3a",
	`templatestring(x, {})`:                             "${ canary-7f3a",
	`templatestring(x, {a = 1})`:                        "${canary-7f3a}",
	`templatestring(x, {b = 1})`:                        "${canary-7f3a()}",
	`templatestring(x, {c = 1})`:                        "${tonumber(\"canary-7f3a\")}",
	`templatestring(local.nofn, {(x) = 1})`:             "1canary-7f3a",
	`try(tonumber(x))`:                                  "canary-7f3a",
	`try(regex(x, "a"), lookup({}, x))`:                 "(canary-7f3a",
	`rsadecrypt(x, local.rsa_key)`:                      "canary-7f3a",
	`rsadecrypt(local.cipher, x)`:                       "canary-7f3a",
	`bcrypt(x, 4)`:                                      strings.Repeat("canary-7f3a", 9),
	`sum([x])`:                                          "canary-7f3a",
	`range(x)`:                                          "canary-7f3a",
	`zipmap([x], [])`:                                   "canary-7f3a",
	`coalesce(x, [])`:                                   "canary-7f3a",
	`index(["a"], x)`:                                   "canary-7f3a",
}

func TestTellingFailures(t *testing.T) {
	ctx := peerContext(t)
	for expr, text := range tellingFailures {
		for _, tag := range []mark.Tag{mark.Sensitive, mark.Ephemeral} {
			x := mark.With(cty.StringVal(text), tag, nil)
			_, diags := eval(with(ctx, x), expr)
			if !diags.HasErrors() && !strings.HasPrefix(expr, "fileexists") {
				t.Errorf("%s: no error", expr)
			}
			for _, d := range diags {
				if strings.Contains(d.Summary+d.Detail, "canary") {
					t.Errorf("%s: %s", expr, d.Detail)
				}
			}
		}
	}
}

// TestEphemeralStays checks for each expression whether its result is still ephemeral. A lost mark can write a secret
// to the state, so the list covers each way to lose one.
func TestEphemeralStays(t *testing.T) {
	secret := func(v cty.Value) cty.Value { return mark.With(v, mark.Ephemeral, nil) }
	str := cty.StringVal
	ctx := peerContext(t)
	ctx = ctx.NewChild()
	ctx.Variables = map[string]cty.Value{
		"eph":   secret(str("gone-canary")),
		"sens":  mark.With(str("hush"), mark.Sensitive, nil),
		"both":  mark.With(secret(str("gone-canary")), mark.Sensitive, nil),
		"n":     secret(cty.NumberIntVal(1)),
		"whole": secret(cty.ListVal([]cty.Value{str("a")})),
		"leaf":  cty.ObjectVal(map[string]cty.Value{"e": secret(str("x")), "clean": str("y")}),
		"list":  cty.TupleVal([]cty.Value{secret(str("x")), str("y")}),
		"obj":   secret(cty.ObjectVal(map[string]cty.Value{"a": str("x")})),
		"clean": cty.TupleVal([]cty.Value{str("a")}),
		"later": secret(cty.UnknownVal(cty.String)),
		"open":  cty.UnknownVal(cty.String),
	}
	for _, c := range []struct {
		expr string
		tag  mark.Tag
		want bool
	}{
		{`can(eph)`, mark.Ephemeral, true},
		{`can(later)`, mark.Ephemeral, true},
		{`can(tonumber(eph))`, mark.Ephemeral, true},
		{`can(regex("^a", eph))`, mark.Ephemeral, true},
		{`can(clean[n])`, mark.Ephemeral, true},
		{`can(clean[5])`, mark.Ephemeral, false},
		{`can(whole[5])`, mark.Ephemeral, true},
		{`can(list[5])`, mark.Ephemeral, false},
		{`can(list[1])`, mark.Ephemeral, false},
		{`can(list[0])`, mark.Ephemeral, true},
		{`can(leaf.clean)`, mark.Ephemeral, false},
		{`can(leaf.missing)`, mark.Ephemeral, false},
		{`can(leaf.e)`, mark.Ephemeral, true},
		{`can(leaf.e.deeper)`, mark.Ephemeral, true},
		{`can(obj.missing)`, mark.Ephemeral, true},
		{`can({a = eph})`, mark.Ephemeral, true},
		{`can({(eph) = 1}["x"])`, mark.Ephemeral, true},
		{`can([for x in [1] : tonumber(eph)])`, mark.Ephemeral, true},
		{`can([for x in whole : tonumber(x)])`, mark.Ephemeral, true},
		{`can(tonumber("x${eph}"))`, mark.Ephemeral, true},
		{`can(true ? tonumber(eph) : 1)`, mark.Ephemeral, true},
		{`can(!eph)`, mark.Ephemeral, true},
		{`can(-eph)`, mark.Ephemeral, true},
		{`can((eph) + 1)`, mark.Ephemeral, true},
		{`can(list[*].missing)`, mark.Ephemeral, true},
		{`can({eph = 1}.missing)`, mark.Ephemeral, false},
		{`can(tonumber(sens))`, mark.Ephemeral, false},
		{`can(tonumber(sens))`, mark.Sensitive, false},
		{`can(tonumber(both))`, mark.Ephemeral, true},
		{`can(tonumber(both))`, mark.Sensitive, false},
		{`can(can(tonumber(eph)))`, mark.Ephemeral, true},
		{`try(eph)`, mark.Ephemeral, true},
		{`try(later)`, mark.Ephemeral, true},
		{`try(open, eph)`, mark.Ephemeral, false},
		{`try(tonumber(eph), "x")`, mark.Ephemeral, true},
		{`try(tonumber(eph), sens)`, mark.Ephemeral, true},
		{`try(tonumber(eph), sens)`, mark.Sensitive, true},
		{`try(tonumber(both), "x")`, mark.Sensitive, false},
		{`try(clean[n], "x")`, mark.Ephemeral, true},
		{`try(list[5], "x")`, mark.Ephemeral, false},
		{`try(leaf.missing, "x")`, mark.Ephemeral, false},
		{`try(leaf.missing, leaf.e)`, mark.Ephemeral, true},
		{`try("x", eph)`, mark.Ephemeral, false},
		{`try(try(tonumber(eph), nosuch()), "x")`, mark.Ephemeral, true},
		{`try(leaf, {}).clean`, mark.Ephemeral, false},
		{`issensitive(eph)`, mark.Ephemeral, true},
		{`issensitive(both)`, mark.Ephemeral, true},
		{`issensitive(both)`, mark.Sensitive, false},
		{`issensitive(later)`, mark.Ephemeral, true},
		{`issensitive(leaf)`, mark.Ephemeral, false},
		{`nonsensitive(both)`, mark.Ephemeral, true},
		{`nonsensitive(both)`, mark.Sensitive, false},
		{`sensitive(eph)`, mark.Ephemeral, true},
		{`length(whole)`, mark.Ephemeral, true},
		{`length(list)`, mark.Ephemeral, false},
		{`length([for x in clean : x if eph != x])`, mark.Ephemeral, true},
		{`keys(leaf)`, mark.Ephemeral, false},
		{`keys({(eph) = 1})`, mark.Ephemeral, true},
		{`values(leaf)[0]`, mark.Ephemeral, false},
		{`values(leaf)[1]`, mark.Ephemeral, true},
		{`contains(["a"], eph)`, mark.Ephemeral, true},
		{`contains(toset([eph]), "a")`, mark.Ephemeral, true},
		{`lookup({a = 1}, eph, 2)`, mark.Ephemeral, true},
		{`lookup(leaf, "clean", 2)`, mark.Ephemeral, false},
		{`element(clean, n)`, mark.Ephemeral, true},
		{`element(list, 1)`, mark.Ephemeral, false},
		{`merge(leaf, {b = 1}).b`, mark.Ephemeral, false},
		{`merge(obj, {b = 1}).b`, mark.Ephemeral, true},
		{`concat(list, ["z"])[2]`, mark.Ephemeral, false},
		{`concat(whole, ["z"])[1]`, mark.Ephemeral, true},
		{`flatten([[whole]])`, mark.Ephemeral, true},
		{`flatten([[eph], ["x"]])[1]`, mark.Ephemeral, true},
		{`flatten([[{a = eph}], ["x"]])[1]`, mark.Ephemeral, false},
		{`zipmap([eph], ["x"])`, mark.Ephemeral, true},
		{`zipmap([eph], tolist([open]))`, mark.Ephemeral, true},
		{`one(list[0] == "" ? [] : [1])`, mark.Ephemeral, true},
		{`type(eph)`, mark.Ephemeral, false},
		{`templatestring(local.just, {x = eph})`, mark.Ephemeral, true},
		{`templatestring(eph, {})`, mark.Ephemeral, true},
		{`fileexists(eph)`, mark.Ephemeral, true},
		{`convert(leaf, map(string))["clean"]`, mark.Ephemeral, false},
		{`convert(leaf, map(string))["e"]`, mark.Ephemeral, true},
		{`ephemeralasnull(leaf).e`, mark.Ephemeral, false},
		{`ephemeralasnull(both)`, mark.Sensitive, true},
		{`ephemeralasnull(later) == null`, mark.Ephemeral, false},
	} {
		v, diags := eval(ctx, c.expr)
		if diags.HasErrors() {
			t.Errorf("%s: %s", c.expr, diags)
		} else if got := mark.Is(v, c.tag); got != c.want {
			t.Errorf("%s: %s %v", c.expr, c.tag, got)
		}
	}
}

// TestEphemeralAsNullIsKnown checks that ephemeralasnull returns null for each ephemeral part, even if the part is
// unknown. So a result does not wait until an ephemeral resource is open. Unknown parts that are not ephemeral stay.
func TestEphemeralAsNullIsKnown(t *testing.T) {
	eph := func(v cty.Value) cty.Value { return mark.With(v, mark.Ephemeral, nil) }
	null := cty.NullVal(cty.String)
	set := cty.Set(cty.String)
	for _, c := range []struct{ in, want cty.Value }{
		{eph(cty.UnknownVal(cty.String)), null},
		{eph(cty.DynamicVal), cty.NullVal(cty.DynamicPseudoType)},
		{eph(cty.EmptyObjectVal), cty.NullVal(cty.EmptyObject)},
		{cty.UnknownVal(cty.String), cty.UnknownVal(cty.String)},
		{cty.DynamicVal, cty.DynamicVal},
		{cty.TupleVal([]cty.Value{eph(cty.UnknownVal(cty.String)), cty.UnknownVal(cty.String)}), cty.TupleVal([]cty.Value{null, cty.UnknownVal(cty.String)})},
		{cty.ListVal([]cty.Value{eph(cty.StringVal("x"))}), cty.ListVal([]cty.Value{null})},
		{cty.MapVal(map[string]cty.Value{"a": eph(cty.StringVal("x"))}), cty.MapVal(map[string]cty.Value{"a": null})},
		{cty.SetVal([]cty.Value{eph(cty.StringVal("x")), cty.StringVal("y")}), cty.NullVal(set)},
		{cty.ObjectVal(map[string]cty.Value{"s": cty.SetVal([]cty.Value{eph(cty.StringVal("x"))})}), cty.ObjectVal(map[string]cty.Value{"s": cty.NullVal(set)})},
	} {
		got, diags := eval(with(peerContext(t), c.in), `ephemeralasnull(x)`)
		if diags.HasErrors() || !got.RawEquals(c.want) {
			t.Errorf("%#v: %#v %v", c.in, got, diags)
		}
	}
}
