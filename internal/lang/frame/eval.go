package frame

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/syntax"
	"github.com/zclconf/go-cty/cty"
)

// moduleCalls reads the outputs of the modules that the module of the scope calls.
type moduleCalls struct{ s *scope }

// Value returns the value that a reference names. It is a method of expr.Scope.
func (r references) Value(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	switch e.Root {
	case expr.RootVariable, expr.RootLocal:
		if r.s.tried != nil && e.Local == r.s.d.Index {
			return *r.s.tried, nil
		}
		return r.s.read(r.s.f, r.s.f.u.Defs[e.Local]), nil
	case expr.RootCall:
		if e.HasKey {
			return moduleCalls(r).moduleAt(e, e.Key.Value(), e.KeyRange())
		}
		if e.Output == "" && len(e.Rest) > 0 {
			return cty.DynamicVal, unexpectedKey(e)
		}
		return moduleCalls(r).module(e)
	case expr.RootResource:
		d := r.s.f.u.Defs[e.Local]
		if e.HasKey {
			return resources(r).instanceAt(d, e.Key.Value(), e.KeyRange())
		}
		return resources(r).wholeOf(r.s.f, d), nil
	case expr.RootPath, expr.RootTerraform:
		return r.builtin(e), nil
	}
	return symbols(r).value(e)
}

// Instance returns the value of one instance of the resource or module that a reference names. It is a method of
// expr.Scope.
func (r references) Instance(e *expr.Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if e.Root == expr.RootCall {
		return moduleCalls(r).moduleAt(e, key, at)
	}
	return resources(r).instanceAt(r.s.f.u.Defs[e.Local], key, at)
}

// Sample returns a value that represents any instance of a repeated resource or module. It returns false if the
// instances are known. During validation, they count as known only if they are few (see placeholders). It is a method
// of expr.Scope.
func (r references) Sample(e *expr.Ref) (cty.Value, bool) {
	d := r.s.f.u.Defs[e.Local]
	if keys := r.s.keysOf(r.s.f, d); keys.Status == Known && (!r.s.f.w.o.Validate || r.s.placeholders(d) != nil) {
		return cty.NilVal, false
	}
	if e.Root == expr.RootCall {
		if !r.s.f.w.o.Validate {
			return cty.DynamicVal, true // no instance is known that could be a sample
		}
		return moduleCalls(r).allOutputs(r.s.f.child(d, addr.NoKey)), true
	}
	return resources(r).placeholder(r.s.f, d), true
}

// builtin returns the value of path.NAME or terraform.NAME. During validation, terraform.workspace and
// terraform.applying are unknown, and so is path.cwd if the options do not contain it. terraform.applying is always
// ephemeral.
func (r references) builtin(e *expr.Ref) cty.Value {
	o := &r.s.f.w.o
	switch e.Field {
	case "workspace":
		if o.Validate {
			return cty.UnknownVal(cty.String).RefineNotNull()
		}
		return cty.StringVal(o.Workspace)
	case "applying":
		r.s.Marked = true
		v := cty.BoolVal(o.Applying)
		if o.Validate {
			v = cty.UnknownVal(cty.Bool).RefineNotNull()
		}
		return mark.With(v, mark.Ephemeral, &mark.Origin{What: e.Traversal.RootName() + ".applying", Range: e.SrcRange})
	case "cwd":
		if o.Cwd == "" && o.Validate {
			return cty.UnknownVal(cty.String).RefineNotNull()
		}
		return cty.StringVal(filepath.ToSlash(o.Cwd))
	case "root":
		return cty.StringVal(o.shown(r.s.f.root().u.Module.Dir))
	}
	return cty.StringVal(r.s.f.n.Config.SourceDir(o.shown))
}

// instanceAt returns the value of the instance of a resource that key selects, or diagnostics if no instance can have
// the key. If the key or the instances are unknown, the value represents any instance. The parameter at is the range of
// the key.
func (o resources) instanceAt(d *program.Def, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	keys := o.s.keysOf(o.s.f, d)
	k, known, diags := o.s.keyOf(d, keys, key, at)
	if len(diags) > 0 {
		return o.hide(o.s.f, d, keys, cty.DynamicVal), diags
	}
	if !known {
		return o.placeholder(o.s.f, d), nil
	}
	return o.instance(o.s.f, d, k), nil
}

// keyOf converts an index to the key of an instance of d. It returns an error if the index is null or has the wrong
// type, or if the instance does not exist. known is false after an error, and if it is not known yet whether the
// instance exists: the index or the keys are unknown, or this is a validation. On the Before face (the prior state), a
// missing instance counts as not known. The exception is a console, where it is an error if the After face (the planned
// state) lacks the instance, too.
func (s *scope) keyOf(d *program.Def, keys Keys, index cty.Value, at hcl.Range) (k addr.Key, known bool, diags hcl.Diagnostics) {
	if keys.Hidden = keys.Hidden || index.IsMarked(); keys.Hidden {
		index, _ = mark.Unmark(index)
	}
	if index.IsNull() {
		return k, false, expr.ErrorAt("Invalid index", "Can't use a null value as an indexing key.", at)
	}
	want := cty.String
	if keys.Repeat == program.Count {
		want = cty.Number
	}
	index, err := convert.To(index, want)
	if err != nil {
		return k, false, expr.ErrorAt("Invalid index", fmt.Sprintf("The given key does not identify an element in this collection value: %s.", err), at)
	}
	if keys.Status != Known || s.f.w.o.Validate || !index.IsKnown() {
		return k, false, nil
	}
	k, ok := addr.KeyOf(index)
	if ok && keys.has(k) {
		return k, true, nil
	}
	if s.face == Before && !(ok && s.f.w.o.Console && s.f.keys(d, After, &diag.Bag{}).Lacks(k)) {
		return k, false, nil // the instance may not exist yet in the prior state
	}
	return k, false, expr.ErrorAt("Invalid index", "The given key does not identify an element in this collection value"+whyNot(keys, index), at)
}

// whyNot returns the reason why an instance does not exist, as the end of a message.
func whyNot(keys Keys, index cty.Value) string {
	if index.Type() != cty.Number {
		return "." + nearKey(keys, index.AsString())
	}
	f := index.AsBigFloat()
	switch {
	case !f.IsInt():
		return ": indexing a sequence requires a whole number, but the given index has a fractional part."
	case f.Sign() < 0:
		return ": a negative number is not a valid index for a sequence."
	case len(keys.List) == 0:
		return ": the collection has no elements."
	}
	return ": the given index is greater than or equal to the length of the collection."
}

// module returns the value of a whole module call: an object of outputs, or all instances. If the reference names one
// output, the object has only that output. The value is unknown if the instances are not known. If the call has the
// argument enabled and no instance, the value is null, and a reference to an output is an error.
func (m moduleCalls) module(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	call := m.s.f.u.Defs[e.Local]
	keys := m.s.keysOf(m.s.f, call)
	switch {
	case keys.Status != Known:
		return cty.DynamicVal, nil
	case keys.Repeat == program.Enabled && len(keys.List) == 0:
		if e.Output == "" {
			return cty.NullVal(cty.DynamicPseudoType), nil
		}
		return cty.DynamicVal, expr.ErrorAt("Attempt to get attribute from null value", "This value is null, so it does not have any attributes.", e.SrcRange)
	case keys.Repeat == program.Once || keys.Repeat == program.Enabled:
		return m.outputs(m.s.f.child(call, addr.NoKey), e)
	case m.s.f.w.o.Validate:
		known := m.s.placeholders(call)
		if known == nil {
			return cty.DynamicVal, nil
		}
		keys.List = known
		any := m.allOutputs(m.s.f.child(call, addr.NoKey))
		return assemble(keys, func(addr.Key) cty.Value { return any }, nil), nil
	}
	get := func(k addr.Key) cty.Value { return m.allOutputs(m.s.f.child(call, k)) }
	return assemble(keys, get, func() cty.Value { return cty.DynamicVal }), nil
}

// unexpectedKey returns the error for a number as the key of a single module, whose outputs have names. The error is
// reported by the evaluation and not before, because the expression may never be evaluated, or may be inside try.
func unexpectedKey(e *expr.Ref) hcl.Diagnostics {
	return expr.ErrorAt("Unexpected module instance key", fmt.Sprintf(`Because %s does not have "count" or "for_each" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this module.`, syntax.ReferenceText(e.Traversal[:2])), e.Traversal[:3].SourceRange())
}

// moduleAt returns the outputs of the instance of a module call that key selects, or only the output e.Output if the
// reference names one. It returns diagnostics if no instance can have the key. If the key or the instances are unknown,
// the result is unknown. During validation it is then the outputs of the placeholder, the one instance that represents
// all. The parameter at is the range of the key.
func (m moduleCalls) moduleAt(e *expr.Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	call := m.s.f.u.Defs[e.Local]
	k, known, diags := m.s.keyOf(call, m.s.keysOf(m.s.f, call), key, at)
	if len(diags) > 0 {
		return cty.DynamicVal, diags
	}
	if !known && !m.s.f.w.o.Validate {
		return cty.DynamicVal, nil
	}
	return m.outputs(m.s.f.child(call, k), e)
}

// outputs returns the output of the module instance f that a reference names, or the object of all outputs if the
// reference names none. If f is nil, it returns an unknown value. If the module has no such output, it returns an
// unknown value, and an error unless the source of the module could not be read.
func (m moduleCalls) outputs(f *Frame, e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	if f == nil || e.Output == "" {
		return m.allOutputs(f), nil
	}
	i, ok := f.u.Index(program.Output, e.Output)
	switch {
	case ok:
		return m.s.read(f, f.u.Defs[i]), nil
	case f.u.Module.Unreadable():
		return cty.DynamicVal, nil
	}
	hint := diag.DidYouMean(e.Output, slices.Collect(maps.Keys(f.u.ByName[program.Output])))
	if hint == "" {
		hint = fmt.Sprintf(" Module %q declares no output of that name.", f.n.Config.Call.Name)
	}
	return cty.DynamicVal, expr.ErrorAt("Unsupported attribute", fmt.Sprintf("This object does not have an attribute named %q.%s", e.Output, hint), e.SrcRange)
}

// allOutputs returns the object of all outputs of a module instance. It is unknown if f is nil, or if the source of the
// module could not be read.
func (m moduleCalls) allOutputs(f *Frame) cty.Value {
	if f == nil {
		return cty.DynamicVal
	}
	if f.u.Module.Unreadable() {
		return cty.DynamicVal // an output may be in a part of the source that could not be read
	}
	vals := make(map[string]cty.Value, len(f.u.ByName[program.Output]))
	for name, i := range f.u.ByName[program.Output] {
		vals[name] = m.s.read(f, f.u.Defs[i])
	}
	return cty.ObjectVal(vals)
}

// nearKey returns " Did you mean …?" with the key most similar to given, which does not exist. It returns "" if no key
// is similar.
func nearKey(keys Keys, given string) string {
	if keys.Hidden || len(keys.List) > expr.MostNames {
		return ""
	}
	var names []string
	for _, k := range keys.List {
		if s, ok := k.Str(); ok {
			names = append(names, s)
		}
	}
	return diag.DidYouMean(given, names)
}
