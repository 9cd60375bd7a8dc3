package diag

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// Range is a part of a source file. Pos is a position in it.
type (
	Range = hcl.Range
	Pos   = hcl.Pos
)

// CompareRanges orders ranges by file, then by their beginning.
func CompareRanges(a, b Range) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Start.Byte, b.Start.Byte))
}

// Places is a set of ranges of source files. All ranges should be added before the first query. The time of a query
// grows with the logarithm of the size.
type Places struct {
	files map[string]*fileRanges
}

// fileRanges holds the ranges of one file. After sort, each range ends at or after the ends of the ranges before it.
type fileRanges struct {
	list   []Range
	sorted bool
}

// Add adds ranges.
func (p *Places) Add(at ...Range) {
	for _, r := range at {
		f := p.files[r.Filename]
		if f == nil {
			f = &fileRanges{}
			if p.files == nil {
				p.files = map[string]*fileRanges{}
			}
			p.files[r.Filename] = f
		}
		f.list, f.sorted = append(f.list, r), false
	}
}

// List returns all ranges, in any order. After a query, a range may end later than the range that was added: at the end
// of an earlier range that contains it.
func (p *Places) List() []Range {
	var out []Range
	for _, f := range p.files {
		out = append(out, f.list...)
	}
	return out
}

// Has reports whether the start of r is inside a range of the set, or at its end.
func (p *Places) Has(r Range) bool {
	f := p.files[r.Filename]
	if f == nil {
		return false
	}
	f.sort()
	at := r.Start.Byte
	after := sort.Search(len(f.list), func(i int) bool { return f.list[i].Start.Byte > at })
	return after > 0 && at <= f.list[after-1].End.Byte
}

func (f *fileRanges) sort() {
	if f.sorted {
		return
	}
	f.sorted = true
	slices.SortFunc(f.list, func(a, b Range) int { return cmp.Compare(a.Start.Byte, b.Start.Byte) })
	for i := 1; i < len(f.list); i++ {
		if before := f.list[i-1].End; before.Byte > f.list[i].End.Byte {
			f.list[i].End = before
		}
	}
}
