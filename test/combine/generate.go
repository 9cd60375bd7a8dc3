package combine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/test/combine/cloud"
)

// gen makes random scenarios. It knows the language, but no fault of an engine. In its methods, at is an index in the
// blocks of the module m: new expressions refer only to variables and to blocks before it.
type gen struct {
	*rand.Rand
	next  int            // the last ID that a block of the scenario got
	alone bool           // Terraform does not run the scenario
	leaky bool           // the scenario has a provider that returns secrets, and secrets for this provider
	plain bool           // the scenario has no resources of type crate
	apart bool           // the provider runs in a separate process
	small bool           // the scenario has few declarations, which are combined more often
	taste map[string]int // by name of a feature: -1 for never, 1 for often, 0 or missing for the usual frequency
}

// tasted are the features that a scenario may use often or never. Features are combined more often than if all occur
// with equal frequency.
var tasted = []string{
	"data", "provider", "module", "ephemeral", "check", "count", "for_each", "through",
	"content", "kind", "note", "size", "uses", "tags", "labels", "any", "secret", "password", "limits", "part",
	"create_before_destroy", "ignore_changes", "replace_triggered_by", "precondition", "postcondition", "depends_on", "triggers_replace",
	"change", "remove", "rename", "repeat", "habit", "mark", "rewire", "import", "reprovide", "retype",
	"json", "override",
}

// swarm chooses the frequent and the excluded features of this scenario, in half of all scenarios.
func (g *gen) swarm() {
	g.taste, g.small = map[string]int{}, g.one(3)
	if g.one(2) {
		return
	}
	for _, word := range tasted {
		g.taste[word] = g.pick(-1, -1, 0, 1, 1)
	}
}

// some returns true once in n draws on average. The taste of the scenario for the word changes this: some never returns
// true, or returns true up to four times as often.
func (g *gen) some(word string, n int) bool {
	switch g.taste[word] {
	case -1:
		return false
	case 1:
		n = max(2, n/4)
	}
	return g.one(n)
}

// A weight is the relative frequency of a word among all words of a draw.
type weight struct {
	word string
	n    int
}

// draw chooses a word by weight and by the taste of the scenario. It returns the first word if the scenario excludes
// all.
func (g *gen) draw(of ...weight) string {
	sum := 0
	for i, w := range of {
		of[i].n = w.n * map[int]int{-1: 0, 0: 2, 1: 8}[g.taste[w.word]]
		sum += of[i].n
	}
	n := g.IntN(max(sum, 1))
	for _, w := range of {
		if n -= w.n; n < 0 {
			return w.word
		}
	}
	return of[0].word
}

// Generate makes the scenario of a seed. If alone is false, Terraform can run it, too.
func Generate(seed uint64, alone bool) *Scenario {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 10)), alone: alone}
	g.leaky = alone && g.one(8)
	g.plain = !g.one(4)
	s := &Scenario{Seed: seed, Alone: alone, Twice: alone && !g.leaky && g.one(3)}
	g.swarm()
	config := &Module{}
	g.module(config, 0)
	heal(config)
	g.apart = g.one(12)
	for i := range 2 + g.IntN(4) {
		st := &Step{}
		if i > 0 || g.leaky {
			config = config.clone()
			for range g.pick(1, 1, 1, 2, 2, 3) {
				g.edit(config, st)
			}
			heal(config)
		}
		if i > 0 || g.leaky || g.one(4) {
			g.trouble(config, st)
		}
		st.Config = config
		replace := st.Do.Replace
		st.Do = g.command(config, i)
		if st.Do.Refresh != "only" && !st.Do.Destroy {
			st.Do.Replace = append(st.Do.Replace, replace...)
		}
		st.Do.Process = g.apart
		s.Steps = append(s.Steps, st)
	}
	return s
}

// one returns true once in n draws on average.
func (g *gen) one(n int) bool { return g.IntN(n) == 0 }

func (g *gen) pick(of ...int) int { return of[g.IntN(len(of))] }

func choose[T any](g *gen, of ...T) T { return of[g.IntN(len(of))] }

// id returns the ID of a new block. IDs of a scenario begin at 1.
func (g *gen) id() int {
	g.next++
	return g.next
}

// command returns a random command for step i, which is counted from 0.
func (g *gen) command(config *Module, i int) Command {
	c := Command{Apply: !g.one(12) || i == 0}
	switch n := g.IntN(30); {
	case i == 0 && n < 4:
		c.Peer = !g.alone
	case i == 0:
	case n < 3, n < 12 && removes(config):
		c.Refresh = "only"
	case n < 5:
		c.Refresh = "false"
	case n < 7:
		c.Target = []string{g.target(config)}
	case n < 8 && g.alone:
		c.Exclude = []string{g.target(config)}
	case n < 10:
		c.Replace = g.instance(config)
	case n < 12:
		c.Destroy = true
		if g.one(2) {
			c.Target = []string{g.target(config)}
		}
	}
	c.Direct = g.one(4)
	return c
}

// removes reports whether the root module has a removed block.
func removes(config *Module) bool {
	return slices.ContainsFunc(config.Blocks, func(b *Block) bool { return b.Kind == Removed })
}

// instance returns the address of an instance that can be replaced, or nothing if none exists.
func (g *gen) instance(config *Module) []string {
	var all []string
	t := config.tree()
	for _, b := range config.Blocks {
		switch {
		case b.Kind != Resource:
		case b.repeats() == "":
			all = append(all, b.addr())
		default:
			for _, k := range t.keys(config, b) {
				if b.repeats() == "for_each" {
					k = strconv.Quote(k)
				}
				all = append(all, b.addr()+"["+k+"]")
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	return []string{choose(g, all...)}
}

// target returns an address of the root module for -target. It returns the address of a missing resource if the module
// has no possible target.
func (g *gen) target(config *Module) string {
	var all []string
	for _, b := range config.Blocks {
		switch b.Kind {
		case Resource, Call:
			all = append(all, b.addr())
			if r := b.repeats(); r != "" {
				all = append(all, b.addr()+`["p"]`)
				if r == "count" {
					all[len(all)-1] = b.addr() + "[0]"
				}
			}
		case Data:
			if g.one(3) {
				all = append(all, b.addr())
			}
		}
	}
	if len(all) == 0 {
		return "terraform_data.none"
	}
	return choose(g, all...)
}

// trouble adds changes by other users, and faults.
func (g *gen) trouble(config *Module, st *Step) {
	if g.one(8) {
		st.Drifts = append(st.Drifts, Drift{Do: choose(g, "delete", "change"), Object: g.IntN(10)})
	}
	if g.one(8) {
		st.Drifts = append(st.Drifts, Drift{Do: choose(g, "taint", "taint", "untaint", "mv", "rm"), Object: g.IntN(10)})
	}
	if g.leaky {
		for range 2 {
			st.Faults = append(st.Faults, cloud.Fault{Call: choose(g, "create", "update"), Key: "*", How: cloud.Leak})
		}
	} else if g.one(9) {
		how := choose(g, cloud.Fail, cloud.Fail, cloud.Late, cloud.Lie)
		if g.alone {
			how = choose(g, cloud.Fail, cloud.Late, cloud.Lie, cloud.Leak, cloud.Leak, cloud.Interrupt)
		}
		if g.apart {
			how = choose(g, cloud.Crash, cloud.Lost)
		}
		call := choose(g, "create", "update", "delete", "data")
		if how == cloud.Leak || how == cloud.Lie {
			call = choose(g, "create", "update")
		}
		st.Faults = append(st.Faults, cloud.Fault{Call: call, Key: g.victim(config), How: how})
	} else if g.alone && !g.apart && g.one(2) {
		f := cloud.Fault{Call: choose(g, "create", "create", "update", "delete", "read", "plan", "open", "close", "*", "*"), Key: "*", How: choose(g, cloud.Kill, cloud.Kill, cloud.KillBoth), After: g.IntN(3)}
		if f.Call == "*" { // the fault hits any call, so more calls may precede the fault
			f.After = g.IntN(30)
		}
		st.Faults = append(st.Faults, f)
	}
}

// victim returns the name of an object of the root module for a fault. Faults are for names, because the order of calls
// differs from run to run. It returns "none" if the module has no objects with names.
func (g *gen) victim(config *Module) string {
	var names []string
	for _, b := range config.Blocks {
		if b.Kind == Resource && b.arg("name") != nil {
			suffix := map[string]string{"": "", "count": "0", "for_each": "p"}[b.repeats()]
			names = append(names, "n"+strconv.Itoa(b.ID)+suffix)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return choose(g, names...)
}

// module fills a module with declarations. depth is 0 for the root module.
func (g *gen) module(m *Module, depth int) {
	if depth > 0 {
		m.Blocks = append(m.Blocks, &Block{ID: g.id(), Kind: Variable, Name: "where", Args: []Arg{{"type", raw("string")}, {"default", lit("")}}})
	}
	if depth > 0 && g.some("passed", 6) {
		m.Blocks = append(m.Blocks, &Block{ID: g.id(), Kind: Provider, Type: "passed", Name: "q" + strconv.Itoa(g.next)})
	}
	if g.leaky && depth == 0 {
		m.Blocks = append(m.Blocks, &Block{ID: g.id(), Kind: Variable, Name: "hush", Args: []Arg{{"type", raw("string")}, {"ephemeral", raw("true")}}})
	}
	n := 3 + g.IntN(6-2*depth)
	if g.small {
		n = 2 + g.IntN(3-depth)
	}
	for range n {
		if b := g.add(m, depth, len(m.Blocks)); b.Kind == Provider && b.Name != "" && g.one(2) { // add a block that uses the new provider configuration
			g.put(m, len(m.Blocks), g.resource(m, depth, len(m.Blocks)))
		}
	}
	for range 1 + g.IntN(2) {
		g.output(m, len(m.Blocks), depth)
	}
}

// add inserts a random declaration into a module and returns it. At depth 2 it declares no further modules.
func (g *gen) add(m *Module, depth, at int) *Block {
	var b *Block
	calls := 10
	if depth == 2 {
		calls = 0
	}
	switch Kind(g.draw(weight{"resource", 44}, weight{"data", 13}, weight{"variable", 9}, weight{"local", 6}, weight{"provider", 10}, weight{"module", calls}, weight{"ephemeral", 5}, weight{"check", 5})) {
	case Data:
		b = g.data(m, at)
	case Variable:
		b = g.variable(depth)
	case Local:
		b = &Block{Kind: Local, Args: []Arg{{"value", choose(g, g.text(m, at, 2), g.text(m, at, 2), g.keys(m, at))}}}
	case Provider:
		b = g.provider(m, at)
	case Call:
		b = g.call(m, depth, at)
	case Ephemeral:
		b = g.lease(m, at)
	case Check:
		b = g.check(m, at)
	default:
		b = g.resource(m, depth, at)
	}
	return g.put(m, at, b)
}

// put completes a declaration and inserts it: it sets its ID and name if they are missing, and chooses its syntax.
func (g *gen) put(m *Module, at int, b *Block) *Block {
	if b.ID == 0 {
		b.ID = g.id()
	}
	if b.Name == "" && !(b.Kind == Provider && b.Type == "default") {
		b.Name = string(b.Kind[0]) + strconv.Itoa(b.ID)
	}
	if b.Kind == Provider {
		b.Type = ""
	}
	if b.Kind == Call && b.Module != nil {
		b.set("where", g.where(m, b))
	}
	switch {
	case g.some("json", 30):
		b.Form = JSON
	case g.some("override", 30) && b.overridable():
		b.Form = Override
	}
	m.Blocks = slices.Insert(m.Blocks, at, b)
	return b
}

// where returns the variable that makes names differ between instances of a module, or nil in the root.
func (m *Module) where() *Block {
	for _, v := range m.Blocks {
		if v.Kind == Variable && v.Name == "where" {
			return v
		}
	}
	return nil
}

// where returns an expression that makes the names of a block differ between instances and modules.
func (g *gen) where(m *Module, b *Block) *Expr {
	e := &Expr{Op: "tpl", Type: Text}
	if v := m.where(); v != nil {
		e.Args = append(e.Args, &Expr{Op: "ref", Ref: v.ID, Type: Text})
	}
	word := "n"
	if b.Kind == Call {
		word = "m"
	}
	e.Args = append(e.Args, lit(word+strconv.Itoa(b.ID)))
	if b.repeats() != "" {
		e.Args = append(e.Args, &Expr{Op: "key", Type: Text})
	}
	return e
}

func (g *gen) resource(m *Module, depth, at int) *Block {
	b := &Block{ID: g.id(), Kind: Resource, Type: choose(g, "terraform_data", "terraform_data", "terraform_data", "combine_box", "combine_box", "combine_box", "combine_box", "combine_crate")}
	if g.plain && b.Type == "combine_crate" {
		b.Type = "combine_box"
	}
	g.repeat(m, b, at)
	if b.Type == "terraform_data" {
		if !g.one(6) {
			b.set("input", g.any(m, at))
		}
		if g.some("triggers_replace", 3) {
			b.set("triggers_replace", g.any(m, at))
		}
	} else {
		b.set("name", g.where(m, b))
		for range 1 + g.IntN(3) {
			g.attribute(m, b, at)
		}
		if g.leaky {
			b.set("password", g.hidden(m, at))
		}
		g.through(m, b, at)
	}
	g.habits(m, b, at)
	if g.one(14) {
		n := &Block{Kind: Nested, Type: "provisioner", Name: "local-exec", Args: []Arg{{"command", lit("true")}}}
		if g.one(2) {
			n.set("when", raw("destroy"))
		}
		if g.one(3) {
			n.set("command", lit("false"))
			n.set("on_failure", raw("continue"))
		}
		b.Nested = append(b.Nested, n)
	}
	return b
}

// through may set the provider of a block to a provider that the module declares before the block.
func (g *gen) through(m *Module, b *Block, at int) {
	var all []*Block
	for _, p := range m.Blocks[:at] {
		if p.Kind == Provider && p.Name != "" {
			all = append(all, p)
		}
	}
	if len(all) > 0 && g.taste["through"] >= 0 && !g.one(3) {
		p := choose(g, all...)
		b.set("provider", addr(p))
	}
}

// attribute sets one attribute of a box, or adds nested blocks.
func (g *gen) attribute(m *Module, b *Block, at int) {
	switch word := g.draw(weight{"content", 3}, weight{"kind", 1}, weight{"note", 1}, weight{"size", 1}, weight{"uses", 3}, weight{"tags", 1}, weight{"labels", 1},
		weight{"any", 1}, weight{"secret", 1}, weight{"password", 2}, weight{"limits", 1}, weight{"part", 1}); word {
	case "content":
		b.set(word, g.text(m, at, 2))
	case "kind", "note", "secret":
		b.set(word, g.text(m, at, 1))
	case "size":
		b.set(word, choose(g, lit(1), lit(2), lit(3)))
	case "uses":
		if ids := g.ids(m, at); len(ids) > 0 {
			b.set(word, &Expr{Op: "list", Args: ids, Type: Texts})
		}
	case "tags":
		b.set(word, g.tags(m, at))
	case "labels":
		b.set(word, &Expr{Op: "list", Args: []*Expr{g.text(m, at, 1), lit("z")}, Type: Texts})
	case "any":
		b.set(word, g.any(m, at))
	case "password":
		b.set(choose(g, word, "password_wo"), g.hidden(m, at))
		if g.one(2) {
			b.set("password_version", lit(1+g.IntN(3)))
		}
	case "limits":
		b.set(word, &Expr{Op: "map", Args: []*Expr{raw("low"), lit(g.IntN(3))}, Type: Any})
	default:
		g.parts(m, b, at)
	}
}

// parts adds nested blocks to a box, written out or dynamic.
func (g *gen) parts(m *Module, b *Block, at int) {
	word := choose(g, "part", "part", "rule")
	if g.one(2) {
		n := &Block{Kind: Nested, Type: word, Args: []Arg{{"label", g.text(m, at, 1)}}}
		if word == "part" && g.one(3) {
			n.set("pin", g.hidden(m, at))
		}
		b.Nested = append(b.Nested, n)
		return
	}
	content := &Block{Kind: Nested, Type: "content", Args: []Arg{{"label", raw(word + ".value")}}}
	over := &Expr{Op: "list", Args: []*Expr{g.text(m, at, 1), g.text(m, at, 1)}, Type: Texts}
	b.Nested = append(b.Nested, &Block{Kind: Nested, Type: "dynamic", Name: word, Args: []Arg{{"for_each", over}}, Nested: []*Block{content}})
}

// habits may add lifecycle arguments, conditions and dependencies to a block.
func (g *gen) habits(m *Module, b *Block, at int) {
	if b.Kind == Resource {
		if g.some("create_before_destroy", 5) {
			b.lifecycle().set("create_before_destroy", raw("true"))
		}
		if g.some("ignore_changes", 8) {
			g.ignore(b)
		}
		if g.some("replace_triggered_by", 9) {
			g.triggered(m, b, at)
		}
		if g.one(80) {
			b.lifecycle().set("prevent_destroy", raw("true"))
		}
		if g.alone && g.one(12) && b.repeats() == "" {
			b.lifecycle().set("enabled", choose(g, raw("true"), raw("false"), g.truth(m, min(at, 2))))
		}
	}
	if g.some("precondition", 8) {
		b.lifecycle().Nested = append(b.lifecycle().Nested, g.condition(m, at, "precondition"))
	}
	if g.some("postcondition", 14) && b.Kind != Ephemeral {
		c := g.condition(m, at, "postcondition")
		if attr := map[string]string{"terraform_data": "id", "combine_calc": "output"}[b.Type]; attr != "" && g.one(2) {
			c.set("condition", &Expr{Op: "for", Text: "self." + attr + ` != "` + choose(g, "a", "b") + `"`, Type: Bool})
		}
		b.lifecycle().Nested = append(b.lifecycle().Nested, c)
	}
	if g.some("depends_on", 8) {
		g.depends(m, b, at)
	}
}

func (g *gen) condition(m *Module, at int, word string) *Block {
	return &Block{Kind: Nested, Type: word, Args: []Arg{
		{"condition", g.truth(m, at)}, {"error_message", lit("the condition does not hold")},
	}}
}

// truth returns a condition that is true in most cases.
func (g *gen) truth(m *Module, at int) *Expr {
	if g.one(3) {
		return &Expr{Op: "op", Text: ">", Type: Bool, Args: []*Expr{fn("length", Number, g.text(m, at, 1)), lit(0)}}
	}
	e := g.text(m, at, 1)
	if n := g.ref(m, at); n != nil && g.one(2) {
		e = n
	}
	never := choose(g, "a", "b", "c", "zz")
	if e.Path == "output" && m.find(e.Ref).Type == "terraform_data" { // the output of a terraform_data is written as JSON, so the compared text must be JSON
		never = strconv.Quote(never)
	}
	return &Expr{Op: "op", Text: "!=", Type: Bool, Args: []*Expr{e, lit(never)}}
}

// ignore sets ignore_changes to some attributes or parts of attributes, or to all.
func (g *gen) ignore(b *Block) {
	paths := []string{"input", "triggers_replace"}
	if b.Type != "terraform_data" {
		paths = []string{"content", "size", `tags["x"]`, "tags", "any", "kind", "labels", "password_version", "note", "part[0].label"}
	}
	for _, a := range b.Args {
		switch a.Value.Op {
		case "map":
			for i := 0; i < len(a.Value.Args); i += 2 {
				paths = append(paths, fmt.Sprintf("%s[%q]", a.Name, a.Value.Args[i].Text), a.Name+"."+a.Value.Args[i].Text)
			}
		case "list":
			if a.Name != "labels" { // labels is a set, whose elements have no positions
				paths = append(paths, a.Name+"[0]")
			}
		}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool {
		return g.taste[strings.FieldsFunc(p, func(r rune) bool { return r == '[' || r == '_' })[0]] < 0
	})
	list := &Expr{Op: "list", Type: Raw}
	for range 1 + g.IntN(2) {
		list.Args = append(list.Args, raw(choose(g, append(paths, "size")[:max(len(paths), 1)]...)))
	}
	if g.one(8) {
		list = raw("all")
	}
	b.lifecycle().set("ignore_changes", list)
}

// triggered sets replace_triggered_by to references to resources before the block, if it chooses any.
func (g *gen) triggered(m *Module, b *Block, at int) {
	list := &Expr{Op: "list", Type: Raw}
	for _, t := range m.Blocks[:at] {
		if t.Kind != Resource || !g.one(2) {
			continue
		}
		a := addr(t)
		if !g.one(3) {
			a.Path, a.Sel = choose(g, "content", "etag", "id", "size", "tags"), g.sel(t)
			if t.Type == "terraform_data" {
				a.Path = choose(g, "input", "output", "id", "triggers_replace")
			}
		}
		list.Args = append(list.Args, a)
	}
	if len(list.Args) > 0 {
		b.lifecycle().set("replace_triggered_by", list)
	}
}

// depends sets depends_on to blocks before the block, if it chooses any.
func (g *gen) depends(m *Module, b *Block, at int) {
	list := &Expr{Op: "list", Type: Raw}
	for _, t := range m.Blocks[:at] {
		if (t.Kind == Resource || t.Kind == Data || t.Kind == Call) && g.one(3) {
			list.Args = append(list.Args, addr(t))
		}
	}
	if len(list.Args) > 0 {
		b.set("depends_on", list)
	}
}

func (g *gen) data(m *Module, at int) *Block {
	b := &Block{ID: g.id(), Kind: Data, Type: "combine_calc"}
	if g.one(4) {
		g.repeat(m, b, at)
	}
	if ids := g.ids(m, at); len(ids) > 0 && g.one(2) {
		b.Type = "combine_look"
		b.set("id", ids[0])
		if ids[0].Sel == "" && m.find(ids[0].Ref).repeats() != "" {
			b.Type = "combine_calc"
			b.Args = slices.DeleteFunc(b.Args, func(a Arg) bool { return a.Name == "id" })
		}
	}
	if b.Type == "combine_calc" {
		b.set("input", g.text(m, at, 2))
		if g.one(3) {
			b.set("any", g.any(m, at))
		}
	}
	g.through(m, b, at)
	g.habits(m, b, at)
	if b.Type == "combine_calc" && g.one(4) {
		g.depends(m, b, at)
	}
	return b
}

func (g *gen) variable(depth int) *Block {
	b := &Block{ID: g.id(), Kind: Variable}
	switch g.IntN(6) {
	case 0:
		b.set("type", raw("number"))
		b.set("default", lit(g.IntN(3)))
	case 1:
		b.set("type", raw("list(string)"))
		b.set("default", lit([]string{"p", "q"}[:1+g.IntN(2)]))
	default:
		b.set("type", raw("string"))
		b.set("default", lit(choose(g, "a", "b", "c")))
		switch g.IntN(6) {
		case 0:
			b.set("sensitive", raw("true"))
		case 1:
			b.set("ephemeral", raw("true"))
		case 2:
			b.Name = "v" + strconv.Itoa(b.ID)
			b.Nested = []*Block{{Kind: Nested, Type: "validation", Args: []Arg{
				{"condition", &Expr{Op: "for", Text: "var." + b.Name + ` != "` + choose(g, "c", "zz", "zz") + `"`, Type: Bool}}, {"error_message", lit("not so")},
			}}}
		}
	}
	if depth == 0 && g.one(2) {
		b.set("value", b.arg("default").clone())
	}
	return b
}

func (g *gen) provider(m *Module, at int) *Block {
	b := &Block{ID: g.id(), Kind: Provider}
	used := false
	for _, p := range m.Blocks {
		used = used || p.Kind == Provider && p.Name == "" || p.Kind == Variable && p.Name == "where"
	}
	if !used && g.one(4) {
		b.Type = "default"
	}
	b.set("label", lit("p"+strconv.Itoa(b.ID)))
	if g.alone && b.Type == "" && g.one(4) {
		b.set("for_each", g.fixed(m))
	}
	if !g.one(3) {
		b.set("region", g.setting(m, at))
	}
	if g.one(4) {
		b.set("token", g.hidden(m, at))
	}
	return b
}

// setting returns the region of a provider. It prefers a reference to an object or data to a literal.
func (g *gen) setting(m *Module, at int) *Expr {
	for _, b := range slices.Backward(m.Blocks[:at]) {
		if names := readable(b); len(names) > 0 && g.one(2) {
			if strings.HasPrefix(b.Type, "combine_") && b.Kind == Resource && !g.one(3) {
				if names = []string{"content"}; b.arg("content") == nil { // a text of the scenario is better than a computed value
					b.set("content", lit(choose(g, "a", "b", "c")))
				}
			}
			return &Expr{Op: "ref", Ref: b.ID, Path: choose(g, names...), Sel: g.sel(b), Type: Text}
		}
	}
	return g.text(m, at, 1)
}

func (g *gen) call(m *Module, depth, at int) *Block {
	b := &Block{ID: g.id(), Kind: Call, Module: &Module{}}
	g.repeat(m, b, at)
	g.module(b.Module, depth+1)
	if b.repeats() != "" || g.one(2) { // a module that contains provider blocks cannot be repeated
		b.Module.Blocks = slices.DeleteFunc(b.Module.Blocks, func(n *Block) bool { return n.Kind == Provider && !n.passed() })
	}
	for _, v := range b.Module.Blocks {
		if v.Kind == Variable && v.Name != "where" && !g.one(5) {
			b.set(v.Name, g.input(m, v, at))
		}
	}
	if g.one(7) {
		g.depends(m, b, at)
	}
	for _, p := range m.Blocks[:at] {
		if p.Kind == Provider && p.Name != "" && p.repeats() == "" && g.one(2) {
			b.set("providers", &Expr{Op: "map", Type: Raw, Args: []*Expr{raw("combine"), addr(p)}})
		}
	}
	return b
}

// input returns a value for a variable of a module.
func (g *gen) input(m *Module, v *Block, at int) *Expr {
	switch v.arg("type").Text {
	case "number":
		return g.number(m, at)
	case "list(string)":
		return &Expr{Op: "list", Args: []*Expr{lit("p")}, Type: Texts}
	}
	if v.arg("ephemeral") != nil {
		return g.hidden(m, at)
	}
	return g.text(m, at, 2)
}

func (g *gen) lease(m *Module, at int) *Block {
	b := &Block{ID: g.id(), Kind: Ephemeral, Type: "combine_lease"}
	if g.one(4) {
		g.repeat(m, b, at)
	}
	b.set("name", g.where(m, b))
	if secret := g.hidden(m, at); g.alone && secret.Op == "ref" && b.repeats() == "" && g.one(4) {
		b.set(choose(g, "count", "for_each"), fn("toset", Any, &Expr{Op: "list", Type: Texts, Args: []*Expr{secret}}))
		if e := b.arg("count"); e != nil {
			*e = *fn("length", Number, e.clone())
		}
	}
	if g.one(2) {
		b.set("input", choose(g, g.hidden(m, at), g.setting(m, at)))
	}
	g.through(m, b, at)
	if g.one(8) {
		g.depends(m, b, at)
	}
	return b
}

func (g *gen) check(m *Module, at int) *Block {
	b := &Block{ID: g.id(), Kind: Check}
	if g.one(3) {
		d := &Block{Kind: Nested, Type: "data combine_calc", Name: "in" + strconv.Itoa(b.ID), Args: []Arg{{"input", g.text(m, at, 1)}}}
		b.Nested = append(b.Nested, d)
	}
	b.Nested = append(b.Nested, g.condition(m, at, "assert"))
	return b
}

func (g *gen) output(m *Module, at, depth int) {
	b := &Block{ID: g.id(), Kind: Output}
	b.Name = fmt.Sprintf("o%d", b.ID)
	b.set("value", g.text(m, at, 2))
	if depth > 0 && g.some("ephemeral", 10) {
		b.set("value", g.hidden(m, at))
		b.set("ephemeral", raw("true"))
	}
	if g.one(10) {
		b.Nested = append(b.Nested, g.condition(m, at, "precondition"))
	}
	m.Blocks = append(m.Blocks, b)
}
