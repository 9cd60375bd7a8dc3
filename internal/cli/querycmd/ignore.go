package querycmd

import (
	"fmt"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine/querying"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// rule is a line of an -ignore file: a resource type, and conditions. A rule ignores the objects for which all
// conditions hold.
type rule struct {
	typ        string // a pattern, in which * matches any text
	conditions []condition
}

// condition compares an attribute of a found object with a pattern, in which * matches any text.
type condition struct {
	path    []string // begins with "name", "identity" or "object"
	pattern string
}

// readRules reads the -ignore file name. It reports an error and returns false if the file cannot be read, or for each
// line that is invalid. Empty lines and lines that begin with # are skipped.
func readRules(c *base.Call, name string) ([]rule, bool) {
	text, err := os.ReadFile(c.Path(name))
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to read file", "The file %s of -ignore cannot be read: %s.", name, disk.Reason(err)))
		return nil, false
	}
	var out []rule
	ok := true
	for i, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := parseRule(line)
		if err != nil {
			c.Bag.Add(diag.Errorf("Invalid ignore rule", "Line %d of %s is not a rule: %s. A rule is a type and conditions, such as: aws_vpc object.is_default=true", i+1, name, err))
			ok = false
		}
		out = append(out, r)
	}
	return out, ok
}

func parseRule(line string) (rule, error) {
	words, err := split(line)
	if err != nil {
		return rule{}, err
	}
	r := rule{typ: words[0]}
	for _, w := range words[1:] {
		c, err := parseCondition(w)
		if err != nil {
			return r, err
		}
		r.conditions = append(r.conditions, c)
	}
	return r, nil
}

// split divides a line at spaces and tabs outside of double quotes. It keeps the quotes. A quote that is not closed is
// an error.
func split(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	quoted := false
	for _, c := range line + " " {
		switch {
		case c == '"':
			quoted = !quoted
			word.WriteRune(c)
		case (c == ' ' || c == '\t') && !quoted:
			if word.Len() > 0 {
				out = append(out, word.String())
				word.Reset()
			}
		default:
			word.WriteRune(c)
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	return out, nil
}

// parseCondition parses PATH=PATTERN. A path consists of attributes separated by dots, and of keys such as ["key"]. The
// path is "name", or begins with "identity" or "object"; another path is an error. parseCondition removes double quotes
// around the pattern.
func parseCondition(text string) (condition, error) {
	left, pattern, ok := cutOutside(text, '=')
	if !ok {
		return condition{}, fmt.Errorf("%s lacks an equals sign", text)
	}
	c := condition{pattern: strings.Trim(pattern, `"`)}
	for rest := left; rest != ""; {
		var step string
		if key, isKey := strings.CutPrefix(rest, `["`); isKey {
			if step, rest, ok = strings.Cut(key, `"]`); !ok {
				return c, fmt.Errorf("%s lacks a closing bracket", left)
			}
			rest = strings.TrimPrefix(rest, ".")
		} else if i := strings.IndexAny(rest, ".["); i < 0 {
			step, rest = rest, ""
		} else {
			step = rest[:i]
			rest = strings.TrimPrefix(rest[i:], ".")
		}
		c.path = append(c.path, step)
	}
	switch {
	case len(c.path) == 1 && c.path[0] == "name":
	case len(c.path) > 1 && (c.path[0] == "identity" || c.path[0] == "object"):
	default:
		return c, fmt.Errorf("%s is neither name, nor an attribute of identity or object", left)
	}
	return c, nil
}

// cutOutside returns the text before and after the first separator that is outside of double quotes. Without such a
// separator, it returns text, "" and false.
func cutOutside(text string, sep rune) (before, after string, found bool) {
	quoted := false
	for i, c := range text {
		if c == '"' {
			quoted = !quoted
		} else if c == sep && !quoted {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// needsObject reports whether a rule for the resource type has a condition about "object". Then the query needs the
// attributes of the objects, and not only names and identities.
func needsObject(rules []rule, typ string) bool {
	for _, r := range rules {
		if !matches(r.typ, typ) {
			continue
		}
		for _, c := range r.conditions {
			if c.path[0] == "object" {
				return true
			}
		}
	}
	return false
}

// ignores reports whether a rule matches a result.
func ignores(rules []rule, r *querying.Result) bool {
	for _, rule := range rules {
		hit := matches(rule.typ, r.Type.Name)
		for _, c := range rule.conditions {
			hit = hit && c.holds(r)
		}
		if hit {
			return true
		}
	}
	return false
}

func (c condition) holds(r *querying.Result) bool {
	v := r.Object
	switch c.path[0] {
	case "name":
		return matches(c.pattern, r.Name)
	case "identity":
		v = r.Identity
	}
	for _, step := range c.path[1:] {
		switch t := v.Type(); {
		case v.IsNull():
			return false
		case t.IsObjectType() && t.HasAttribute(step):
			v = v.GetAttr(step)
		case t.IsMapType() && v.HasIndex(cty.StringVal(step)).True():
			v = v.Index(cty.StringVal(step))
		default:
			return false
		}
	}
	text, err := convert.Convert(v, cty.String)
	return err == nil && !text.IsNull() && text.IsKnown() && matches(c.pattern, text.AsString())
}

// matches reports whether a text matches a pattern in which * matches any text.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	last := parts[len(parts)-1]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return strings.HasSuffix(text, last)
}
