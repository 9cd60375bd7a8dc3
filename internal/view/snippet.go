package view

import (
	"bytes"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diag"
)

// sources cuts snippets out of source files and knows which block a place is in.
type sources struct {
	files  *diag.Sources
	mu     sync.Mutex
	blocks map[string][]diag.TopBlock
}

func newSources(files *diag.Sources) *sources {
	return &sources{files: files, blocks: map[string][]diag.TopBlock{}}
}

// snippet is a piece of source with a part of it marked.
type snippet struct {
	context    string // the block it is in, "" if in none
	code       string // whole lines, without the last line break
	line       int    // of the first line, from 1
	start, end int    // of the mark, in bytes of code
}

// snippet finds the source of a diagnostic; false if it is not known.
func (s *sources) snippet(subject diag.Range, context *diag.Range) (snippet, bool) {
	src := s.files.Get(subject.Filename)
	if src == nil || subject.Start.Byte > len(src) || subject.Start.Byte < 0 {
		return snippet{}, false
	}
	out := snippet{context: s.context(subject.Filename, src, subject.Start.Byte-1)}
	begin, end := subject.Start.Byte, max(subject.End.Byte, subject.Start.Byte)
	from, to := begin, end
	if context != nil && context.Filename == subject.Filename {
		from, to = min(from, max(context.Start.Byte, 0)), max(to, context.End.Byte)
	}
	from = bytes.LastIndexByte(src[:min(from, len(src))], '\n') + 1
	to = max(from, lineEnd(src, min(to, len(src))))
	from, to = window(src, from, to, begin, min(end, to))
	out.code = string(src[from:to])
	out.line = subject.Start.Line - bytes.Count(src[from:begin], []byte("\n"))
	out.start, out.end = begin-from, min(end, to)-from
	if out.end == out.start { // something that is missing: mark one character
		out.end = min(out.start+1, len(out.code))
	}
	out.code = strings.TrimSuffix(out.code, "\r")
	out.end = min(out.end, len(out.code))
	out.start = min(out.start, out.end)
	return out, true
}

// A snippet of very long lines is cut down to what stands near the mark: a thousand messages about one
// line of a megabyte must not become a gigabyte.
const (
	snippetMost = 20_000 // bytes
	snippetNear = 2_000  // of these, before and behind the mark
)

// window cuts from and to down where they are too far apart.
func window(src []byte, from, to, begin, end int) (int, int) {
	if to-from <= snippetMost {
		return from, to
	}
	from, to = max(from, begin-snippetNear), min(to, max(begin, min(end, begin+snippetMost))+snippetNear)
	for from < begin && !utf8.RuneStart(src[from]) {
		from++
	}
	for to < len(src) && !utf8.RuneStart(src[to]) {
		to++
	}
	return from, to
}

func lineEnd(src []byte, at int) int {
	if at > 0 && src[at-1] == '\n' { // the range ends with its line
		return at - 1
	}
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

// context is the header of the outermost block around a byte, "" outside of blocks.
func (s *sources) context(name string, src []byte, at int) string {
	if strings.HasSuffix(name, ".json") {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.blocks[name]
	if !ok {
		list = diag.TopBlocks(src)
		s.blocks[name] = list
	}
	i := sort.Search(len(list), func(i int) bool { return at < list[i].End })
	if i < len(list) && list[i].Start <= at {
		return list[i].Header
	}
	return ""
}
