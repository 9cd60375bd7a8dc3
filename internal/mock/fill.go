package mock

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// filler sets the values that a provider decides: computed attributes that the configuration does not set.
type filler struct {
	of      string // the address of the object
	unknown bool   // the values that a provider decides are unknown
	nulls   bool   // also decide computed attributes that are null in the configuration; at depth 0, decide only these
	deep    int    // depth of the nested attributes and blocks that contain the present value
	err     error
}

// block returns v, the value of a block at path, with its computed attributes set. config is the block in the
// configuration. given is an object with the values to use, or NilVal: other values are invented. If v is null or
// unknown, block returns it unchanged.
func (f *filler) block(b *schema.Block, v, config, given cty.Value, path cty.Path) cty.Value {
	if v.IsNull() || !v.IsKnown() {
		return v
	}
	out := map[string]cty.Value{}
	for _, a := range b.Attrs {
		out[a.Name] = f.attr(a, v.GetAttr(a.Name), part(config, a.Name), part(given, a.Name), path.GetAttr(a.Name))
	}
	f.deep++
	defer func() { f.deep-- }()
	for _, n := range b.Blocks {
		inner := f.object(part(given, n.Name), path.GetAttr(n.Name))
		out[n.Name] = each(v.GetAttr(n.Name), path.GetAttr(n.Name), func(v cty.Value, path cty.Path) cty.Value {
			return f.block(n.Block, v, v, inner, path)
		})
	}
	return cty.ObjectVal(out)
}

// attr returns the value of an attribute at path, with the values that the provider decides. v is the proposed value.
// config is the value in the configuration, and given the value to use; both may be NilVal.
func (f *filler) attr(a *schema.Attr, v, config, given cty.Value, path cty.Path) cty.Value {
	decides := a.Computed && (!v.IsKnown() && (f.deep > 0 || !f.nulls) || f.nulls && config != cty.NilVal && config.IsNull())
	switch {
	case decides && f.unknown:
		return cty.UnknownVal(a.Type)
	case decides:
		return f.made(a, given, path)
	case a.Object != nil && v.IsKnown() && !v.IsNull():
		inside := &schema.Block{Attrs: a.Object.Attrs}
		f.deep++
		defer func() { f.deep-- }()
		inner := f.object(given, path)
		return each(v, path, func(v cty.Value, path cty.Path) cty.Value {
			return f.block(inside, v, v, inner, path)
		})
	}
	return v
}

// each applies fill to an object, or to each element of a collection or tuple. It returns null and unknown values
// unchanged.
func each(v cty.Value, path cty.Path, fill func(cty.Value, cty.Path) cty.Value) cty.Value {
	ty := v.Type()
	switch {
	case v.IsNull() || !v.IsKnown():
		return v
	case ty.IsObjectType():
		return fill(v, path)
	case v.LengthInt() == 0:
		return v
	}
	var list []cty.Value
	byKey := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		e = fill(e, path.Index(k))
		list = append(list, e)
		if k.Type() == cty.String {
			byKey[k.AsString()] = e
		}
	}
	switch {
	case ty.IsMapType():
		return cty.MapVal(byKey)
	case ty.IsSetType():
		return cty.SetVal(list)
	case ty.IsListType():
		return cty.ListVal(list)
	}
	return cty.TupleVal(list)
}

// made returns the value of a computed attribute: given, converted to the attribute's type, or an invented value if
// given is NilVal. For a single nested object, made does this for each attribute. If the conversion fails, made sets
// f.err and returns an unknown value.
func (f *filler) made(a *schema.Attr, given cty.Value, path cty.Path) cty.Value {
	if given == cty.NilVal {
		return f.invented(a, path)
	}
	if a.Object != nil && a.Object.Nesting == schema.Single && given.Type().IsObjectType() && !given.IsNull() {
		out := map[string]cty.Value{}
		for _, inner := range a.Object.Attrs {
			out[inner.Name] = f.made(inner, part(given, inner.Name), path.GetAttr(inner.Name))
		}
		return cty.ObjectVal(out)
	}
	v, err := convert.To(given, a.Type)
	if err != nil {
		f.err = fmt.Errorf("%s: %w", mark.PathString(path), err)
		return cty.UnknownVal(a.Type)
	}
	return v
}

// invented returns a value for a computed attribute, made by Zero. For a single nested object, it invents each
// attribute.
func (f *filler) invented(a *schema.Attr, path cty.Path) cty.Value {
	if a.Object == nil || a.Object.Nesting != schema.Single {
		return Zero(a.Type, path, f.word)
	}
	out := map[string]cty.Value{}
	for _, inner := range a.Object.Attrs {
		out[inner.Name] = f.invented(inner, path.GetAttr(inner.Name))
	}
	return cty.ObjectVal(out)
}

// Zero returns a value of type t for path. A number is 0, a boolean is false, and a list, set or map is empty. A string
// is the result of word for its path. Zero fills each attribute of an object and each element of a tuple in the same
// way. A value of any other type is null.
func Zero(t cty.Type, path cty.Path, word func(cty.Path) string) cty.Value {
	switch {
	case t == cty.String:
		return cty.StringVal(word(path))
	case t == cty.Number:
		return cty.Zero
	case t == cty.Bool:
		return cty.False
	case t.IsListType():
		return cty.ListValEmpty(t.ElementType())
	case t.IsSetType():
		return cty.SetValEmpty(t.ElementType())
	case t.IsMapType():
		return cty.MapValEmpty(t.ElementType())
	case t.IsObjectType():
		out := map[string]cty.Value{}
		for name, ty := range t.AttributeTypes() {
			out[name] = Zero(ty, path.GetAttr(name), word)
		}
		return cty.ObjectVal(out)
	case t.IsTupleType():
		var out []cty.Value
		for i, ty := range t.TupleElementTypes() {
			out = append(out, Zero(ty, path.IndexInt(i), word))
		}
		return cty.TupleVal(out)
	}
	return cty.NullVal(t)
}

// word returns a string of eight letters and digits, derived from the object's address and the path, so that different
// attributes have different strings.
func (f *filler) word(path cty.Path) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	sum := sha256.Sum256([]byte(f.of + " " + mark.PathString(path)))
	var b strings.Builder
	for _, c := range sum[:8] {
		b.WriteByte(letters[int(c)%len(letters)])
	}
	return b.String()
}

// object returns the values that are given for a block or a nested attribute. If there are several blocks, all of them
// use this one object. If given is not an object, object records an error and returns NilVal.
func (f *filler) object(given cty.Value, path cty.Path) cty.Value {
	if given == cty.NilVal || given.Type().IsObjectType() {
		return given
	}
	f.err = fmt.Errorf("%s: an object is required, such as { name = value }, and not a %s", mark.PathString(path), given.Type().FriendlyName())
	return cty.NilVal
}

// part returns an attribute of an object. It returns NilVal if v is null, unknown or no object, or has no such
// attribute.
func part(v cty.Value, name string) cty.Value {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() || !v.Type().IsObjectType() || !v.Type().HasAttribute(name) {
		return cty.NilVal
	}
	return v.GetAttr(name)
}
