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
// each block. Where something could not be read, what only follows from that is not reported:
// see Module.Unreadable and diag.Bag.Enough.
//
// sources, if not nil, gets the text of every file, by the name that ranges spell. The result is
// false if an error is in the bag; the module then holds what was understood.
func Load(dir string, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	return load(dir, &Node{}, o.filled(), sources, bag)
}

// load is Load for a node in the tree, which messages about the module as a whole name.
func load(dir string, n *Node, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	l := &loader{rd: &reader{opts: o}, mod: newModule(dir), entries: map[string]*hcl.Attribute{}, declared: map[string]hcl.Range{}}
	ok := l.files(dir, n, sources)
	bag.Take(&l.rd.bag)
	return l.mod, ok
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
	base, over = l.readable(base), l.readable(over)
	l.read(base, over, len(over) < len(overrides))
	return !l.rd.bag.HasErrors()
}

// readable reports what parsing found, and gives the files that could be parsed.
func (l *loader) readable(files []*parsed) []*parsed {
	return slices.DeleteFunc(files, func(p *parsed) bool {
		l.rd.bag.Take(&p.bag)
		l.mod.unreadable = l.mod.unreadable || !p.ok
		return !p.ok
	})
}

// unlisted reports a directory that cannot be read.
func (l *loader) unlisted(dir string, n *Node, err error) {
	l.mod.unreadable = true
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

func (l *loader) blocks(p *parsed) hcl.Blocks {
	content, ok := l.rd.content(p.body, rootSchema)
	if !ok {
		l.mod.unreadable = true
	}
	return content.Blocks
}

// read turns blocks into declarations: settings first, because they decide nothing about others
// but are merged among themselves, then everything else. changeable says that override files could
// not be read: no block is known to mean what it says.
func (l *loader) read(base, over []*parsed, changeable bool) {
	d := overrides{l: l, byKey: map[blockKey]*overridden{}}
	for _, p := range base {
		for _, b := range l.blocks(p) {
			d.add(b)
		}
	}
	for _, p := range over {
		d.overlay(l.blocks(p))
	}
	l.finishSettings()
	for _, b := range d.list {
		before := l.rd.errors
		l.declare(b.Block)
		if b.Type != "locals" && (changeable || l.rd.errors > before) { // the entries of locals stand for themselves
			l.mod.broken.Add(b.places...)
		}
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
