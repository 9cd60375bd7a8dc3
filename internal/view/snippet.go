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
	blocks map[string][]topBlock
}

func newSources(files *diag.Sources) *sources {
	return &sources{files: files, blocks: map[string][]topBlock{}}
}

// topBlock is a block at the top of a file: its header, such as `resource "a" "b"`, and its bytes.
type topBlock struct {
	header     string
	start, end int
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
	from = lineStart(src, min(from, len(src)))
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

func lineStart(src []byte, at int) int { return bytes.LastIndexByte(src[:at], '\n') + 1 }

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
		list = topBlocks(src)
		s.blocks[name] = list
	}
	i := sort.Search(len(list), func(i int) bool { return at < list[i].end })
	if i < len(list) && list[i].start <= at {
		return list[i].header
	}
	return ""
}

// topBlocks finds the blocks of a file in native syntax, without understanding what is in them: it
// skips comments, strings and heredocs, and counts braces. Where a file is not well-formed, it
// finds what it can.
func topBlocks(src []byte) []topBlock {
	var out []topBlock
	sc := scan{src: src}
	for {
		sc.blank()
		if sc.pos >= len(src) {
			return out
		}
		start := sc.pos
		header, ok := sc.header()
		if !ok {
			sc.restOfLine()
			continue
		}
		sc.body()
		out = append(out, topBlock{header, start, sc.pos})
	}
}

// scan moves over source.
type scan struct {
	src []byte
	pos int
}

func (s *scan) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// blank skips white space and comments.
func (s *scan) blank() {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			s.pos++
		case !s.comment():
			return
		}
	}
}

// comment skips a comment, if there is one.
func (s *scan) comment() bool {
	rest := s.src[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("#")), bytes.HasPrefix(rest, []byte("//")):
		s.restOfLine()
	case bytes.HasPrefix(rest, []byte("/*")):
		n := bytes.Index(rest[2:], []byte("*/"))
		if n < 0 {
			s.pos = len(s.src)
		} else {
			s.pos += n + 4
		}
	default:
		return false
	}
	return true
}

func (s *scan) restOfLine() {
	if n := bytes.IndexByte(s.src[s.pos:], '\n'); n >= 0 {
		s.pos += n + 1
	} else {
		s.pos = len(s.src)
	}
}

// header reads a block's type and labels up to its brace, and stops behind it.
func (s *scan) header() (string, bool) {
	word := s.word()
	if word == "" {
		s.pos++
		return "", false
	}
	parts := []string{word}
	for {
		for s.peek() == ' ' || s.peek() == '\t' {
			s.pos++
		}
		switch c := s.peek(); {
		case c == '{':
			s.pos++
			return strings.Join(parts, " "), true
		case c == '"':
			at := s.pos
			s.quoted()
			parts = append(parts, string(s.src[at:s.pos]))
		default:
			label := s.word()
			if label == "" {
				return "", false
			}
			parts = append(parts, quote(label))
		}
	}
}

func (s *scan) word() string {
	at := s.pos
	for s.pos < len(s.src) && (isWordByte(s.src[s.pos])) {
		s.pos++
	}
	return string(s.src[at:s.pos])
}

func isWordByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// quoted skips a string with the templates in it.
func (s *scan) quoted() {
	defer func() { s.pos = min(s.pos, len(s.src)) }()
	for s.pos++; s.pos < len(s.src); s.pos++ {
		switch c := s.src[s.pos]; {
		case c == '\\':
			s.pos++
		case c == '"':
			s.pos++
			return
		case c == '\n':
			return
		case (c == '$' || c == '%') && s.pos+1 < len(s.src) && s.src[s.pos+1] == '{':
			if s.src[s.pos-1] != c {
				s.pos += 2
				s.body()
				s.pos--
			}
		}
	}
}

// body skips to behind the brace that closes what was opened.
func (s *scan) body() {
	for depth := 1; s.pos < len(s.src) && depth > 0; {
		switch c := s.src[s.pos]; {
		case c == '{':
			depth++
			s.pos++
		case c == '}':
			depth--
			s.pos++
		case c == '"':
			s.quoted()
		case c == '<' && bytes.HasPrefix(s.src[s.pos:], []byte("<<")):
			s.heredoc()
		case s.comment():
		default:
			s.pos++
		}
	}
}

// heredoc skips a heredoc. Two angle brackets that begin none are skipped alone.
func (s *scan) heredoc() {
	s.pos += 2
	if s.peek() == '-' {
		s.pos++
	}
	mark := s.word()
	if mark == "" {
		return
	}
	s.restOfLine()
	for s.pos < len(s.src) {
		at := s.pos
		s.restOfLine()
		if strings.TrimSpace(string(s.src[at:s.pos])) == mark {
			return
		}
	}
}
