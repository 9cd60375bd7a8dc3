package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
)

// Value is a variable's value in a file of values.
type Value struct {
	Value cty.Value  // the value as written, not yet converted to the variable's type
	Range diag.Range // the range of the value
	At    diag.Range // the range of the name
}

// LoadValues reads a file of values for variables: .tfvars in native syntax, .tfvars.json in JSON syntax. The name
// determines the syntax. The values are constants; strings in JSON are not templates. The result contains every value
// that could be read, and is nil if the file cannot be parsed. The boolean is false if an error was reported.
func LoadValues(name string, text []byte, l limits.Limits, bag *diag.Bag) (map[string]*Value, bool) {
	l = l.Filled()
	body, ok := ParseBody(name, text, l, bag)
	if !ok {
		return nil, false
	}
	return valuesIn(body, l, bag)
}

// LoadSettings reads a file of settings for a backend like LoadValues. In addition, it accepts one block of each type
// in blocks. The value of a block is an object of its attributes. A second block of a type is an error. LoadSettings
// returns false if it reported an error.
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
	if native, is := rest.(*hclsyntax.Body); is { // remove the blocks that were read, because JustAttributes would report them
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

// inValues replaces the text of errors about blocks in a file of values.
func inValues(ds hcl.Diagnostics) hcl.Diagnostics {
	out := slices.Clone(ds)
	for i, d := range out {
		if !strings.HasPrefix(d.Summary, "Unexpected ") {
			continue
		}
		c := *d
		c.Detail = "Blocks are not allowed in a variables file. To set a variable to an object, put an equals sign before the brace. To declare an object, use a file whose name ends in .tf."
		out[i] = &c
	}
	return out
}

// ReadValues reads a file of values like LoadValues. On the disk the file may also be a pipe, because shells pass the
// output of a command as the name of a pipe. If the file cannot be read, ReadValues adds an error, and text is nil. ok
// is false if an error was reported.
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

// ValueFiles returns the paths of the files of values in a directory that are read automatically. If several files set
// the same variable, the later file takes precedence. The order is terraform.tfvars, terraform.tfvars.json, then the
// files with the suffix .auto.tfvars or .auto.tfvars.json, sorted by name. As in Terraform and OpenTofu, their names
// may begin with a dot. ValueFiles returns nil if the directory cannot be read.
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

// ParseValue reads one value in native syntax, from -var or a TF_VAR_ variable for a variable whose type is not
// primitive. name is the name of the text in messages. If the text is invalid, ParseValue adds an error and returns
// false.
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
