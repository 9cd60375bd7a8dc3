package rewrite

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Inputs are the configuration to edit, and functions that return facts about its state, its values and its providers.
type Inputs struct {
	Tree  *config.Tree
	Texts *Texts // the parsed texts of the tree; nil: New parses them
	// Block returns the schema of a type, or nil if it is not available or does not exist.
	Block func(p addr.Provider, mode addr.Mode, typ string) *schema.Block
	// Fixed returns "" if the file at a path may be changed. Otherwise it returns the reason why not, as the end of a
	// sentence.
	Fixed func(path string) string
	// Given returns the source of the value of a root variable, such as "prod.tfvars". It returns "" if only the
	// default is set.
	Given func(variable string) string
	// Exists reports whether the state has an object of the resource.
	Exists func(addr.Resource) bool
	// Number reports whether the version for a write-only argument must be a plain number, and not the version of a
	// resource of the type lethe_secret_version.
	Number func(of addr.Resource, argument string) bool
	// Hide masks the secrets of the state in a text. It may be nil.
	Hide  func(string) string
	Tests []Test
}

// Result describes one move: edits after which the state no longer stores a value.
type Result struct {
	Refused string   // why nothing was changed, as sentences; "" after a move
	Lives   []string // where the value is stored after the move, each as the end of a sentence
	Callers []string // places that pass the value to plan, and must pass it to apply, too; each is a noun
	Notes   []string // further sentences for the user
	// ByHand has the edits that the user must make, because one of the files must not be changed. If it is not empty, the
	// move changed no file.
	ByHand []File
	// Advice describes the edits that the user must make in a JSON file. If it is not "", the move changed no file.
	Advice string
	// Resources are the resources whose arguments were changed.
	Resources []addr.Resource
	// Versions are the resources of the type lethe_secret_version that were added.
	Versions []addr.Resource
	// Arguments are the names of the changed arguments of Resources, at the top level.
	Arguments []string
	// ReadsBack is the resource whose write-only argument receives a value that the resource's own object keeps in the
	// secret manager. The object must not be destroyed before the value was read. ReadsBack is zero for other moves.
	ReadsBack addr.Resource

	origins []origin // the sources of the value, which the method Settle makes ephemeral if possible
}

func refused(text string) *Result { return &Result{Refused: text} }

// Draft is a configuration that is being edited. It must not be used concurrently.
type Draft struct {
	in      Inputs
	modules []*module
	of      map[*config.Module]*module
	log     []change                // all edits, so that a refused move can be undone
	settled map[declaration]*Result // the results of the moves that Settle has made, by the variable, data source or other declaration
	moved   map[origin][]origin     // the sources of the arguments that were moved; the keys are resources with an attribute
	// fixedFiles has the results of Inputs.Fixed by path.
	fixedFiles map[string]string
	// constants has the constant strings in the moved expressions, each with the text that differences show for it.
	constants map[string]string
	concealer *strings.Replacer // replaces the strings in constants by their texts; nil after constants has changed
	tests     []test
	effects   []effect // the effects of the moves on declarations to which test files may refer
}

// module is a directory of files. Several module calls may share it.
type module struct {
	nodes    []*config.Node
	files    []*file
	index    *index
	mentions map[string]string // the name of a JSON file that may have a reference, by the text of the reference; nil before the first look-up
}

// change is an edit of a part (a top-level block of a file), with its former text.
type change struct {
	p    *part
	text []byte
	body *hclsyntax.Body
}

// declaration is a named declaration, such as a variable, in a module.
type declaration struct {
	m *module
	symbol
}

// origin is a place from which the value of an expression comes, such as a variable or an attribute.
type origin struct {
	declaration
	attribute string // the attribute of a resource; "" for other origins
	literal   string // the place of a constant in the configuration; "" for other origins
	file      string // the place of an expression that reads a file; "" for other origins
	fresh     string // the name of a function that returns a new value at each call; "" for other origins
}

// Texts has the parsed files of a tree. Several drafts of the tree may share it, so that each file is parsed only once.
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
			files[i] = file{name: f.Name, path: filepath.Join(n.Module.Dir, filepath.Base(f.Name)), before: f.Bytes}
			files[i].generated = isGenerated(f.Bytes)
			files[i].tidy = bytes.Equal(hclwrite.Format(f.Bytes), f.Bytes)
			files[i].split()
		}
		out.of[n.Module] = files
	})
	return out
}

// Test is a test file. Moves do not edit test files. They report the places in them that no longer fit the
// configuration.
type Test struct {
	Name string // the name in messages
	Dir  string // the directory of the module that the file tests
	Text []byte
}

// test is a parsed test file, as a module of one file.
type test struct {
	*module
	dir string
}

// parseTests parses test files.
func parseTests(files []Test) []test {
	var out []test
	for _, t := range files {
		f := &file{name: t.Name, before: t.Text, index: newIndex()}
		f.split()
		for i, p := range f.parts {
			p.place = i
			p.record()
			f.index.add(p)
		}
		out = append(out, test{&module{files: []*file{f}, index: f.index}, t.Dir})
	}
	return out
}

// effect is a consequence of the draft's edits for another declaration, such as an output that becomes null.
type effect struct {
	declaration
	attribute string // the attribute that becomes null; "" if the declaration is removed, or becomes ephemeral
	now       string // the end of a sentence about the declaration after the move
	mark      int    // the length of Draft.log after the edit; the effect exists while the log is at least as long
}

// New returns a draft with the unchanged texts of a tree.
func New(in Inputs) *Draft {
	if in.Texts == nil {
		in.Texts = Parse(in.Tree)
	}
	d := &Draft{in: in, of: map[*config.Module]*module{}, settled: map[declaration]*Result{}, moved: map[origin][]origin{}, fixedFiles: map[string]string{}, constants: map[string]string{}, tests: parseTests(in.Tests)}
	place := 0
	in.Tree.Root.Walk(func(n *config.Node) {
		m := d.of[n.Module]
		if m == nil {
			m = &module{index: newIndex()}
			for _, f := range in.Texts.of[n.Module] {
				f.index, f.parts = m.index, slices.Clone(f.parts)
				m.files = append(m.files, &f)
				for i, p := range f.parts {
					f.parts[i] = &part{file: &f, place: place, text: p.text, body: p.body}
					f.parts[i].record()
					m.index.add(f.parts[i])
					place++
				}
			}
			d.of[n.Module] = m
			d.modules = append(d.modules, m)
		}
		m.nodes = append(m.nodes, n)
	})
	return d
}

// Changed returns the new texts of the changed files, by path.
func (d *Draft) Changed() map[string][]byte {
	out := map[string][]byte{}
	d.Each(func(f File) { out[f.Path] = f.After })
	return out
}

// File is a changed file, or a changed part of a file.
type File struct {
	Name          string // the name in messages
	Path          string
	Before, After []byte
	Line          int // the number of lines of the file before this part
}

// Each calls f for each changed file.
func (d *Draft) Each(f func(File)) {
	for _, m := range d.modules {
		for _, x := range m.files {
			if after := x.content(); !bytes.Equal(x.before, after) {
				f(File{Name: x.name, Path: x.path, Before: x.before, After: after})
			}
		}
	}
}

// At returns the addresses of the resource whose block contains an offset of a file. The result has one address for
// each call of its module.
func (d *Draft) At(name string, offset int) (out []addr.Resource) {
	for _, m := range d.modules {
		for _, f := range m.files {
			at := offset
			for _, p := range f.parts {
				if f.name == name && at >= 0 && at < len(p.text) {
					out = append(out, m.at(p, at)...)
				}
				at -= len(p.text)
			}
		}
	}
	return out
}

// at returns the addresses of the resource whose block contains an offset of a part, one for each call of the module.
func (m *module) at(p *part, offset int) (out []addr.Resource) {
	for b := range p.blocks() {
		if b.Type != "resource" || offset < b.TypeRange.Start.Byte || offset > b.CloseBraceRange.End.Byte {
			continue
		}
		for _, n := range m.nodes {
			out = append(out, addr.Resource{Module: n.Path, Mode: addr.Managed, Type: b.Labels[0], Name: b.Labels[1]})
		}
	}
	return out
}

// module returns the module at a path, or nil if the configuration has none.
func (d *Draft) module(at addr.Module) *module {
	if n := nodeAt(d.in.Tree, at); n != nil {
		return d.of[n.Module]
	}
	return nil
}

// nodeAt returns the node of a module in a tree, or nil if the configuration has none.
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

// blocks calls f for each block of a type with the given labels, at the top level or in a check block. Override files
// may repeat a block. labels must contain all labels of the block. Only for the type output it may be nil: blocks then
// calls f for all outputs.
func (m *module) blocks(typ string, labels []string, f func(*part, *hclsyntax.Block)) {
	for _, p := range inOrder(m.index.blocks[headOf(typ, labels)]) {
		for b := range p.blocks() {
			if b.Type == typ && len(b.Labels) >= len(labels) && slices.Equal(b.Labels[:len(labels)], labels) {
				f(p, b)
			}
		}
	}
}

// uses returns the references of a module to a symbol. For an output of a called module, these include references to
// the whole called module.
func (m *module) uses(s symbol) []use {
	out := m.usesOf(s)
	if s.kind == "module" && s.b != "" { // a reference to the whole module refers to the output, too
		out = append(out, m.usesOf(symbol{"module", s.a, ""})...)
	}
	return out
}

func (m *module) usesOf(s symbol) []use {
	var out []use
	for _, p := range inOrder(m.index.uses[s]) {
		out = append(out, p.uses[s]...)
	}
	return out
}

// words matches references in JSON files, and other texts.
var words = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\w.-]+`) })

// inJSON returns the name of a JSON file of the module that may refer to a symbol, or "" if none does. References in
// JSON are parts of strings, so any mention of the name counts.
func (m *module) inJSON(s symbol) string {
	if m.mentions == nil {
		m.mentions = map[string]string{}
		for _, f := range m.files {
			if !f.isJSON() {
				continue
			}
			for _, word := range words().FindAllString(string(f.before), -1) {
				names := strings.SplitN(word, ".", 4)
				for n := range min(len(names), 3) {
					m.mentions[strings.Join(names[:n+1], ".")] = f.name
				}
			}
		}
	}
	return m.mentions[s.text()]
}

// children returns the modules to which a named module call in m can lead.
func (d *Draft) children(m *module, call string) []*module {
	var out []*module
	for _, n := range m.nodes {
		if c := n.Children[call]; c != nil && d.of[c.Module] != nil {
			out = append(out, d.of[c.Module])
		}
	}
	return out
}

// calls passes each call of the module m to f: the calling module and the name of the call.
func (d *Draft) calls(m *module, f func(parent *module, call string)) {
	for _, n := range m.nodes {
		if n.Parent != nil {
			f(d.of[n.Parent.Module], n.Call.Name)
		}
	}
}

// schema returns the schema of the type of a resource, data or ephemeral block. It returns nil if the schema is not
// known.
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

// resource returns the address of a block's resource. If several calls share the module, it is the address in the first
// call.
func (m *module) resource(b *hclsyntax.Block) addr.Resource {
	return addr.Resource{Module: m.nodes[0].Path, Mode: modes[b.Type], Type: b.Labels[0], Name: b.Labels[1]}
}

// generated matches the comments of generators at the beginning of a file.
var generated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)__generated__|code generated|(auto-?|automatically |file (was|is) |this file )generated|generated by|do not edit`)
})

// fixed returns the reason why a file must not be changed, as the end of a sentence. It returns "" if the file may be
// changed.
func (d *Draft) fixed(f *file) string {
	switch {
	case f.isJSON():
		return "it is JSON"
	case f.generated:
		return "a program generated it"
	}
	why, known := d.fixedFiles[f.path]
	if !known {
		why = d.in.Fixed(f.path)
		d.fixedFiles[f.path] = why
	}
	return why
}

// isGenerated reports whether a comment in the first lines of a text contains a notice that a program generated it.
func isGenerated(text []byte) bool {
	head := ""
	for range 10 {
		line, rest, more := bytes.Cut(text, []byte("\n"))
		if l := string(bytes.TrimSpace(line)); strings.HasPrefix(l, "#") || strings.HasPrefix(l, "//") || strings.HasPrefix(l, "/*") || strings.HasPrefix(l, "*") {
			head += l + "\n"
		}
		if !more {
			break
		}
		text = rest
	}
	return generated().MatchString(head)
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

// ModuleAt returns the module at a path, or nil if the configuration has none. Several calls may share a module.
func ModuleAt(t *config.Tree, at addr.Module) *config.Module {
	if n := nodeAt(t, at); n != nil {
		return n.Module
	}
	return nil
}
