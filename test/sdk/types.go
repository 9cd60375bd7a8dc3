package sdk

// An arg is an argument or a group of blocks of a type, with texts for it. A scenario chooses among the texts, and
// leaves the argument out in some steps.
type arg struct {
	name   string
	texts  []string // a text that does not begin with the name and "=" is a group of blocks
	drift  []any    // values that another user sets
	ignore []string // paths for ignore_changes; nil for only the name of the argument
	must   bool     // every configuration has the argument
	later  []string // expressions for values that are unknown while planning; none if plan must know the argument
}

// planned marks an argument whose value must be known during plan: Terraform refuses unknown objects with a dynamic
// attribute.
func (a arg) planned() arg {
	a.later = nil
	return a
}

// always marks an argument that every configuration has, and whose value is known during plan.
func (a arg) always() arg {
	a.must, a.later = true, nil
	return a
}

// attr returns an argument with expressions for its value, and with values that it gets outside.
func attr(name string, values []string, drift ...any) arg {
	a := arg{name: name, drift: drift}
	for _, v := range values {
		a.texts = append(a.texts, name+" = "+v)
		a.later = append(a.later, v)
	}
	return a
}

// ignoring returns the argument with further paths for ignore_changes.
func (a arg) ignoring(paths ...string) arg {
	a.ignore = append([]string{a.name}, paths...)
	return a
}

// blocks returns a group of blocks with texts for it, and with values that it gets outside.
func blocks(name string, texts []string, drift ...any) arg {
	return arg{name: name, texts: texts, drift: drift}
}

type (
	obj  = map[string]any
	list = []any
)

var (
	strs     = []string{`"a"`, `"b"`, `"A"`, `""`, `"b-long"`, `null`}
	ints     = []string{`1`, `2`, `0`, `-1`, `null`}
	bools    = []string{`true`, `false`, `null`}
	lists    = []string{`[]`, `["a"]`, `["a", "b"]`, `["b", "a"]`, `["a", "b", "c"]`, `["A", "b"]`, `["a", ""]`, `null`}
	maps_    = []string{`{}`, `{ k = "a" }`, `{ k = "b" }`, `{ k = "a", l = "b" }`, `{ K = "a" }`, `{ k = "" }`, `null`}
	jsons    = []string{`jsonencode({ a = 1, b = [1] })`, `"{\"b\": [1], \"a\": 1}"`, `jsonencode({ a = 2 })`, `"not json"`, `""`}
	objs     = []string{`{ k = "a" }`, `{ k = "b", p = 1 }`, `{ k = "a", d = "x" }`, `{}`, `null`}
	many     = []string{`[]`, `[{ k = "a" }]`, `[{ k = "a" }, { k = "b" }]`, `[{ k = "b" }, { k = "a" }]`, `[{ k = "a", p = 1 }, { k = "b" }, { k = "c" }]`, `[{ k = "A" }]`, `[{}]`, `null`}
	dynamics = []string{`"a"`, `1`, `["a"]`, `{ k = "a" }`, `{ k = 1 }`, `{ k = "a", l = ["b"] }`, `null`, `[]`, `true`, `tolist(["a"])`, `tomap({ k = "a" })`}
	many3    = []string{`[]`, `[{ k = "a" }]`, `[{ k = "a" }, { k = "b" }]`, `[{ k = "b" }]`, `[{}]`, `null`}
	byKey    = []string{`{}`, `{ x = { k = "a" } }`, `{ x = { k = "b" } }`, `{ x = { k = "a" }, y = { k = "b" } }`, `{ y = { k = "a" } }`, `null`}
)

func strDrift() []any  { return []any{"z", "", nil, "A"} }
func listDrift() []any { return []any{list{"z"}, list{}, nil, list{"b", "a"}, list{"a", "b", "z"}} }
func mapDrift() []any {
	return []any{obj{"k": "z"}, obj{}, nil, obj{"k": "a", "z": "z"}}
}

// groups returns texts for a group of blocks: one block with each body, pairs with the first body, an empty block, and
// a dynamic block.
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

// groups1 returns texts for a block that occurs at most once: an empty block, and one with each body.
func groups1(name string, bodies ...string) []string {
	out := []string{name + " {}"}
	for _, b := range bodies {
		out = append(out, name+" {\n  "+b+"\n}")
	}
	return out
}

func dynamicKey(name string) string {
	return "k"
}

// setDrift returns values for a set of blocks. Unlike blockDrift, it has no empty elements, with which the SDK panics.
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
		attr("s", append(strs, `"null-blocks"`), strDrift()...),
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
	"old_real": {
		attr("label", []string{`"a"`, `"a"`, `"b"`}).always(), attr("s", append(strs, `"null-blocks"`), strDrift()...),
		blocks("root", groups1("root", `size = 1`, `size = 2`, `kind = "io1"`, `enc = true`, `enc = false`), list{obj{"size": 9, "kind": "gp2", "enc": false}}, list{}).ignoring("root[0].size", "root[0]"),
		blocks("opt", groups1("opt", `a = "a"`, `b = 2`, `a = "b"`), list{obj{"a": "z", "b": 1}}, list{obj{"b": 1}}, list{}).ignoring("opt[0].a"),
		attr("ing", []string{`[]`, `[{ from = 1, desc = "a", cidr = ["c"], self = false }]`, `[{ from = 1, desc = "", cidr = [], self = null }]`, `[{ from = 1, desc = null, cidr = null, self = null }, { from = 2, desc = "b", cidr = ["c", "d"], self = true }]`, `null`}, list{obj{"from": 7, "self": false}}, list{}),
		attr("acl", strs, strDrift()...), blocks("grant", []string{`grant { perms = ["r"] }`, "grant {\n  who   = \"a\"\n  perms = [\"r\", \"w\"]\n}", "grant {\n  who   = \"a\"\n  perms = [\"r\"]\n}\ngrant {\n  who   = \"b\"\n  perms = []\n}"}, list{obj{"who": "z", "perms": list{"r"}}}, list{}),
		attr("virtual", bools), attr("sb", []string{`"true"`, `"1"`, `"false"`, `""`, `true`, `null`}, "1", "0", ""), attr("ints", []string{`[]`, `[1]`, `[1, 2]`, `[2, 1]`, `null`}, list{5}, list{}).ignoring("ints[0]"),
		attr("mi", []string{`{}`, `{ k = 1 }`, `{ k = 2, l = 0 }`, `null`}, obj{"k": 7}, obj{}).ignoring(`mi["k"]`), attr("mb", []string{`{ k = true }`, `{ k = false }`, `{}`}, obj{"k": true}),
		attr("ll", []string{`[]`, `[["a"], []]`, `[["a", "b"]]`, `[[]]`, `null`}, list{list{"z"}}), attr("si", []string{`[]`, `[1]`, `[2, 1]`, `null`}, list{5}, list{}), attr("fset", lists, list{"z"}, list{"a"}),
		attr("secret", strs, strDrift()...), attr("sm", maps_, mapDrift()...).ignoring(`sm["k"]`, "sm.k"), attr("old", strs, strDrift()...), attr("annotations", append(maps_, `{ "int/x" = "a", k = "a" }`), obj{"int/x": "y"}, obj{"k": "a", "int/x": "y"}, obj{"k": "z"}).ignoring(`annotations["k"]`),
		attr("tags", maps_, mapDrift()...).ignoring(`tags["k"]`), attr("tags_all", maps_, mapDrift()...),
	},
	"old_deep": {
		blocks("metadata", []string{`metadata {}`, `metadata { labels = { a = "b" } }`, `metadata { name = "n" }`, `metadata { annotations = { k = "v" } }`, `metadata { labels = {} }`}, list{obj{"name": "chosen", "uid": "chosen", "generation": 7, "annotations": obj{"int/x": "y"}}}, list{obj{"name": "n", "labels": obj{"z": "z"}}}).ignoring("metadata[0].labels", "metadata[0].annotations", `metadata[0].labels["a"]`, "metadata").always(),
		blocks("spec", []string{`spec {}`, "spec {\n  replicas = 1\n}", "spec {\n  replicas = 2\n  template {\n    container {\n      image = \"a\"\n    }\n  }\n}", "spec {\n  template {\n    container {\n      image = \"a\"\n      args  = [\"x\"]\n      env {\n        name = \"e\"\n      }\n    }\n    volume {\n      name = \"v\"\n    }\n  }\n}", "spec {\n  selector {\n    match = { a = \"b\" }\n  }\n  template {\n    container {\n      image = \"b\"\n      resources {\n        limits = { cpu = \"1\" }\n      }\n    }\n    container {\n      image = \"c\"\n      resources {}\n    }\n    volume {}\n  }\n}", "spec {\n  selector {\n    match = { a = \"c\" }\n  }\n}"},
			list{obj{"replicas": "5"}}, list{}, list{obj{"replicas": "1", "template": list{obj{"container": list{obj{"image": "z", "pull": "Always"}}}}}}).ignoring("spec[0].replicas", "spec[0].template[0].container[0].image", "spec[0].template", "spec"),
		attr("data", maps_, mapDrift()...).ignoring(`data["k"]`), attr("wait", bools, true, false),
	},
	"old_strict":  {attr("s", []string{`"a"`, `"b"`, `null`}, strDrift()...), attr("n", []string{`1`, `2`, `null`}, 5), attr("c", []string{`"a"`, `"b"`, `null`}, strDrift()...), attr("m", []string{`{ k = "a" }`, `{ k = "b" }`, `null`}, mapDrift()...), attr("force", []string{`"a"`, `"b"`, `null`}, strDrift()...), attr("d", []string{`"a"`, `"b"`}, strDrift()...), blocks("lb", []string{`lb { k = "a" }`, "lb { k = \"a\" }\nlb { k = \"b\" }"}, blockDrift()...).ignoring("lb[0].k")},
	"old_changed": {attr("s", append(strs, `"null-blocks"`), strDrift()...), attr("gone", strs), attr("sets", []string{`["a"]`, `[]`}), attr("more", strs), attr("morec", strs), blocks("lb", []string{`lb { k = "a" }`, `lb {}`, "lb { k = \"a\" }\nlb { k = \"b\" }"}).ignoring("lb[0].k"), blocks("moreb", []string{`moreb { k = "a" }`})},
	"old_renamed": {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...), attr("c", strs, strDrift()...)},
	"old_set": {
		attr("s", append(strs, `"null-blocks"`), strDrift()...), blocks("sf", groups("sf", `k = "a"`, `up = "a"`, "k = \"b\"\nup = \"b\""), setDrift()...), blocks("sd", groups("sd", `k = "a"`, `ci = "a"`, `ci = "A"`, "k = \"a\"\nci = \"b\""), list{obj{"k": "a", "ci": "B"}}, list{}),
		attr("sj", []string{`["{\"a\": 1}"]`, `["x ", "y"]`, `["x"]`, `[]`, `["{\"a\":1}", "x"]`}, list{"x"}, list{`{"a":1}`}), blocks("sc", groups("sc", `k = "a"`, `k = "b"`, "k = \"b\"\noc = \"own\""), list{obj{"k": "z", "oc": "chosen", "ro": "chosen"}}, list{}),
		blocks("sl", groups("sl", `k = "a"`, `in {}`, "in {\n  v = \"x\"\n}", "k = \"a\"\nin {\n  v      = \"y\"\n  secret = \"s\"\n}", `ss = ["a", "b"]`, `ss = []`), list{obj{"k": "z"}}, list{obj{"k": "a", "in": list{obj{"v": "z", "c": "chosen"}}}}),
		blocks("sh", groups("sh", `k = "a"`, `k = "A"`, "k = \"a\"\nv = \"x\"", "k = \"b\"\nv = \"y\""), list{obj{"k": "a", "v": "z", "c": "chosen"}}, list{}), blocks("sr", []string{`sr { k = "a" }`, `sr { k = "b" }`, "sr {\n  k = \"a\"\n  v = \"x\"\n}", "sr { k = \"a\" }\nsr { k = \"b\" }"}, list{obj{"k": "z"}}, list{}),
	},
	"old_manifest": {
		attr("manifest", []string{`{ kind = "A", meta = { name = "m" } }`, `{ kind = "A", meta = { name = "m" }, spec = { n = 1 } }`, `{ kind = "A", meta = { name = "n" }, spec = { n = 2, l = ["a", 1] } }`, `{ kind = "B", meta = { name = "m", labels = { a = "b" } } }`, `{ kind = "A", meta = { name = "m" }, spec = { n = null } }`}).ignoring("manifest.spec", "manifest.meta.labels", "manifest").always(),
		attr("fields", []string{`["a"]`, `["a", "b"]`, `[]`, `null`}), attr("wait", []string{`{ rollout = true, fields = {} }`, `{ rollout = null, fields = { "a.b" = "c" } }`, `null`}),
	},
	"fw_random": {
		attr("keepers", append(maps_, `{ k = null }`)).ignoring(`keepers["k"]`), attr("length", []string{`1`, `2`, `null`}, 7), attr("special", bools, true, false), attr("input", lists).ignoring("input[0]"), attr("set", []string{`["a"]`, `["b", "a"]`, `null`}, list{"z"}),
	},
	"fw_cert": {attr("s", strs, strDrift()...), attr("early", []string{`1`, `1`, `2`, `null`}), attr("uses", lists), blocks("subject", []string{`subject { cn = "a" }`, `subject { cn = "b" }`, `subject {}`})},
	"fw_time": {attr("triggers", maps_).ignoring(`triggers["k"]`), attr("base", strs, strDrift()...), attr("days", ints, 5)},
	"fw_cloud": {
		attr("label", []string{`"a"`, `"a"`, `"b"`}).always(), attr("s", strs, strDrift()...), attr("policy", append(jsons, "null"), `{"a":1,"b":[1]}`, `{"a": 1, "b": [1]}`, `{"a":3}`, nil), attr("policyc", append(jsons, "null"), `{"a":1,"b":[1]}`, `{"a":3}`),
		attr("num", []string{`1`, `1.5`, `0`, `100000000000000000000`, `null`}, 2.5), attr("i32", ints, 5), attr("md", maps_, mapDrift()...).ignoring(`md["k"]`), attr("sd", []string{`["a"]`, `[]`, `["x", "y"]`, `null`}, list{"z"}),
		attr("ll", []string{`[]`, `[["a"], []]`, `[["a", "b"]]`, `null`}, list{list{"z"}}).ignoring("ll[0]", "ll[0][0]"), attr("ms", []string{`{ k = ["b", "a"] }`, `{ k = [] }`, `{}`, `null`}, obj{"k": list{"z"}}).ignoring(`ms["k"]`),
		attr("tags", maps_, mapDrift()...).ignoring(`tags["k"]`),
		blocks("cfg", groups("cfg", `k = "a"`, `k = "b"`, `on = true`, "k = \"a\"\nrule { k = \"x\" }", "rule { k = \"x\" }\nrule { k = \"y\" }", "rule {}")).ignoring("cfg[0].k", "cfg[0]", "cfg[1].rule", "cfg[0].on"),
		blocks("timeouts", []string{`timeouts { create = "1m" }`, `timeouts {}`}),
	},
	"fw_dyn": {
		attr("s", strs, strDrift()...), attr("d", dynamics).ignoring("d.k", "d[0]"), attr("dc", dynamics).ignoring("dc.k"), attr("dk", dynamics), attr("force", dynamics).ignoring("force.k"), attr("sens", dynamics).ignoring("sens.k"),
		attr("in", []string{`{ d = "a" }`, `{ d = 1, k = "a" }`, `{ d = [1, "a"] }`, `{}`, `null`}).ignoring("in.d", "in.d[0]").planned(),
	},
	"fw_sets": {
		attr("s", strs, strDrift()...), attr("sk", many3), attr("sc", many3), attr("sd", append(many3, `[{ k = "a", d = "inner" }, { k = "a", d = "x" }]`)), attr("sf", append(many3, `[{ k = "a", f = "a" }]`, `[{ k = "a", f = "b" }, { f = "a" }]`)),
		attr("ss", append(many3, `[{ k = "a", in = [{ v = "x" }, { v = "y" }] }]`, `[{ in = [{ v = "x", c = "own" }] }, { k = "a" }]`)), attr("so", append(many3, `[{ k = "a", x = "secret" }]`, `[{ x = "secret" }]`)),
		blocks("bk", groups("bk", `k = "a"`, `k = "b"`, "k = \"a\"\nin { v = \"x\" }", "in { v = \"x\" }\nin { v = \"y\" }")),
	},
	"fw_helm": {
		attr("values", []string{`["a"]`, `["a", "b"]`, `[]`, `null`}).ignoring("values[0]"), attr("set", []string{`[{ name = "a", value = "x" }]`, `[{ name = "a", value = "y" }]`, `[{ name = "b" }, { name = "a", value = "x", type = "string" }]`, `[]`, `null`}).ignoring("set[0].value", "set[0]"),
		attr("secrets", []string{`[{ name = "a", value = "x" }]`, `[{ name = "a", value = "y" }]`, `null`}).ignoring("secrets[0].value"), attr("wo_rev", ints), attr("ns", strs, strDrift()...),
	},
	"fw_changed": {attr("s", strs, strDrift()...), attr("gone", strs), attr("sets", []string{`["a"]`, `[]`}), attr("more", strs), attr("morec", strs), attr("lb", []string{`[{ k = "a" }]`, `[{}]`, `[]`, `[{ k = "a" }, { k = "b" }]`}).ignoring("lb[0].k")},
	"fw_norm":    {attr("s", strs, strDrift()...), attr("ci", strs, strDrift()...), attr("cic", strs, strDrift()...), attr("cil", lists, listDrift()...), attr("keep", []string{`"a"`, `"A"`, `"b"`}, "A", "z")},
	"fw_mod":     {attr("s", []string{`"a"`, `"b"`, `"A"`, `""`}, strDrift()...), attr("n", ints, 5, 0), attr("oc", strs, strDrift()...)},
	"fw_wo":      {attr("s", strs, strDrift()...), attr("pw", []string{`"one"`, `"two"`}), attr("v", ints), attr("fv", ints), attr("one", []string{`{ k = "a" }`, `{ k = "a", pw = "in" }`, `null`})},
	"fw_priv":    {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...)},
	"fw_up":      {attr("s", strs, strDrift()...), attr("size", []string{"5", "6", "0"}), attr("tag", []string{`"a"`, `"b"`}), attr("tags", []string{`["a"]`, `["a", "b"]`, `["b"]`}), attr("extra", strs)},
	"fw_id":      {attr("s", strs, strDrift()...), attr("force", strs, strDrift()...)},
	"fw_moved":   {attr("s", strs, strDrift()...), attr("n", ints, 5, 0)},
}

// modes are the values of the attribute mode of the types that have one.
var modes = map[string][]string{
	"old_cd": {"always", "new", "computed", "force", "clear", "shrink", "tags", "new,force", "computed,force", "always,computed", "forever", "always,force", ""},
	"fw_mod": {"set", "unknown", "replace", "warn", "oc", "set,replace", "forever", "unknown,replace", ""},
}
