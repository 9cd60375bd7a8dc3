// Package queryfile reads query files. They contain list blocks, and the variables, local values and provider
// configurations of the queries, in addition to the declarations of the root module.
package queryfile

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

// suffixes are the suffixes of query files.
var suffixes = []string{".tfquery.hcl", ".tofuquery.hcl", ".tfquery.json", ".tofuquery.json"}

var schema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "list", LabelNames: []string{"type", "name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "locals"},
}}

// Amend returns a function for config.Options.Amend. The function adds the declarations of the query files in the
// directory of the root module to the root module. It returns false if it has reported an error.
func Amend(o config.Options) func(root *config.Module, sources *diag.Sources, bag *diag.Bag) bool {
	return func(root *config.Module, sources *diag.Sources, bag *diag.Bag) bool {
		var own diag.Bag
		m := read(root, o, sources, &own)
		merge(root, m, &own)
		ok := !own.HasErrors()
		bag.Move(&own)
		return ok
	}
}

// Require adds the providers of the query files to the requirements of the root module, as far as the files can be
// read. It reports no mistakes, because the commands that use query files report them.
func Require(root *config.Module, o config.Options) {
	m := read(&config.Module{Dir: root.Dir}, o, &diag.Sources{}, &diag.Bag{})
	for name, p := range m.Providers {
		imply(root, name.Local, p.Versions)
	}
	for _, r := range m.Resources {
		if r.Provider != nil {
			imply(root, r.Provider.Local, nil)
		}
	}
}

// Texts returns the texts of the query files in a directory. It reports no errors.
func Texts(dir string, o config.Options) []string {
	m := &config.Module{Dir: dir}
	read(m, o, &diag.Sources{}, &diag.Bag{})
	var out []string
	for _, f := range m.Files {
		out = append(out, string(f.Bytes))
	}
	return out
}

// read reads the query files in the directory of the root module, and adds the files to root.Files. The result has the
// declarations in these files.
func read(root *config.Module, o config.Options, sources *diag.Sources, bag *diag.Bag) *config.Module {
	parts := config.NewParts(o, bag)
	names, _ := parts.Files(root.Dir, suffixes) // ignore the result: the loader of the root module reports an unreadable directory
	warnUnnamed(root.Dir, o, bag)
	slices.Sort(names)
	var blocks hcl.Blocks
	for _, name := range names {
		body, shown, ok := parts.Body(root.Dir, name, sources)
		if !ok {
			continue
		}
		root.Files = append(root.Files, config.File{Name: shown, Bytes: sources.Get(shown)})
		content, _ := parts.Content(body, schema)
		blocks = append(blocks, content.Blocks...)
	}
	return parts.Module(blocks)
}

// warnUnnamed warns of a file whose whole name is a suffix, such as .tfquery.hcl. Such a name begins with a dot, so the
// file is hidden and not read.
func warnUnnamed(dir string, o config.Options, bag *diag.Bag) {
	if o.Files == nil {
		o.Files = config.Disk
	}
	all, _ := o.Files.List(dir)
	for _, name := range all {
		if slices.Contains(suffixes, name) {
			bag.Add(diag.Warningf("Query file ignored", "The file %s is ignored, because names that begin with a dot are hidden files. Rename it, for example to main%s.", name, name))
		}
	}
}

// merge adds the declarations of query files to the root module. It reports names that both the query files and the
// root module declare.
func merge(root, m *config.Module, bag *diag.Bag) {
	for name, v := range m.Variables {
		if first := root.Variables[name]; first != nil {
			again(bag, "Duplicate variable declaration", "variable", name, v.Range, first.Range)
			continue
		}
		root.Variables[name] = v
	}
	for name, l := range m.Locals {
		if first := root.Locals[name]; first != nil {
			again(bag, "Duplicate local value definition", "local value", name, l.Range, first.Range)
			continue
		}
		root.Locals[name] = l
	}
	for name, p := range m.Providers {
		if first := root.Providers[name]; first != nil {
			again(bag, "Duplicate provider configuration", "provider configuration", name.String(), p.Range, first.Range)
			continue
		}
		root.Providers[name] = p
		imply(root, name.Local, p.Versions)
	}
	for name, r := range m.Resources {
		root.Resources[name] = r
		if r.Provider != nil {
			imply(root, r.Provider.Local, nil)
		}
	}
}

// imply adds the requirement of a provider if the root module does not require the provider. It adds versions to the
// requirement.
func imply(root *config.Module, local string, versions []config.VersionConstraint) {
	if root.Required[local] == nil {
		root.Required[local] = &config.Requirement{Local: local, Source: addr.Default(local)}
	}
	root.Required[local].Versions = append(root.Required[local].Versions, versions...)
}

func again(bag *diag.Bag, title, what, name string, at, first hcl.Range) {
	bag.Add(diag.Errorf(title, "A %s named %q was already declared at %s. Query files and the root module share these names: rename or remove one of them.", what, name, first).At(at).See("declared here", first))
}

// Lists returns the list blocks of a module, sorted by type and name.
func Lists(m *config.Module) []*config.Resource {
	var out []*config.Resource
	for name, r := range m.Resources {
		if name.Mode == addr.List {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *config.Resource) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name.Name, b.Name.Name))
	})
	return out
}
