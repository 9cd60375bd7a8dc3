// Package jsondoc writes the JSON documents of commands, in the published formats of Terraform. It has the common parts
// of all documents (this file and value.go), and the documents about schemas and functions, which need no part of
// package view (schemas.go).
//
// Documents are structs with json tags. Their long parts are sequences, so that only one element at a time is in memory
// while a document is written.
package jsondoc

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// Write writes a document and a line break, on one line or with line breaks and indentation. It returns the error of w.
func Write(w io.Writer, document any, layout Layout) error {
	return WriteScrubbed(w, document, layout, nil)
}

// WriteScrubbed writes a document and a line break. It applies scrub, which masks secrets, to the strings of the
// document. scrub may be nil. WriteScrubbed returns the error of w.
func WriteScrubbed(w io.Writer, document any, layout Layout, scrub func(string) string) error {
	j := jsontext.Writer{W: w, Compact: layout == OneLine, Quote: AppendString, Scrub: scrub}
	j.Value(document)
	j.Buf = append(j.Buf, '\n')
	j.Flush()
	return j.Err
}

// Layout is true if a document has line breaks and indentation.
type Layout bool

const (
	OneLine Layout = false // one line, for programs
	LaidOut Layout = true  // line breaks and indentation, for people
)

// AppendString appends a string as JSON. It escapes control characters of terminals, even if JSON does not require it.
func AppendString(dst []byte, s string) []byte {
	from := len(dst)
	dst = jsontext.AppendString(dst, s)
	for _, c := range dst[from:] {
		if c >= 0x7f {
			return AppendSafe(dst[:from], string(dst[from:]))
		}
	}
	return dst
}

// AppendSafe appends JSON text. It escapes the characters with which a text can control a terminal.
func AppendSafe(dst []byte, text string) []byte {
	for _, r := range text {
		if r != 0x7f && !Unsafe(r) {
			dst = utf8.AppendRune(dst, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			dst = fmt.Appendf(dst, `\u%04x`, unit)
		}
	}
	return dst
}

// Each returns a sequence with the documents of a list. document converts an element. Each returns nil for an empty
// list, so that the member is omitted.
func Each[T, D any](list []T, document func(T) D) iter.Seq[D] {
	if len(list) == 0 {
		return nil
	}
	return func(yield func(D) bool) {
		for _, e := range list {
			if !yield(document(e)) {
				return
			}
		}
	}
}

// EachNamed returns the elements of a list as members of an object, in the order of the list. member returns the name
// and the document of an element. EachNamed returns nil for an empty list, so that the object is omitted.
func EachNamed[T, D any](list []T, member func(T) (string, D)) iter.Seq2[string, D] {
	if len(list) == 0 {
		return nil
	}
	return func(yield func(string, D) bool) {
		for _, e := range list {
			if !yield(member(e)) {
				return
			}
		}
	}
}

// Members returns the elements of a map as members of an object, sorted by name. document converts an element. Members
// returns nil for an empty map, so that the object is omitted.
func Members[V, D any](m map[string]V, document func(V) D) iter.Seq2[string, D] {
	return EachNamed(slices.Sorted(maps.Keys(m)), func(name string) (string, D) { return name, document(m[name]) })
}

// Type is a type in the notation of the machine formats: "string", ["list", …], ["object", {…}].
type Type cty.Type

// WriteJSON writes the type.
func (t Type) WriteJSON(w *jsontext.Writer) {
	text, err := cty.Type(t).WithoutOptionalAttributesDeep().MarshalJSON()
	if err != nil { // a type that exists only inside the program has no JSON form
		text = []byte(`"dynamic"`)
	}
	w.Raw(AppendSafe(nil, string(text)))
}

// Nameless returns t, or the type "dynamic" if t contains names of attributes: in a sensitive value, a name may be secret.
func (t Type) Nameless() Type {
	if text, err := cty.Type(t).MarshalJSON(); err != nil || bytes.Contains(text, []byte(`["object"`)) {
		return Type(cty.DynamicPseudoType)
	}
	return t
}

// Hosts returns a provider with the registry host that documents use. A nil Hosts changes no provider.
type Hosts func(addr.Provider) addr.Provider

// Of returns the address of a provider in documents, after h has completed it. A nil h changes nothing.
func (h Hosts) Of(p addr.Provider) string {
	if h != nil {
		p = h(p)
	}
	return p.String()
}

// Unsafe reports whether a character above ASCII is a control character, or changes the display of the text around it.
func Unsafe(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0x061c, r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e,
		r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// Serial is the serial of a state in a document. It is a number of up to 64 bits.
type Serial uint64

// WriteJSON writes the serial as a JSON number.
func (s Serial) WriteJSON(w *jsontext.Writer) { w.Uint(uint64(s)) }
