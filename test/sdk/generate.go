package sdk

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

type gen struct{ *rand.Rand }

func (g gen) one(n int) bool { return g.IntN(n) == 0 }

func pick[T any](g gen, of []T) T { return of[g.IntN(len(of))] }

// Generate makes the batch of a seed with n pieces, or with at most six if the scenario contains faults of calls that
// plan.
func Generate(seed uint64, n int) *Batch {
	g := gen{rand.New(rand.NewPCG(seed, 7))}
	b := &Batch{Seed: seed}
	rough := g.one(5)
	if rough {
		n = min(n, 6)
	}
	versions := g.one(4)
	tags := g.one(3)
	steps := 3 + g.IntN(3)
	for i := range steps {
		c := Command{Schema: 2}
		if tags {
			c.Tags = pick(g, providerTags)
		}
		if versions {
			c.Schema = min(2, i)
		}
		if i > 0 {
			switch g.IntN(10) {
			case 0:
				c.RefreshOnly = true
			case 1:
				c.NoRefresh = true
			case 2:
				c.Targets = true
			}
		}
		c.Direct = g.one(5)
		b.Steps = append(b.Steps, c)
	}
	b.Steps = append(b.Steps, Command{Schema: 2, Destroy: true, Tags: b.Steps[steps-1].Tags})
	for i := range n {
		b.Pieces = append(b.Pieces, g.piece(fmt.Sprintf("a%d", i), b, rough))
	}
	return b
}

// providerTags are the tags of the provider blocks.
var providerTags = []string{`{}`, `{ team = "t" }`, `{ team = "t" }`, `{ team = "u", k = "a" }`}

// weights has the relative frequency of each type.
var weights = map[string]int{
	"old_plain": 4, "old_func": 5, "old_block": 6, "old_cd": 5, "old_norm": 3, "old_wo": 1, "old_up": 2, "old_id": 1,
	"old_real": 6, "old_deep": 4, "old_strict": 2, "old_changed": 3, "old_renamed": 2, "old_set": 5, "old_manifest": 3,
	"fw_random": 3, "fw_cert": 2, "fw_time": 2, "fw_cloud": 5, "fw_dyn": 3, "fw_sets": 4, "fw_helm": 3, "fw_changed": 2,
	"fw_plain": 5, "fw_nest": 6, "fw_norm": 2, "fw_mod": 3, "fw_wo": 2, "fw_priv": 2, "fw_up": 2, "fw_id": 1, "fw_moved": 1,
}

func (g gen) kind() string {
	sum := 0
	names := slices.Sorted(maps.Keys(weights))
	for _, k := range names {
		sum += weights[k]
	}
	n := g.IntN(sum)
	for _, k := range names {
		if n -= weights[k]; n < 0 {
			return k
		}
	}
	return names[0]
}

// A life is a piece during its generation.
type life struct {
	gen
	*Piece
	kind    string
	focus   []arg  // the arguments that this scenario varies
	unknown string // the argument whose value is unknown while planning; "" for no argument
	rough   bool   // the piece may have faults that end the commands of the whole batch
	secret  bool   // an argument of the piece is sensitive
	moved   bool   // the object was moved to another type
	saved   *Step  // the step before the resource was removed, for a later return; nil if the resource was not removed
}

func (g gen) piece(name string, b *Batch, rough bool) *Piece {
	l := &life{gen: g, Piece: &Piece{Name: name}, kind: g.kind(), rough: rough}
	for l.kind == "old_strict" && !rough { // Terraform and Lethe refuse many plans of old_strict
		l.kind = g.kind()
	}
	all := types[l.kind]
	for _, i := range g.Perm(len(all))[:min(len(all), 1+g.IntN(4))] {
		l.focus = append(l.focus, all[i])
	}
	first := &Step{Type: l.kind, Args: map[string]string{}, Around: map[string]string{}, Root: map[string]string{}}
	if g.one(4) {
		first.Module = true
		if g.one(2) {
			first.Calls = pick(g, repeats)
		}
	}
	if g.one(6) {
		first.Repeat = pick(g, repeats)
	}
	l.aim(first)
	if m := modes[l.kind]; m != nil {
		first.Args["mode"] = fmt.Sprintf("mode = %q", pick(g, m))
		for _, a := range all {
			if a.name == "s" && !slices.ContainsFunc(l.focus, func(b arg) bool { return b.name == "s" }) {
				l.focus = append(l.focus, a)
			}
		}
	}
	for _, a := range all {
		if a.must && !slices.ContainsFunc(l.focus, func(b arg) bool { return b.name == a.name }) {
			l.set(first, a)
		}
	}
	for _, a := range l.focus {
		if a.must || !g.one(3) {
			l.set(first, a)
		}
	}
	l.settings(first)
	l.fit(first, b.Steps[0].Schema)
	l.Steps = append(l.Steps, first)
	for i := 1; i < len(b.Steps); i++ {
		s := l.following(l.Steps[i-1], b.Steps[i])
		if s.Type != "" {
			l.fit(s, b.Steps[i].Schema)
		}
		l.Steps = append(l.Steps, s)
	}
	return l.Piece
}

// repeats are the count and for_each arguments that a resource or a module call may have. Each of them creates the
// instance 0 or "x", which the addresses and references of a piece use.
var repeats = []string{"count = 1", "count = 2", `for_each = toset(["x"])`, `for_each = toset(["x", "y"])`, `for_each = toset(["x", "z"])`}

// aim chooses the address of -target for a step: the object, its resource or its module, or none in half of all cases.
func (l *life) aim(s *Step) {
	s.Target = ""
	if !l.one(2) {
		return
	}
	s.Target = l.addr(s)
	switch {
	case s.Module && l.one(2):
		s.Target = "module." + l.Name
	case s.Repeat != "" && l.one(2):
		s.Target = l.inModule(s, s.Type+"."+l.Name)
	}
}

// set sets a random value for an argument. The value may be unknown or sensitive. If it is unknown, set also adds the
// resource with the value around the piece.
func (l *life) set(s *Step, a arg) {
	if l.unknown == a.name {
		s.Around["u"] = fmt.Sprintf("resource \"terraform_data\" \"%s_u\" {\n  input = %s\n}", l.Name, pick(l.gen, a.later))
		return
	}
	text := pick(l.gen, a.texts)
	if len(a.later) > 0 && l.unknown == "" && l.one(6) {
		l.unknown = a.name
		s.Around["u"] = fmt.Sprintf("resource \"terraform_data\" \"%s_u\" {\n  input = %s\n}", l.Name, pick(l.gen, a.later))
		text = fmt.Sprintf("%s = terraform_data.%s_u.output", a.name, l.Name)
	} else if len(a.later) == 0 && l.unknown == "" && strings.HasPrefix(text, "dynamic") && l.one(2) {
		l.unknown = a.name
		s.Around["u"] = fmt.Sprintf("resource \"terraform_data\" \"%s_u\" {\n  input = [\"a\"]\n}", l.Name)
		text = strings.Replace(text, `["a", "b"]`, fmt.Sprintf("terraform_data.%s_u.output", l.Name), 1)
	} else if len(a.later) > 0 && l.one(12) {
		name, v, _ := strings.Cut(text, " = ")
		text = name + " = sensitive(" + v + ")"
		l.secret = true
	}
	s.Args[a.name] = text
	if other := map[string]string{"acl": "grant", "grant": "acl"}[a.name]; other != "" { // the arguments acl and grant exclude each other
		delete(s.Args, other)
	}
}

// unknownTexts are the inputs of the helper for blocks.
var unknownTexts = []string{`["a"]`, `["a", "b"]`, `[]`, `["b"]`}

// settings chooses the parts of a piece that do not belong to the type.
func (l *life) settings(s *Step) {
	var lines []string
	if l.one(3) && len(l.focus) > 0 {
		if l.one(4) {
			lines = append(lines, "ignore_changes = all")
		} else {
			paths := []string{}
			for _, a := range l.focus[:1+l.IntN(min(2, len(l.focus)))] {
				if len(a.ignore) > 0 {
					paths = append(paths, pick(l.gen, a.ignore))
				} else {
					paths = append(paths, a.name)
				}
			}
			lines = append(lines, "ignore_changes = ["+strings.Join(paths, ", ")+"]")
		}
	}
	if l.one(6) {
		lines = append(lines, "create_before_destroy = true")
	}
	if l.one(10) {
		s.Around["t"] = fmt.Sprintf("resource \"terraform_data\" \"%s_t\" {\n  input = 1\n}", l.Name)
		lines = append(lines, fmt.Sprintf("replace_triggered_by = [terraform_data.%s_t]", l.Name))
	}
	if len(lines) > 0 {
		s.Args["lifecycle"] = "lifecycle {\n  " + strings.Join(lines, "\n  ") + "\n}"
	}
	if l.one(6) {
		s.Around["d"] = fmt.Sprintf("resource \"terraform_data\" \"%s_d\" {\n  input = %s.%s\n}", l.Name, l.kind, l.Name)
		switch {
		case l.kind == "fw_wo" || l.kind == "old_wo" || l.kind == "fw_helm":
			s.Around["d"] = strings.Replace(s.Around["d"], "."+l.Name+"\n", "."+l.Name+".name\n", 1)
		case l.kind == "old_manifest":
		case strings.HasPrefix(l.kind, "old_") && !l.one(4):
			s.Around["d"] = strings.Replace(s.Around["d"], "."+l.Name+"\n", "."+l.Name+".id\n", 1)
		}
	}
	if l.one(6) {
		s.Around["o"] = fmt.Sprintf("output %q {\n  value     = %s.%s.%s\n  sensitive = true\n}", l.Name, l.kind, l.Name, l.id())
	}
	if l.one(8) {
		s.Around["n"] = fmt.Sprintf("resource \"old_plain\" \"%[1]s_n\" {\n  name = \"%[1]s_n@KEY@\"\n  %[2]s = %[3]s.%[1]s.%[4]s\n%[5]s}", l.Name, pick(l.gen, []string{"s", "force", "c"}), l.kind, l.id(),
			pick(l.gen, []string{"", "  lifecycle {\n    create_before_destroy = true\n  }\n"}))
	}
	if l.one(8) && slices.ContainsFunc(types[l.kind], func(a arg) bool { return a.name == "s" }) && s.Args["mode"] == "" {
		s.Around["b"] = fmt.Sprintf("resource \"fw_plain\" \"%[1]s_b\" {\n  name  = \"%[1]s_b@KEY@\"\n  force = \"a\"\n%[2]s}", l.Name, pick(l.gen, []string{"", "  lifecycle {\n    create_before_destroy = true\n  }\n"}))
		s.Args["s"] = fmt.Sprintf("s = fw_plain.%s_b.%s", l.Name, pick(l.gen, []string{"id", "ro", "rok"}))
	}
	if l.one(8) {
		what := pick(l.gen, []string{"old_data", "fw_data"})
		attr := "id"
		if l.kind == "old_manifest" {
			attr = "name"
		}
		s.Around["q"] = fmt.Sprintf("data %q %q {\n  name  = \"%s@KEY@\"\n  query = %s.%s.%s\n}", what, l.Name+"_q", l.Name, l.kind, l.Name, attr)
		if l.one(4) {
			s.Around["q"] = fmt.Sprintf("data %q %q {\n  name       = \"%s@KEY@\"\n  depends_on = [%s.%s]\n}", what, l.Name+"_q", l.Name, l.kind, l.Name)
		}
	}
}

// id returns the name of an attribute that identifies an object of the type.
func (l *life) id() string {
	if l.kind == "old_manifest" {
		return "name"
	}
	return "id"
}

// following returns the step after another. c is the command of the new step.
func (l *life) following(last *Step, c Command) *Step {
	s := &Step{Type: last.Type, Module: last.Module, Calls: last.Calls, Repeat: last.Repeat, Args: maps.Clone(last.Args), Around: maps.Clone(last.Around), Root: map[string]string{}, Target: last.Target}
	if l.one(3) && s.Type != "" {
		l.aim(s)
	}
	if c.Destroy {
		if l.one(12) {
			s.Faults = pick(l.gen, []string{"delete", "delete-after"})
		}
		if l.one(12) {
			s.Gone = true
		}
		return s
	}
	if l.saved != nil { // the removed resource returns
		back := *l.saved
		l.saved = nil
		return &back
	}
	switch n := l.IntN(25); {
	case n < 7:
		l.change(s)
	case n < 10:
		l.drift(s)
	case n < 12:
		l.drift(s)
		l.change(s)
	case n == 12:
		s.Before = append(s.Before, []string{"taint", l.addr(s)})
		if l.one(2) {
			l.change(s)
		}
	case n == 13:
		s.Replace = true
		if l.one(2) {
			l.change(s)
		}
	case n == 14:
		s.Gone = true
	case n == 15 || n == 19:
		l.change(s)
		s.Faults = pick(l.gen, []string{"update", "update-dirty", "update-gone", "update-after", "update-partial", "create", "create-after", "create-nothing", "create-partial", "delete", "delete-after"})
		if l.one(2) {
			s.Before = append(s.Before, []string{"taint", l.addr(s)})
		}
	case n == 20 && !c.Targets:
		l.repeat(s)
	case n == 21 && !c.Targets:
		l.moveModule(s)
	case n == 22 && !l.moved:
		l.takeOut(s)
	case n == 23: // other users change the object between plan and apply
		l.change(s)
		if s.Late = true; l.one(2) {
			s.Gone = true
		} else {
			l.drift(s)
		}
	case n == 24 && s.Around["b"] != "":
		s.Around["b"] = strings.Replace(s.Around["b"], `force = "`, `force = "b`, 1)
	case n == 24:
		s.Before = append(s.Before, []string{"taint", l.addr(s)}, []string{"untaint", l.addr(s)})
	case n == 16:
		l.imports(s)
	case n == 17 && !c.Targets && l.kind != "fw_moved" && (l.kind == "old_plain" || l.kind == "fw_plain" || l.kind == "old_cd") && !l.moved:
		l.move(s)
	case n == 18:
		if t, ok := s.Around["t"]; ok {
			s.Around["t"] = strings.Replace(t, "input = 1", "input = 12", 1)
		} else {
			s.Args["lifecycle"] = fmt.Sprintf("lifecycle {\n  ignore_changes = [%s]\n}", l.focus[0].name)
			l.change(s)
		}
	}
	if l.rough && l.one(3) {
		s.Faults, s.Fatal = pick(l.gen, []string{"plan", "read", "read plan", "upgrade", "data"}), true
	}
	return s
}

// change changes some of the arguments.
func (l *life) change(s *Step) {
	for _, a := range l.focus[:1+l.IntN(min(2, len(l.focus)))] {
		if a.name == l.unknown && len(a.later) == 0 {
			s.Around["u"] = fmt.Sprintf("resource \"terraform_data\" \"%s_u\" {\n  input = %s\n}", l.Name, pick(l.gen, unknownTexts))
			continue
		}
		if !a.must && a.name != l.unknown && l.one(4) {
			delete(s.Args, a.name)
		} else {
			l.set(s, a)
		}
	}
}

// drift chooses new values of attributes for a change outside.
func (l *life) drift(s *Step) {
	s.Drift = map[string]any{}
	for _, a := range l.focus {
		if len(a.drift) > 0 && (len(s.Drift) == 0 || l.one(3)) {
			s.Drift[a.name] = pick(l.gen, a.drift)
		}
	}
}

// imports forgets the object and imports it again, by command or by block. In a rough scenario it may use an ID whose
// import fails.
func (l *life) imports(s *Step) {
	id := l.Name + "@" // run.go replaces NAME@ by the ID of the last object with that name
	if l.rough && l.one(2) {
		id, s.Fatal = pick(l.gen, []string{l.Name + "-none", l.Name + "-error", l.Name + "-1," + l.Name + "-2", l.Name + "-77"}), true
	}
	s.Before = append(s.Before, []string{"state", "rm", l.addr(s)})
	if l.one(2) {
		s.Before = append(s.Before, []string{"import", "-input=false", "-no-color", l.addr(s), id})
	} else {
		s.Root["import"] = fmt.Sprintf("import {\n  to = %s\n  id = %q\n}", l.addr(s), id)
	}
}

// move moves the object to the type fw_moved.
func (l *life) move(s *Step) {
	l.moved = true
	from := s.Type + "." + l.Name
	s.Root["moved"] = fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}", whole(l.inModule(s, from)), whole(l.inModule(s, "fw_moved."+l.Name)))
	for k := range s.Args {
		if k != "s" && k != "n" {
			delete(s.Args, k)
		}
	}
	for k, t := range s.Around {
		s.Around[k] = strings.ReplaceAll(t, from, "fw_moved."+l.Name)
	}
	s.Type, l.kind, l.focus = "fw_moved", "fw_moved", types["fw_moved"]
}

// whole returns an address without the keys of first instances.
func whole(addr string) string { return strings.NewReplacer("[0]", "", `["x"]`, "").Replace(addr) }

// repeat changes the repetition of the resource or of the call of its module. The first instance stays the same object.
func (l *life) repeat(s *Step) {
	was := l.addr(s)
	if s.Module && l.one(2) {
		old, base := s.Calls, "module."+l.Name
		s.Calls = pick(l.gen, append(repeats, ""))
		if first(s.Calls) != first(old) && (l.one(4) || first(old) != "" || first(s.Calls) != "[0]") {
			s.Root["moved"] = fmt.Sprintf("moved {\n  from = %s%s\n  to   = %s%s\n}", base, first(old), base, first(s.Calls))
		}
		return
	}
	s.Repeat = pick(l.gen, append(repeats, ""))
	if now := l.addr(s); now != was {
		s.Root["moved"] = fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}", was, now)
	}
}

// moveModule moves the piece into a module, or out of it.
func (l *life) moveModule(s *Step) {
	was := l.addr(s)
	s.Module, s.Calls = !s.Module, ""
	if s.Module && l.one(2) {
		s.Calls = pick(l.gen, repeats)
	}
	s.Root["moved"] = fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}", was, l.addr(s))
	s.Target = ""
}

// takeOut removes the resource from the configuration, in some cases with a removed block or after it was deleted
// outside. The next step has the resource again.
func (l *life) takeOut(s *Step) {
	saved := *s
	saved.Args, saved.Around, saved.Root = maps.Clone(s.Args), maps.Clone(s.Around), map[string]string{}
	l.saved = &saved
	addr := whole(l.inModule(s, s.Type+"."+l.Name))
	switch l.IntN(3) {
	case 0:
		s.Root["removed"] = fmt.Sprintf("removed {\n  from = %s\n  lifecycle {\n    destroy = %t\n  }\n}", addr, l.one(2))
	case 1:
		s.Drift, s.Gone = nil, true
	}
	s.Type, s.Around, s.Target = "", map[string]string{}, ""
}

// fit removes arguments that a schema version does not have.
func (l *life) fit(s *Step, version int) {
	switch l.kind {
	case "old_up", "fw_up", "old_changed", "fw_changed":
	default:
		return
	}
	drop := map[int][]string{0: {"tags", "extra", "sets", "more", "morec", "moreb"}, 1: {"tag", "extra", "gone", "more", "morec", "moreb"}, 2: {"tag", "gone", "sets"}}[version]
	for _, k := range drop {
		delete(s.Args, k)
		if v, ok := s.Args["lifecycle"]; ok && (strings.Contains(v, "["+k) || strings.Contains(v, ", "+k)) {
			delete(s.Args, "lifecycle")
		}
	}
}
