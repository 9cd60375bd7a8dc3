package rewrite

import (
	"bytes"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Inputs are the configuration to edit, and facts about its surroundings.
type Inputs struct {
	Tree  *config.Tree
	Texts *Texts // of the tree; nil: New parses them
	// Block returns the schema of a type, nil if it is not available or does not exist.
	Block func(p addr.Provider, mode addr.Mode, typ string) *schema.Block
	// Fixed returns the reason why the file at a path must not be changed, as the end of a sentence; "" if it may be.
	Fixed func(path string) string
	// Given returns the source of the value of a root variable, such as "prod.tfvars"; "" if only its default is set.
	Given func(variable string) string
	// Exists reports whether the state has an object of the resource.
	Exists func(addr.Resource) bool
	// Numbers is true if versions of secrets are plain numbers, never lethe_secret_version.
	Numbers bool
}

// Result describes one move.
type Result struct {
	Refused string   // why nothing was changed, as sentences; "" after a move
	Lives   []string // where the value is afterwards, each as the end of a sentence
	Callers []string // places that pass the value and must do so at apply, each as a noun
	Notes   []string // sentences
	// Constants are the texts of the constant strings in the moved expression, with their quotes.
	Constants []string
	// ByHand is the edit as text, if a file must not be changed. Nothing was changed then.
	ByHand string
	// Resources are the resources whose arguments were changed.
	Resources []addr.Resource
	// Arguments are the names of the changed arguments at the top level of these resources.
	Arguments []string
	// ReadsBack is the resource whose write-only argument receives the value that its own object keeps. The object must
	// not be destroyed before that value was read. It is zero for other moves.
	ReadsBack addr.Resource

	origins []origin // of the value, for Settle
}

func refused(text string) *Result { return &Result{Refused: text} }

// Draft is a configuration under edit. It serves one goroutine.
type Draft struct {
	in      Inputs
	modules []*module
	of      map[*config.Module]*module
}

// module is a directory of files, which several calls may share.
type module struct {
	nodes []*config.Node
	files []*file
	index map[symbol][]use // nil if the texts have changed since
}

// file is a configuration file.
type file struct {
	name, path   string
	before, text []byte
	body         *hclsyntax.Body // nil for JSON
	tidy         bool            // in the canonical style
}

// symbol names a declaration inside its module.
type symbol struct {
	kind string // var, local, data, ephemeral, module or resource
	a, b string // the names; b is the name of an output for module, and "" for var and local
}

// kind is the kind of the place of a reference.
type kind uint8

const (
	argument  kind = iota // of a resource, data or ephemeral block
	session               // an argument of a provider
	provision             // of a provisioner or a connection
	condition             // of a variable, an output, a resource or a check
	local                 // a local value
	input                 // an argument of a module call
	output                // the value of an output
	order                 // depends_on
	repeat                // count or for_each
	other                 // everything else
)

// place is the place of a reference.
type place struct {
	kind  kind
	f     *file
	block *hclsyntax.Block // the block at the top level, or in a check block
	path  []string         // of an argument
	name  string           // of a local value, an output, or an input; otherwise for messages
	// whole is the expression that the place consists of.
	whole hclsyntax.Expression
}

// use is a reference to a symbol.
type use struct {
	place
	traversal hcl.Traversal
}

// declaration is a symbol of a module.
type declaration struct {
	m *module
	symbol
}

// origin is a place that the value of an expression comes from.
type origin struct {
	declaration
	literal string // the place of a constant in the configuration; "" for others
	file    string // the place of an expression that reads a file
	fresh   string // the name of a function that returns a new value at each call
}

// Texts are the parsed files of a tree. Several drafts of the tree may share them, so that each file is parsed once.
type Texts struct{ of map[*config.Module][]file }

// Parse parses the files of a tree.
func Parse(t *config.Tree) *Texts {
	out := &Texts{of: map[*config.Module][]file{}}
	t.Root.Walk(func(n *config.Node) {
		if _, done := out.of[n.Module]; done {
			return
		}
		files := make([]file, len(n.Module.Files))
		for i, f := range n.Module.Files {
			files[i] = file{name: f.Name, path: filepath.Join(n.Module.Dir, filepath.Base(f.Name)), before: f.Bytes, text: f.Bytes}
			files[i].tidy = bytes.Equal(hclwrite.Format(f.Bytes), f.Bytes)
			files[i].parse()
		}
		out.of[n.Module] = files
	})
	return out
}

// New returns a draft with the texts of a tree, unchanged.
func New(in Inputs) *Draft {
	if in.Texts == nil {
		in.Texts = Parse(in.Tree)
	}
	d := &Draft{in: in, of: map[*config.Module]*module{}}
	in.Tree.Root.Walk(func(n *config.Node) {
		m := d.of[n.Module]
		if m == nil {
			m = &module{}
			for _, f := range in.Texts.of[n.Module] {
				m.files = append(m.files, &f)
			}
			d.of[n.Module] = m
			d.modules = append(d.modules, m)
		}
		m.nodes = append(m.nodes, n)
	})
	return d
}

// parse parses the text of a file. It reports whether that succeeded; JSON always succeeds and has no body.
func (f *file) parse() bool {
	if strings.HasSuffix(f.name, ".json") {
		return true
	}
	parsed, ds := hclsyntax.ParseConfig(f.text, f.name, hcl.InitialPos)
	if ds.HasErrors() {
		return false
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	f.body = body
	return ok
}

// Changed returns the new texts of the changed files, by path.
func (d *Draft) Changed() map[string][]byte {
	out := map[string][]byte{}
	d.Each(func(f File) { out[f.Path] = f.After })
	return out
}

// File is a changed file.
type File struct {
	Name          string // in messages
	Path          string
	Before, After []byte
}

// Each calls f for each changed file.
func (d *Draft) Each(f func(File)) {
	for x := range d.files() {
		if !bytes.Equal(x.before, x.text) {
			f(File{x.name, x.path, x.before, x.text})
		}
	}
}

// files returns the files of all modules, in order.
func (d *Draft) files() iter.Seq[*file] {
	return func(yield func(*file) bool) {
		for _, m := range d.modules {
			for _, f := range m.files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// module returns the module at a path, nil if the configuration has none.
func (d *Draft) module(at addr.Module) *module {
	if n := nodeAt(d.in.Tree, at); n != nil {
		return d.of[n.Module]
	}
	return nil
}

// nodeAt returns the node of a module in a tree, nil if the configuration has none.
func nodeAt(t *config.Tree, at addr.Module) *config.Node {
	n := t.Root
	for _, name := range at.Path() {
		if n = n.Children[name]; n == nil {
			return nil
		}
	}
	return n
}

// root reports whether a module is the root module.
func (m *module) root() bool { return m.nodes[0].Parent == nil }

// blocks calls f for the top-level blocks of a type with labels, and for those in check blocks. Override files may repeat a
// block.
func (m *module) blocks(typ string, labels []string, f func(*file, *hclsyntax.Block)) {
	for _, x := range m.files {
		if x.body == nil {
			continue
		}
		for _, b := range x.body.Blocks {
			inner := hclsyntax.Blocks{b}
			if b.Type == "check" {
				inner = b.Body.Blocks
			}
			for _, b := range inner {
				if b.Type == typ && len(b.Labels) >= len(labels) && slices.Equal(b.Labels[:len(labels)], labels) {
					f(x, b)
				}
			}
		}
	}
}

// children returns the modules that a call of m leads to.
func (d *Draft) children(m *module, call string) []*module {
	var out []*module
	for _, n := range m.nodes {
		if c := n.Children[call]; c != nil && d.of[c.Module] != nil {
			out = append(out, d.of[c.Module])
		}
	}
	return out
}

// calls calls f for each call of a module, with the calling module.
func (d *Draft) calls(m *module, f func(parent *module, call string)) {
	for _, n := range m.nodes {
		if n.Parent != nil {
			f(d.of[n.Parent.Module], n.Call.Name)
		}
	}
}

// schema returns the schema of the type of a resource, data or ephemeral block; nil if it is not known.
func (d *Draft) schema(m *module, b *hclsyntax.Block) *schema.Block {
	return d.in.Block(m.nodes[0].Provider(localProvider(b)), modes[b.Type], b.Labels[0])
}

// localProvider returns the local name of the provider of a block.
func localProvider(b *hclsyntax.Block) string {
	if a := b.Body.Attributes["provider"]; a != nil {
		if t := hclsyntax.Variables(a.Expr); len(t) > 0 {
			return t[0].RootName()
		}
	}
	return config.ImpliedProvider(b.Labels[0])
}

var modes = map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral}

// resource returns the address of the resource of a block, in the first of the places of its module.
func (m *module) resource(b *hclsyntax.Block) addr.Resource {
	return addr.Resource{Module: m.nodes[0].Path, Mode: modes[b.Type], Type: b.Labels[0], Name: b.Labels[1]}
}

// generated matches the comments of generators at the beginning of a file.
var generated = regexp.MustCompile(`(?i)__generated__|code generated|(auto-?|automatically |file (was|is) |this file )generated|generated by|do not edit`)

// fixed returns the reason why a file must not be changed, as the end of a sentence; "" if it may be.
func (d *Draft) fixed(f *file) string {
	head, lines := "", strings.Split(string(f.before), "\n")
	for _, l := range lines[:min(len(lines), 10)] {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "#") || strings.HasPrefix(l, "//") || strings.HasPrefix(l, "/*") || strings.HasPrefix(l, "*") {
			head += l + "\n"
		}
	}
	switch {
	case f.body == nil:
		return "it is JSON"
	case generated.MatchString(head):
		return "a program generated it"
	}
	return d.in.Fixed(f.path)
}

// ProviderOf returns the provider of a resource of a configuration, and false if the configuration does not declare it.
func ProviderOf(t *config.Tree, r addr.Resource) (addr.Provider, bool) {
	n := nodeAt(t, r.Module)
	if n == nil {
		return addr.Provider{}, false
	}
	declared := n.Module.Resources[config.Name{Mode: r.Mode, Type: r.Type, Name: r.Name}]
	if declared == nil {
		return addr.Provider{}, false
	}
	return n.Provider(declared.LocalProvider().Local), true
}
