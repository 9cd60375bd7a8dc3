package sdk

// An arg is an argument or a group of blocks of a type, with texts for it. A test chooses among them, and leaves it out at times.
type arg struct {
	name   string
	texts  []string // a text that does not begin with the name and "=" is a group of blocks
	drift  []any    // values outside
	ignore []string // what ignore_changes may name; none: the name
	must   bool     // never left out
	later  []string // values that are found out at apply, if Unknown may stand there: a list for blocks
}

func attr(name string, values []string, drift ...any) arg {
	a := arg{name: name, drift: drift}
	for _, v := range values {
		a.texts = append(a.texts, name+" = "+v)
		a.later = append(a.later, v)
	}
	return a
}

func (a arg) ignoring(paths ...string) arg {
	a.ignore = append([]string{a.name}, paths...)
	return a
}

func blocks(name string, texts []string, drift ...any) arg {
	return arg{name: name, texts: texts, drift: drift}
}

type (
	obj  = map[string]any
	list = []any
)

var (
	strs  = []string{`"a"`, `"b"`, `"A"`, `""`, `"b-long"`, `null`}
	ints  = []string{`1`, `2`, `0`, `-1`, `null`}
	bools = []string{`true`, `false`, `null`}
	lists = []string{`[]`, `["a"]`, `["a", "b"]`, `["b", "a"]`, `["a", "b", "c"]`, `["A", "b"]`, `["a", ""]`, `null`}
	maps_ = []string{`{}`, `{ k = "a" }`, `{ k = "b" }`, `{ k = "a", l = "b" }`, `{ K = "a" }`, `{ k = "" }`, `null`}
	jsons = []string{`jsonencode({ a = 1, b = [1] })`, `"{\"b\": [1], \"a\": 1}"`, `jsonencode({ a = 2 })`, `"not json"`, `""`}
	objs  = []string{`{ k = "a" }`, `{ k = "b", p = 1 }`, `{ k = "a", d = "x" }`, `{}`, `null`}
	many  = []string{`[]`, `[{ k = "a" }]`, `[{ k = "a" }, { k = "b" }]`, `[{ k = "b" }, { k = "a" }]`, `[{ k = "a", p = 1 }, { k = "b" }, { k = "c" }]`, `[{ k = "A" }]`, `[{}]`, `null`}
	byKey = []string{`{}`, `{ x = { k = "a" } }`, `{ x = { k = "b" } }`, `{ x = { k = "a" }, y = { k = "b" } }`, `{ y = { k = "a" } }`, `null`}
)

func strDrift() []any  { return []any{"z", "", nil, "A"} }
func listDrift() []any { return []any{list{"z"}, list{}, nil, list{"b", "a"}, list{"a", "b", "z"}} }
func mapDrift() []any {
	return []any{obj{"k": "z"}, obj{}, nil, obj{"k": "a", "z": "z"}}
}

func groups(name string, bodies ...string) []string {
	one := func(b string) string { return name + " {\n" + b + "\n}" }
	out := []string{}
	for i, b := range bodies {
		out = append(out, one(b))
		if i > 0 {
			out = append(out, one(bodies[0])+"\n"+one(b), one(b)+"\n"+one(bodies[0]))
		}
	}
	out = append(out, name+" {}")
	return append(out, "dynamic \""+name+"\" {\n  for_each = [\"a\", \"b\"]\n  content { "+dynamicKey(name)+" = "+name+".value }\n}")
}

func dynamicKey(name string) string {
	return "k"
}

// setDrift is blockDrift for sets: the SDK panics if an element is empty.
func setDrift() []any {
	return []any{list{}, list{obj{"k": "z"}}, list{obj{"k": "a"}, obj{"k": "z"}}, list{obj{"k": "b"}, obj{"k": "a"}}}
}

func blockDrift() []any {
	return []any{list{}, nil, list{obj{"k": "z"}}, list{obj{"k": "a"}, obj{"k": "z"}}, list{obj{"k": "b"}, obj{"k": "a"}}, list{obj{}}}
}

// types are the types that a test uses, with their arguments.
var types = map[string][]arg{
	"old_plain": {
		attr("s", strs, strDrift()...), attr("n", ints, 5, 0, nil), attr("f", []string{`1.5`, `0`, `2`, `0.1`}, 1.25, 0), attr("b", bools, true, false, nil),
		attr("l", lists, listDrift()...).ignoring("l[0]", "l[1]"), attr("st", lists, listDrift()...), attr("m", maps_, mapDrift()...).ignoring(`m["k"]`, "m.k"),
		attr("c", strs, strDrift()...), attr("cl", lists, listDrift()...), attr("cm", maps_, mapDrift()...), attr("d", strs, strDrift()...), attr("dn", ints, 5, 0, nil), attr("db", bools, true, false, nil),
		attr("force", strs, strDrift()...), attr("fl", lists, listDrift()...).ignoring("fl[0]"), attr("fc", strs, strDrift()...), attr("sens", strs, strDrift()...),
	},
	"old_func": {
		attr("up", strs, strDrift()...), attr("bang", strs, strDrift()...), attr("sha", strs, strDrift()...), attr("shaforce", strs, "", nil), attr("json", jsons, `{"a":3}`, `{"b":[1],"a":1}`, ""),
		attr("ci", strs, strDrift()...), attr("ciforce", strs, "A", "z"), attr("cic", strs, strDrift()...), attr("keep", strs, strDrift()...), attr("after", strs, strDrift()...),
		attr("cil", lists, listDrift()...).ignoring("cil[0]"), attr("fn", strs, strDrift()...),
		blocks("blk", groups("blk", `k = "a"`, `up = "a"`, `ci = "A"`, `ci = "a"`, "k = \"b\"\nup = \"b\""), blockDrift()...).ignoring("blk[0].up", "blk[0]", "blk[1].ci"),
		blocks("sblk", groups("sblk", `k = "a"`, `up = "a"`, "k = \"b\"\nup = \"b\""), setDrift()...),
	},
	"old_block": {
		attr("s", strs, strDrift()...),
		blocks("lb", groups("lb", `k = "a"`, `k = "b"`, "k = \"b\"\np = 2", "k = \"a\"\nd = \"x\"", "k = \"a\"\nin { k = \"x\" }", "k = \"a\"\nin {}", "k = \"a\"\nl = [\"x\"]", "k = \"c\"\nc = \"own\""), blockDrift()...).ignoring("lb[0].k", "lb[0]", "lb[1].k", "lb[0].in", "lb[0].c"),
		blocks("sb", groups("sb", `k = "a"`, `k = "b"`, "k = \"b\"\np = 2", "k = \"a\"\nin { k = \"x\" }", "k = \"a\"\nin {}", `k = ""`), setDrift()...),
		blocks("sc", []string{`sc { k = "a" }`, "sc { k = \"a\" }\nsc { k = \"b\" }", `sc { k = "b" }`}, list{obj{"k": "z"}}, list{}),
		blocks("one", []string{`one { k = "a" }`, `one { k = "b" }`, `one {}`, `one { p = 1 }`, "one {\n  k = \"a\"\n  d = \"x\"\n}"}, blockDrift()...).ignoring("one[0].k", "one[0]"),
		attr("at", []string{`[]`, `[{ k = "a", p = null, d = null, l = null }]`, `[{ k = "b", p = 1, d = "x", l = [] }]`, `null`}, blockDrift()...),
		blocks("as", append(groups("as", `k = "a"`, `k = "b"`), `as = []`), setDrift()...),
		blocks("cb", groups("cb", `k = "a"`, `k = "b"`, "k = \"b\"\np = 2"), blockDrift()...).ignoring("cb[0].k"),
		attr("hs", lists, listDrift()...), blocks("hb", groups("hb", `k = "a"`, `k = "A"`, "k = \"a\"\np = 2"), setDrift()...),
		blocks("fb", groups("fb", `k = "a"`, `k = "b"`, `f = "a"`, `f = "b"`), list{obj{"f": "z"}}, list{}, list{obj{"k": "z"}}).ignoring("fb[0].f", "fb[0].k"),
		blocks("fs", groups("fs", `k = "a"`, `k = "b"`, `f = "a"`, `f = "b"`), list{obj{"f": "z"}}, list{}, list{obj{"k": "z"}}),
		blocks("pw", groups("pw", `k = "a"`, `x = "secret"`, "k = \"a\"\nx = \"other\""), list{obj{"x": "z"}}, list{}),
	},
	"old_cd": {
		attr("s", []string{`"a"`, `"b"`, `"A"`, `""`, `"b-long"`}, strDrift()...), attr("n", ints, 5, 0), attr("oc", strs, strDrift()...), attr("lc", lists, listDrift()...), attr("mc", maps_, mapDrift()...),
		attr("tags", maps_, mapDrift()...).ignoring(`tags["k"]`), attr("tags_all", maps_, mapDrift()...), blocks("timeouts", []string{`timeouts { create = "3m" }`, "timeouts {\n  create = \"3m\"\n  update = \"1m\"\n}", `timeouts {}`}),
	},
	"old_norm": {
		attr("low", strs), attr("lowc", strs), attr("order", lists), attr("drop", strs), attr("zero", strs), attr("m", maps_), attr("ns", lists), attr("num", ints, 7, 0),
		blocks("nb", groups("nb", `k = "a"`, `v = "a"`, "k = \"b\"\nv = \"b\"")),
	},
	"old_wo": {attr("s", strs, strDrift()...), attr("pw", []string{`"one"`, `"two"`}), attr("v", ints), attr("fv", ints), blocks("one", []string{`one { k = "a" }`, "one {\n  k = \"a\"\n  pw = \"in\"\n}", `one { pw = "in" }`})},
	"old_up": {attr("s", strs, strDrift()...), attr("size", []string{"5", "6", "0"}), attr("tag", []string{`"a"`, `"b"`}), attr("tags", []string{`["a"]`, `["a", "b"]`, `["b"]`}), attr("extra", strs)},
	"old_id": {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...)},
	"fw_plain": {
		attr("s", strs, strDrift()...), attr("n", ints, 5, 0, nil), attr("f", []string{`1.5`, `0`, `2`, `0.1`}, 1.25, 0), attr("b", bools, true, false, nil),
		attr("l", lists, listDrift()...).ignoring("l[0]", "l[1]"), attr("st", lists, listDrift()...), attr("m", maps_, mapDrift()...).ignoring(`m["k"]`, "m.k"),
		attr("o", []string{`{ k = "a", v = 1 }`, `{ k = "b", v = 1 }`, `{ k = null, v = null }`, `null`}, obj{"k": "z", "v": 1}, nil).ignoring("o.k"), attr("lo", []string{`[{ k = "a" }]`, `[{ k = "b" }, { k = "a" }]`, `[]`}).ignoring("lo[0].k", "lo[0]"),
		attr("dyn", []string{`"a"`, `1`, `["a"]`, `{ k = "a" }`, `{ k = 1 }`, `null`, `[]`}).ignoring("dyn.k", "dyn[0]"), attr("c", strs, strDrift()...), attr("ck", strs, strDrift()...), attr("cl", lists, listDrift()...),
		attr("d", strs, strDrift()...), attr("dn", ints, 5, 0, nil), attr("db", bools, true, false, nil), attr("dl", lists, listDrift()...),
		attr("force", strs, strDrift()...), attr("fc", strs, strDrift()...), attr("fn", ints, 5, 0, nil), attr("fl", lists, listDrift()...).ignoring("fl[0]"), attr("fcc", strs, strDrift()...), attr("sens", strs, strDrift()...),
	},
	"fw_nest": {
		attr("one", append(objs, `{ k = "a", f = "a" }`, `{ k = "a", f = "b" }`, `{ k = "a", in = [{ k = "x" }] }`, `{ oc = "own" }`)).ignoring("one.k", "one.f"), attr("onec", objs).ignoring("onec.k"),
		attr("many", append(many, `[{ k = "a", f = "a" }, { f = "b" }]`, `[{ k = "a", f = "b" }]`, `[{ k = "a", in = [{ k = "x" }, { k = "y" }] }]`)).ignoring("many[0].k", "many[0]", "many[1]"),
		attr("mc", []string{`[]`, `[{ k = "a" }]`, `[{}, { k = "b" }]`, `null`}).ignoring("mc[0].k"), attr("any", many), attr("by", append(byKey, `{ x = { k = "a", f = "a" } }`, `{ x = { f = "b" } }`)).ignoring(`by["x"].k`, `by["x"]`, "by.y"),
		attr("sens", []string{`{ x = "a" }`, `{ x = "b", k = "a" }`, `null`}).ignoring("sens.x"),
		blocks("lb", groups("lb", `k = "a"`, `k = "b"`, "k = \"b\"\np = 2", `f = "a"`, `f = "b"`, "k = \"a\"\ndeep { k = \"x\" }", `oc = "own"`)).ignoring("lb[0].k", "lb[0]", "lb[0].deep"),
		blocks("sb", groups("sb", `k = "a"`, `k = "b"`, "k = \"b\"\np = 2", `oc = "own"`)),
		blocks("bo", []string{`bo { k = "a" }`, `bo {}`, `bo { f = "a" }`, `bo { f = "b" }`}).ignoring("bo.k", "bo.f"), blocks("bod", []string{`bod { k = "a" }`, `bod { k = "b" }`, `bod {}`}),
	},
	"fw_norm":  {attr("s", strs, strDrift()...), attr("ci", strs, strDrift()...), attr("cic", strs, strDrift()...), attr("cil", lists, listDrift()...), attr("keep", []string{`"a"`, `"A"`, `"b"`}, "A", "z")},
	"fw_mod":   {attr("s", []string{`"a"`, `"b"`, `"A"`, `""`}, strDrift()...), attr("n", ints, 5, 0), attr("oc", strs, strDrift()...)},
	"fw_wo":    {attr("s", strs, strDrift()...), attr("pw", []string{`"one"`, `"two"`}), attr("v", ints), attr("fv", ints), attr("one", []string{`{ k = "a" }`, `{ k = "a", pw = "in" }`, `null`})},
	"fw_priv":  {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...)},
	"fw_up":    {attr("s", strs, strDrift()...), attr("size", []string{"5", "6", "0"}), attr("tag", []string{`"a"`, `"b"`}), attr("tags", []string{`["a"]`, `["a", "b"]`, `["b"]`}), attr("extra", strs)},
	"fw_id":    {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...)},
	"fw_moved": {attr("s", strs, strDrift()...), attr("n", ints, 5, 0)},
}

// modes are the values of the attribute mode of the types that have one.
var modes = map[string][]string{
	"old_cd": {"always", "new", "computed", "force", "clear", "shrink", "tags", "new,force", "computed,force", "always,computed", "forever", "always,force", ""},
	"fw_mod": {"set", "unknown", "replace", "warn", "oc", "set,replace", "forever", "unknown,replace", ""},
}
