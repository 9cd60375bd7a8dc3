package program

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// compiler compiles one unit: a module, once for all its calls. Its diagnostics name n, the node (place in the tree of
// modules) at which the module occurs first.
type compiler struct {
	u       *Unit
	n       *Node
	bag     *diag.Bag
	d       *Def      // the declaration that is being compiled
	arg     *argument // the argument of a module call that is being compiled, or nil
	check   string    // the name of the check block that is being compiled, or ""
	part    *[]use    // the references of the provisioner or connection that is being compiled, or nil
	static  string    // the name of the feature that needs a static evaluation (before a program exists), for messages; otherwise ""
	failed  bool
	discard bool // references are not recorded, because the text was compiled before
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
	return &compiler{u: n.Unit, n: n, bag: bag, d: d, static: static, discard: true}
}

// inside returns which of the symbols count and each the body of a block with this repetition may use.
func (c *compiler) inside(rep config.Repeat) AllowedRefs {
	return AllowedRefs{Count: rep.Count != nil, Each: rep.ForEach != nil}
}

// record adds a reference to the argument, provisioner, connection or declaration that is being compiled.
func (c *compiler) record(u use) {
	if c.discard || c.d.Kind == Variable && u.local == c.d.Index && c.arg == nil {
		return // a validation rule refers to its own variable, which is no dependency
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
	c.d.refs.add(u)
}

// varies records that the declaration that is being compiled is not a constant (constants.go).
func (c *compiler) varies() {
	if !c.discard {
		c.d.refs.varies = true
	}
}

// owner returns the index of the declaration that is being compiled, or -1 if the declaration is not in the unit.
func (c *compiler) owner() int32 {
	if i := c.d.Index; int(i) < len(c.u.Defs) && c.u.Defs[i] == c.d {
		return i
	}
	return -1
}

// rewriter compiles the expressions of one declaration, by rewriting their syntax trees.
type rewriter struct {
	c       *compiler
	why     Use         // the reason for the references in the expressions, such as ByValue
	place   AllowedRefs // the symbols that the expressions may use
	locals  []locals    // the names of loop variables and iterators, the innermost last
	depth   int         // the depth of the expression that is being compiled inside the whole expression
	lenient int         // the number of calls of try and can around the expression
	content int         // the number of dynamic blocks around the expression
}

// within calls f with additional local names (names of loop variables).
func (r *rewriter) within(names locals, f func()) {
	r.locals = append(r.locals, names)
	f()
	r.locals = r.locals[:len(r.locals)-1]
}

// inContent calls f to compile the content of a dynamic block, in which the iterator of the block is a local name.
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

// loopOver returns the declaration over which the loop of a local name iterates. It returns nil if the name is not
// local, or if the loop iterates over anything other than a whole declaration.
func (r *rewriter) loopOver(name string) *expr.Ref {
	for _, names := range slices.Backward(r.locals) {
		if loop, ok := names[name]; ok {
			return loop
		}
	}
	return nil
}

func (c *compiler) tooDeep(e hclsyntax.Expression) hclsyntax.Expression {
	c.error("Expression too deeply nested", "The parts of this expression are nested more than 2000 levels deep. Move parts into local values.", e.Range())
	return expr.UnknownAt(e.Range())
}
