package diag

import (
	"encoding/json"
	"fmt"
	"strings"
)

// mostJSON is how large a file in JSON syntax may be for places in it to be named: each is looked for from the beginning.
const mostJSON = 1 << 20

// isConfigJSON reports whether a file is configuration in JSON syntax. In files of values, names may be part of a value.
func isConfigJSON(name string) bool {
	for _, suffix := range []string{".tf.json", ".tofu.json", ".tftest.json", ".tofutest.json"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// jsonContext is the way to the innermost object or list around a byte, such as resource.a.b.lifecycle[0]; "" for what
// is at the top. It needs no stack for nesting, so that it may be asked about what the parser refused for that.
func jsonContext(src []byte, at int) string {
	if len(src) > mostJSON {
		return ""
	}
	type level struct {
		step  string // from the level above
		list  bool
		key   string // of an object: the last that was read
		value bool   // a key was read, and its value not yet
		n     int    // of a list: elements before
	}
	var levels []level
	top := func() *level {
		if len(levels) == 0 {
			return &level{}
		}
		return &levels[len(levels)-1]
	}
	for i := 0; i < len(src) && i <= at; i++ {
		switch c := src[i]; c {
		case '{', '[':
			l, step := top(), ""
			switch {
			case len(levels) == 0:
			case l.list:
				step = fmt.Sprintf("[%d]", l.n)
			default:
				step = "." + l.key
			}
			levels = append(levels, level{step: step, list: c == '['})
		case '}', ']':
			if i < at && len(levels) > 0 {
				levels = levels[:len(levels)-1]
			}
		case ':':
			top().value = true
		case ',':
			top().value = false
			top().n++
		case '"':
			end := stringEnd(src, i)
			if l := top(); !l.list && !l.value && json.Unmarshal(src[i:end], &l.key) != nil {
				l.key = ""
			}
			i = end - 1
		}
	}
	var out strings.Builder
	for _, l := range levels {
		out.WriteString(l.step)
	}
	return strings.TrimPrefix(out.String(), ".")
}

// stringEnd is where a string ends that begins at a byte.
func stringEnd(src []byte, at int) int {
	for i := at + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(src)
}
