package cliconfig

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"oras.land/oras-go/v2/registry/remote"
)

// RepositoryTemplate parses a template such as "registry.example.com/${namespace}/${type}", which may also contain
// ${hostname}. It returns a function that returns the repository of a provider, or "" if the template has no value for
// this provider. If the template is invalid, or does not produce the address of a repository, RepositoryTemplate
// returns an error.
func RepositoryTemplate(text string) (func(addr.Provider) string, error) {
	e, ds := hclsyntax.ParseTemplate([]byte(text), "template", hcl.InitialPos)
	if ds.HasErrors() {
		return nil, errorOf(ds)
	}
	of := func(p addr.Provider) (cty.Value, error) {
		v, ds := e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
			"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type),
		}})
		if ds.HasErrors() {
			return v, errorOf(ds)
		}
		return convert.Convert(v, cty.String)
	}
	v, err := of(addr.Provider{Host: addr.DefaultHost, Namespace: addr.DefaultNamespace, Type: "any"})
	if err != nil {
		return nil, err
	}
	if v.IsNull() {
		return nil, errors.New("it gives null")
	}
	if _, err := remote.NewRepository(v.AsString()); err != nil {
		return nil, fmt.Errorf("it produces %q, which is not the address of a repository, such as \"registry.example.com/providers/random\"", v.AsString())
	}
	return func(p addr.Provider) string {
		v, err := of(p)
		if err != nil || v.IsNull() {
			return ""
		}
		return v.AsString()
	}, nil
}

// errorOf returns the first error in ds. It adds the names that a template may contain.
func errorOf(ds hcl.Diagnostics) error {
	return fmt.Errorf("%s. It may name ${hostname}, ${namespace} and ${type}", strings.TrimSuffix(ds[0].Detail, "."))
}
