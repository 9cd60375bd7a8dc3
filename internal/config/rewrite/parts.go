package rewrite

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// file is a configuration file.
type file struct {
	index      *index
	name, path string
	before     []byte // the text before all edits
	tidy       bool   // the text is in the canonical style of the formatter
	generated  bool   // a comment in the first lines contains a notice that a program wrote the file
	parts      []*part
}

// part is a part of a file: a top-level block, with the comment above it and the empty lines below it. After an edit,
// only the changed part is parsed again.
type part struct {
	*file
	place int // number of the part in the order of the configuration
	text  []byte
	body  *hclsyntax.Body  // the parsed text; nil for a JSON file, which is one part
	uses  map[symbol][]use // the references in the part
}

// symbol is the name of a declaration in its module.
type symbol struct {
	kind string // "var", "local", "data", "ephemeral", "module" or "resource"
	a, b string // the names; b is the name of an output for module, and "" for var and local
}

// kind tells where in the configuration a reference occurs.
type kind uint8

const (
	argument  kind = iota // an argument of a resource, data or ephemeral block
	session               // an argument of a provider block
	provision             // an argument of a provisioner or a connection
	condition             // a condition of a variable, an output, a resource or a check
	local                 // a local value
	input                 // an argument of a module call
	output                // the value of an output
	order                 // depends_on
	repeat                // count or for_each
	other                 // any other place
)

// place is the place at which a reference occurs.
type place struct {
	kind  kind
	f     *part
	block *hclsyntax.Block // the block with the reference: at the top level, or in a check block
	path  []string         // the path of the argument, or of the nested block with for_each; empty outside of arguments
	name  string           // the name of a local value, an output, or an input; otherwise a name for messages
	// whole is the whole expression at the place.
	whole hclsyntax.Expression
}

// use is a reference to a symbol.
type use struct {
	place
	traversal hcl.Traversal
}

// parseText parses a text. It is a variable so that tests can count the calls.
var parseText = hclsyntax.ParseConfig

// parse returns the body of a text. It returns false if the text cannot be parsed.
func parse(name string, text []byte) (*hclsyntax.Body, bool) {
	parsed, ds := parseText(text, name, hcl.InitialPos)
	if ds.HasErrors() {
		return nil, false
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	return body, ok
}

func (f *file) isJSON() bool { return strings.HasSuffix(f.name, ".json") }

// split divides the text of a file into parts, each with one block. A file is one part if it has JSON syntax, cannot be
// parsed, has no blocks, or contains anything other than blocks.
func (f *file) split() {
	whole := &part{file: f, text: f.before}
	f.parts = []*part{whole}
	if f.isJSON() {
		return
	}
	whole.body, _ = parse(f.name, f.before)
	if whole.body == nil || len(whole.body.Blocks) == 0 || len(whole.body.Attributes) > 0 {
		return
	}
	var parts []*part
	from := 0
	for i := range whole.body.Blocks {
		to := len(f.before)
		if i+1 < len(whole.body.Blocks) {
			to = whole.above(whole.body.Blocks[i+1])
		}
		p := &part{file: f, text: f.before[from:to]}
		if p.body, _ = parse(f.name, p.text); p.body == nil || len(p.body.Blocks) != 1 { // the text is not one block, for example because of a comment over two blocks
			return
		}
		parts = append(parts, p)
		from = to
	}
	f.parts = parts
}

// blocks returns the top-level blocks. In the place of a check block, it returns the blocks inside.
func (p *part) blocks() iter.Seq[*hclsyntax.Block] {
	return func(yield func(*hclsyntax.Block) bool) {
		if p.body == nil {
			return
		}
		for _, b := range p.body.Blocks {
			inner := hclsyntax.Blocks{b}
			if b.Type == "check" {
				inner = b.Body.Blocks
			}
			for _, b := range inner {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// index finds the parts of a module by their contents.
type index struct {
	uses   map[symbol]map[*part]bool
	blocks map[head]map[*part]bool
}

// head is the type of a block with up to two labels.
type head [3]string

func headOf(typ string, labels []string) head {
	h := head{typ}
	copy(h[1:], labels)
	return h
}

func newIndex() *index {
	return &index{map[symbol]map[*part]bool{}, map[head]map[*part]bool{}}
}

// add adds a part to the index, under its references and blocks.
func (x *index) add(p *part) {
	for s := range p.uses {
		put(x.uses, s, p)
	}
	for h := range p.heads() {
		put(x.blocks, h, p)
	}
}

// remove removes a part from the index, under its present references and blocks.
func (x *index) remove(p *part) {
	for s := range p.uses {
		delete(x.uses[s], p)
	}
	for h := range p.heads() {
		delete(x.blocks[h], p)
	}
}

// heads returns the keys of a part's blocks in the index.
func (p *part) heads() iter.Seq[head] {
	return func(yield func(head) bool) {
		for b := range p.blocks() {
			if !yield(headOf(b.Type, b.Labels)) || b.Type == "output" && !yield(headOf(b.Type, nil)) {
				return
			}
		}
	}
}

func put[K comparable](in map[K]map[*part]bool, key K, p *part) {
	if in[key] == nil {
		in[key] = map[*part]bool{}
	}
	in[key][p] = true
}

// inOrder returns the parts of a set in the order of the configuration.
func inOrder[V any](set map[*part]V) []*part {
	return slices.SortedFunc(maps.Keys(set), func(a, b *part) int { return cmp.Compare(a.place, b.place) })
}

// content returns the present text of a file.
func (f *file) content() []byte {
	var out []byte
	for _, p := range f.parts {
		out = append(out, p.text...)
	}
	return out
}

// source returns the text at a range of a part.
func (p *part) source(at hcl.Range) string { return string(p.text[at.Start.Byte:at.End.Byte]) }

// line returns the number of lines before a part in its file.
func (p *part) line() int {
	n := 0
	for _, other := range p.parts[:slices.Index(p.parts, p)] {
		n += bytes.Count(other.text, []byte("\n"))
	}
	return n
}

// withEnds returns a text with the line ends of a file.
func (f *file) withEnds(text string) string {
	if first, _, _ := bytes.Cut(f.before, []byte("\n")); !bytes.HasSuffix(first, []byte("\r")) {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// indent returns the white space before the text at an offset, on its line.
func (f *part) indent(at int) string {
	line := f.text[bytes.LastIndexByte(f.text[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// afterLine returns the offset after the line in which a range ends.
func (f *part) afterLine(at hcl.Range) int {
	end := at.End.Byte
	if end > 0 && f.text[end-1] == '\n' { // the range of a heredoc includes its line end
		return end
	}
	if n := bytes.IndexByte(f.text[end:], '\n'); n >= 0 {
		return end + n + 1
	}
	return len(f.text)
}

// above returns the offset of the comment above a block. Without a comment, this is the offset of the block's first
// line.
func (f *part) above(b *hclsyntax.Block) int {
	from := bytes.LastIndexByte(f.text[:b.TypeRange.Start.Byte], '\n') + 1
	for from > 0 {
		start := bytes.LastIndexByte(f.text[:from-1], '\n') + 1
		line := bytes.TrimSpace(f.text[start:from])
		if !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("//")) {
			break
		}
		from = start
	}
	return from
}
