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

// RepositoryTemplate reads a template that makes the repository of a provider, such as
// "registry.example.com/${namespace}/${type}", which may name hostname, too.
func RepositoryTemplate(text string) (func(addr.Provider) string, error) {
	e, ds := hclsyntax.ParseTemplate([]byte(text), "template", hcl.InitialPos)
	if ds.HasErrors() {
		return nil, saidOf(ds)
	}
	of := func(p addr.Provider) (cty.Value, error) {
		v, ds := e.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
			"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type),
		}})
		if ds.HasErrors() {
			return v, saidOf(ds)
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
		return nil, fmt.Errorf("it gives %q, which is not the address of a repository, such as \"registry.example.com/providers/random\"", v.AsString())
	}
	return func(p addr.Provider) string {
		v, err := of(p)
		if err != nil || v.IsNull() {
			return ""
		}
		return v.AsString()
	}, nil
}

// saidOf is what is wrong with a template.
func saidOf(ds hcl.Diagnostics) error {
	return fmt.Errorf("%s. It may name ${hostname}, ${namespace} and ${type}", strings.TrimSuffix(ds[0].Detail, "."))
}
