package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// Marshaler is a value that writes itself as one JSON value.
type Marshaler interface {
	// WriteJSON writes the value.
	WriteJSON(w *Writer)
}

// Value writes a Go value as encoding/json does: structs by the tags of their fields, with the fields of embedded
// structs in place. Nil and nil pointers become null. It supports strings, bools, int, int64, json.RawMessage, and
// slices, pointers, interfaces, structs and functions (iterators) of these. It panics for a value of another type, such
// as a map or a float. It differs from encoding/json in these rules:
//
//   - A field may be an iter.Seq, which becomes an array, or an iter.Seq2 with string keys, which becomes an object
//     with its members in the order of the sequence. So a long list need not be in memory.
//   - A value that implements Marshaler writes itself into the buffer of w.
//   - Nil slices and sequences are written as empty arrays and objects.
//   - Fields without a name in their tag are omitted.
//   - With omitempty or omitzero, a field is omitted if it has the zero value of its type, or is a slice without
//     elements.
func (w *Writer) Value(v any) { w.value(reflect.ValueOf(v)) }

func (w *Writer) value(v reflect.Value) {
	if !v.IsValid() {
		w.Word("null")
		return
	}
	if v.Type().NumMethod() > 0 {
		if m, ok := v.Interface().(Marshaler); ok {
			m.WriteJSON(w)
			return
		}
	}
	switch v.Kind() {
	case reflect.Slice:
		w.slice(v)
	case reflect.String:
		w.Text(v.String())
	case reflect.Bool:
		w.Bool(v.Bool())
	case reflect.Int, reflect.Int64:
		w.Int(v.Int())
	case reflect.Pointer, reflect.Interface:
		w.value(v.Elem())
	case reflect.Struct:
		w.Open('{')
		for _, f := range fieldsOf(v.Type()) {
			if part := v.FieldByIndex(f.index); !f.omit || !empty(part) {
				w.Key(f.name)
				w.value(part)
			}
		}
		w.Close('}')
	case reflect.Func:
		w.sequence(v)
	default:
		panic("jsontext: a value of type " + v.Type().String())
	}
}

func (w *Writer) slice(v reflect.Value) {
	if raw, ok := v.Interface().(json.RawMessage); ok {
		w.Raw(raw)
		return
	}
	w.Open('[')
	for i := range v.Len() {
		w.value(v.Index(i))
	}
	w.Close(']')
}

func (w *Writer) sequence(v reflect.Value) {
	if v.Type().CanSeq2() {
		w.Open('{')
		if !v.IsNil() {
			for name, e := range v.Seq2() {
				w.Key(name.String())
				w.value(e)
			}
		}
		w.Close('}')
		return
	}
	w.Open('[')
	if !v.IsNil() {
		for e := range v.Seq() {
			w.value(e)
		}
	}
	w.Close(']')
}

func empty(v reflect.Value) bool { return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 }

// field describes a field of a struct, or of a struct embedded in it.
type field struct {
	name  string
	index []int
	omit  bool // the field is omitted if its value is empty
}

var structs sync.Map // has the []field of each reflect.Type that was written before

func fieldsOf(t reflect.Type) []field {
	if known, ok := structs.Load(t); ok {
		return known.([]field)
	}
	var out []field
	for _, f := range reflect.VisibleFields(t) {
		if name, options, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, field{name, f.Index, options != ""})
		}
	}
	structs.Store(t, out)
	return out
}

// Same reports whether two JSON texts are equal, apart from white space and the escapes of <, > and &, which some
// writers use. It may return false for texts with the same meaning that differ in other escapes or in the order of the
// members of an object. A caller that uses Same to avoid writing a file then writes the file without need.
func Same(a, b []byte) bool {
	return bytes.Equal(a, b) || bytes.Equal(appendLaidOut(nil, a, 0), appendLaidOut(nil, b, 0))
}

// Plain returns an error for users in place of an error of encoding/json that names Go types. It returns other errors
// unchanged.
func Plain(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("the %s at byte %d is not the kind of JSON value that belongs there", wrong.Value, wrong.Offset)
	}
	return err
}
