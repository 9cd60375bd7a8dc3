package config

import (
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// Parts reads arguments and blocks of files that are not configuration but share parts of the language, such as test
// files. It reports the same messages as for configuration, to Bag.
type Parts struct {
	rd  *reader
	Bag *diag.Bag
}

// NewParts returns a reader of parts that reports to bag.
func NewParts(o Options, bag *diag.Bag) *Parts {
	return &Parts{&reader{opts: o.filled()}, bag}
}

// done moves the messages of the reader to Bag, and allows further messages.
func (p *Parts) done() {
	p.Bag.Move(&p.rd.bag)
	p.rd.bag.Clear()
}

// Files returns the sorted names of the files in a directory that have one of the suffixes. If two names differ only in
// tf and tofu, the file with tofu hides the other. Files leaves out hidden files and backups of editors. ok is false if
// the directory cannot be read.
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

// Body reads and parses a file within the limits, and adds its text to sources. It also returns the name of the file in
// ranges. After an error, it returns false, and the body has only the parts that could be parsed.
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

// Content returns the content of a body that matches a schema. If the body contains anything else, Content reports
// errors and returns false.
func (p *Parts) Content(b hcl.Body, s *hcl.BodySchema) (*hcl.BodyContent, bool) {
	defer p.done()
	return p.rd.content(b, s)
}

// Bool reads a constant true or false. If the argument is absent or not such a constant, *v does not change. Bool
// reports the second case as an error.
func (p *Parts) Bool(a *hcl.Attribute, v *bool) {
	defer p.done()
	p.rd.boolean(a, v)
}

// Text reads a constant string into *v and returns true. If the argument is absent or not a constant string, *v does
// not change and the result is false. Text reports the second case as an error.
func (p *Parts) Text(a *hcl.Attribute, v *string) bool {
	defer p.done()
	return p.rd.text(a, v)
}

// Word returns the keyword in an argument, or "" if the argument is absent or not a keyword.
func (p *Parts) Word(a *hcl.Attribute) string {
	if a == nil {
		return ""
	}
	defer p.done()
	return p.rd.keyword(a)
}

// References reads a list of references. It reports elements that are not references. example is an example of a
// reference for this error.
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

// Reference reads one reference. For any other expression it reports an error, with example, and returns false.
func (p *Parts) Reference(a *hcl.Attribute, example string) (Reference, bool) {
	defer p.done()
	return p.reference(a.Expr, a.Name, example)
}

func (p *Parts) reference(e hcl.Expression, arg, example string) (Reference, bool) {
	t, ok := p.rd.traversal(e, arg, example)
	if !ok {
		return Reference{}, false
	}
	return Reference{syntax.ReferenceText(t), e.Range()}, true
}

// Reference is a reference in an argument, such as TYPE.NAME["key"] or var.x.
type Reference struct {
	Text  string
	Range hcl.Range
}

// Passed reads a providers argument of a run.
func (p *Parts) Passed(a *hcl.Attribute) []Passed {
	defer p.done()
	m := &Call{Name: "the module under test"}
	newLoader(p.rd, "").passed(m, a)
	return m.Providers
}

// Condition reads an assert block. If the block is invalid, Condition reports an error and returns false.
func (p *Parts) Condition(b *hcl.Block) (*Condition, bool) {
	defer p.done()
	return p.rd.condition(b)
}

// Name reports whether the label of a block is a valid name. If not, it reports an error with the given title.
func (p *Parts) Name(b *hcl.Block, title string) bool {
	if !ValidName(b.Labels[0]) {
		p.Bag.Add(diag.Errorf(title, "%s", badName).At(b.LabelRanges[0]))
		return false
	}
	return true
}

// Place returns the range of a block for messages: its header. In JSON syntax it is the last label, or the end of a
// block without labels.
func Place(b *hcl.Block) hcl.Range { return place(b) }

// Module reads blocks that have the same syntax in configuration, such as provider and variable blocks. The result has
// only these declarations.
func (p *Parts) Module(blocks hcl.Blocks) *Module {
	defer p.done()
	l := newLoader(p.rd, "")
	for _, b := range blocks {
		l.declare(b)
	}
	return l.mod
}
