package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// lines is an io.Writer that cuts its input into lines and logs each line with its level. Write never returns an error.
type lines struct {
	log   func(level, line string) // nil: the lines are dropped
	trace *trace                   // gets each line, and keeps the lines of a crash; nil: no trace is kept

	mu    sync.Mutex
	buf   []byte
	skip  bool // drop the rest of a line that was too long
	panic bool // a stack trace has begun, so all further lines are errors
}

// Longest is the maximum length of a line in the log, in bytes. It protects Lethe's memory from a program that never
// ends its line. Of a longer line, one more byte is passed to the log, so that the log detects the cut. The log
// searches for secrets before it removes this byte, because it would not find a secret whose end is missing.
const Longest = 64 << 10

// newLines returns a writer that logs its input line by line. A nil log drops the input.
func newLines(log func(level, line string)) io.Writer {
	if log == nil {
		return io.Discard
	}
	return &lines{log: log}
}

// unfailing returns a log for goroutines of other packages, such as goroutines that read a program's output. A panic in
// the log function would otherwise end the process while leases are open. The line that causes the panic is lost.
func unfailing(log func(level, line string)) func(level, line string) {
	return func(level, line string) {
		defer func() { _ = recover() }()
		log(level, line)
	}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		whole := end >= 0
		if !whole {
			end = len(b)
		}
		if !l.skip {
			l.buf = append(l.buf, b[:min(end, Longest+1-len(l.buf))]...)
		}
		b = b[end:]
		if !l.skip && len(l.buf) > Longest {
			l.skip = true
			l.emit()
		}
		if whole {
			b = b[1:]
			l.emit()
			l.skip = false
		}
	}
	return n, nil
}

// emit logs the line in the buffer and empties it.
func (l *lines) emit() {
	defer func() { l.buf = l.buf[:0] }()
	line := bytes.TrimRight(l.buf, "\r")
	if l.trace != nil {
		l.trace.see(line)
	}
	if l.log != nil && len(line) > 0 {
		level, text, structured := structuredLine(line)
		if !structured {
			level, text = l.plain(string(line)), string(line)
		}
		if text != "" {
			l.log(level, text)
		}
	}
}

// trace keeps the part of a program's output that explains a crash: the reason, and the stack of the goroutine that
// crashed.
type trace struct {
	mu    sync.Mutex
	lines []string
	full  bool // drop further lines: they are about other goroutines, or the trace has mostTrace lines
}

// mostTrace is the maximum number of lines in a trace.
const mostTrace = 60

// crashes has the words with which Go begins the reason of a crash.
var crashes = []string{"panic: ", "fatal error: "}

// see adds a line of the output, if the line belongs to the trace.
func (t *trace) see(line []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.full || len(t.lines) == 0 && !slices.ContainsFunc(crashes, func(c string) bool { return bytes.HasPrefix(line, []byte(c)) }) {
		return
	}
	text := string(line)
	switch {
	case isGoroutine(text) && slices.ContainsFunc(t.lines, isGoroutine):
		t.full = true
		return
	case len(t.lines) == mostTrace && slices.ContainsFunc(t.lines, isGoroutine):
		t.full, text = true, "(further lines are not shown)" // the reason is complete
	case len(t.lines) == mostTrace || len(text) > Longest: // a cut secret could not be found
		t.full, t.lines = true, t.lines[:1]
		t.lines[0] = "(the trace is too long and not shown)"
		return
	}
	t.lines = append(t.lines, text)
}

// isGoroutine reports whether a line begins the stack of a goroutine.
func isGoroutine(line string) bool { return strings.HasPrefix(line, "goroutine ") }

func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.Join(t.lines, "\n"))
}

// prefixes has the levels of log lines, by the prefixes that older SDKs write.
var prefixes = map[string]string{"[TRACE]": "trace", "[DEBUG]": "debug", "[INFO]": "info", "[WARN]": "warn", "[ERROR]": "error"}

// plain returns the level of a line that is not structured. All lines from the beginning of a crash are errors.
func (l *lines) plain(line string) string {
	if end := strings.IndexByte(line, ']'); end > 0 {
		if level := prefixes[line[:end+1]]; level != "" {
			return level
		}
	}
	l.panic = l.panic || slices.ContainsFunc(crashes, func(c string) bool { return strings.HasPrefix(line, c) })
	if l.panic {
		return "error"
	}
	return "debug"
}

// structuredLine decodes a line in the format of the SDKs, a JSON object with @level and @message. The text is `module:
// message: key=value …`, with sorted keys. ok is false if the line has another format.
func structuredLine(line []byte) (level, text string, ok bool) {
	if line[0] != '{' {
		return "", "", false
	}
	var fields map[string]any
	if json.Unmarshal(line, &fields) != nil {
		return "", "", false
	}
	level, _ = fields["@level"].(string)
	message, ok := fields["@message"].(string)
	if level = hclog.LevelFromString(level).String(); level == "none" || !ok {
		return "", "", false
	}
	var b strings.Builder
	if module, ok := fields["@module"].(string); ok && module != "" {
		b.WriteString(module + ": ")
	}
	b.WriteString(message)
	sep := ": "
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		if !strings.HasPrefix(k, "@") {
			b.WriteString(sep + k + "=" + field(fields[k]))
			sep = " "
		}
	}
	return level, b.String(), true
}

// field returns the text of a value of a structured line. The text is quoted if it is not a single word.
func field(v any) string {
	s, ok := v.(string)
	if !ok {
		b, _ := json.Marshal(v)
		s = string(b)
	}
	if ok && (s == "" || strings.ContainsAny(s, " \t\r\n\"=")) {
		return fmt.Sprintf("%q", s)
	}
	return s
}
