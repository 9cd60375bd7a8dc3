package schema

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Arguments returns a block with the given attributes, for a schema that Lethe itself defines. It sorts attrs by name.
func Arguments(attrs ...*Attr) *Block {
	slices.SortFunc(attrs, func(a, b *Attr) int { return strings.Compare(a.Name, b.Name) })
	return &Block{Attrs: attrs}
}

// Required returns a required attribute, for a schema that Lethe itself defines. The parameter about is its
// description, and may be empty.
func Required(name string, ty cty.Type, about string) *Attr {
	return &Attr{Name: name, Type: ty, Required: true, Description: about}
}

// Optional returns an optional attribute, for a schema that Lethe itself defines. The parameter about is its
// description, and may be empty.
func Optional(name string, ty cty.Type, about string) *Attr {
	return &Attr{Name: name, Type: ty, Optional: true, Description: about}
}

// Argument returns the named attribute of obj, which must be an unmarked object with this attribute. It returns false
// if the value is null or unknown.
func Argument(obj cty.Value, name string) (cty.Value, bool) {
	v := obj.GetAttr(name)
	return v, v.IsKnown() && !v.IsNull()
}

// Text returns the named attribute of obj, a string, or "" if the value is null or unknown.
func Text(obj cty.Value, name string) string {
	if v, ok := Argument(obj, name); ok {
		return v.AsString()
	}
	return ""
}

// Number returns the named attribute of obj, a number. It returns 0 and false if the value is null or unknown. For a
// fraction, a number below -1 and a number above 1<<31 it returns -1 and true, because such a number is neither a size
// nor a port.
func Number(obj cty.Value, name string) (int, bool) {
	v, ok := Argument(obj, name)
	if !ok {
		return 0, false
	}
	n, exact := v.AsBigFloat().Int64()
	if exact != 0 || n < -1 || n > 1<<31 {
		return -1, true
	}
	return int(n), true
}

// Texts returns the elements of the named attribute of obj, a list of strings, with "" for null elements. It returns
// nil and true if the list is null, and nil and false if any part of the list is unknown.
func Texts(obj cty.Value, name string) (list []string, ok bool) {
	v := obj.GetAttr(name)
	if !v.IsWhollyKnown() {
		return nil, false
	}
	if v.IsNull() {
		return nil, true
	}
	list = make([]string, 0, v.LengthInt())
	for _, e := range v.AsValueSlice() {
		s := ""
		if !e.IsNull() {
			s = e.AsString()
		}
		list = append(list, s)
	}
	return list, true
}
