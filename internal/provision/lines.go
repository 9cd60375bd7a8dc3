package provision

import (
	"bytes"
	"sync"
)

const (
	// longest is the length in bytes at which a line is cut, so that a program without line ends does not fill the
	// memory.
	longest = 64 << 10
	// kept is the number of bytes of a program's last output in a message about its failure.
	kept = 8 << 10
)

// lines splits its input into lines and passes them to emit. A carriage return ends a line too, because programs that
// show progress print only carriage returns between two states. lines also keeps the end of the input. It is an
// io.Writer that never fails, and many goroutines may use it.
type lines struct {
	emit func(line string)

	mu    sync.Mutex
	ended bool   // later input is ignored
	back  bool   // the last line ended with a carriage return
	part  []byte // the incomplete line
	tail  []byte // the end of the input, up to 2 × kept bytes
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(b), nil
	}
	l.remember(b)
	for rest := b; len(rest) > 0; {
		if l.back && rest[0] == '\n' { // of \r\n
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

// cut emits the beginning of a line that is too long. If its second half contains a space, the cut is there. A cut
// inside a word could split a secret, which would then not be found.
func (l *lines) cut() {
	end := bytes.LastIndexAny(l.part[longest/2:], " \t")
	if end < 0 {
		l.flush()
		return
	}
	end += longest/2 + 1
	l.emit(string(l.part[:end]))
	l.part = append(l.part[:0], l.part[end:]...)
}

func (l *lines) flush() {
	l.emit(string(l.part))
	l.part = l.part[:0]
}

// end emits the last incomplete line. Later input is ignored, because an abandoned program may still write.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.flush()
	}
	l.ended = true
}

func (l *lines) remember(b []byte) {
	if len(b) > kept {
		b = b[len(b)-kept:]
	}
	if len(l.tail)+len(b) > 2*kept {
		l.tail = append(l.tail[:0], l.tail[len(l.tail)-kept:]...)
	}
	l.tail = append(l.tail, b...)
}

// last returns the end of the input.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.tail[max(0, len(l.tail)-kept):])
}
