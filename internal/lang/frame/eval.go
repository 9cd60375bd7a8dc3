package frame

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
)

// Value is the value of what a reference names (expr.Scope).
func (s *scope) Value(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	switch e.Root {
	case expr.RootVariable, expr.RootLocal:
		if s.tried != nil && e.Local == s.d.Index {
			return *s.tried, nil
		}
		return s.read(s.f, s.f.u.Defs[e.Local]), nil
	case expr.RootCall:
		if e.HasKey {
			return s.moduleAt(e, e.Key.Value(), e.KeyRange())
		}
		if e.Output == "" && len(e.Rest) > 0 {
			return cty.DynamicVal, unexpectedKey(e)
		}
		return s.module(e)
	case expr.RootResource:
		d := s.f.u.Defs[e.Local]
		if e.HasKey {
			return s.instanceAt(d, e.Key.Value(), e.KeyRange())
		}
		return s.wholeOf(s.f, d), nil
	case expr.RootPath, expr.RootTerraform:
		return s.builtin(e), nil
	}
	return s.symbol(e)
}

// Instance is the value of one instance of what a reference names (expr.Scope).
func (s *scope) Instance(e *expr.Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if e.Root == expr.RootCall {
		return s.moduleAt(e, key, at)
	}
	return s.instanceAt(s.f.u.Defs[e.Local], key, at)
}

// Sample stands for any instance of something repeated (expr.Scope).
func (s *scope) Sample(e *expr.Ref) (cty.Value, bool) {
	d := s.f.u.Defs[e.Local]
	if keys := s.keysOf(s.f, d); keys.Status == Known && (!s.f.w.o.Validate || s.placeholders(d) != nil) {
		return cty.NilVal, false
	}
	if e.Root == expr.RootCall {
		return s.allOutputs(s.f.child(d, addr.NoKey)), true
	}
	return s.placeholder(s.f, d), true
}

// symbol is the value of count.index, each.key, each.value or self.
func (s *scope) symbol(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	if e.Root == expr.RootSelf {
		if s.self == nil {
			return cty.DynamicVal, nil
		}
		return *s.self, nil
	}
	if s.pair != nil && e.Root == expr.RootEach {
		return s.pair.of(e.Field), nil
	}
	if s.key.IsNone() {
		return s.unknownSymbol(e), nil
	}
	if e.Root == expr.RootEach && e.Field == "value" {
		if v, ok := s.eachValue(); ok {
			return v, nil
		}
		return cty.DynamicVal, expr.ErrorAt("each.value cannot be used in this context", `A reference to "each.value" has been used in a context in which it is unavailable, such as when the configuration no longer contains the value in its "for_each" expression. Remove this reference to each.value in your configuration to work around this error.`, e.SrcRange)
	}
	return s.hidden(s.key.Value()), nil
}

// hidden marks a key that came from ephemeral values.
func (s *scope) hidden(v cty.Value) cty.Value {
	if s.d == nil || s.d.Kind != program.Resource || s.d.Res.Mode != addr.Ephemeral || s.d.Repetition == nil {
		return v
	}
	if r := s.own(); r.Hidden {
		s.Marked = true
		return mark.With(v, mark.Ephemeral, originOf(s.f, s.d))
	}
	return v
}

// unknownSymbol is what count and each are where nothing says which instance is meant.
func (s *scope) unknownSymbol(e *expr.Ref) cty.Value {
	switch {
	case e.Root == expr.RootCount:
		return cty.UnknownVal(cty.Number).RefineNotNull()
	case e.Field == "key":
		return cty.UnknownVal(cty.String).RefineNotNull()
	}
	return s.unknownEach()
}

// builtin is the value of path.x and terraform.x.
func (s *scope) builtin(e *expr.Ref) cty.Value {
	o := &s.f.w.o
	switch e.Field {
	case "workspace":
		if o.Validate {
			return cty.UnknownVal(cty.String).RefineNotNull()
		}
		return cty.StringVal(o.Workspace)
	case "applying":
		s.Marked = true
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
		return cty.StringVal(o.shown(s.f.root().u.Module.Dir))
	}
	return cty.StringVal(s.f.n.Config.Way(o.shown))
}

// instanceAt is one instance of a resource.
func (s *scope) instanceAt(d *program.Def, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	keys := s.keysOf(s.f, d)
	k, known, diags := s.key1(keys, key, at)
	if len(diags) > 0 {
		return s.hide(s.f, d, keys, cty.DynamicVal), diags
	}
	if !known {
		return s.placeholder(s.f, d), nil
	}
	return s.instance(s.f, d, k), nil
}

// key1 turns an index into an instance key that exists; known is false if that cannot be said yet.
func (s *scope) key1(keys Keys, index cty.Value, at hcl.Range) (k addr.Key, known bool, diags hcl.Diagnostics) {
	if keys.Hidden = keys.Hidden || index.IsMarked(); keys.Hidden {
		index, _ = mark.Bare(index)
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
	if k, ok := addr.KeyOf(index); ok && keys.has(k) {
		return k, true, nil
	}
	if s.face == Before {
		return k, false, nil // it is not there yet
	}
	return k, false, expr.ErrorAt("Invalid index", "The given key does not identify an element in this collection value"+whyNot(keys, index), at)
}

// whyNot says why there is no such instance.
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

// module is a whole module call: an object of outputs, or all its instances.
func (s *scope) module(e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	call := s.f.u.Defs[e.Local]
	keys := s.keysOf(s.f, call)
	switch {
	case keys.Status != Known:
		return cty.DynamicVal, nil
	case keys.Repeat == program.Enabled && len(keys.List) == 0:
		if e.Output == "" {
			return cty.NullVal(cty.DynamicPseudoType), nil
		}
		return cty.DynamicVal, expr.ErrorAt("Attempt to get attribute from null value", "This value is null, so it does not have any attributes.", e.SrcRange)
	case keys.Repeat == program.Once || keys.Repeat == program.Enabled:
		return s.outputs(s.f.child(call, addr.NoKey), e)
	case s.f.w.o.Validate:
		known := s.placeholders(call)
		if known == nil {
			return cty.DynamicVal, nil
		}
		keys.List = known
		any := s.allOutputs(s.f.child(call, addr.NoKey))
		return assemble(keys, func(addr.Key) cty.Value { return any }, nil), nil
	}
	get := func(k addr.Key) cty.Value { return s.allOutputs(s.f.child(call, k)) }
	return assemble(keys, get, func() cty.Value { return cty.DynamicVal }), nil
}

// unexpectedKey reports a number as the key of a single module, whose outputs have names. An expression that is not
// used, or that try makes up for, may have one.
func unexpectedKey(e *expr.Ref) hcl.Diagnostics {
	return expr.ErrorAt("Unexpected module instance key", fmt.Sprintf(`Because %s does not have "count" or "for_each" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this module.`, config.ReferenceText(e.Traversal[:2])), e.Traversal[:3].SourceRange())
}

// moduleAt is one instance of a module call, or one output of it.
func (s *scope) moduleAt(e *expr.Ref, key cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	call := s.f.u.Defs[e.Local]
	k, known, diags := s.key1(s.keysOf(s.f, call), key, at)
	if len(diags) > 0 {
		return cty.DynamicVal, diags
	}
	if !known && !s.f.w.o.Validate {
		return cty.DynamicVal, nil
	}
	return s.outputs(s.f.child(call, k), e)
}

// outputs is what a reference to a module instance names: an output, or the object of all of them.
func (s *scope) outputs(f *Frame, e *expr.Ref) (cty.Value, hcl.Diagnostics) {
	if f == nil || e.Output == "" {
		return s.allOutputs(f), nil
	}
	i, ok := f.u.Index(program.Output, e.Output)
	switch {
	case ok:
		return s.read(f, f.u.Defs[i]), nil
	case f.u.Module.Unreadable():
		return cty.DynamicVal, nil
	}
	hint := diag.DidYouMean(e.Output, slices.Collect(maps.Keys(f.u.ByName[program.Output])))
	if hint == "" {
		hint = fmt.Sprintf(" Module %q declares no output of that name.", f.n.Config.Call.Name)
	}
	return cty.DynamicVal, expr.ErrorAt("Unsupported attribute", fmt.Sprintf("This object does not have an attribute named %q.%s", e.Output, hint), e.SrcRange)
}

// allOutputs is the object of the outputs of a module instance.
func (s *scope) allOutputs(f *Frame) cty.Value {
	if f == nil {
		return cty.DynamicVal
	}
	if f.u.Module.Unreadable() {
		return cty.DynamicVal // it may have more outputs than can be read
	}
	vals := make(map[string]cty.Value, len(f.u.ByName[program.Output]))
	for name, i := range f.u.ByName[program.Output] {
		vals[name] = s.read(f, f.u.Defs[i])
	}
	return cty.ObjectVal(vals)
}

// unknownEach is each.value while nothing is known about the instance.
func (s *scope) unknownEach() cty.Value {
	if s.d == nil || s.d.Repetition == nil {
		return cty.DynamicVal
	}
	r := s.own()
	s.Marked = s.Marked || r.marked
	for _, v := range r.each { // only its type and marks: any will do if there is one of them
		if len(r.each) == 1 {
			bare, remark := mark.BareDeep(v)
			return remark(cty.UnknownVal(bare.Type()))
		}
	}
	return anyOf(r.each)
}

// anyOf stands for any of several values.
func anyOf(vs map[string]cty.Value) cty.Value {
	out := cty.DynamicVal
	for _, v := range vs {
		_, remark := mark.BareDeep(v)
		out = remark(out)
	}
	return out
}

// nearKey is " Did you mean …?" for the key of an instance that is not there.
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
