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
// each block. What cannot be read is noted (unreadable.go), so that the
// rest can be judged without telling the consequences.
//
// sources, if not nil, gets the text of every file, by the name that ranges spell. The result is
// false if an error is in the bag; the module then holds what was understood.
func Load(dir string, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	return load(dir, &Node{}, o.filled(), sources, bag)
}

// load is Load for a node in the tree, which messages about the module as a whole name.
func load(dir string, n *Node, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	l := &loader{rd: &reader{opts: o}, mod: newModule(dir)}
	ok := l.files(dir, n, sources)
	bag.Take(&l.rd.bag)
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
	rd  *reader
	mod *Module
	set settings

	imported map[string]hcl.Range // by constant address

	texts map[string][]byte // by file name
}

func (l *loader) files(dir string, n *Node, sources *diag.Sources) bool {
	names, err := l.rd.opts.Files.List(dir)
	if err != nil {
		l.unlisted(dir, n, err)
		return false
	}
	primary, overrides := moduleFiles(names)
	var tokens atomic.Int64
	base := parseFiles(l.rd, dir, primary, &tokens)
	over := parseFiles(l.rd, dir, overrides, &tokens)
	all := append(append([]*parsed(nil), base...), over...)
	for _, p := range all {
		l.mod.Files = append(l.mod.Files, p.File)
		if sources != nil && p.Bytes != nil {
			sources.Set(p.Name, p.Bytes)
		}
	}
	if !l.versions(base, over, n) {
		l.mod.VersionMismatch = true
		return false
	}
	l.texts = make(map[string][]byte, len(all))
	for _, p := range all {
		l.texts[p.Name] = p.Bytes
	}
	base = readable(l.rd, base, &l.mod.unreadable)
	var changed unreadable // what override files change that cannot be read
	over = readable(l.rd, over, &changed)
	blocks := l.gather(base)
	l.suppress(blocks, &changed)
	l.read(blocks, over)
	return !l.rd.bag.HasErrors()
}

// readable reports what parsing found, and gives the files that could be parsed. The others are unreadable.
func readable(rd *reader, files []*parsed, g *unreadable) []*parsed {
	return slices.DeleteFunc(files, func(p *parsed) bool {
		rd.bag.Take(&p.bag)
		if !p.ok {
			g.text(p.Bytes)
		}
		return !p.ok
	})
}

// suppress says nothing of blocks that may be changed by override files that cannot be read, whose
// words are given.
func (l *loader) suppress(blocks hcl.Blocks, changed *unreadable) {
	for _, b := range blocks {
		if n := len(b.Labels); n > 0 && changed.has(b.Labels[n-1]) {
			l.mod.broken.Add(extent(b)...)
		}
	}
}

// unlisted reports a directory that cannot be read.
func (l *loader) unlisted(dir string, n *Node, err error) {
	l.mod.unreadable.all = true
	if n.Call == nil {
		l.rd.add(diag.Errorf("Failed to read module directory", "Module directory %s does not exist or cannot be read: %v.", l.rd.opts.Display(dir), reason(err)))
		return
	}
	l.rd.add(diag.Errorf("Unreadable module directory", "The directory %s could not be read for %s: %v.", l.rd.opts.Display(dir), n.Path, reason(err)).At(n.Call.SourceRange))
}

// parseFiles reads files side by side; parsing is most of the work of loading.
func parseFiles(rd *reader, dir string, names []string, tokens *atomic.Int64) []*parsed {
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
				out[i] = parseFile(rd.opts.Files.Join(dir, names[i]), rd.opts, tokens)
			}
		})
	}
	wg.Wait()
	return out
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
	if !l.rd.hcl(ds) {
		l.unexpected(p.body, rootSchema, p.Bytes)
	}
	return content.Blocks
}

// read turns blocks into declarations: settings first, because they decide nothing about others
// but are merged among themselves, then everything else.
func (l *loader) read(base hcl.Blocks, over []*parsed) {
	d := newOverrides(l)
	for _, b := range base {
		d.add(b)
	}
	for _, p := range over {
		d.overlay(l.blocks(p))
	}
	l.finishSettings()
	for _, b := range d.list {
		before := l.rd.errors
		l.declare(b)
		if l.rd.errors > before {
			l.broken(b)
		}
	}
	d.finish()
	l.implied()
}

// broken takes note of a block with mistakes: what else is wrong with it may follow from them, and
// if it was not taken, its name is not to be missed.
func (l *loader) broken(b *hcl.Block) {
	if b.Type != "locals" { // whose entries stand for themselves
		l.mod.broken.Add(extent(b)...)
	}
	if !l.taken(b) {
		for _, label := range b.Labels {
			l.mod.unreadable.name(label)
		}
	}
}

// taken reports whether what a block declares is in the module, under its full name.
func (l *loader) taken(b *hcl.Block) bool {
	switch b.Type {
	case "variable":
		return l.mod.Variables[b.Labels[0]] != nil
	case "output":
		return l.mod.Outputs[b.Labels[0]] != nil
	case "module":
		return l.mod.Calls[b.Labels[0]] != nil
	}
	if mode, ok := addr.ModeOf(b.Type); ok {
		return l.mod.Resources[Name{mode, b.Labels[0], b.Labels[1]}] != nil
	}
	return b.Type != "provider" // which may have had an alias
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
