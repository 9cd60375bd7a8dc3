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

// Generate makes the batch of a seed, of n pieces.
func Generate(seed uint64, n int) *Batch {
	g := gen{rand.New(rand.NewPCG(seed, 7))}
	b := &Batch{Seed: seed}
	rough := g.one(5)
	if rough {
		n = min(n, 6)
	}
	versions := g.one(4)
	steps := 3 + g.IntN(3)
	for i := range steps {
		c := Command{Schema: 2}
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
	b.Steps = append(b.Steps, Command{Schema: 2, Destroy: true})
	for i := range n {
		b.Pieces = append(b.Pieces, g.piece(fmt.Sprintf("a%d", i), b, rough))
	}
	return b
}

// weights are how often each type is chosen.
var weights = map[string]int{
	"old_plain": 4, "old_func": 5, "old_block": 6, "old_cd": 5, "old_norm": 3, "old_wo": 1, "old_up": 2, "old_id": 1,
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

// A life is a piece while it is made.
type life struct {
	gen
	*Piece
	kind    string
	focus   []arg // the arguments that this scenario is about
	unknown string
	rough   bool
	secret  bool
	moved   bool
}

func (g gen) piece(name string, b *Batch, rough bool) *Piece {
	l := &life{gen: g, Piece: &Piece{Name: name}, kind: g.kind(), rough: rough}
	all := types[l.kind]
	for _, i := range g.Perm(len(all))[:min(len(all), 1+g.IntN(4))] {
		l.focus = append(l.focus, all[i])
	}
	first := &Step{Type: l.kind, Args: map[string]string{"name": fmt.Sprintf("name = %q", name)}, Around: map[string]string{}, Target: g.one(2)}
	if m := modes[l.kind]; m != nil {
		first.Args["mode"] = fmt.Sprintf("mode = %q", pick(g, m))
		for _, a := range all {
			if a.name == "s" && !slices.ContainsFunc(l.focus, func(b arg) bool { return b.name == "s" }) {
				l.focus = append(l.focus, a)
			}
		}
	}
	for _, a := range l.focus {
		if !g.one(3) {
			l.set(first, a)
		}
	}
	l.settings(first)
	l.fit(first, b.Steps[0].Schema)
	l.Steps = append(l.Steps, first)
	for i := 1; i < len(b.Steps); i++ {
		s := l.following(l.Steps[i-1], b.Steps[i])
		l.fit(s, b.Steps[i].Schema)
		l.Steps = append(l.Steps, s)
	}
	return l.Piece
}

// set gives an argument a value.
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
}

// unknownTexts are the inputs of the helper for blocks.
var unknownTexts = []string{`["a"]`, `["a", "b"]`, `[]`, `["b"]`}

// settings are what does not belong to the type.
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
		case l.kind == "fw_wo" || l.kind == "old_wo":
			s.Around["d"] = strings.Replace(s.Around["d"], "."+l.Name+"\n", "."+l.Name+".s\n", 1)
		case strings.HasPrefix(l.kind, "old_") && !l.one(4):
			s.Around["d"] = strings.Replace(s.Around["d"], "."+l.Name+"\n", "."+l.Name+".id\n", 1)
		}
	}
	if l.one(6) {
		s.Around["o"] = fmt.Sprintf("output %q {\n  value     = %s.%s.id\n  sensitive = true\n}", l.Name, l.kind, l.Name)
	}
	if l.one(8) {
		what := pick(l.gen, []string{"old_data", "fw_data"})
		s.Around["q"] = fmt.Sprintf("data %q %q {\n  name  = %q\n  query = %s.%s.id\n}", what, l.Name+"_q", l.Name, l.kind, l.Name)
	}
}

// following is the step after another.
func (l *life) following(last *Step, c Command) *Step {
	s := &Step{Type: last.Type, Args: maps.Clone(last.Args), Around: maps.Clone(last.Around), Target: last.Target}
	delete(s.Around, "import")
	if c.Destroy {
		if l.one(12) {
			s.Faults = pick(l.gen, []string{"delete", "delete-after"})
		}
		if l.one(12) {
			s.Gone = true
		}
		return s
	}
	switch n := l.IntN(20); {
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
	case n == 15:
		l.change(s)
		s.Faults = pick(l.gen, []string{"update", "update-dirty", "update-gone", "update-after", "create", "create-after", "create-nothing", "delete", "delete-after"})
	case n == 16:
		l.imports(s)
	case n == 17 && l.kind != "fw_moved" && (l.kind == "old_plain" || l.kind == "fw_plain" || l.kind == "old_cd") && !l.moved:
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

func (l *life) drift(s *Step) {
	s.Drift = map[string]any{}
	for _, a := range l.focus {
		if len(a.drift) > 0 && (len(s.Drift) == 0 || l.one(3)) {
			s.Drift[a.name] = pick(l.gen, a.drift)
		}
	}
}

// imports forgets the object and imports it again.
func (l *life) imports(s *Step) {
	id := l.Name + "@" // the last object of that name
	if l.rough && l.one(2) {
		id, s.Fatal = pick(l.gen, []string{l.Name + "-none", l.Name + "-error", l.Name + "-1," + l.Name + "-2", l.Name + "-77"}), true
	}
	s.Before = append(s.Before, []string{"state", "rm", l.addr(s)})
	if l.one(2) {
		s.Before = append(s.Before, []string{"import", "-input=false", l.addr(s), id})
	} else {
		s.Around["import"] = fmt.Sprintf("import {\n  to = %s\n  id = %q\n}", l.addr(s), id)
	}
}

// move moves the object to another type.
func (l *life) move(s *Step) {
	l.moved = true
	s.Around["moved"] = fmt.Sprintf("moved {\n  from = %s\n  to   = fw_moved.%s\n}", l.addr(s), l.Name)
	for k := range s.Args {
		if k != "name" && k != "s" && k != "n" {
			delete(s.Args, k)
		}
	}
	for k, t := range s.Around {
		if k != "moved" {
			s.Around[k] = strings.ReplaceAll(t, l.addr(s), "fw_moved."+l.Name)
		}
	}
	s.Type, l.kind, l.focus = "fw_moved", "fw_moved", types["fw_moved"]
}

// fit leaves out what a schema version does not have.
func (l *life) fit(s *Step, version int) {
	if l.kind != "old_up" && l.kind != "fw_up" {
		return
	}
	drop := map[int][]string{0: {"tags", "extra"}, 1: {"tag", "extra"}, 2: {"tag"}}[version]
	for _, k := range drop {
		delete(s.Args, k)
		if v, ok := s.Args["lifecycle"]; ok && strings.Contains(v, "["+k) || strings.Contains(v, ", "+k) {
			delete(s.Args, "lifecycle")
		}
	}
}
