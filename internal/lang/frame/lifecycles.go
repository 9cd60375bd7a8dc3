package frame

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// ResolveLifecycles evaluates the lifecycle arguments that must be known before the plan, and adds the lifecycle
// arguments of module calls to the resources in the called modules (config.Node.Amended). During validation, arguments
// that depend on unknown variables have no effect. It adds errors to bag, and returns false if it found any.
func ResolveLifecycles(tree *config.Tree, o Options, bag *diag.Bag) bool {
	r := &lifecycles{o: o, bag: bag, ok: true, around: map[*config.Node]aroundModule{}}
	tree.Root.Walk(r.node)
	return r.ok
}

// lifecycles has the data of one call of ResolveLifecycles.
type lifecycles struct {
	o      Options
	bag    *diag.Bag
	ok     bool
	around map[*config.Node]aroundModule
}

// aroundModule has the lifecycle arguments of all module calls in the path of a module.
type aroundModule struct{ protected, createFirst bool }

func (r *lifecycles) node(n *config.Node) {
	outer := r.around[n.Parent]
	if n.Call != nil && n.Call.PreventDestroy != nil {
		outer.protected = r.flag(n.Parent, n.Call.PreventDestroy, "prevent_destroy of "+n.Path.String()) || outer.protected
	}
	if n.Call != nil && n.Call.CreateFirst != nil {
		outer.createFirst = r.flag(n.Parent, n.Call.CreateFirst, "create_before_destroy of "+n.Path.String()) || outer.createFirst
	}
	if outer != (aroundModule{}) {
		r.around[n] = outer
	}
	n.Amended = nil
	if outer == (aroundModule{}) && !n.Module.ComputedLifecycles {
		return
	}
	for name, res := range n.Module.Resources {
		if l := res.Lifecycle; name.Mode == addr.Managed && (outer != (aroundModule{}) || l.FirstIf != nil || l.IgnoreIf != nil) {
			r.resource(n, res, outer)
		}
	}
}

func (r *lifecycles) resource(n *config.Node, res *config.Resource, outer aroundModule) {
	amended := *res
	life, of := &amended.Lifecycle, res.Name.In(n.Path).String()
	life.Protected = outer.protected
	if life.FirstIf != nil {
		life.CreateFirst = r.flag(n, life.FirstIf, "create_before_destroy of "+of)
	}
	life.CreateFirst = life.CreateFirst || outer.createFirst
	if life.IgnoreIf != nil {
		life.IgnoreAll, life.Ignore = r.ignored(n, life.IgnoreIf, "ignore_changes of "+of)
	}
	if n.Amended == nil {
		n.Amended = map[config.Name]*config.Resource{}
	}
	n.Amended[res.Name] = &amended
}

// value evaluates a lifecycle argument in a module and converts it to a type. It returns null if the argument is null,
// and during validation also if its value is unknown. After an error, it sets r.ok to false and returns null. In
// errors, the parameter what names the argument, and want names the required type.
func (r *lifecycles) value(n *config.Node, e hcl.Expression, what string, to cty.Type, want string) cty.Value {
	var bag diag.Bag
	v, ok := staticOf(n, r.o).Eval(e, what, &bag)
	if r.o.Validate && (!ok && !bag.HasErrors() || ok && !v.Raw.IsWhollyKnown()) {
		return cty.NullVal(to)
	}
	r.bag.Move(&bag)
	if !ok {
		r.ok = false
		return cty.NullVal(to)
	}
	fail := func(title, detail string) cty.Value {
		r.bag.Add(diag.Errorf(title, "%s", detail).At(e.Range()))
		r.ok = false
		return cty.NullVal(to)
	}
	switch {
	case v.Has(mark.Ephemeral):
		return fail("Ephemeral value not allowed", "This value is ephemeral and cannot be used as "+what+".")
	case v.Has(mark.Sensitive):
		return fail("Sensitive value not allowed", "This value is sensitive and cannot be used as "+what+".")
	}
	got, err := convert.To(v.Raw, to)
	switch {
	case err != nil:
		return fail("Unsuitable value type", fmt.Sprintf("The value of %s must be %s: %s.", what, want, expr.ConversionText(err)))
	case !got.IsWhollyKnown():
		return fail("Unsuitable value type", fmt.Sprintf("The value of %s must be known before the plan.", what))
	}
	return got
}

// flag evaluates a boolean lifecycle argument. It returns false if the argument is null, or after an error.
func (r *lifecycles) flag(n *config.Node, e hcl.Expression, what string) bool {
	v := r.value(n, e, what, cty.Bool, "a boolean")
	return !v.IsNull() && v.True()
}

// ignored evaluates ignore_changes, whose value is a list of attribute names or paths. The result all is true if the
// list contains "all". After an error, r.ok is false. The parameter what names the argument in errors.
func (r *lifecycles) ignored(n *config.Node, e hcl.Expression, what string) (all bool, out []hcl.Traversal) {
	const want = "a list of attribute names, such as [\"tags\"], or [\"all\"]"
	v := r.value(n, e, what, cty.List(cty.String), want)
	if v.IsNull() {
		return false, nil
	}
	for _, element := range v.AsValueSlice() {
		if element.IsNull() {
			r.bag.Add(diag.Errorf("Unsuitable value type", "The value of %s must be %s, and an element is null.", what, want).At(e.Range()))
			r.ok = false
			continue
		}
		if element.AsString() == "all" {
			all = true
			continue
		}
		t, ds := hclsyntax.ParseTraversalAbs([]byte(element.AsString()), e.Range().Filename, e.Range().Start)
		if ds.HasErrors() {
			r.bag.Add(diag.Errorf("Invalid expression", "An element of %s must be an attribute name, or a path with constant keys, such as tags[\"team\"], not %q.", what, element.AsString()).At(e.Range()))
			r.ok = false
			continue
		}
		t[0] = hcl.TraverseAttr{Name: t.RootName(), SrcRange: e.Range()}
		out = append(out, t)
	}
	return all, out
}
