package provision

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
)

const (
	// longest is the length in bytes at which a line is cut, so that a program without line ends does not fill the
	// memory.
	longest = 64 << 10
	// kept is the number of bytes of a program's last output in a message about its failure.
	kept = 8 << 10
	// margin is the maximum length in bytes of a part of a secret beside a cut that is kept for the next search, in any
	// encoded form.
	margin = 1 << 10
)

// lines is an io.Writer that splits its input into lines and passes them to emit. A carriage return ends a line, too,
// because programs that show progress print only carriage returns between two states. lines also keeps the end of the
// input. Write returns no errors, and many goroutines may call it.
type lines struct {
	emit  func(line string)
	scrub func(string) string // masks secrets; lines are cut only after it, because a part of a secret is not found

	mu      sync.Mutex
	ended   bool   // later input is ignored
	back    bool   // the last line ended with a carriage return, so a following line feed ends no line
	part    []byte // the part of the current line that was neither emitted nor added to block
	block   string // lines of an encoded text that are not emitted yet
	tail    []byte // the end of all input, from which last returns a part; at most 4 × kept bytes
	dropped bool   // earlier input was dropped, so tail is not all of the input
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(b), nil
	}
	l.remember(b)
	for rest := b; len(rest) > 0; {
		if l.back && rest[0] == '\n' { // the line feed of a line end \r\n
			l.back, rest = false, rest[1:]
			continue
		}
		l.back = false
		piece, after, whole, full := rest, []byte(nil), false, false
		if i := bytes.IndexAny(rest, "\r\n"); i >= 0 {
			piece, after, whole = rest[:i], rest[i+1:], true
		}
		if width := longest - len(l.part); len(piece) > width {
			piece, after, whole, full = rest[:width], rest[width:], false, true
		}
		l.part = append(l.part, piece...)
		if full {
			l.cut()
		}
		l.back = whole && len(piece) < len(rest) && rest[len(piece)] == '\r'
		rest = after
		if whole {
			l.flush()
		}
	}
	return len(b), nil
}

// cut emits the beginning of a line that has reached the length longest, and keeps its last margin bytes in l.part:
// they may be the beginning of a secret.
func (l *lines) cut() {
	l.release("")
	text := l.scrub(string(l.part))
	end := max(0, len(text)-margin)
	l.emit(text[:end])
	l.part = append(l.part[:0], text[end:]...)
}

// encoded matches a line of an encoded text of several lines, except its last line. base64, openssl and xxd write such
// lines.
var encoded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9+/_-]{60,}$`) })

// flush ends the current line. If the line looks like a line of an encoded text, flush keeps it in l.block, because a
// secret may extend over several such lines. Otherwise it emits the line, after the lines in l.block.
func (l *lines) flush() {
	line := string(l.part)
	l.part = l.part[:0]
	if encoded().MatchString(line) && len(l.block)+len(line) < longest {
		l.block += line + "\n"
		return
	}
	l.release(line + "\n")
}

// release emits the lines in l.block and text, which is "" or a whole line. It masks secrets in them together.
func (l *lines) release(text string) {
	if l.block != "" {
		text = l.scrub(l.block + text)
		l.block = ""
	}
	if text != "" {
		for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
			l.emit(line)
		}
	}
}

// end emits the last line even if it is incomplete, and makes Write ignore later input: a program that Lethe no longer
// waits for may still write.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.flush()
	}
	l.release("")
	l.ended = true
}

func (l *lines) remember(b []byte) {
	if len(l.tail)+len(b) > 4*kept {
		l.dropped = true
		b = b[max(0, len(b)-4*kept):]
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-max(0, 2*kept-len(b)):]...)
	}
	l.tail = append(l.tail, b...)
}

// last returns the end of the input, at most kept bytes, with secrets masked. If earlier input was dropped, the first
// margin bytes of the tail may be the end of a secret, so last omits them.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.scrub(string(l.tail))
	if l.dropped {
		text = text[min(margin, len(text)):]
	}
	return text[max(0, len(text)-kept):]
}
