package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
)

// Value is a variable's value in a file of values.
type Value struct {
	Value cty.Value  // as written, not yet of the variable's type
	Range diag.Range // of the value
	At    diag.Range // of the name
}

// LoadValues reads a file of values for variables: .tfvars in native syntax, .tfvars.json in JSON,
// distinguished by the name. The values are constants, and strings in JSON are taken as they are.
// The result has every value that could be read; it is false if an error is in the bag.
func LoadValues(name string, text []byte, l limits.Limits, bag *diag.Bag) (map[string]*Value, bool) {
	l = l.Filled()
	body, ok := ParseBody(name, text, l, bag)
	if !ok {
		return nil, false
	}
	return valuesIn(body, l, bag)
}

// LoadSettings reads a file of settings for a backend. It is LoadValues, and accepts each of the named blocks once: the value
// of a block is an object of its attributes.
func LoadSettings(name string, text []byte, blocks []string, l limits.Limits, bag *diag.Bag) (map[string]*Value, bool) {
	l = l.Filled()
	body, ok := ParseBody(name, text, l, bag)
	if !ok {
		return nil, false
	}
	var sch hcl.BodySchema
	for _, b := range blocks {
		sch.Blocks = append(sch.Blocks, hcl.BlockHeaderSchema{Type: b})
	}
	content, rest, ds := body.PartialContent(&sch)
	if !bag.HCL(ds) {
		return nil, false
	}
	if native, is := rest.(*hclsyntax.Body); is { // whose JustAttributes refuses the blocks that were taken out, too
		others := *native
		others.Blocks = slices.DeleteFunc(slices.Clone(native.Blocks), func(b *hclsyntax.Block) bool { return slices.Contains(blocks, b.Type) })
		rest = &others
	}
	out, ok := valuesIn(rest, l, bag)
	for _, b := range content.Blocks {
		if _, twice := out[b.Type]; twice {
			bag.Add(diag.Errorf("Invalid backend configuration", "Only one block %q is allowed here.", b.Type).At(b.DefRange))
			return out, false
		}
		inner, fine := valuesIn(b.Body, l, bag)
		attrs := map[string]cty.Value{}
		for name, v := range inner {
			attrs[name] = v.Value
		}
		out[b.Type], ok = &Value{Value: cty.ObjectVal(attrs), Range: b.DefRange, At: b.TypeRange}, ok && fine
	}
	return out, ok
}

func valuesIn(body hcl.Body, l limits.Limits, bag *diag.Bag) (map[string]*Value, bool) {
	out := map[string]*Value{}
	attrs, ds := body.JustAttributes()
	ok := bag.HCL(inValues(ds))
	for _, a := range byPlace(attrs) {
		v, d := constant(a.Expr, l)
		if d != nil {
			ok = bag.HCL(hcl.Diagnostics{d}) && ok
			continue
		}
		out[a.Name] = &Value{Value: v, Range: a.Expr.Range(), At: a.NameRange}
	}
	return out, ok
}

// inValues explains blocks in a file of values.
func inValues(ds hcl.Diagnostics) hcl.Diagnostics {
	out := slices.Clone(ds)
	for i, d := range out {
		if !strings.HasPrefix(d.Summary, "Unexpected ") {
			continue
		}
		c := *d
		c.Detail = "Blocks are not allowed here: a file of values sets variables with NAME = VALUE. If this file declares something, its name must end in .tf; to set a variable to an object, put an equals sign before the brace."
		out[i] = &c
	}
	return out
}

// ReadValues is LoadValues for a file that o can read. On the disk that may be a pipe too: shells
// make such names for what a command prints. It gives the text too, nil if that cannot be read.
func ReadValues(path string, o Options, bag *diag.Bag) (text []byte, values map[string]*Value, ok bool) {
	o = o.filled()
	text, err := readAny(o.Files, path, o.Limits.Bytes)
	if err != nil {
		d := unreadableFile(o.Display(path), err)
		d.Summary = "Failed to read variables file"
		if errors.Is(err, fs.ErrNotExist) {
			d.Detail = fmt.Sprintf("Given variables file %s does not exist.", o.Display(path))
		}
		bag.Add(d)
		return nil, nil, false
	}
	values, ok = LoadValues(o.Display(path), text, o.Limits, bag)
	return text, values, ok
}

// ValueFiles finds the files of values in a directory that are read without being asked for, in
// the order in which later ones win: terraform.tfvars, terraform.tfvars.json, then those that end
// in .auto.tfvars or .auto.tfvars.json by name. As in Terraform and OpenTofu, they may begin with a dot.
func ValueFiles(dir string, o Options) []string {
	o = o.filled()
	names, err := o.Files.List(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range []string{rootValues, rootValues + ".json"} {
		if slices.Contains(names, n) {
			out = append(out, o.Files.Join(dir, n))
		}
	}
	slices.Sort(names)
	for _, n := range names {
		if isAuto(n) {
			out = append(out, o.Files.Join(dir, n))
		}
	}
	return out
}

// ParseValue reads one value in native syntax, as -var and TF_VAR_ have it for variables whose
// type is not a primitive one. name is what the value's place is called in messages.
func ParseValue(name, text string, l limits.Limits, bag *diag.Bag) (cty.Value, bool) {
	e, ok := ParseExpression(name, []byte(text), l, bag)
	if !ok {
		return cty.DynamicVal, false
	}
	v, d := constant(e, l.Filled())
	if d != nil {
		return cty.DynamicVal, bag.HCL(hcl.Diagnostics{d})
	}
	return v, true
}

// WriteValue is the text of an expression that evaluates to v, which is wholly known and unmarked.
func WriteValue(v cty.Value) string {
	return string(apart(hclwrite.Format(hclwrite.TokensForValue(v).Bytes())))
}

// WriteValues is the text of a file of values (see LoadValues), in the order of their names. A name
// that no variable can have is an error.
func WriteValues(values map[string]cty.Value) (string, error) {
	f := hclwrite.NewEmptyFile()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !hclsyntax.ValidIdentifier(name) {
			return "", fmt.Errorf("invalid variable name %q: must be a name that a variable can have", name)
		}
		f.Body().SetAttributeValue(name, values[name])
	}
	return string(apart(hclwrite.Format(f.Bytes()))), nil
}

// markAfterEscape is a combining mark right behind an escape sequence in a string.
var markAfterEscape = regexp.MustCompile(`(\\(?:[nrt"\\]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}))(\p{M})`)

// apart escapes combining marks that would become one character with the last letter of an escape
// sequence, when the text is normalized.
func apart(text []byte) []byte {
	for {
		next := markAfterEscape.ReplaceAllFunc(text, func(m []byte) []byte {
			r, n := utf8.DecodeLastRune(m)
			return fmt.Appendf(bytes.Clone(m[:len(m)-n]), `\U%08x`, r)
		})
		if bytes.Equal(next, text) {
			return text
		}
		text = next
	}
}
