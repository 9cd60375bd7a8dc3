// Package calls logs the remote procedure calls that an engine makes to a provider.
//
// Each call that a playground provider receives becomes one JSON line. A single write appends the line to the file that
// the environment variable PLAYGROUND_LOG names, so that lines of several provider processes never mix. Tests read the
// file and check the calls, their content, their order and their overlap.
//
// A line never contains a secret. If a test must know that a secret arrived, the line contains the [Hash] of the
// secret: the first eight hexadecimal digits of its SHA-256 sum.
//
// The line is written when the call ends. A call that never ends (a hang, a crash) has no line. With
// PLAYGROUND_LOG_BEGIN=1 a second line with "phase":"begin" is written when the call starts.
//
// Without PLAYGROUND_LOG, nothing is decoded or written, so that benchmarks can use the same providers.
package calls

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Environment variables that this package reads.
const (
	EnvLog   = "PLAYGROUND_LOG"       // path of the log file
	EnvBegin = "PLAYGROUND_LOG_BEGIN" // "1": also a line when a call starts
)

// A Call is one line of the log.
type Call struct {
	Provider string `json:"provider"`         // short provider name: playground, playground5, rogue, strict
	Protocol int    `json:"protocol"`         // 5 or 6
	Pid      int    `json:"pid"`              // process id of the provider
	Label    string `json:"label,omitempty"`  // the value of the provider argument "label"; "" before the provider is configured
	Call     string `json:"call"`             // name of the RPC in protocol 6; "start" and "exit" for the process
	Type     string `json:"type,omitempty"`   // resource, data or ephemeral type, or the name of a function
	Key      string `json:"key,omitempty"`    // name or id of the object
	Action   string `json:"action,omitempty"` // create, update or delete, for Plan and Apply
	Phase    string `json:"phase,omitempty"`  // "begin" for the line that is written when the call starts
	Start    int64  `json:"start"`            // nanoseconds since 1970
	End      int64  `json:"end,omitempty"`    // nanoseconds since 1970; 0 in a begin line
	Errors   int    `json:"errors,omitempty"` // number of error diagnostics in the answer; a failed RPC counts as one
	Warnings int    `json:"warnings,omitempty"`

	// Unknown lists the top-level attributes of the configuration that are not wholly known.
	Unknown []string `json:"unknown,omitempty"`
	// Secrets maps "which:path" to the hash of a write-only value or a secret of the provider configuration. "which" is
	// config, prior, proposed or planned. The protocol permits such values only in config and proposed. Elsewhere they
	// are a fault of the engine.
	Secrets map[string]string `json:"secrets,omitempty"`
	// Notes holds facts that the implementation of the call adds.
	Notes map[string]any `json:"notes,omitempty"`

	mu sync.Mutex
}

// Length returns the duration of the call.
func (c *Call) Length() time.Duration { return time.Duration(c.End - c.Start) }

// A Book is the log of one provider process. The zero Book and a nil Book write nothing.
type Book struct {
	provider string
	protocol int
	path     string
	begin    bool
	label    atomic.Pointer[string]
}

// Open returns the Book of this process for a provider, with the settings of the environment variables. It opens no
// file. If PLAYGROUND_LOG is not set, the Book writes nothing.
func Open(provider string, protocol int) *Book {
	return &Book{
		provider: provider,
		protocol: protocol,
		path:     os.Getenv(EnvLog),
		begin:    os.Getenv(EnvBegin) == "1",
	}
}

// Event writes a line about the process itself: "start" or "exit".
func (b *Book) Event(name string) {
	if !b.on() {
		return
	}
	c := b.call(name)
	c.End = c.Start
	b.write(c)
}

// on reports whether b writes lines.
func (b *Book) on() bool { return b != nil && b.path != "" }

// call returns a new line for a call that starts now.
func (b *Book) call(name string) *Call {
	c := &Call{
		Provider: b.provider,
		Protocol: b.protocol,
		Pid:      os.Getpid(),
		Call:     name,
		Start:    time.Now().UnixNano(),
	}
	if l := b.label.Load(); l != nil {
		c.Label = *l
	}
	return c
}

// write appends one line. It ignores errors, because a failure must not change the behaviour of the provider. The test
// notices the missing line.
func (b *Book) write(c *Call) {
	c.mu.Lock()
	line, err := json.Marshal(c)
	c.mu.Unlock()
	if err != nil {
		return
	}
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

type inContext struct{}

// of returns the call that ctx serves, or nil.
func of(ctx context.Context) *Call {
	c, _ := ctx.Value(inContext{}).(*Call)
	return c
}

// Note adds a fact to the line of the call that ctx serves. The caller must pass secrets through [Hash]. Note does
// nothing if ctx serves no call or nothing is logged.
func Note(ctx context.Context, name string, value any) {
	c := of(ctx)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Notes == nil {
		c.Notes = map[string]any{}
	}
	c.Notes[name] = value
}

// Key replaces the key of the call that ctx serves. It is for calls whose request does not contain the key. It does
// nothing if ctx serves no call or nothing is logged.
func Key(ctx context.Context, key string) {
	if c := of(ctx); c != nil {
		c.mu.Lock()
		c.Key = key
		c.mu.Unlock()
	}
}

// Hash returns the form of a secret that the log may contain: eight hexadecimal digits of its SHA-256 sum.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:4])
}

// Read returns the lines of the log file at path, in the order in which they were written: a line for each call when it
// ends and, if PLAYGROUND_LOG_BEGIN is "1", a line when it starts. The start and the exit of a process are lines, too.
// A missing file and malformed lines are errors.
func Read(path string) ([]*Call, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []*Call
	for d := json.NewDecoder(f); d.More(); {
		c := new(Call)
		if err := d.Decode(c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
