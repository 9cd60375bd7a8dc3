package framework

import (
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

var stringType = types.StringType

// A view reads an object's attributes without a model. Null, unknown and missing attributes read as the zero value.
type view map[string]tftypes.Value

// look returns a view of an object. The view of null, of an unknown value and of any other type is nil.
func look(v tftypes.Value) view {
	var m map[string]tftypes.Value
	if v.IsKnown() && !v.IsNull() {
		_ = v.As(&m)
	}
	return m
}

// has reports whether an attribute is known and not null.
func (w view) has(name string) bool {
	v, ok := w[name]
	return ok && v.IsKnown() && !v.IsNull()
}

func (w view) str(name string) string {
	var s string
	if w.has(name) {
		_ = w[name].As(&s)
	}
	return s
}

func (w view) num(name string) int64 {
	var n big.Float
	if w.has(name) {
		_ = w[name].As(&n)
	}
	i, _ := n.Int64()
	return i
}

// in returns a view of a nested object, or nil if the attribute is null, unknown or missing.
func (w view) in(name string) view {
	if !w.has(name) {
		return nil
	}
	return look(w[name])
}

// key returns the name of the object for package trouble and the log: the first of the attributes name, username,
// secret_id and id that is not empty, or "".
func (w view) key() string {
	for _, name := range []string{"name", "username", "secret_id", "id"} {
		if s := w.str(name); s != "" {
			return s
		}
	}
	return ""
}

// same reports whether an attribute has the same, wholly known value in both views.
func same(a, b view, name string) bool {
	x, ok := a[name]
	y, ok2 := b[name]
	return ok && ok2 && x.IsFullyKnown() && y.IsFullyKnown() && x.Equal(y)
}
