package diag

import (
	"bytes"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Sources holds the texts for snippets, by file name as in ranges. It is safe for concurrent use.
type Sources struct {
	mu     sync.RWMutex
	files  map[string][]byte
	blocks map[string][]topBlock // the top-level blocks of the files from which a snippet was taken
}

// Set stores the text of a file.
func (s *Sources) Set(name string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string][]byte{}
	}
	s.files[name] = text
	delete(s.blocks, name)
}

// Get returns the text of a file, or nil if it is unknown or s is nil.
func (s *Sources) Get(name string) []byte {
	if s == nil {
		return nil
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files[name]
}

// Adopt adds the texts of other sources. A text replaces the text of a file with the same name.
func (s *Sources) Adopt(from *Sources) {
	from.mu.RLock()
	defer from.mu.RUnlock()
	for name, text := range from.files {
		s.Set(name, text)
	}
}

// Snippet is a part of a source with a mark in it.
type Snippet struct {
	Context    string // the header of the block around the mark, or "" outside of blocks
	Code       string // whole lines, without the last line break
	Line       int    // number of the first line, from 1
	Start, End int    // the mark, as offsets in Code
}

// Snippet returns the source lines of the range subject, and of the range context if it is not nil and in the same
// file. Of very long lines it returns only the text near subject (see window). The mark is subject, or one character if
// subject is empty. Snippet returns false if the source is unknown, or subject begins outside of it.
func (s *Sources) Snippet(subject Range, context *Range) (Snippet, bool) {
	src := s.Get(subject.Filename)
	if src == nil || subject.Start.Byte > len(src) || subject.Start.Byte < 0 {
		return Snippet{}, false
	}
	out := Snippet{Context: s.context(subject.Filename, src, subject.Start.Byte-1)}
	begin, end := subject.Start.Byte, max(subject.End.Byte, subject.Start.Byte)
	from, to := begin, end
	if context != nil && context.Filename == subject.Filename {
		from, to = min(from, max(context.Start.Byte, 0)), max(to, context.End.Byte)
	}
	from = bytes.LastIndexByte(src[:min(from, len(src))], '\n') + 1
	to = max(from, lineEnd(src, min(to, len(src))))
	from, to = window(src, from, to, begin, min(end, to))
	out.Code = string(src[from:to])
	out.Line = subject.Start.Line - bytes.Count(src[from:begin], []byte("\n"))
	out.Start, out.End = begin-from, min(end, to)-from
	if out.End == out.Start { // an empty range is about missing text, so mark one character
		out.End = min(out.Start+1, len(out.Code))
	}
	out.Code = strings.TrimSuffix(out.Code, "\r")
	out.End = min(out.End, len(out.Code))
	out.Start = min(out.Start, out.End)
	return out, true
}

// If the lines of a snippet are very long, the snippet contains only the text near the mark. Otherwise a thousand
// messages about one line of a megabyte would take a gigabyte.
const (
	snippetMost = 20_000 // maximum number of bytes of a snippet with all its lines
	snippetNear = 2_000  // number of bytes that a shorter snippet has before and after the mark
)

// window returns the bounds of the text to show. If src[from:to] is short enough, the bounds are from and to. Otherwise
// they are near the marked text, which is src[begin:end].
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

// lineEnd returns the offset of the end of the line on which a marked range ends, without the line break. at is the end
// of the range. If the range ends with a line break, this is the end of the line before it.
func lineEnd(src []byte, at int) int {
	if at > 0 && src[at-1] == '\n' {
		return at - 1
	}
	if n := bytes.IndexByte(src[at:], '\n'); n >= 0 {
		return at + n
	}
	return len(src)
}

// context returns the header of the top-level block that contains the byte at an offset, or "" outside of blocks. In
// JSON syntax it returns the path instead (see jsonContext).
func (s *Sources) context(name string, src []byte, at int) string {
	switch {
	case isConfigJSON(name):
		return jsonContext(src, at)
	case strings.HasSuffix(name, ".json"):
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, ok := s.blocks[name]
	if !ok {
		list = topBlocks(src)
		if s.blocks == nil {
			s.blocks = map[string][]topBlock{}
		}
		s.blocks[name] = list
	}
	i := sort.Search(len(list), func(i int) bool { return at < list[i].end })
	if i < len(list) && list[i].start <= at {
		return list[i].header
	}
	return ""
}

// topBlock is a block at the top level of a file: its header, such as `resource "a" "b"`, and its range in bytes.
type topBlock struct {
	header     string
	start, end int
}

// topBlocks returns the top-level blocks of a file in native syntax, in order, without parsing their contents. In a
// malformed file it finds as many as it can. In a file of more than 8 MiB it finds none, because the tokens would take
// a hundred times as much memory.
func topBlocks(src []byte) []topBlock {
	if len(src) > 8<<20 {
		return nil
	}
	tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos) // ignore the diagnostics, because the parser has reported mistakes
	var out []topBlock
	for len(tokens) > 0 {
		start := tokens[0].Range.Start.Byte
		header, rest := blockHeader(src, tokens)
		if header == "" {
			tokens = afterLine(tokens)
			continue
		}
		end := len(src)
		tokens = nil
		for i, depth := 0, 1; i < len(rest); i++ {
			switch rest[i].Type {
			case hclsyntax.TokenOBrace:
				depth++
			case hclsyntax.TokenCBrace:
				depth--
			}
			if depth == 0 {
				end, tokens = rest[i].Range.End.Byte, rest[i+1:]
				break
			}
		}
		out = append(out, topBlock{header, start, end})
	}
	return out
}

// blockHeader reads the type and labels of a block up to its brace, and returns them with the remaining tokens. It
// returns "" if no block begins here.
func blockHeader(src []byte, tokens hclsyntax.Tokens) (string, hclsyntax.Tokens) {
	var parts []string
	for i := 0; i < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Type == hclsyntax.TokenOBrace && len(parts) > 0:
			return strings.Join(parts, " "), tokens[i+1:]
		case t.Type == hclsyntax.TokenIdent && len(parts) == 0:
			parts = append(parts, string(t.Bytes))
		case t.Type == hclsyntax.TokenIdent:
			parts = append(parts, strconv.Quote(string(t.Bytes)))
		case t.Type == hclsyntax.TokenOQuote && len(parts) > 0:
			for i < len(tokens) && tokens[i].Type != hclsyntax.TokenCQuote {
				i++
			}
			if i == len(tokens) {
				return "", nil
			}
			parts = append(parts, string(src[t.Range.Start.Byte:tokens[i].Range.End.Byte]))
		default:
			return "", nil
		}
	}
	return "", nil
}

// afterLine returns the tokens after the next end of a line, or nil if no line ends.
func afterLine(tokens hclsyntax.Tokens) hclsyntax.Tokens {
	for i, t := range tokens {
		if t.Type == hclsyntax.TokenNewline || t.Type == hclsyntax.TokenComment {
			return tokens[i+1:]
		}
	}
	return nil
}
