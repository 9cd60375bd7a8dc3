package frame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// Config evaluates the body of a resource for the instance k to a value of its schema's type. face selects the prior
// values (Before) or the planned values (After). For a managed resource or a data source, it reports ephemeral values
// in all arguments that are not write-only. If the evaluation fails, Config returns a status other than OK, and the
// value must not be used.
func (f *Frame) Config(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Status) {
	ld := f.local(d)
	v, leaves, outcome := evalBody(f, ld, k, nil, face, bag)
	if outcome == OK && stores(ld.Src.Res.Mode) && !acceptEphemeral(f, ld, v, leaves, bag) {
		outcome = Broken
	}
	return v, outcome
}

// stores reports whether the configuration of a resource or an action is stored, in a state or a plan. The
// configurations of ephemeral resources and of list blocks are not stored.
func stores(m addr.Mode) bool { return m == addr.Managed || m == addr.Data || m == addr.Action }

// WriteOnly evaluates the write-only arguments of an instance. All other arguments in the result are empty. It returns
// false if the configuration sets no write-only argument, or if an argument cannot be evaluated. It drops diagnostics,
// because Config reports them.
func (f *Frame) WriteOnly(d program.Decl, k addr.Key, face Face) (mark.Value, bool) {
	ld := f.local(d)
	b := f.w.p.Body(ld)
	if b != nil {
		b = b.WriteOnly()
	}
	if b == nil {
		return mark.Value{}, false
	}
	s := newScope(f, face, &diag.Bag{}).of(ld, k)
	defer s.release()
	v := b.Eval(&s.Env, s.Ctx)
	return s.split(v), s.outcome() == OK
}

// Settings evaluates the body of the instance k of a provider configuration. An implied configuration (a provider
// without a block) evaluates to an empty body. After an error it returns an unknown value and a status other than OK.
func (f *Frame) Settings(d program.Decl, k addr.Key, face Face, bag *diag.Bag) (mark.Value, Status) {
	if f.w.p.NodeOf(d) == nil {
		return mark.Plain(f.w.p.Schema(d).Empty()), OK
	}
	v, _, outcome := evalBody(f, f.local(d), k, nil, face, bag)
	return v, outcome
}

// evalBody evaluates the body of d for the instance k. It also returns the positions of ephemeral values inside sets.
// After an error it returns an unknown value and a status other than OK.
func evalBody(f *Frame, d *program.Def, k addr.Key, self *mark.Value, face Face, bag *diag.Bag) (mark.Value, []expr.SetLeaf, Status) {
	b := f.w.p.Body(d)
	if b == nil {
		return mark.Plain(cty.DynamicVal), nil, Broken // Bind has reported that the schema is missing
	}
	s := newScope(f, face, bag).of(d, k)
	defer s.release()
	s.setSelf(self)
	v := b.Eval(&s.Env, s.Ctx)
	if o := s.outcome(); o != OK {
		return mark.Plain(cty.DynamicVal), nil, o
	}
	if d.Kind == program.Resource && stores(d.Src.Res.Mode) {
		v = f.w.names.Forget(v, b.Schema.Type())
	}
	return s.split(v), s.SetLeaves, OK
}

// acceptEphemeral reports an error for each ephemeral value that would be stored, which means in any argument that is
// not write-only. It returns true if there is no such value.
func acceptEphemeral(f *Frame, d *program.Def, v mark.Value, leaves []expr.SetLeaf, bag *diag.Bag) bool {
	ok := true
	for _, m := range v.Marks {
		if m.Tag != mark.Ephemeral {
			continue
		}
		path, at := m.Path, sourceRange(d, m.Path)
		if i := slices.IndexFunc(leaves, func(l expr.SetLeaf) bool { return len(path) > 0 && l.Set == expr.StepName(path[len(path)-1]) }); i >= 0 {
			path, at = append(path.Copy(), leaves[i].Path...), leaves[i].At
			leaves = slices.Delete(slices.Clone(leaves), i, i+1)
		}
		if b := f.w.p.Body(d).Schema; !b.IsWriteOnly(m.Path) {
			ok = false
			refuseEphemeral(f, d, b, m, path, at, bag)
		}
	}
	return ok
}

func refuseEphemeral(f *Frame, d *program.Def, b *schema.Block, m mark.At, path cty.Path, at diag.Range, bag *diag.Bag) {
	name := mark.PathString(path)
	place := "the state"
	if d.Kind == program.Action {
		place = "saved plans"
	}
	detail := `"` + name + `" cannot accept an ephemeral value, because it is not write-only: its value is stored in ` + place + `.`
	if m.Why != nil {
		detail += "\n\nThe value comes from " + expr.Trail(m.Why) + "."
	}
	detail += sinkPath(d, b, path)
	out := diag.Errorf("Invalid use of an ephemeral value", "%s", detail).At(at).In(m.Path)
	out.Address = d.Src.Res.In(f.n.Config.Path).String() // without the instance key, so that the error appears once for all instances
	bag.Add(out)
}

// sinkPath returns a paragraph for the error about an ephemeral value. It suggests the write-only counterpart of the
// attribute if one exists, and otherwise the write-only arguments at the top level of the type. For a data source, and
// for a type without write-only arguments, it names the alternatives. It returns "" if the type has write-only
// arguments only in nested blocks or attributes.
func sinkPath(d *program.Def, b *schema.Block, path cty.Path) string {
	for i := len(path) - 1; i >= 0; i-- {
		step, ok := path[i].(cty.GetAttrStep)
		if !ok {
			continue
		}
		for _, name := range []string{step.Name + "_wo", step.Name + "_write_only"} {
			sibling := append(path[:i].Copy(), cty.GetAttrStep{Name: name})
			if a := b.Attribute(sibling); a != nil && a.Name == name && a.WriteOnly {
				return "\n\nUse the write-only argument \"" + mark.PathString(sibling) + "\" instead. It accepts ephemeral values and is not stored."
			}
		}
	}
	if d.Src.Res.Mode == addr.Data {
		return "\n\nThe state stores all arguments of data sources. Check whether the provider has an \"ephemeral\" resource with the same data."
	}
	if !b.HasWriteOnly() {
		return fmt.Sprintf("\n\nResources of type %q have no write-only arguments. Use a value that is not ephemeral, or check whether another version of the provider has a write-only argument.", d.Src.Res.Type)
	}
	var names []string
	for _, a := range b.Attrs {
		if a.WriteOnly {
			names = append(names, fmt.Sprintf("%q", a.Name))
		}
	}
	if len(names) == 0 { // write-only arguments exist only in nested blocks or attributes
		return ""
	}
	return fmt.Sprintf("\n\nThese arguments accept ephemeral values: %s.", strings.Join(names, ", "))
}

// Where returns the range in the configuration that sets the attribute at path: the range of the last step of the path
// that the source contains, or the range of the block. For an implied provider configuration it returns an empty range.
func (f *Frame) Where(d program.Decl, path cty.Path) diag.Range {
	if f.w.p.NodeOf(d) == nil {
		return diag.Range{}
	}
	return sourceRange(f.local(d), path)
}

// WhereIn returns the range that sets the attribute at path in a body without a declaration, such as the body of a
// provisioner. otherwise is the range of the block.
func (f *Frame) WhereIn(b hcl.Body, sch *schema.Block, otherwise diag.Range, path cty.Path) diag.Range {
	return f.n.Where(b, sch, otherwise, path)
}

func sourceRange(d *program.Def, path cty.Path) diag.Range {
	if d.Body == nil {
		return d.At
	}
	return d.Body.Where(d.At, path)
}
