package ctyvalue

import (
	"reflect"
	"unsafe"

	"github.com/zclconf/go-cty/cty"
)

// Place is where the elements of a known list, tuple, map or object, or the bytes of a text, are in memory: the same for
// values that share them. ok is false for other values and where there are none.
func Place(v cty.Value) (at uintptr, ok bool) {
	if !Direct {
		return 0, false
	}
	switch p := Held(v).(type) {
	case string:
		at = uintptr(unsafe.Pointer(unsafe.StringData(p)))
	case []any:
		at = uintptr(unsafe.Pointer(unsafe.SliceData(p)))
	case map[string]any:
		at = reflect.ValueOf(p).Pointer()
	}
	return at, at != 0
}
