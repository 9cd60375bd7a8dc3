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
// It works in these steps:
//
//   - It parses every file.
//   - It checks the version constraints of the module.
//   - It collects the blocks of the primary files and merges the blocks of the override files into them.
//   - It reads each block.
//
// If a part of the module could not be read, mistakes that may be only a consequence of that are not reported: see
// Module.Unreadable and diag.Bag.Enough.
//
// If sources is not nil, Load adds the text of every file to it, by the file name in ranges. If Load returns false, it
// has added an error to bag, and the module holds the declarations that could be read.
func Load(dir string, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	return load(dir, &Node{}, o.filled(), sources, bag)
}

// load reads a module, as Load describes. n is the node of the module in the tree. Messages about the whole module name
// this node. load returns false if it reported an error.
func load(dir string, n *Node, o Options, sources *diag.Sources, bag *diag.Bag) (*Module, bool) {
	l := newLoader(&reader{opts: o}, dir)
	ok := l.files(dir, n, sources)
	bag.Move(&l.rd.bag)
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
	overriding := parseFiles(l.rd, dir, overrides, &tokens)
	all := append(append([]*parsed(nil), base...), overriding...)
	for _, p := range all {
		l.mod.Files = append(l.mod.Files, p.File)
		if sources != nil && p.Bytes != nil {
			sources.Set(p.Name, p.Bytes)
		}
	}
	if !l.versions(base, overriding, n) {
		l.mod.VersionMismatch = true
		return false
	}
	base, overriding = l.readable(base), l.readable(overriding)
	l.read(base, overriding, len(overriding) < len(overrides))
	return !l.rd.bag.HasErrors()
}

// readable reports the messages of the parser and returns the files that could be parsed.
func (l *loader) readable(files []*parsed) []*parsed {
	return slices.DeleteFunc(files, func(p *parsed) bool {
		l.rd.bag.Move(&p.bag)
		l.mod.unreadable = l.mod.unreadable || !p.ok
		return !p.ok
	})
}

// unlisted reports that the directory of a module cannot be read.
func (l *loader) unlisted(dir string, n *Node, err error) {
	l.mod.unreadable = true
	if n.Call == nil {
		l.rd.add(diag.Errorf("Failed to read module directory", "Module directory %s does not exist or cannot be read: %v.", l.rd.opts.Display(dir), reason(err)))
		return
	}
	l.rd.add(diag.Errorf("Unreadable module directory", "The directory %s could not be read for %s: %v.", l.rd.opts.Display(dir), n.Path, reason(err)).At(n.Call.SourceRange))
}

// parseFiles parses files concurrently, because parsing takes most of the time of loading. The results are in the order
// of names. tokens counts the tokens of all files.
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

// read turns blocks into declarations. It reads the settings first, because they are merged with each other, and then
// all other blocks. changeable is true if an override file could not be read. Such a file may change any block, so all
// blocks count as broken.
func (l *loader) read(base, overriding []*parsed, changeable bool) {
	d := overrides{l: l, byKey: map[blockKey]*overridden{}}
	for _, p := range base {
		for _, b := range l.blocks(p) {
			d.add(b)
		}
	}
	for _, p := range overriding {
		d.overlay(l.blocks(p))
	}
	l.required.read()
	for _, b := range d.list {
		before := l.rd.errors
		l.declare(b.Block)
		if b.Type != "locals" && (changeable || l.rd.errors > before) { // the entries of a locals block are independent of each other
			l.mod.broken.Add(b.places...)
		}
	}
	d.finish()
	l.required.addImplied()
}

// declare reads one block of a declaration. It ignores blocks with settings, such as terraform blocks.
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
	case "list":
		l.topResource(b, addr.List)
	case "action":
		l.action(b)
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
