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
	printMax = 4 << 20  // how much a program may print
	stderrIn = 64 << 10 // how much of its standard error is kept
	// stderrOut is how much of that is shown.
	stderrOut = 2 << 10
)

// grace is how long a program that was asked to end may take, and how long we wait for the output
// of those it left behind.
var grace = 5 * time.Second

// command is a program to be run, with what it gets on its standard input.
type command struct {
	args    []string
	dir     string
	limit   time.Duration
	stdin   []byte
	secrets []json.RawMessage // values that must not be shown
	killed  context.Context   // when it ends, a program that was asked to end is killed; nil: it gets its time
}

// commandError is why a program failed. Its text holds nothing that the program wrote.
type commandError struct {
	cause  error
	text   string
	said   string // what it wrote to its standard error, masked
	unsure bool   // it was started and did not end by itself: it may have done what it was to do
}

func (e *commandError) Error() string { return e.text }
func (e *commandError) Unwrap() error { return e.cause }

var errPrints = errors.New("it prints too much")

// run runs the program to its end and gives what it printed. When the context or its time is over
// it is asked to end, with all it started, and killed if it does not.
func (c *command) run(ctx context.Context, env []string) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, &commandError{cause: ctx.Err(), text: "it was interrupted before it began"}
	}
	within, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	out, said := &limited{max: printMax}, &tail{max: stderrIn}
	cmd := exec.CommandContext(within, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.dir, env, bytes.NewReader(c.stdin), out, said
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
	if c.killed != nil {
		defer context.AfterFunc(c.killed, func() { subprocess.Kill(cmd.Process) })()
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // the program ended well, and a program that it left behind holds its output
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
	return nil, c.failure(ctx, within, err, out.b.Bytes(), said)
}

// endGroup kills the programs that a program started and that are still running after their time to end.
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

// failure says how a program that was started ended.
func (c *command) failure(ctx, within context.Context, err error, out []byte, said *tail) error {
	e := &commandError{cause: err, said: c.mask(said.text(), out), unsure: true}
	var status *exec.ExitError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.text = "it did not end in time, and was ended"
	case ctx.Err() != nil:
		e.text = "it was interrupted"
	case within.Err() != nil:
		e.text = fmt.Sprintf("it did not end within %s, and was ended", c.limit)
	case errors.Is(err, errPrints):
		e.text = "it prints more than 4 MiB"
	case errors.As(err, &status):
		e.text, e.unsure = status.ProcessState.String(), !status.Exited()
	default:
		e.text = "its input or output broke off"
	}
	return e
}

// startReason says why a program could not be started, without naming it.
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

// environment is what programs get: ours, without the values of variables.
func (p *Provider) environment() []string {
	return subprocess.Environ(p.o.Env, nil)
}

// mask takes every value that the program was given, and all that it printed, out of what it wrote
// to its standard error, and shortens that.
func (c *command) mask(said string, printed []byte) string {
	if len(printed) > stderrIn {
		return "" // too much to look for
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
	return shorten(maskShort(set.Scrub(said), short))
}

// maskShort masks what is too short for the guard: wherever it stands, or as a word where it is
// very short.
func maskShort(text string, short []string) string {
	mask := mark.Ephemeral.Mask()
	slices.SortFunc(short, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	for _, s := range short {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, mask)
			continue
		}
		word := regexp.MustCompile(`(^|[^\pL\pN_])` + regexp.QuoteMeta(s) + `($|[^\pL\pN_])`)
		for range 2 { // words that share the space between them
			text = word.ReplaceAllString(text, "${1}"+mask+"${2}")
		}
	}
	return text
}

// shorten keeps the end of a text, from the beginning of a line.
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

// leaves are all strings and numbers in a JSON value, as text.
func leaves(raw json.RawMessage) (all []string) {
	v, err := decodeJSON(raw)
	if err != nil {
		return nil
	}
	secret.Leaves(v, func(_ cty.Path, _ cty.Value, text string) { all = append(all, text) })
	return all
}

// limited takes no more than so many bytes.
type limited struct {
	b    bytes.Buffer
	max  int
	full bool // there was more
}

func (l *limited) Write(b []byte) (int, error) {
	if l.b.Len()+len(b) > l.max {
		l.full = true
		return 0, errPrints
	}
	return l.b.Write(b)
}

// tail keeps the end of what is written to it.
type tail struct {
	b    []byte
	max  int
	lost bool // something before it
}

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if over := len(t.b) - t.max; over > 0 {
		t.b, t.lost = append(t.b[:0], t.b[over:]...), true
	}
	return len(b), nil
}

// text is what was kept, from the beginning of a line: half a secret would not be recognised.
func (t *tail) text() string {
	s := string(t.b)
	if t.lost {
		_, s, _ = strings.Cut(s, "\n")
	}
	return s
}

// resultOf is the JSON value that a program printed, nil if it printed none. Nothing at all stands
// for null.
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

// monstrous reports whether there is a number in JSON whose value takes minutes to work out, such as
// 1e600000000.
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

// digitsMax is how many digits a number may have when it is written without an exponent.
const digitsMax = 10_000

// unusable is the error about what a program printed.
func unusable(out []byte) diag.Diagnostic {
	if !utf8.Valid(out) {
		return refused("open", "Program printed no text", "The program ended well, but what it printed is not UTF-8. Have it print that in base64.")
	}
	return refused("open", "Program printed no JSON", `The program ended well, but what it printed is not one JSON value. Set format to "text" for a program that prints plain text. What it printed is not shown, because it may be secret.`)
}

// decodeJSON makes a value of JSON.
func decodeJSON(b []byte) (cty.Value, error) {
	var v ctyjson.SimpleJSONValue
	err := v.UnmarshalJSON(b)
	return v.Value, err
}
