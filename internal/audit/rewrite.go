package audit

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/secret"
)

// rewriter removes values from JSON texts.
type rewriter struct {
	values map[string]bool
	set    *secret.Set // a set of the same values, with which texts are searched
	// number has a number for each value. In a longer string, the mask of a value contains this number: with one mask
	// for all values, the keys of two instances could become equal. The numbers are higher than the numbers in masks
	// that an earlier removal left.
	number map[string]int
}

// errRemains is the error for a text from which a value could not be removed.
var errRemains = errors.New("a value remains in it in a form that cannot be removed")

// privateKey is the name of private data in states. Private data are JSON in base64.
const privateKey = "private"

// Members of objects in a state: the key of an instance, and the paths of sensitive attributes. Replacing their strings
// by null would make the state invalid, or change an address.
const (
	indexKey = "index_key"
	pathsKey = "sensitive_attributes"
)

// rewrite returns a JSON text without the values, and whether the text contained any of them. A string or number that is a
// value becomes null. In longer strings, keys and paths, a mask replaces each encoded form of a value. All other bytes
// stay. If the text contains a value, rewrite returns an error if the text is not valid JSON, and errRemains if a value
// remains in the result.
func (w *rewriter) rewrite(text []byte) (out []byte, changed bool, err error) {
	if !w.holds(text) {
		return text, false, nil
	}
	if !json.Valid(text) {
		return nil, false, errors.New("it is not valid JSON")
	}
	out = w.splice(text)
	if !json.Valid(out) || w.remains(out) {
		return nil, false, errRemains
	}
	return out, !bytes.Equal(out, text), nil
}

// remains reports whether JSON text contains a value. A value in quotes, which the quotes of JSON complete, does not
// count.
func (w *rewriter) remains(text []byte) bool {
	found := false
	clear := w.set.Within(ctyvalue.TextOf(text), func(value string) {
		found = found || len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"'
	})
	if found || !clear {
		return true
	}
	for i := 0; i < len(text); i++ {
		if text[i] != '"' {
			continue
		}
		end := stringEnd(text, i)
		if s, err := jsontext.Unquote(text[i:end]); err != nil || w.holds([]byte(s)) {
			return true
		}
		i = end - 1
	}
	return false
}

// holds reports whether a text contains a value, or has too much packed content to be searched.
func (w *rewriter) holds(text []byte) bool {
	found := false
	clear := w.set.Within(ctyvalue.TextOf(text), func(string) { found = true })
	return found || !clear
}

// splice copies valid JSON. It replaces strings and numbers that are values by null, except in indexes and in the list
// of sensitive paths. It masks values inside of other strings and in names, and examines private data.
func (w *rewriter) splice(text []byte) []byte {
	out := make([]byte, 0, len(text))
	key := ""            // the name of the member whose value follows; "" in lists
	depth, paths := 0, 0 // depth is the nesting depth, and paths the depth of the list of sensitive paths (0: outside of it)
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '[' || c == '{':
			if depth++; key == pathsKey && paths == 0 {
				paths = depth
			}
			key = ""
		case c == ']' || c == '}':
			if depth == paths {
				paths = 0
			}
			depth--
			key = ""
		case c == '"':
			end = stringEnd(text, i)
			isKey := bytes.HasPrefix(bytes.TrimLeft(text[end:], " \t\r\n"), []byte(":"))
			var s string
			_ = json.Unmarshal(text[i:end], &s) // ignore the error: the text is valid JSON
			switch {
			case isKey:
				key = s
				out = append(out, w.scrubbed(text[i:end], s)...)
			case w.values[s] && key != indexKey && paths == 0:
				out = append(out, "null"...)
			case key == privateKey:
				out = append(out, w.private(text[i:end], s)...)
			default:
				out = append(out, w.scrubbed(text[i:end], s)...)
			}
			i = end
			continue
		case c == '-' || c >= '0' && c <= '9':
			for end < len(text) && bytes.IndexByte([]byte("+-.eE0123456789"), text[end]) >= 0 {
				end++
			}
			if w.values[string(text[i:end])] && key != indexKey && paths == 0 {
				out = append(out, "null"...)
				i = end
				continue
			}
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

// stringEnd returns the offset after the string that begins at i.
func stringEnd(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// scrubbed returns a string as JSON, with masks for the values in it. literal is its present form, which scrubbed
// returns if the string contains no value.
func (w *rewriter) scrubbed(literal []byte, s string) []byte {
	if !w.holds([]byte(s)) {
		return literal // keep the string, although it may have a line in common with a value
	}
	out, err := json.Marshal(w.set.Replace(s, func(value string) string { return numbered(w.number[value]) }))
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return out
}

// private returns private data without the values. It drops data in a form that it cannot change: then the provider has
// no private data of that former object. A text that is not private data, such as an attribute of the same name, is
// treated like any other string, even if it can be decoded as Base64.
func (w *rewriter) private(literal []byte, s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	switch {
	case err != nil || !w.holds(data) && !json.Valid(data):
		return w.scrubbed(literal, s)
	case !w.holds(data) && !w.holds([]byte(s)):
		return literal
	case json.Valid(data):
		data = w.splice(data)
		if text := base64.StdEncoding.EncodeToString(data); !w.holds(data) && !w.holds([]byte(text)) {
			return []byte(`"` + text + `"`)
		}
	}
	return []byte("null")
}

// masks matches the masks (texts that replaced secrets) in texts. A mask without a number has the number 1.
var masks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(strings.TrimSuffix(mark.Sensitive.Mask(), ")")) + `(?: (\d{1,9}))?\)`)
})

// highest returns the highest number of the masks in a text, or 0 if the text has no mask.
func highest(text []byte) int {
	out := 0
	for _, m := range masks().FindAllSubmatch(text, -1) {
		n, err := strconv.Atoi(string(m[1]))
		if err != nil {
			n = 1
		}
		out = max(out, n)
	}
	return out
}

// numbered returns the mask (the replacement text) for the value with the number n. The mask for the first value has no
// number.
func numbered(n int) string {
	if n < 2 {
		return mark.Sensitive.Mask()
	}
	return strings.TrimSuffix(mark.Sensitive.Mask(), ")") + fmt.Sprintf(" %d)", n)
}
