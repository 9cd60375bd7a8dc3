package diag

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// mostJSON is the size of the largest file in JSON syntax whose paths are determined. Each search begins at the start
// of the file.
const mostJSON = 1 << 20

// isConfigJSON reports whether a file is configuration in JSON syntax. In other JSON files, names may be part of a
// value.
func isConfigJSON(name string) bool {
	for _, suffix := range []string{".tf.json", ".tofu.json", ".lethe.json", ".tftest.json", ".tofutest.json"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// jsonContext returns the path of the innermost object or list around the byte at an offset, such as
// resource.a.b.lifecycle[0]. It returns "" at the top level, and for a file larger than mostJSON. It reads malformed
// JSON up to the mistake.
func jsonContext(src []byte, at int) string {
	if len(src) > mostJSON {
		return ""
	}
	type level struct {
		step string // the step from the surrounding level to this level
		list bool
		key  string // for an object: the last key that was read
		n    int    // number of keys and values of an object, or of elements of a list, read so far
	}
	levels := []level{{list: true}} // the first level is the file
	in := json.NewDecoder(bytes.NewReader(src))
	in.UseNumber()
	for {
		t, err := in.Token()
		end := int(in.InputOffset())
		if err != nil || end > at+1 {
			break
		}
		sign, _ := t.(json.Delim)
		if sign == '}' || sign == ']' {
			if end > at {
				break
			}
			levels = levels[:len(levels)-1]
			continue
		}
		top := &levels[len(levels)-1]
		if !top.list && top.n%2 == 0 {
			top.key, _ = t.(string)
		}
		inner := level{list: sign == '[', step: "." + top.key}
		if top.list {
			inner.step = fmt.Sprintf("[%d]", top.n)
		}
		top.n++
		if sign != 0 {
			levels = append(levels, inner)
		}
	}
	var out strings.Builder
	for _, l := range levels[min(2, len(levels)):] {
		out.WriteString(l.step)
	}
	return strings.TrimPrefix(out.String(), ".")
}
