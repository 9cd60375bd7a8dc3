package audit

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// untyped decodes attributes whose schema is not available: maps are objects, and lists are tuples. It returns false if
// attrs is not a JSON object.
func untyped(attrs []byte) (cty.Value, bool) {
	var v ctyjson.SimpleJSONValue
	if v.UnmarshalJSON(attrs) != nil || !v.Type().IsObjectType() {
		return cty.NilVal, false
	}
	return v.Value, true
}

// leaves calls visit for each string, number and boolean in v, with its path. The parameter at is the path of v itself.
// The step of an element of a set is [...], because the key of the element is its value.
func leaves(at string, v cty.Value, visit func(at, text string)) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return
	}
	switch ty := v.Type(); {
	case ty == cty.Bool:
		visit(at, strconv.FormatBool(v.True()))
	case ty.IsPrimitiveType():
		if text, ok := ctyvalue.Text(v); ok {
			visit(at, text)
		}
	case ty.IsObjectType():
		for name, e := range ctyvalue.Members(v) {
			leaves(below(at, name), e, visit)
		}
	case ty.IsMapType():
		for key, e := range ctyvalue.Members(v) {
			leaves(at+mark.PathString(cty.IndexStringPath(key)), e, visit)
		}
	case ty.IsSetType():
		for _, e := range ctyvalue.Items(v) {
			leaves(at+"[...]", e, visit)
		}
	case ty.IsTupleType() || ty.IsListType():
		for i, e := range ctyvalue.Items(v) {
			leaves(at+"["+strconv.Itoa(i)+"]", e, visit)
		}
	}
}

// keysIn calls visit for the key of each map element in v. If names is true, it also calls visit for the name of each
// attribute: objects without a schema may have any names.
func keysIn(v cty.Value, names bool, visit func(key string)) {
	if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
		return
	}
	switch ty := v.Type(); {
	case ty.IsObjectType() || ty.IsMapType():
		for key, e := range ctyvalue.Members(v) {
			if names || ty.IsMapType() {
				visit(key)
			}
			keysIn(e, names, visit)
		}
	case ty.IsSetType() || ty.IsTupleType() || ty.IsListType():
		for _, e := range ctyvalue.Items(v) {
			keysIn(e, names, visit)
		}
	}
}

// below returns the path of an attribute. A name with a character that separates steps is written like the key of a map:
// without a schema, maps are objects.
func below(at, name string) string {
	switch {
	case strings.ContainsAny(name, `.[]"`):
		return at + mark.PathString(cty.IndexStringPath(name))
	case at == "":
		return name
	}
	return at + "." + name
}

// inside reports whether a path is equal to one of the paths, or leads into a value at one of them.
func inside(path string, of []string) bool {
	path = plainly(path)
	return slices.ContainsFunc(of, func(p string) bool {
		rest, ok := strings.CutPrefix(path, plainly(p))
		return ok && (p == "" || rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// plainly writes map keys like attribute names, because maps are objects if there is no schema. It leaves the keys that
// below writes as keys.
func plainly(path string) string { return namedKey().ReplaceAllString(path, ".$1") }

var namedKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\["([^].["\\]+)"\]`) })

// at returns the value at a path, or false if no value is there. The path may follow the types of a schema, although v
// was decoded without it.
func at(v cty.Value, path cty.Path) (cty.Value, bool) {
	for _, step := range path {
		if v == cty.NilVal || v.IsNull() || !v.IsKnown() {
			return cty.NilVal, false
		}
		name, i := "", -1
		switch s := step.(type) {
		case cty.GetAttrStep:
			name = s.Name
		case cty.IndexStep:
			if s.Key.Type() == cty.String {
				name = s.Key.AsString()
			} else if n, ok := ctyvalue.Text(s.Key); ok {
				var err error
				if i, err = strconv.Atoi(n); err != nil {
					return cty.NilVal, false
				}
			}
		}
		var next cty.Value
		switch ty := v.Type(); {
		case ty.IsObjectType() || ty.IsMapType():
			for key, e := range ctyvalue.Members(v) {
				if key == name && i < 0 {
					next = e
				}
			}
		case ty.IsTupleType() || ty.IsListType():
			for n, e := range ctyvalue.Items(v) {
				if n == i {
					next = e
				}
			}
		}
		v = next
	}
	return v, v != cty.NilVal && v.IsKnown() && !v.IsNull()
}

const (
	shortest = mark.LeastPiece // minimum number of bytes of a value that is searched for
	wordy    = 12              // minimum number of bytes of a word of letters that is searched for
)

// names has values that are common although they are long.
var names = map[string]bool{
	"127.0.0.1": true, "0.0.0.0/0": true, "localhost:5432": true, "localhost:3306": true, "administrator": true,
	"utf8mb4_unicode_ci": true, "arn:aws:iam::aws:policy": true,
}

// region matches the names of regions and zones of cloud services. They contain a direction. Passwords of several words
// rarely contain one.
var region = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z]+(-[a-z]+)*-(north|south|east|west|central)(east|west)?-?[0-9]+(-?[a-z])?$`)
})

// letters matches a word of letters from A to Z that are all lower case, all upper case, or lower case after one
// capital.
var letters = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([a-z]+|[A-Z]+|[A-Z][a-z]+)$`) })

// common reports whether a value is too short or too common to be searched for inside other values, where it would
// occur by chance. Such values have less than 8 bytes, or are numbers of less than 8 digits (without zeros at both
// ends), words of less than 12 letters (see letters), names of regions, or well-known names.
func common(text string) bool {
	switch {
	case len(text) < shortest || names[strings.ToLower(text)]:
		return true
	case len(text) < wordy && letters().MatchString(text):
		return true
	case len(text) < 2*wordy && region().MatchString(text):
		return true
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && len(strings.Trim(text, "+-.0eE")) < shortest
}
