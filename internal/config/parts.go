package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Parts reads what files in the language have in common with configuration that are none, such as test files: the
// same arguments with the same messages. What it finds is in Bag.
type Parts struct {
	rd  *reader
	Bag *diag.Bag
}

// NewParts makes a reader of parts that reports to a bag.
func NewParts(o Options, bag *diag.Bag) *Parts {
	return &Parts{&reader{opts: o.filled()}, bag}
}

// done passes on what the reader found.
func (p *Parts) done() {
	p.Bag.Take(&p.rd.bag)
	p.rd.bag.Clear()
}

// TestSuffixes are how the names of test files end.
var TestSuffixes = []string{".tftest.hcl", ".tofutest.hcl", ".tftest.json", ".tofutest.json"}

// Files gives the names of the files in a directory that end in one of the suffixes; of two that differ only in tf and
// tofu, the one with tofu hides the other. None are given of a directory that cannot be read.
func (p *Parts) Files(dir string, suffixes []string) (names []string, ok bool) {
	all, err := p.rd.opts.Files.List(dir)
	present := map[string]bool{}
	for _, n := range all {
		present[n] = true
	}
	for _, n := range all {
		for _, s := range suffixes {
			base, is := strings.CutSuffix(n, s)
			hidden := strings.HasPrefix(s, ".tf") && present[base+".tofu"+strings.TrimPrefix(s, ".tf")]
			if is && !ignored(n) && !hidden {
				names = append(names, n)
			}
		}
	}
	return names, err == nil
}

// Body reads and parses a file, within the limits; its text becomes known to sources by the name that is shown.
func (p *Parts) Body(dir, name string, sources *diag.Sources) (hcl.Body, string, bool) {
	o := p.rd.opts
	path := o.Files.Join(dir, name)
	shown := o.Display(path)
	text, err := o.Files.Read(path, o.Limits.Bytes)
	if err != nil {
		p.Bag.Add(unreadableFile(shown, err))
		return hcl.EmptyBody(), shown, false
	}
	sources.Set(shown, text)
	body, ok := ParseBody(shown, text, o.Limits, p.Bag)
	return body, shown, ok
}

// Content asks a body for exactly what a schema describes.
func (p *Parts) Content(b hcl.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	defer p.done()
	return p.rd.content(b, s)
}

// Bool reads a constant true or false; an absent argument leaves v as it is.
func (p *Parts) Bool(a *hcl.Attribute, v *bool) {
	defer p.done()
	p.rd.boolean(a, v)
}

// Text reads a constant string; an absent argument leaves v as it is.
func (p *Parts) Text(a *hcl.Attribute, v *string) bool {
	defer p.done()
	return p.rd.text(a, v)
}

// Word reads an argument whose value is a bare word, "" if it is something else or absent.
func (p *Parts) Word(a *hcl.Attribute) string {
	if a == nil {
		return ""
	}
	defer p.done()
	return p.rd.keyword(a)
}

// References reads a list of references, each as it is written and where. example is one, for messages.
func (p *Parts) References(a *hcl.Attribute, example string) (out []Reference) {
	if a == nil {
		return nil
	}
	defer p.done()
	items, _ := p.rd.list(a.Expr, a.Name, example)
	for _, item := range items {
		if r, ok := p.reference(item, a.Name, example); ok {
			out = append(out, r)
		}
	}
	return out
}

// Reference reads one reference.
func (p *Parts) Reference(a *hcl.Attribute, example string) (Reference, bool) {
	defer p.done()
	return p.reference(a.Expr, a.Name, example)
}

func (p *Parts) reference(e hcl.Expression, arg, example string) (Reference, bool) {
	t, ok := p.rd.traversal(e, arg, example)
	if !ok {
		return Reference{}, false
	}
	return Reference{ReferenceText(t), e.Range()}, true
}

// Reference is what an argument refers to: TYPE.NAME["key"], var.x.
type Reference struct {
	Text  string
	Range hcl.Range
}

// ReferenceText is a reference as users write it, with [...] for an index that is not a key.
func ReferenceText(t hcl.Traversal) string {
	var b strings.Builder
	for _, s := range t {
		switch s := s.(type) {
		case hcl.TraverseRoot:
			b.WriteString(s.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + s.Name)
		case hcl.TraverseIndex:
			if k, ok := addr.KeyOf(s.Key); ok {
				b.WriteString(k.String())
			} else {
				b.WriteString("[...]")
			}
		case hcl.TraverseSplat:
			b.WriteString("[*]")
		}
	}
	return b.String()
}

// Passed reads a providers argument.
func (p *Parts) Passed(a *hcl.Attribute) []Passed {
	defer p.done()
	m := &Call{Name: "the module under test"}
	p.loader().passed(m, a)
	return m.Providers
}

// Condition reads an assert block.
func (p *Parts) Condition(b *hcl.Block) (*Condition, bool) {
	defer p.done()
	return p.rd.condition(b)
}

// Name reports whether a label can be a part of references.
func (p *Parts) Name(b *hcl.Block, title string) bool {
	if !validName(b.Labels[0]) {
		p.Bag.Add(diag.Errorf(title, "%s", badName).At(b.LabelRanges[0]))
		return false
	}
	return true
}

// Place is where messages say that a block is: its header, or in JSON its last label.
func Place(b *hcl.Block) hcl.Range { return place(b) }

// Module reads blocks that could stand in a configuration as well, such as provider and variable blocks.
func (p *Parts) Module(blocks hcl.Blocks) *Module {
	defer p.done()
	l := p.loader()
	for _, b := range blocks {
		l.declare(b)
	}
	return l.mod
}

func (p *Parts) loader() *loader {
	return &loader{rd: p.rd, mod: newModule(""), entries: map[string]*hcl.Attribute{}, declared: map[string]hcl.Range{}}
}
