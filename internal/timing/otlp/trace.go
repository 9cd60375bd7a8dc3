package otlp

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// Trace identifies the trace and the span of a command. All IDs are hexadecimal digits.
type Trace struct {
	ID     string // the ID of the trace
	Parent string // the ID of the span that started the command; "" for none
	Span   string // the ID of the span of the command
}

// NewTrace returns the trace of a command. traceparent is the W3C header of the span that started it, or "". If the
// header says that its trace is not sampled, ok is false, and the caller sends no spans. A malformed header counts as
// "", as the W3C specification demands.
func NewTrace(traceparent string) (t Trace, ok bool) {
	t = Trace{ID: random(16), Span: random(8)}
	parts := strings.Split(strings.TrimSpace(traceparent), "-")
	if len(parts) < 4 || !digits(parts[0], 2) || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 || !digits(parts[1], 32) || !digits(parts[2], 16) || !digits(parts[3], 2) ||
		strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return t, true
	}
	t.ID, t.Parent = parts[1], parts[2]
	return t, strings.ContainsAny(parts[3][1:], "13579bdf")
}

// Header returns the W3C traceparent header that names the span of the command, for programs that the command starts.
func (t Trace) Header() string { return "00-" + t.ID + "-" + t.Span + "-01" }

func digits(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // rand.Read never returns an error
	return hex.EncodeToString(b)
}
