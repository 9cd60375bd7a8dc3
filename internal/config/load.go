package config

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Load reads the module in a directory.
//
// The story: parse every file; check the versions that the module asks for, before anything else;
// gather the blocks of the primary files; lay those of the override files over them; then read
// each block. Where files cannot be parsed, what is said ends there, because the rest would only
// be the consequences.
//
// sources, if not nil, gets the text of every file, by the name that ranges spell. The result is
// false if an error is in the bag; the module then holds what was understood.
func Load(dir string, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	return load(dir, &Node{}, o.filled(), sources, bag)
}

// load is Load for a node in the tree, which messages about the module as a whole name.
func load(dir string, n *Node, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	l := &loader{opts: o, mod: newModule(dir)}
	ok := l.files(dir, n, sources)
	bag.Take(&l.bag)
	return l.mod, ok
}

func newModule(dir string) *Module {
	return &Module{
		Dir:       dir,
		Required:  map[string]*Requirement{},
		Meta:      map[string]*Meta{},
		Variables: map[string]*Variable{},
		Locals:    map[string]*Local{},
		Outputs:   map[string]*Output{},
		Calls:     map[string]*Call{},
		Providers: map[ProviderName]*Provider{},
		Resources: map[Name]*Resource{},
		Checks:    map[string]*Check{},
	}
}

// loader reads one module.
type loader struct {
	opts Options
	bag  diag.Bag
	mod  *Module
	set  settings

	imported map[string]hcl.Range // by constant address
}

func (l *loader) files(dir string, n *Node, sources *diag.Sources) bool {
	names, err := l.opts.Files.List(dir)
	if err != nil {
		l.unlisted(dir, n, err)
		return false
	}
	primary, overrides := moduleFiles(names)
	var tokens atomic.Int64
	base := l.parse(dir, primary, &tokens)
	over := l.parse(dir, overrides, &tokens)
	all := append(append([]*parsed(nil), base...), over...)
	for _, p := range all {
		l.mod.Files = append(l.mod.Files, p.File)
		if sources != nil && p.Bytes != nil {
			sources.Set(p.Name, p.Bytes)
		}
	}
	if !l.versions(base, over, n) {
		return false
	}
	if !l.syntax(all) {
		l.rest(base)
		return false
	}
	l.read(l.gather(base), over)
	return !l.bag.HasErrors()
}

// rest reads the files that could be parsed where others could not, for what is wrong in them. What
// the others declare is not known, so nothing is overridden and no module called.
func (l *loader) rest(base []*parsed) {
	l.read(l.gather(slices.DeleteFunc(base, func(p *parsed) bool { return !p.ok })), nil)
	clear(l.mod.Calls)
}

// unlisted reports a directory that cannot be read.
func (l *loader) unlisted(dir string, n *Node, err error) {
	if n.Call == nil {
		l.add(diag.Errorf("Failed to read module directory", "Module directory %s does not exist or cannot be read: %v.", l.opts.Display(dir), reason(err)))
		return
	}
	l.add(diag.Errorf("Unreadable module directory", "The directory %s could not be read for %s: %v.", l.opts.Display(dir), n.Path, reason(err)).At(n.Call.SourceRange))
}

// parse reads files side by side; parsing is most of the work of loading.
func (l *loader) parse(dir string, names []string, tokens *atomic.Int64) []*parsed {
	out := make([]*parsed, len(names))
	next := make(chan int, len(names))
	for i := range names {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(len(names), runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := range next {
				out[i] = parseFile(l.opts.Files.Join(dir, names[i]), l.opts, tokens)
			}
		})
	}
	wg.Wait()
	return out
}

// syntax reports what parsing found, and whether it went well.
func (l *loader) syntax(files []*parsed) bool {
	ok := true
	for _, p := range files {
		l.bag.Take(&p.bag)
		ok = ok && p.ok
	}
	return ok
}

var rootSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
	{Type: "terraform"},
	{Type: "language"},
	{Type: "locals"},
	{Type: "variable", LabelNames: []string{"name"}},
	{Type: "output", LabelNames: []string{"name"}},
	{Type: "module", LabelNames: []string{"name"}},
	{Type: "provider", LabelNames: []string{"name"}},
	{Type: "resource", LabelNames: []string{"type", "name"}},
	{Type: "data", LabelNames: []string{"type", "name"}},
	{Type: "ephemeral", LabelNames: []string{"type", "name"}},
	{Type: "check", LabelNames: []string{"name"}},
	{Type: "moved"},
	{Type: "removed"},
	{Type: "import"},
}}

// gather lists the blocks of primary files in the order of the source.
func (l *loader) gather(files []*parsed) hcl.Blocks {
	var out hcl.Blocks
	for _, p := range files {
		out = append(out, l.blocks(p)...)
	}
	return out
}

func (l *loader) blocks(p *parsed) hcl.Blocks {
	content, ds := p.body.Content(rootSchema)
	l.hcl(ds)
	return content.Blocks
}

// read turns blocks into declarations: settings first, because they decide nothing about others
// but are merged among themselves, then everything else.
func (l *loader) read(base hcl.Blocks, over []*parsed) {
	d := newDrafts(l)
	for _, b := range base {
		d.add(b)
	}
	for _, p := range over {
		d.overlay(l.blocks(p))
	}
	l.finishSettings()
	for _, b := range d.list {
		l.declare(b)
	}
	d.finish()
	l.implied()
}

// declare reads one block.
func (l *loader) declare(b *hcl.Block) {
	switch b.Type {
	case "variable":
		l.variable(b)
	case "output":
		l.output(b)
	case "locals":
		l.locals(b)
	case "module":
		l.call(b)
	case "provider":
		l.provider(b)
	case "resource":
		l.topResource(b, addr.Managed)
	case "data":
		l.topResource(b, addr.Data)
	case "ephemeral":
		l.topResource(b, addr.Ephemeral)
	case "check":
		l.check(b)
	case "moved":
		l.moved(b)
	case "removed":
		l.removed(b)
	case "import":
		l.imports(b)
	}
}
