package rewrite

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// fresh has the functions that return another value at each call, also for the same arguments.
var fresh = map[string]bool{"uuid": true, "timestamp": true, "bcrypt": true}

// scope has, by name, the expressions that set the variables in an expression: each of a block, the iterators of
// dynamic blocks, and the variables of "for" expressions.
type scope map[string]hclsyntax.Expression

// with returns a scope with one more variable.
func (s scope) with(name string, e hclsyntax.Expression) scope {
	out := maps.Clone(s)
	if out == nil {
		out = scope{}
	}
	out[name] = e
	return out
}

// eachOf returns the scope of a top-level block.
func eachOf(b *hclsyntax.Block) scope {
	if a := b.Body.Attributes["for_each"]; a != nil {
		return scope{"each": a.Expr}
	}
	return nil
}

// origins returns the places from which the value of an expression comes, each once.
func (d *Draft) origins(m *module, f *part, e hclsyntax.Expression, in scope) []origin {
	w := &tracing{d: d, visited: map[declaration]bool{}}
	w.expression(m, f, e, in)
	return w.out
}

type tracing struct {
	d       *Draft
	visited map[declaration]bool
	out     []origin
}

func (w *tracing) expression(m *module, f *part, e hclsyntax.Expression, in scope) {
	w.d.noteConstants(f, e)
	found, call := false, origin{}
	hclsyntax.VisitAll(e, func(n hclsyntax.Node) hcl.Diagnostics {
		if c, ok := n.(*hclsyntax.FunctionCallExpr); ok {
			switch {
			case fresh[c.Name]:
				call.fresh = c.Name
			case strings.HasPrefix(c.Name, "file") || strings.HasPrefix(c.Name, "templatefile"):
				call.file = f.name
			}
		}
		return nil
	})
	for _, t := range hclsyntax.Variables(e) {
		s, ok := symbolOf(t)
		switch root := t.RootName(); {
		case in[root] != nil:
			found = true
			outer := maps.Clone(in)
			delete(outer, root)
			w.expression(m, f, in[root], outer)
		case ok && s.kind == "resource":
			found = true
			o := origin{declaration: declaration{m, s}}
			if names := (use{traversal: t}).steps(s); len(names) > 0 {
				o.attribute = names[0]
			}
			if !slices.Contains(w.out, o) {
				w.out = append(w.out, o)
			}
		case ok:
			found = true
			w.symbol(m, s)
		case root == "each" || root == "count":
			found = true
		}
	}
	switch {
	case call.fresh != "" || call.file != "":
		w.out = append(w.out, call)
	case !found:
		w.out = append(w.out, origin{literal: f.name})
	}
}

func (w *tracing) symbol(m *module, s symbol) {
	at := declaration{m, s}
	if w.visited[at] {
		return
	}
	w.visited[at] = true
	switch {
	case s.kind == "local":
		m.blocks("locals", nil, func(f *part, b *hclsyntax.Block) {
			if a := b.Body.Attributes[s.a]; a != nil {
				w.expression(m, f, a.Expr, nil)
			}
		})
	case s.kind == "var" && !m.root():
		w.d.calls(m, func(parent *module, call string) {
			parent.blocks("module", []string{call}, func(f *part, b *hclsyntax.Block) {
				if a := b.Body.Attributes[s.a]; a != nil {
					w.expression(parent, f, a.Expr, eachOf(b))
				}
			})
		})
	case s.kind == "module":
		for _, child := range w.d.children(m, s.a) {
			var labels []string
			if s.b != "" {
				labels = []string{s.b}
			}
			child.blocks("output", labels, func(f *part, b *hclsyntax.Block) {
				if a := b.Body.Attributes["value"]; a != nil {
					w.expression(child, f, a.Expr, nil)
				}
			})
		}
	default:
		if s.kind == "var" {
			m.blocks("variable", []string{s.a}, func(f *part, b *hclsyntax.Block) {
				if a := b.Body.Attributes["default"]; a != nil {
					w.d.noteConstants(f, a.Expr)
				}
			})
		}
		w.out = append(w.out, origin{declaration: at})
	}
}

// Settle makes the sources of moved values ephemeral if all uses permit that, and records in each result where the
// value is afterwards. It must be called once, after all moves of arguments. Settle moves data sources before
// variables: a data source may be the only user of a variable that does not accept an ephemeral value.
func (d *Draft) Settle(results []*Result) {
	for _, kind := range []string{"data", ""} {
		for _, r := range results {
			for _, o := range r.origins {
				if (o.kind == "data") == (kind == "data") {
					d.settle(o, r)
				}
			}
		}
	}
}

func (d *Draft) settle(o origin, r *Result) {
	switch {
	case o.literal != "":
		r.lives("in the configuration itself (" + o.literal + "), which everyone who can read it sees")
	case o.file != "":
		r.lives("in the file that an expression in " + o.file + " reads")
	case o.kind == "var" || o.kind == "data":
		of := d.settled[o.declaration]
		if of == nil {
			of = &Result{}
			d.settled[o.declaration] = of
			if o.kind == "var" {
				d.settleVariable(o.declaration, of)
			} else {
				d.settleData(o.declaration, of)
			}
		}
		for _, text := range of.Lives {
			r.lives(text)
		}
		for _, text := range of.Callers {
			r.caller(text)
		}
	case o.kind == "resource" && d.moved[o] != nil: // another move has moved the attribute of the resource
		for _, source := range d.moved[o] {
			d.settle(source, r)
		}
	case o.kind == "resource":
		r.lives(fmt.Sprintf("in the state, as a part of %s", o.symbol))
	case o.kind == "ephemeral":
		r.lives(fmt.Sprintf("in the source that %s reads", o.symbol))
	}
}

// settleData makes a data source an ephemeral resource, if all uses permit that. It records in r where the value is
// stored.
func (d *Draft) settleData(of declaration, r *Result) {
	if why := d.unless(func() string { return d.convert(of) }); why != "" {
		r.lives(fmt.Sprintf("in the source that %s reads, whose result the state still stores: %s", of, why))
		return
	}
	r.lives(readBy(of.a, of.b))
}

// readBy describes the place of a value that an ephemeral resource reads.
func readBy(typ, name string) string {
	return fmt.Sprintf("in the secret manager that ephemeral.%s.%s reads", typ, name)
}

// unless calls make, which edits texts and returns the reason why it refuses, or "". If make refuses, or a file that it
// has edited must not be changed, unless restores all texts. It returns the reason, or "".
func (d *Draft) unless(make func() string) string {
	mark := len(d.log)
	why := make()
	if why == "" {
		parts, _ := d.edited(mark)
		for _, p := range parts {
			if fixed := d.fixed(p.file); fixed != "" {
				why = fmt.Sprintf("%s must be edited, and %s", p.name, fixed)
			}
		}
	}
	if why != "" {
		d.restore(mark)
	}
	return why
}

func (r *Result) lives(text string) {
	if !slices.Contains(r.Lives, text) {
		r.Lives = append(r.Lives, text)
	}
}

// settleVariable makes a root variable ephemeral if each use permits that. It records in r where the value is stored.
func (d *Draft) settleVariable(of declaration, r *Result) {
	var p *permission
	why := d.unless(func() (why string) {
		p, why = d.permits(of)
		if why == "" && !d.declare(p.flips) {
			return "its declaration cannot be edited"
		}
		return why
	})
	if why != "" {
		r.lives(fmt.Sprintf("in the variable %s, which does not become ephemeral: %s. Plan files contain its value", of, why))
		return
	}
	if from := d.in.Given(of.a); from != "" {
		r.lives(fmt.Sprintf("in the ephemeral variable %s", of))
		r.caller(fmt.Sprintf("each run, for %s (now from %s)", of, from))
	} else {
		r.lives(fmt.Sprintf("in the default of the ephemeral variable %s, which everyone who can read the configuration sees", of))
	}
	for _, c := range p.callers {
		r.caller(c)
	}
}

func (r *Result) caller(text string) {
	if !slices.Contains(r.Callers, text) {
		r.Callers = append(r.Callers, text)
	}
}

// convert replaces a data block by an ephemeral block. It returns "" if it has replaced the block. Otherwise it returns
// the reason why this is not possible, as the end of a sentence.
func (d *Draft) convert(of declaration) string {
	m := of.m
	var edits []edit
	why := ""
	found := false
	m.blocks("data", []string{of.a, of.b}, func(f *part, b *hclsyntax.Block) {
		found = true
		kind := d.in.Block(m.nodes[0].Provider(localProvider(b)), addr.Ephemeral, of.a)
		if kind == nil {
			why = "the provider has no ephemeral resource " + of.a
			return
		}
		for name := range b.Body.Attributes {
			if a := kind.Attr(name); !meta[name] && (a == nil || !a.Required && !a.Optional) {
				why = fmt.Sprintf("the ephemeral resource has no argument %q", name)
			}
		}
		for _, inner := range b.Body.Blocks {
			if inner.Type != "lifecycle" && inner.Type != "dynamic" && kind.Nested(inner.Type) == nil {
				why = fmt.Sprintf("the ephemeral resource has no block %q", inner.Type)
			}
		}
		for _, u := range m.uses(of.symbol) {
			if names := u.steps(of.symbol); len(names) > 0 && !kind.HasPath(cty.GetAttrPath(names[0])) {
				why = fmt.Sprintf("the ephemeral resource has no attribute %q, which %s uses", names[0], describe(u))
			}
			root := u.traversal[0].SourceRange()
			edits = append(edits, replace(u.f, root, "ephemeral"))
		}
		edits = append(edits, replace(f, b.TypeRange, "ephemeral"))
	})
	taken := false
	m.blocks("ephemeral", []string{of.a, of.b}, func(*part, *hclsyntax.Block) { taken = true })
	switch {
	case !found && taken: // another move has converted the data source before
		return ""
	case !found:
		return "its block is in no file that can be edited"
	case taken:
		return fmt.Sprintf("ephemeral.%s.%s exists already", of.a, of.b)
	case why != "":
		return why
	}
	p, why := d.permits(of)
	switch {
	case why != "":
		return why
	case !d.apply(unique(edits)) || !d.declare(p.flips):
		return "its users cannot be edited"
	}
	d.note(of, "", fmt.Sprintf("is ephemeral.%s.%s afterwards.", of.a, of.b))
	return ""
}

// meta lists the arguments of resources that the language defines, not the provider.
var meta = map[string]bool{"count": true, "for_each": true, "provider": true, "depends_on": true}

// unique removes duplicate edits.
func unique(edits []edit) []edit {
	var out []edit
	for _, e := range edits {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// Data makes the result of a data source ephemeral: its block becomes an ephemeral block. If that is not possible, the
// draft does not change. The result then has the reason in Refused, or the edits for the user in ByHand.
func (d *Draft) Data(of addr.Resource) *Result {
	m := d.module(of.Module)
	if m == nil {
		return refused(undeclared(of))
	}
	r := &Result{}
	return d.attempt(r, func() string {
		if why := d.convert(declaration{m, symbol{"data", of.Type, of.Name}}); why != "" {
			return fmt.Sprintf("%s stays a data source: %s.", of, why)
		}
		r.lives(readBy(of.Type, of.Name))
		return ""
	})
}

// Variable makes a root variable ephemeral. If that is not possible, the draft does not change. The result then has the
// reason in Refused, or the edits for the user in ByHand.
func (d *Draft) Variable(name string) *Result {
	m := d.module(addr.Module{})
	r := &Result{}
	return d.attempt(r, func() string {
		of := declaration{m, symbol{"var", name, ""}}
		if d.in.Tree.Root.Module.Variables[name] == nil {
			return fmt.Sprintf("The configuration has no variable %q.", name)
		}
		if _, why := d.permits(of); why != "" {
			return fmt.Sprintf("%s cannot become ephemeral: %s.", of, why)
		}
		d.settleVariable(of, r)
		return ""
	})
}

// attempt makes a move, and returns its result. If make returns a reason, or an edited file must not be changed,
// attempt restores all texts. In the first case it returns a new result with the reason in Refused. Otherwise it
// returns r, in the second case with the edits in ByHand.
func (d *Draft) attempt(r *Result, make func() (why string)) *Result {
	mark := len(d.log)
	if why := make(); why != "" {
		d.restore(mark)
		return refused(why)
	}
	var kept []string
	parts, former := d.edited(mark)
	for _, p := range parts {
		if why := d.fixed(p.file); why != "" {
			kept = append(kept, fmt.Sprintf("%s was not changed, because %s.", p.name, why))
		}
	}
	if len(kept) == 0 {
		return r
	}
	for _, p := range parts {
		r.ByHand = append(r.ByHand, File{p.name, p.path, former[p], p.text, p.line()})
	}
	broken := d.brokenBy(slices.DeleteFunc(slices.Clone(d.effects), func(e effect) bool { return e.mark <= mark }))
	d.restore(mark)
	r.Notes, r.Resources, r.Versions = slices.Concat(slices.Compact(kept), r.Notes, broken), nil, nil
	return r
}

func undeclared(of addr.Resource) string {
	return fmt.Sprintf("%s is not in the configuration. If its object is no longer needed, apply the configuration, which destroys it.", of)
}
