package schema

import (
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// Arguments is a block of ours, with its attributes in the order of their names.
func Arguments(attrs ...*Attr) *Block {
	slices.SortFunc(attrs, func(a, b *Attr) int { return strings.Compare(a.Name, b.Name) })
	return &Block{Attrs: attrs}
}

// Required is an argument of ours that must be set; about is its description, which may be empty.
func Required(name string, ty cty.Type, about string) *Attr {
	return &Attr{Name: name, Type: ty, Required: true, Description: about}
}

// Optional is an argument of ours that may be set.
func Optional(name string, ty cty.Type, about string) *Attr {
	return &Attr{Name: name, Type: ty, Optional: true, Description: about}
}

// Argument is the value of an argument in an object without marks, and whether it is known and not null.
func Argument(obj cty.Value, name string) (cty.Value, bool) {
	v := obj.GetAttr(name)
	return v, v.IsKnown() && !v.IsNull()
}

// Text is the value of an argument that is a string, "" where it is null or not known.
func Text(obj cty.Value, name string) string {
	if v, ok := Argument(obj, name); ok {
		return v.AsString()
	}
	return ""
}

// Number is the value of an argument that is a whole number, and whether it is known and not null. What
// is no whole number, or far from all sizes and ports, is -1.
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

// Texts are the elements of an argument that is a list of strings, "" for those that are null; ok is
// false where some are not known.
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
