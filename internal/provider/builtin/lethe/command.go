package lethe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

const (
	printMax = 4 << 20  // maximum number of bytes of a program's output
	stderrIn = 64 << 10 // maximum number of bytes of standard error that are kept
	// stderrOut is the maximum number of bytes of standard error that are shown.
	stderrOut = 2 << 10
)

// grace is the time in which an interrupted program must end. It is also the time for which the output of child
// processes is awaited after the program has ended.
var grace = 5 * time.Second

// command is a program to run.
type command struct {
	args    []string
	dir     string
	limit   time.Duration
	stdin   []byte
	secrets []json.RawMessage // values that the text of an error must not contain
	killed  context.Context   // ends the grace time of an interrupted program; nil: the whole grace time applies
}

// commandError is the failure of a program. Its text contains no output of the program, but stderr has the masked
// standard error.
type commandError struct {
	cause  error
	text   string
	stderr string // the masked standard error of the program
	unsure bool   // the program was started and did not exit by itself, so it may have had an effect
}

func (e *commandError) Error() string { return e.text }
func (e *commandError) Unwrap() error { return e.cause }

var errPrints = errors.New("it prints too much")

// run runs the program and returns its output. When ctx or the time limit ends, it interrupts the program and its child
// processes, and kills them if they do not end. More output than printMax is an error. The error is a *commandError.
func (c *command) run(ctx context.Context, env []string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, &commandError{cause: ctx.Err(), text: "it was interrupted before it started"}
	}
	within, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	out, stderr := &limited{max: printMax}, &tail{max: stderrIn}
	cmd := exec.CommandContext(within, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, env, bytes.NewReader(c.stdin), out, stderr
	cmd.SysProcAttr = subprocess.Attributes()
	cmd.WaitDelay = grace
	var asked time.Time
	cmd.Cancel = func() error {
		asked = time.Now()
		subprocess.Terminate(cmd.Process)
		return nil
	}
	if err := subprocess.Start(cmd); err != nil {
		return nil, &commandError{cause: err, text: startReason(err)}
	}
	subprocess.NoCore(cmd.Process)
	if c.killed != nil {
		defer context.AfterFunc(c.killed, func() { subprocess.Kill(cmd.Process) })()
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // ignore the error: the program succeeded, but a child process keeps the output open
	}
	if !asked.IsZero() {
		c.endGroup(cmd.Process, asked.Add(grace))
	}
	if err == nil {
		return out.b.Bytes(), nil
	}
	if out.full {
		err = errPrints
	}
	return nil, c.failure(ctx, within, err, out.b.Bytes(), stderr)
}

// endGroup waits until the child processes of a program have ended. It kills them at the time in the argument end, or
// earlier when c.killed ends.
func (c *command) endGroup(p *os.Process, end time.Time) {
	killed := c.killed
	if killed == nil {
		killed = context.Background()
	}
	for subprocess.Alive(p) && time.Now().Before(end) && killed.Err() == nil {
		time.Sleep(20 * time.Millisecond)
	}
	subprocess.Kill(p)
}

// failure returns the error for a program that was started.
func (c *command) failure(ctx, within context.Context, err error, out []byte, stderr *tail) error {
	e := &commandError{cause: err, stderr: c.mask(stderr.text(), out), unsure: true}
	var status *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.text = "it exceeded its time limit and was stopped"
	case ctx.Err() != nil:
		e.text = "it was interrupted"
	case within.Err() != nil:
		e.text = fmt.Sprintf("it exceeded its time limit of %s and was stopped", c.limit)
	case errors.Is(err, errPrints):
		e.text = "it prints more than 4 MiB"
	case errors.As(err, &status):
		e.text, e.unsure = status.ProcessState.String(), !status.Exited()
	default:
		e.text = "its input or output was interrupted"
	}
	return e
}

// startReason returns the reason why a program could not be started, as a part of a sentence without the program's
// name.
func startReason(err error) string {
	var errno syscall.Errno
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "there is no such program in the directories of PATH"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such program, or no such working directory"
	case errors.As(err, &errno):
		return "it cannot be started (" + errno.Error() + ")"
	}
	return "it cannot be started"
}

// environment returns the environment for programs. It lacks the values of Lethe's input variables.
func (p *Provider) environment() []string {
	return subprocess.Environ(p.o.Env, nil)
}

// mask returns the end of output, the program's standard error, for a message. It masks the values that the program
// received, and the result that it printed. If printed is too large to search for, mask returns "".
func (c *command) mask(output string, printed []byte) string {
	if len(printed) > stderrIn {
		return "" // a search for this output would take too long
	}
	var set secret.Set
	var short []string
	hide := func(s string) {
		set.Add(s, secret.Origin{Kind: secret.EphemeralResult})
		if n := len(strings.TrimSpace(s)); n > 0 && len(s) < 8 {
			short = append(short, strings.TrimSpace(s))
		}
	}
	for _, raw := range append(c.secrets, resultOf(printed, "json")) {
		for _, leaf := range leaves(raw) {
			hide(leaf)
		}
	}
	for _, line := range strings.Split(string(printed), "\n") {
		hide(strings.TrimSpace(line))
	}
	return shorten(maskShort(set.Scrub(output), short))
}

// maskShort masks values that are too short for package secret. It masks values of up to three bytes only as whole
// words.
func maskShort(text string, short []string) string {
	mask := mark.Ephemeral.Mask()
	slices.SortFunc(short, func(a, b string) int { return len(b) - len(a) }) // the longer value first, because a shorter value may be a part of it
	for _, s := range short {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, mask)
			continue
		}
		word := regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(s) + `($|[^\pL\pN_])`)
		for range 2 { // repeat, because adjacent words share the space between them
			text = word.ReplaceAllString(text, "${1}"+mask+"${2}")
		}
	}
	return text
}

// shorten returns the end of a text, at most stderrOut bytes, from the beginning of a line.
func shorten(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= stderrOut {
		return s
	}
	s = s[len(s)-stderrOut:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return "[...]\n" + strings.ToValidUTF8(s, "")
}

// leaves returns all strings and numbers in a JSON value as texts. It returns nil if raw is not valid JSON.
func leaves(raw json.RawMessage) (all []string) {
	v, err := decodeJSON(raw)
	if err != nil {
		return nil
	}
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) { all = append(all, text) })
	return all
}

// limited is a buffer of at most max bytes. Write returns an error if the program writes more.
type limited struct {
	b    bytes.Buffer
	max  int
	full bool // the program wrote more than max bytes
}

func (l *limited) Write(b []byte) (int, error) {
	if l.b.Len()+len(b) > l.max {
		l.full = true
		return 0, errPrints
	}
	return l.b.Write(b)
}

// tail keeps the last max bytes of its input.
type tail struct {
	b       []byte
	max     int
	dropped bool // earlier input was dropped
}

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if excess := len(t.b) - t.max; excess > 0 {
		t.b, t.dropped = append(t.b[:0], t.b[excess:]...), true
	}
	return len(b), nil
}

// text returns the input that tail has kept. If earlier input was dropped, text omits the first line, because it may
// begin in the middle of a secret, which masking would not find.
func (t *tail) text() string {
	s := string(t.b)
	if t.dropped {
		_, s, _ = strings.Cut(s, "\n")
	}
	return s
}

// resultOf returns the output of a program as JSON. It returns nil if the output is invalid. Empty output is null,
// except in the format text.
func resultOf(out []byte, format string) json.RawMessage {
	s := strings.TrimSpace(string(out))
	switch {
	case !utf8.Valid(out):
		return nil
	case format == "text":
		b, err := json.Marshal(strings.TrimSuffix(strings.TrimSuffix(string(out), "\n"), "\r"))
		if err != nil {
			return nil
		}
		return b
	case s == "":
		return json.RawMessage("null")
	case !json.Valid([]byte(s)) || monstrous(s):
		return nil
	}
	return json.RawMessage(s)
}

// monstrous reports whether JSON contains a number whose decoding takes minutes, such as 1e600000000.
func monstrous(text string) bool {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		n, is := token.(json.Number)
		if !is {
			continue
		}
		mantissa, _, _ := strings.Cut(strings.ToLower(n.String()), "e")
		if schema.Exponent(n.String())+len(mantissa) > digitsMax {
			return true
		}
	}
}

// digitsMax is the maximum number of digits that a number may have when it is written without an exponent.
const digitsMax = 10_000

// unusable returns the error for invalid output of a program.
func unusable(out []byte) diag.Diagnostic {
	if !utf8.Valid(out) {
		return refused("open", "Program printed no text", "The program succeeded, but its output is not UTF-8. Print the output in base64.")
	}
	return refused("open", "Program printed no JSON", `The program succeeded, but its output is not one JSON value. If it prints plain text, set format to "text". The output is not shown, because it may be secret.`)
}

func decodeJSON(b []byte) (cty.Value, error) {
	var v ctyjson.SimpleJSONValue
	err := v.UnmarshalJSON(b)
	return v.Value, err
}
