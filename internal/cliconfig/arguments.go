package cliconfig

import (
	"fmt"
	"iter"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/gocty"
)

// hostOf returns the host in the label of a block, in the form of addr.Host. If the label is not a valid host, hostOf
// reports an error and returns false.
func hostOf(b *hcl.Block, bag *diag.Bag) (string, bool) {
	host, err := addr.Host(b.Labels[0])
	if err != nil {
		bag.Add(diag.Errorf("Invalid CLI configuration", "The label of a %s block is the name of a host, such as \"registry.example.com\", not %q.", b.Type, b.Labels[0]).At(b.DefRange))
	}
	return host, err == nil
}

// only reports each argument of a block except the argument called name: as an error if the block lacks that argument,
// because it is probably misspelt, otherwise as a warning, because Terraform and OpenTofu ignore other arguments. It
// returns false if it has reported an error.
func only(b *hcl.Block, attrs hcl.Attributes, name string, bag *diag.Bag) bool {
	ok := true
	for other, a := range attrs {
		if other != name && attrs[name] != nil {
			bag.Add(diag.Warningf("Invalid CLI configuration", "A %s block takes only the argument %q, so %q has no effect.", b.Type, name, other).At(a.NameRange))
		} else if other != name {
			bag.Add(diag.Errorf("Invalid CLI configuration", "A %s block takes the argument %q, not %q.", b.Type, name, other).At(a.NameRange))
			ok = false
		}
	}
	return ok
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func isText(v cty.Value) bool { return v.Type() == cty.String && !v.IsNull() && v.IsKnown() }

// elements returns the keys and the elements of an argument's value. It returns false if the value is null, is neither
// a collection nor an object, or cannot be evaluated.
func elements(a *hcl.Attribute, bag *diag.Bag) (iter.Seq2[cty.Value, cty.Value], bool) {
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) || v.IsNull() || !v.CanIterateElements() {
		return func(func(k, e cty.Value) bool) {}, false
	}
	return v.Elements(), true
}

// refuse reports the error that the argument must be of the given kind.
func refuse(a *hcl.Attribute, kind string, bag *diag.Bag) {
	bag.Add(diag.Errorf("Invalid CLI configuration", "The argument %q has to be %s.", a.Name, kind).At(a.Expr.Range()))
}

// textOf returns the string value of an argument. If the value is not a string, textOf reports an error and returns
// false.
func textOf(a *hcl.Attribute, bag *diag.Bag) (string, bool) {
	v, ds := a.Expr.Value(nil)
	if v, err := convert.Convert(v, cty.String); err == nil && isText(v) && !ds.HasErrors() {
		return v.AsString(), true
	}
	refuse(a, "a string", bag)
	return "", false
}

// flagOf returns the boolean value of an argument (yes). If the value is not a boolean, flagOf reports an error, and ok
// is false.
func flagOf(a *hcl.Attribute, bag *diag.Bag) (yes, ok bool) {
	v, _ := a.Expr.Value(nil)
	if ok = gocty.FromCtyValue(v, &yes) == nil; !ok {
		refuse(a, "true or false", bag)
	}
	return yes, ok
}

// countOf returns the integer value of an argument. least is the minimum. If the value is smaller, or is not a whole
// number, countOf reports an error and returns false.
func countOf(a *hcl.Attribute, least int, bag *diag.Bag) (*int, bool) {
	v, ds := a.Expr.Value(nil)
	var n int
	if v, err := convert.Convert(v, cty.Number); err == nil && !ds.HasErrors() && gocty.FromCtyValue(v, &n) == nil && n >= least {
		return &n, true
	}
	refuse(a, fmt.Sprintf("a whole number, %d or more", least), bag)
	return nil, false
}

// stringsOf returns the strings in an object, by their names. If an element is neither a string nor an object,
// stringsOf reports an error and returns false.
func stringsOf(a *hcl.Attribute, bag *diag.Bag) (map[string]string, bool) {
	all, ok := elements(a, bag)
	out := map[string]string{}
	for k, e := range all {
		if e.Type().IsObjectType() {
			continue // skip an object: it has settings of the service login.v1, which are not needed here
		}
		if ok = ok && isText(e) && k.Type() == cty.String; ok {
			out[k.AsString()] = e.AsString()
		}
	}
	if !ok {
		refuse(a, "an object of strings, such as { name = \"value\" }", bag)
	}
	return out, ok
}

// listOf returns the strings in a list. If the value is not a list of strings, listOf reports an error and returns
// false.
func listOf(a *hcl.Attribute, bag *diag.Bag) (out []string, ok bool) {
	all, ok := elements(a, bag)
	for k, e := range all {
		if ok = ok && isText(e) && k.Type() == cty.Number; ok {
			out = append(out, e.AsString())
		}
	}
	if !ok {
		refuse(a, "a list of strings, such as [\"value\"]", bag)
	}
	return out, ok
}
