package explaincmd

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/explain"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/view/explainview"
)

// typed shows the type that the user named, or a part of it. It takes the type from the first of the given providers
// that has it. It returns false if no provider has a type with this name. If the type exists and has no such part,
// typed reports an error and returns true.
func (x *asking) typed(ctx context.Context, of []addr.Provider) bool {
	bag := &x.session.Dir.Call.Bag
	for _, p := range of {
		schemas := x.schemas(ctx, p)
		if schemas == nil {
			continue
		}
		t, err := explain.TypeOf(schemas, p, x.version(p), x.text)
		switch {
		case err != nil:
			x.errors = append(x.errors, diag.Errorf("Invalid provider schema", "The provider %s: %s.", p.ForDisplay(), err))
		case t == nil:
			x.near = append(x.near, typesNear(schemas, x.text)...)
		case !t.Exists():
			near := diag.Suggest(t.Path[len(t.Path)-1], t.Names())
			if near == "" {
				near = x.address()
			}
			bag.Add(diag.Errorf("Nothing to explain", "%s has no attribute or block at %q, and the configuration declares no such address.%s", t.Name, strings.Join(t.Path, "."), diag.Meant(near)))
			return true
		default:
			x.show(func(w io.Writer) error { return explainview.TypeJSON(w, t) }, func(w io.Writer) error { return explainview.Type(w, t) })
			return true
		}
	}
	return false
}

// typesNear returns names of types of a provider that are similar to the text, as users write them, such as
// data.aws_ami. A text may mean several modes, such as resources and data sources. For each of these modes, the result
// has at most one name: the most similar type. typesNear returns nil if the text also names a part of the type.
func typesNear(s *provider.Schemas, text string) []string {
	var out []string
	of, name, path := explain.Split(text)
	if len(path) > 0 {
		return nil
	}
	for _, mode := range of {
		if near := diag.SuggestAmong(name, s.Types(mode)); near != "" {
			out = append(out, strings.TrimSuffix(text, name)+near)
		}
	}
	return out
}

// named returns the providers whose name (the last part of the address) is x.text, except built-in providers.
func (x *asking) named() []addr.Provider {
	return slices.DeleteFunc(x.providers(), func(p addr.Provider) bool { return p.IsBuiltin() || p.Type != x.text })
}

// providers returns the built-in providers and the providers of the configuration. A provider whose name is the
// beginning of the type's name comes before the others.
func (x *asking) providers() []addr.Provider {
	_, name, _ := explain.Split(x.text)
	out := []addr.Provider{addr.Builtin("terraform"), addr.Builtin("lethe")}
	for _, n := range x.session.Loader.Needs() {
		if !slices.Contains(out, n.Provider) {
			out = append(out, n.Provider)
		}
	}
	slices.SortStableFunc(out, func(a, b addr.Provider) int {
		return cmp.Compare(rank(a, name), rank(b, name))
	})
	return out
}

func rank(p addr.Provider, typ string) int {
	if p.Type == config.ImpliedProvider(typ) {
		return 0
	}
	return 1
}

// schemas returns the schemas of a provider. If they are not available, it records the error in x.errors and returns
// nil.
func (x *asking) schemas(ctx context.Context, p addr.Provider) *provider.Schemas {
	schemas, err := x.session.SchemasOf(ctx, p)
	if err != nil {
		summary, detail, _ := strings.Cut(err.Error(), ": ")
		x.errors = append(x.errors, diag.Errorf(summary, "%s", detail))
		return nil
	}
	return schemas
}

// version returns the version of a provider in the lock file, or "" if the lock file does not have the provider.
func (x *asking) version(p addr.Provider) string {
	lock, _ := x.session.Dir.Lock.Get(p)
	return lock.Version
}

// function shows a function of a provider. It returns false if the text does not have the form of such a function, or
// if the schemas are not available. If the provider has no function with this name, it reports an error and returns
// true.
func (x *asking) function(ctx context.Context) bool {
	names := strings.Split(x.text, "::")
	if len(names) < 3 || names[0] != "provider" {
		return false
	}
	p, name := x.session.Loader.Tree.Root.Provider(names[1]), names[len(names)-1]
	schemas := x.schemas(ctx, p)
	if schemas == nil {
		return false
	}
	f := schemas.Functions[name]
	if f == nil {
		var all []string
		for n := range schemas.Functions {
			all = append(all, n)
		}
		slices.Sort(all)
		x.session.Dir.Call.Bag.Add(diag.Errorf("Nothing to explain", "The provider %s has no function %q.%s", p.ForDisplay(), name, diag.Meant(diag.Suggest(name, all))))
		return true
	}
	e := &explain.Function{Name: x.text, Provider: p, Version: x.version(p), Function: f}
	x.show(func(w io.Writer) error { return explainview.FunctionJSON(w, e) }, func(w io.Writer) error { return explainview.Function(w, e) })
	return true
}
