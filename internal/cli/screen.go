package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/shortcut"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
	"golang.org/x/term"
)

// screen is where a command talks to its user: a view for what happens, plain lines, questions.
type screen struct {
	view.View
	call  *call
	human *view.Human // nil with -json
	held  *view.Held  // nil on a terminal
	in    *bufio.Reader
	ended bool // nothing comes from it any more
}

// wait is how long lines of progress may wait for others where nobody watches.
const wait = 50 * time.Millisecond

// viewOptions are those of all that a command shows.
func (c *call) viewOptions() view.Options {
	product, command := c.persona()
	return view.Options{
		Product: product, Command: command, Plain: c.opts.noColor, Color: c.color(), ShowSensitive: c.opts.showSecrets,
		Sources: c.sources, Scrub: c.secrets.Scrub, Now: c.Now,
	}
}

func newScreen(c *call) *screen {
	s := &screen{call: c, in: bufio.NewReader(c.Stdin)}
	if closed, _ := shortcut.Parse(c.Getenv(shortcut.Variable)); !isTerminal(c.Stdout) && !closed.Has(shortcut.Lines) {
		s.held = view.Hold(c.Stdout, wait)
		c.Stdout, c.Stderr = s.held, s.held.Beside(c.Stderr)
	}
	o := c.viewOptions()
	o.Width, o.Terminal = c.width(), isTerminal(c.Stdout) && !c.dumb() && !c.opts.json
	o.Compact, o.Apart, o.Concise = c.opts.compact, c.apart(), c.opts.concise
	o.Importing = c.command.Name == "import"
	o.Automation = c.Getenv("TF_IN_AUTOMATION") != ""
	if c.opts.json && c.command.Stream {
		s.View = view.NewJSON(c.Stdout, Version, o)
		return s.alsoInto(o)
	}
	out := c.Stdout
	if c.opts.json || c.raw || c.command.Result {
		out = c.Stderr // the document has standard output to itself
	}
	s.human = view.NewHuman(out, c.Stderr, o)
	s.View = s.human
	return s.alsoInto(o)
}

// alsoInto makes a screen that writes the JSON stream to the file of -json-into as well.
func (s *screen) alsoInto(o view.Options) *screen {
	c := s.call
	if c.opts.jsonInto == "" {
		return s
	}
	f, err := os.OpenFile(c.path(c.opts.jsonInto), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		c.bag.Add(diag.Errorf("Failed to open the file of -json-into", "%s.", err))
		return s
	}
	c.jsonFile = f
	o.Terminal, o.Color, o.Width = false, false, 0
	s.View = both{s.View, view.NewJSON(f, Version, o)}
	return s
}

// both shows everything twice: on the screen and in a file.
type both struct{ screen, file view.View }

func (b both) Tell(e event.Event)                    { b.screen.Tell(e); b.file.Tell(e) }
func (b both) Diagnostics(ds []diag.Diagnostic)      { b.screen.Diagnostics(ds); b.file.Diagnostics(ds) }
func (b both) Plan(p *plan.Plan, o view.PlanOptions) { b.screen.Plan(p, o); b.file.Plan(p, o) }
func (b both) Outputs(outs map[string]state.Output)  { b.screen.Outputs(outs); b.file.Outputs(outs) }
func (b both) Finish()                               { b.screen.Finish(); b.file.Finish() }

// dumb reports whether the terminal, if there is one, can do no more than show one line after the other.
func (c *call) dumb() bool { return c.Getenv("TERM") == "dumb" }

// color reports whether to print with colours: on a terminal, unless somebody asked not to.
func (c *call) color() bool {
	if c.opts.noColor || c.Getenv("NO_COLOR") != "" || c.dumb() || c.Getenv("CLICOLOR") == "0" {
		return false
	}
	if v := c.Getenv("FORCE_COLOR") + c.Getenv("CLICOLOR_FORCE"); v != "" && v != "0" {
		return true
	}
	return isTerminal(c.Stdout)
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is the number of columns to wrap messages at: those of a terminal. Elsewhere nothing is
// wrapped, unless LETHE_COLUMNS says where, or the test program of a provider reads it: those match
// on where the peers break lines.
func (c *call) width() int {
	if f, ok := c.Stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil {
			return n
		}
	}
	given := c.Getenv("LETHE_COLUMNS")
	if given == "" && c.underTest() {
		return peersColumns
	}
	n, err := strconv.Atoi(given)
	if err != nil || n < leastColumns {
		return 0
	}
	return n
}

const (
	leastColumns = 20
	peersColumns = 79 // breaks lines where the peers do
)

// underTest reports whether the test program of a provider runs this: it serves the provider itself.
func (c *call) underTest() bool {
	attached, err := launch.ParseReattach(c.Getenv("TF_REATTACH_PROVIDERS"))
	if err != nil {
		return false // said where the providers are needed
	}
	for _, r := range attached {
		if r.Test {
			return true
		}
	}
	return false
}

// line prints one line of progress.
func (s *screen) line(text string) { s.Tell(event.Note{Text: text}) }

// step prints one line of init's progress, with the code that programs know it by.
func (s *screen) step(code, text string) { s.Tell(event.Note{Text: text, Code: code}) }

// print prints a command's result as it is.
func (s *screen) print(text string) { io.WriteString(s.call.Stdout, text) }

// flush writes what waits to be written.
func (s *screen) flush() {
	if s.held != nil {
		s.held.Flush()
	}
}

// done prints the diagnostics and gives the exit code that they ask for.
func (s *screen) done(code int) int {
	s.Diagnostics(s.call.bag.List())
	s.Finish()
	if code == exitOK && s.call.bag.HasErrors() {
		return exitError
	}
	return code
}

// fail is done for a command that could not do its work.
func (s *screen) fail() int { return s.done(exitError) }

// question is something to ask the user.
type question struct {
	Title  string // "var.name"
	Note   string
	Secret bool // not to be shown while it is typed
}

// ask puts a question and reads one line. Where it gets none, because the input has ended or an
// interrupt came (cutShort), nobody can be asked from then on, and the caller says what that means.
func (s *screen) ask(q question) (string, bool) {
	fmt.Fprintf(s.call.Stdout, "%s\n", q.Title)
	if q.Note != "" {
		fmt.Fprintf(s.call.Stdout, "  %s\n\n", strings.ReplaceAll(q.Note, "\n", "\n  "))
	}
	fmt.Fprint(s.call.Stdout, "  Enter a value: ")
	text, ok := s.read(q.Secret)
	fmt.Fprintln(s.call.Stdout)
	s.ended = !ok
	return text, ok
}

// read reads one line, until the first interrupt: what is typed after that is for nobody.
func (s *screen) read(secret bool) (string, bool) {
	f, isFile := s.call.Stdin.(*os.File)
	secret = secret && isFile && term.IsTerminal(int(f.Fd()))
	if secret {
		if shown, err := term.GetState(int(f.Fd())); err == nil {
			defer term.Restore(int(f.Fd()), shown)
		}
	}
	type answer struct {
		text string
		ok   bool
	}
	answers := make(chan answer, 1)
	go func() {
		text, ok := s.readLine(f, secret)
		answers <- answer{text, ok}
	}()
	select {
	case a := <-answers:
		return a.text, a.ok
	case <-s.call.stops.begun():
		return "", false
	}
}

func (s *screen) readLine(f *os.File, secret bool) (string, bool) {
	if secret {
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.call.Stdout)
		return string(b), err == nil
	}
	text, err := s.in.ReadString('\n')
	text = strings.TrimRight(text, "\r\n")
	return text, err == nil || text != ""
}

// confirm asks for a plain "yes". It is false and false if nobody answers.
func (s *screen) confirm(title, note string) (yes, answered bool) {
	s.print("\n")
	text, ok := s.ask(question{Title: title, Note: note + "\nOnly 'yes' will be accepted to approve."})
	return ok && text == "yes", ok
}
