package config

import "unicode/utf8"

// Before a text is given to the parser it is weighed: one pass over its bytes, without building
// anything, finds how deep the parser's recursion and the tree it would build can get.
//
// A frame stands for an open bracket, string, heredoc or template directive. Inside a frame,
// items follow each other (arguments, elements, parts of a template), divided by commas, by line
// ends where those count, or by the end of a template sequence. An item grows deeper with every
// operator and every bracket in it, whichever way the operators associate, so
//
//	weight(item)  = operators and brackets in it + the heaviest frame that was closed in it
//	weight(frame) = 1 + the heaviest of its items
//
// is never less than the depth of the tree, and a long list of small items weighs little. What is
// open while reading is the sum over the open frames, which is what the parser's stack holds.
//
// The parser also joins the pieces of a text (the lines of a heredoc, what stands between signs
// that might begin a sequence) one by one, copying what it has each time: work that grows with the
// square of their number. That is added up too.

// trouble is what is wrong with a text before it is parsed.
type trouble struct {
	kind troubleKind
	at   int // byte offset
	n    int // the limit that it passes
}

type troubleKind uint8

const (
	noTrouble troubleKind = iota
	tooDeep
	tooLong
	tooManyTokens
	numberTooLong
	exponentTooLarge
	nameTooLong
	textTooLong
	openComment
	badEncoding
)

// frameKind is what opened a frame.
type frameKind uint8

const (
	topFrame frameKind = iota // the file, or a bare template
	parenFrame
	brackFrame
	braceFrame
	interpFrame    // ${
	controlFrame   // %{
	quoteFrame     // "
	heredocFrame   // <<
	directiveFrame // between %{ if } and %{ endif }
)

type frame struct {
	kind    frameKind
	fresh   bool // a control frame whose first word has not come yet
	opens   int8 // a control frame's effect on its template: 1 if/for, -1 endif/endfor
	ops     int  // of the current item
	best    int  // heaviest frame closed in the current item
	top     int  // heaviest item so far
	quoted  bool // a directive frame inside a quoted string
	marker  []byte
	midline bool // a heredoc that is not at the start of a line

	// Of the template that the frame is part of, in the frame that root names.
	root  int // index of the frame of the whole template
	at    int // where it begins
	parts int64
	melds int64 // parts that are joined to the one before
	run   int64 // pieces of text since the last sequence
	bytes int64 // and their length
}

// firstBad finds the first byte that is not part of a valid UTF-8 sequence, -1 if there is none.
// The library's scanner loses its place in such text, so it is not to see any.
func firstBad(src []byte) int {
	if utf8.Valid(src) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(src[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
}

// scale adds up weights while a text is read.
type scale struct {
	limits Limits
	frames []frame
	sum    int // operators in the current items of all open frames
	peak   int // most frames open at once
	joins  int64
	tokens int
	out    trouble
}

func newScale(l Limits) *scale {
	return &scale{limits: l, frames: make([]frame, 1, 4)}
}

// again makes s ready for another text of the same file.
func (s *scale) again() {
	s.frames = append(s.frames[:0], frame{kind: topFrame})
	s.sum, s.out = 0, trouble{}
}

func (s *scale) inner() *frame { return &s.frames[len(s.frames)-1] }

// fail remembers the first trouble; reading stops there.
func (s *scale) fail(k troubleKind, at, n int) {
	if s.out.kind == noTrouble {
		s.out = trouble{k, at, n}
	}
}

func (s *scale) token(at int) {
	if s.tokens++; s.tokens > s.limits.Tokens {
		s.fail(tooManyTokens, at, s.limits.Tokens)
	}
}

// op counts an operator, or anything else that puts what follows or went before a level deeper.
func (s *scale) op(at int) {
	s.inner().ops++
	s.sum++
	s.check(at)
}

func (s *scale) check(at int) {
	if s.sum+len(s.frames)+s.inner().best > s.limits.Chain {
		s.fail(tooLong, at, s.limits.Chain)
	}
}

// open begins a frame.
func (s *scale) open(k frameKind, at int) *frame {
	if k != quoteFrame && k != heredocFrame {
		s.op(at)
	}
	root := len(s.frames)
	if k == directiveFrame {
		root = s.inner().root
	}
	s.frames = append(s.frames, frame{kind: k, root: root, at: at})
	s.peak = max(s.peak, len(s.frames))
	if len(s.frames) > s.limits.Nesting+1 {
		s.fail(tooDeep, at, s.limits.Nesting)
	}
	return s.inner()
}

// next ends the current item of the innermost frame.
func (s *scale) next() {
	f := s.inner()
	f.top = max(f.top, f.ops+f.best)
	s.sum -= f.ops
	f.ops, f.best = 0, 0
}

// piece counts a piece of text in a template.
func (s *scale) piece(n int) {
	f := &s.frames[s.inner().root]
	f.parts++
	f.run++
	f.bytes += int64(n)
}

// sequencePart counts a template sequence, where the pieces before it end.
func (s *scale) sequencePart() {
	f := &s.frames[s.inner().root]
	f.parts++
	s.joinRun(f)
}

// joinRun adds up the work of joining the pieces of text since the last sequence.
func (s *scale) joinRun(f *frame) {
	if f.run > 1 {
		f.melds += f.run - 1
		s.joins += (f.run - 1) * f.bytes / 2
	}
	f.run, f.bytes = 0, 0
}

// joined adds up the work of joining the parts of a whole template: each time, what comes after
// is moved by one.
func (s *scale) joined(f *frame) {
	s.joinRun(f)
	s.joins += 8 * f.parts * f.melds
	if s.joins > s.limits.Joins {
		s.fail(textTooLong, f.at, 0)
	}
}

// pop ends the innermost frame.
func (s *scale) pop(at int) {
	s.next()
	if k := s.inner().kind; k == quoteFrame || k == heredocFrame {
		s.joined(s.inner())
	}
	weight := s.inner().top + 1
	s.frames = s.frames[:len(s.frames)-1]
	f := s.inner()
	f.best = max(f.best, weight)
	s.check(at)
}

// close ends the nearest frame of that kind, and whatever is unclosed in it, unless a frame of a
// kind in barrier stands before it.
func (s *scale) close(k frameKind, at int, barrier func(frameKind) bool) bool {
	for i := len(s.frames) - 1; i > 0; i-- {
		if s.frames[i].kind == k {
			for len(s.frames) > i {
				s.pop(at)
			}
			return true
		}
		if barrier(s.frames[i].kind) {
			return false
		}
	}
	return false
}

// holdsBrackets reports whether a closing parenthesis or square bracket cannot reach beyond k.
func holdsBrackets(k frameKind) bool { return k != parenFrame && k != brackFrame }

// closeBrace ends what a closing brace ends: a template sequence or the nearest brace.
func (s *scale) closeBrace(at int) {
	for i := len(s.frames) - 1; i > 0; i-- {
		switch k := s.frames[i].kind; k {
		case braceFrame, interpFrame, controlFrame:
			opens := s.frames[i].opens
			for len(s.frames) > i {
				s.pop(at)
			}
			if k != braceFrame {
				s.endSequence(opens, at)
			}
			return
		case parenFrame, brackFrame:
		default:
			return
		}
	}
}

// endSequence goes back to the template that a sequence was part of.
func (s *scale) endSequence(opens int8, at int) {
	switch {
	case opens > 0:
		s.next()
		quoted := s.inner().kind == quoteFrame || s.inner().quoted
		s.open(directiveFrame, at).quoted = quoted
	case opens < 0 && s.inner().kind == directiveFrame:
		s.pop(at)
		s.next()
	default:
		s.next()
	}
}

// word tells a control sequence what its first word is.
func (f *frame) word(w []byte) {
	f.fresh = false
	switch string(w) {
	case "if", "for":
		f.opens = 1
	case "endif", "endfor":
		f.opens = -1
	}
}

// end closes everything and gives the verdict.
func (s *scale) end(at int) trouble {
	for len(s.frames) > 1 {
		s.pop(at)
	}
	s.joined(s.inner())
	return s.out
}
