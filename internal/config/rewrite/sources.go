package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
)

// fresh lists the functions that return another value at each call.
var fresh = map[string]bool{"uuid": true, "timestamp": true, "bcrypt": true}

// origins returns the places that the value of an expression comes from, each once.
func (d *Draft) origins(m *module, f *file, e hclsyntax.Expression) []origin {
	w := &tracing{d: d, visited: map[declaration]bool{}}
	w.expression(m, f, e)
	return w.out
}

type tracing struct {
	d       *Draft
	visited map[declaration]bool
	out     []origin
}

func (w *tracing) expression(m *module, f *file, e hclsyntax.Expression) {
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
		m.blocks("locals", nil, func(f *file, b *hclsyntax.Block) {
			if a := b.Body.Attributes[s.a]; a != nil {
				w.expression(m, f, a.Expr)
			}
		})
	case s.kind == "var" && !m.root():
		w.d.calls(m, func(parent *module, call string) {
			parent.blocks("module", []string{call}, func(f *file, b *hclsyntax.Block) {
				if a := b.Body.Attributes[s.a]; a != nil {
					w.expression(parent, f, a.Expr)
				}
			})
		})
	case s.kind == "module":
		for _, child := range w.d.children(m, s.a) {
			child.blocks("output", nil, func(f *file, b *hclsyntax.Block) {
				if a := b.Body.Attributes["value"]; a != nil && (s.b == "" || s.b == b.Labels[0]) {
					w.expression(child, f, a.Expr)
				}
			})
		}
	default:
		w.out = append(w.out, origin{declaration: at})
	}
}

// Settle makes the sources of moved values ephemeral where each use permits that, and records where the values are
// afterwards. It must be called once, after all moves of arguments.
func (d *Draft) Settle(results []*Result) {
	for _, r := range results {
		for _, o := range r.origins {
			d.settle(o, r)
		}
	}
}

func (d *Draft) settle(o origin, r *Result) {
	switch {
	case o.literal != "":
		r.lives("in the configuration itself (" + o.literal + "), which everyone who can read it sees")
	case o.file != "":
		r.lives("in the file that an expression in " + o.file + " reads")
	case o.kind == "var":
		d.settleVariable(o.declaration, r)
	case o.kind == "data":
		if why := d.unless(func() string { return d.convert(o.declaration) }); why != "" {
			r.lives(fmt.Sprintf("in the source that %s reads, whose result the state still stores: %s", o.symbol, why))
		} else {
			r.lives(readBy(o.a, o.b))
		}
	case o.kind == "resource":
		r.lives(fmt.Sprintf("in the state, as a part of %s", o.symbol))
	case o.kind == "ephemeral":
		r.lives(fmt.Sprintf("in the source that %s reads", o.symbol))
	}
}

// readBy describes the place of a value that an ephemeral resource reads.
func readBy(typ, name string) string {
	return fmt.Sprintf("in the secret manager that ephemeral.%s.%s reads", typ, name)
}

// unless makes edits. If make returns a reason, or a file must not be changed, all texts stay, and it returns the reason.
func (d *Draft) unless(make func() string) string {
	old := d.texts()
	why := make()
	if why == "" {
		for _, f := range d.edited(old) {
			if fixed := d.fixed(f); fixed != "" {
				why = fmt.Sprintf("%s must be edited, and %s", f.name, fixed)
			}
		}
	}
	if why != "" {
		d.restore(old)
	}
	return why
}

func (r *Result) lives(text string) {
	if !slices.Contains(r.Lives, text) {
		r.Lives = append(r.Lives, text)
	}
}

// settleVariable makes a root variable ephemeral, if each use permits that.
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

// convert replaces a data block by an ephemeral block. It returns the reason why that is not possible, as the end of a
// sentence, and "" if it was done.
func (d *Draft) convert(of declaration) string {
	m := of.m
	var edits []edit
	why := ""
	found := false
	m.blocks("data", []string{of.a, of.b}, func(f *file, b *hclsyntax.Block) {
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
	m.blocks("ephemeral", []string{of.a, of.b}, func(*file, *hclsyntax.Block) { taken = true })
	switch {
	case !found && taken: // converted before
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
	return ""
}

// meta lists the arguments of resources that belong to the language.
var meta = map[string]bool{"count": true, "for_each": true, "provider": true, "depends_on": true}

// unique removes equal edits.
func unique(edits []edit) []edit {
	var out []edit
	for _, e := range edits {
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	return out
}

// Data moves the result of a data source: its block becomes an ephemeral block.
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

// Variable makes a root variable ephemeral.
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

// attempt makes a move. If make returns a reason, or an edited file must not be changed, all texts stay.
func (d *Draft) attempt(r *Result, make func() (why string)) *Result {
	old := d.texts()
	if why := make(); why != "" {
		d.restore(old)
		return refused(why)
	}
	var kept []string
	edited := d.edited(old)
	for _, f := range edited {
		if why := d.fixed(f); why != "" {
			kept = append(kept, fmt.Sprintf("%s was not changed, because %s.", f.name, why))
		}
	}
	if len(kept) == 0 {
		return r
	}
	text := ""
	for _, f := range edited {
		text += Difference(f.name, old[f], f.text)
	}
	d.restore(old)
	r.Notes, r.ByHand, r.Resources = append(kept, r.Notes...), text, nil
	return r
}

func undeclared(of addr.Resource) string {
	return fmt.Sprintf("%s is not in the configuration. If its object is no longer needed, apply the configuration, which destroys it.", of)
}
