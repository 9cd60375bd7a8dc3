package program

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// compiler compiles one unit. Its diagnostics name the first node that the unit stands at.
type compiler struct {
	u      *Unit
	n      *Node
	bag    *diag.Bag
	d      *Def
	arg    *argument // set while an argument of a call is compiled
	check  string    // the check block being compiled
	part   *[]use    // set while a part of a declaration is compiled that has references of its own
	static string    // what is evaluated statically and needs this; "" otherwise
	failed bool
	quiet  bool // what is compiled was compiled before: neither record nor report
}

func (c *compiler) error(title, detail string, at diag.Range) {
	c.bag.Add(diag.Diagnostic{Severity: diag.Error, Summary: title, Detail: detail}.At(at))
	c.failed = true
}

func (c *compiler) hcl(ds hcl.Diagnostics) {
	if !c.bag.HCL(ds) {
		c.failed = true
	}
}

func (c *compiler) in(why Use, pl AllowedRefs) *rewriter {
	return &rewriter{c: c, why: why, place: pl, locals: pl.given()}
}

func (n *Node) compiler(d *Def, static string, bag *diag.Bag) *compiler {
	return &compiler{u: n.Unit, n: n, bag: bag, d: d, static: static, quiet: true}
}

// inside is where the body of a repeated block stands.
func (c *compiler) inside(rep config.Repeat) AllowedRefs {
	return AllowedRefs{Count: rep.Count != nil, Each: rep.ForEach != nil}
}

// record notes a reference of the declaration being compiled, once for each target and key.
func (c *compiler) record(u use) {
	if c.quiet || c.d.Kind == Variable && u.local == c.d.Index && c.arg == nil {
		return // a validation is about the variable's own value, which it does not make
	}
	if u.output != "" {
		c.u.OutputUses = append(c.u.OutputUses, OutputUse{Of: u.local, Name: u.output, At: u.at})
	}
	if c.arg != nil {
		c.arg.uses = append(c.arg.uses, u)
		return
	}
	if c.part != nil {
		*c.part = append(*c.part, u)
	}
	id := u
	id.why, id.at = 0, diag.Range{}
	if i, ok := c.d.seen[id]; ok {
		c.d.uses[i].why |= u.why
		return
	}
	if c.d.seen == nil {
		c.d.seen = map[use]int{}
	}
	c.d.seen[id] = len(c.d.uses)
	c.d.uses = append(c.d.uses, u)
}

// varies notes that the declaration being compiled is no constant.
func (c *compiler) varies() {
	if !c.quiet {
		c.d.varies = true
	}
}

// owner is the index of the declaration being compiled, -1 if it is none of the unit's.
func (c *compiler) owner() int32 {
	if i := c.d.Index; int(i) < len(c.u.Defs) && c.u.Defs[i] == c.d {
		return i
	}
	return -1
}

// rewriter compiles the expressions of one declaration.
type rewriter struct {
	c       *compiler
	why     Use
	place   AllowedRefs
	locals  []locals // names of for variables and iterators, innermost last
	depth   int
	lenient int // calls of try and can around
	content int // contents of dynamic blocks around
}

// within runs f with more local names.
func (r *rewriter) within(names locals, f func()) {
	r.locals = append(r.locals, names)
	f()
	r.locals = r.locals[:len(r.locals)-1]
}

// inContent runs f in the content of a dynamic block.
func (r *rewriter) inContent(iterator string, f func()) {
	r.content++
	r.within(locals{iterator: nil}, f)
	r.content--
}

func (r *rewriter) isLocal(name string) bool {
	for _, names := range r.locals {
		if _, ok := names[name]; ok {
			return true
		}
	}
	return false
}

// loopOver is what the loop that a local name belongs to goes over, if that is something whole.
func (r *rewriter) loopOver(name string) *expr.Ref {
	for _, names := range slices.Backward(r.locals) {
		if over, ok := names[name]; ok {
			return over
		}
	}
	return nil
}

func (c *compiler) tooDeep(e hclsyntax.Expression) hclsyntax.Expression {
	c.error("Expression too deeply nested", "The parts of this expression are nested more than 2000 levels deep, which is more than can be evaluated safely.", e.Range())
	return expr.UnknownAt(e.Range())
}
