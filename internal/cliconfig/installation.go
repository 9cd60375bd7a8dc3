package cliconfig

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/registry"
)

// place maps an installation method to the name of the argument that has its directory or URL.
var place = map[string]string{"filesystem_mirror": "path", "network_mirror": "url"}

func (s *Settings) installation(b *hcl.Block, bag *diag.Bag) bool {
	s.Installs = true
	methods := []hcl.BlockHeaderSchema{{Type: "direct"}, {Type: "filesystem_mirror"}, {Type: "network_mirror"}, {Type: "oci_mirror"}}
	content, ds := b.Body.Content(&hcl.BodySchema{Blocks: methods, Attributes: []hcl.AttributeSchema{{Name: "dev_overrides"}}})
	ok := bag.HCL(ds)
	if a := content.Attributes["dev_overrides"]; a != nil {
		ok = s.overrides(a, bag) && ok
	}
	for _, m := range content.Blocks {
		in := Installation{Method: m.Type}
		attrs, ds := m.Body.JustAttributes()
		ok = bag.HCL(ds) && ok
		fromServer := m.Type == "direct" || m.Type == "network_mirror"
		for name, a := range attrs {
			good := true
			switch {
			case name == "include":
				in.Include, good = listOf(a, bag)
			case name == "exclude":
				in.Exclude, good = listOf(a, bag)
			case name == "repository_template" && m.Type == "oci_mirror":
				var text string
				if text, good = textOf(a, bag); !good {
					break
				}
				var err error
				if in.Repository, err = RepositoryTemplate(text); err != nil {
					bag.Add(diag.Errorf("Invalid provider installation method", "The argument repository_template is not valid: %s.", err).At(a.Expr.Range()))
					good = false
				}
			case name == place[m.Type]:
				if in.Path, good = textOf(a, bag); !good {
					break
				}
				switch {
				case m.Type == "network_mirror":
					if _, err := registry.MirrorURL(in.Path); err != nil {
						bag.Add(diag.Errorf("Invalid provider installation method", "The URL of the network mirror is not valid: %s.", err).At(a.Expr.Range()))
						good = false
					}
				case in.Path == "":
					refuse(a, "the name of a directory", bag)
					good = false
				}
			case name == "download_retry_count" && fromServer:
				in.Retries, good = countOf(a, 0, bag)
			case name == "trust_all_hashes" && m.Type == "network_mirror":
				in.Trusted, good = flagOf(a, bag)
			default:
				bag.Add(diag.Errorf("Invalid provider installation method", "The %s block takes no argument %q.", m.Type, name).At(a.NameRange))
				ok = false
			}
			ok = ok && good
		}
		for _, pattern := range slices.Concat(in.Include, in.Exclude) {
			if !selects(pattern) {
				bag.Add(diag.Errorf("Invalid provider installation method", "The pattern %q selects no provider. A pattern is an address such as \"registry.example.com/acme/net\" or \"acme/net\", in which \"*\" matches any part. \"*/*/*\" selects all providers.", pattern).At(m.DefRange))
				ok = false
			}
		}
		if name := place[m.Type]; name != "" && attrs[name] == nil {
			bag.Add(diag.Errorf("Invalid provider installation method", "A %s block needs the argument %s, the location of the providers.", m.Type, name).At(m.DefRange))
			ok = false
		}
		switch {
		case m.Type != "oci_mirror":
		case attrs["repository_template"] == nil:
			bag.Add(diag.Errorf("Invalid provider installation method", "An oci_mirror block needs the argument repository_template, the location of the providers.").At(m.DefRange))
			ok = false
		case in.Repository != nil:
			ok = in.distinct(attrs["repository_template"], bag) && ok
		}
		s.Sources = append(s.Sources, in)
	}
	return ok
}

// overrides reads dev_overrides, which has the directory of an executable for each provider. It returns false if it has
// reported an error.
func (s *Settings) overrides(a *hcl.Attribute, bag *diag.Bag) bool {
	entries, ds := hcl.ExprMap(a.Expr)
	if all, more := hcl.ExprList(a.Expr); ds.HasErrors() && !more.HasErrors() { // in JSON, a block is a list of objects
		ds = nil
		for _, one := range all {
			pairs, problems := hcl.ExprMap(one)
			entries, ds = append(entries, pairs...), append(ds, problems...)
		}
	}
	ok := bag.HCL(ds)
	for _, e := range entries {
		k, ds := e.Key.Value(nil)
		dir, more := e.Value.Value(nil)
		if ds = append(ds, more...); ds.HasErrors() {
			ok = bag.HCL(ds) && ok
			continue
		}
		wrong := func(at hcl.Range, format string, args ...any) {
			bag.Add(diag.Errorf("Invalid provider in dev_overrides", format, args...).At(at))
			ok = false
		}
		if !isText(k) {
			wrong(e.Key.Range(), "The names in dev_overrides are source addresses of providers, such as \"acme/net\".")
			continue
		}
		p, err := addr.ParseProvider(k.AsString())
		switch {
		case err != nil:
			wrong(e.Key.Range(), "%q is not the source address of a provider, such as \"acme/net\": %s.", k.AsString(), err)
		case !isText(dir) || dir.AsString() == "":
			wrong(e.Value.Range(), "The entry for %q has to be a directory with the executable of the provider.", k.AsString())
		default:
			put(&s.Overrides, p, dir.AsString())
		}
	}
	return ok
}

// distinct checks that the template of an oci_mirror block does not map several providers to one repository. It
// considers only the providers that the block selects. It reports an error and returns false if the template does.
func (in *Installation) distinct(a *hcl.Attribute, bag *diag.Bag) bool {
	ok := true
	for _, x := range []struct {
		part  string
		other addr.Provider
		of    func(addr.Provider) string
	}{
		{"namespace", addr.Provider{Host: "a.example", Namespace: "b", Type: "a"}, func(p addr.Provider) string { return p.Namespace }},
		{"type", addr.Provider{Host: "a.example", Namespace: "a", Type: "b"}, func(p addr.Provider) string { return p.Type }},
	} {
		selected := map[string]bool{}
		for _, pattern := range in.Include {
			p, _ := addr.ParseProvider(anyFor(pattern))
			selected[x.of(p)] = true
		}
		one := len(selected) == 1 && !selected["any"]
		if !one && in.Repository(x.other) == in.Repository(addr.Provider{Host: "a.example", Namespace: "a", Type: "a"}) {
			bag.Add(diag.Errorf("Invalid provider installation method", "Several providers would share one repository. Add ${%s} to repository_template, or select one %s with include.", x.part, x.part).At(a.Expr.Range()))
			ok = false
		}
	}
	return ok
}

// selects reports whether a pattern of include or exclude can select any provider. A pattern of one part is refused, as
// in Terraform and OpenTofu: exclude = ["*"] would exclude only providers in the namespace hashicorp.
func selects(pattern string) bool {
	_, err := addr.ParseProvider(anyFor(pattern))
	return err == nil && strings.Contains(pattern, "/")
}

// anyFor returns a pattern with a valid name in the place of each "*".
func anyFor(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if part == "*" {
			parts[i] = "any.test"
			if i > len(parts)-3 {
				parts[i] = "any"
			}
		}
	}
	return strings.Join(parts, "/")
}
