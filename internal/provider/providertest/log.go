package providertest

import (
	"strings"
	"sync"
)

// Log collects the calls that a test checks, in order. Its methods may be called concurrently.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Note adds a line.
func (l *Log) Note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// Drain returns the lines since its last call, separated by commas, and removes them.
func (l *Log) Drain() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := strings.Join(l.lines, ", ")
	l.lines = nil
	return out
}
