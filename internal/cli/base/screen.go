package base

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

// ViewOptions returns the options for all output of a command.
func (c *Call) ViewOptions() view.Options {
	product, command := c.Names()
	return view.Options{
		Product: product, Command: command, Plain: c.View.NoColor, Color: c.Color(), ShowSensitive: c.View.ShowSecrets,
		Fold:    c.View.Fold && IsTerminal(c.Stdout),
		Sources: c.Sources, Scrub: c.Secrets.Scrub, ScrubMessage: c.Secrets.ScrubMessage, Now: c.Now,
		Silence: &c.View.Silence,
	}
}

// NewScreen returns the screen of a command whose flags are parsed.
func NewScreen(c *Call) *Screen {
	s := &Screen{call: c, in: bufio.NewReader(c.Stdin)}
	o := c.ViewOptions()
	o.Width, o.Resized, o.Terminal = c.width(), c.size, IsTerminal(c.Stdout) && !c.Dumb() && !c.View.JSON
	o.Compact, o.Apart, o.Concise = c.View.Compact, c.View.apart(), c.View.Concise
	o.Importing = c.Command.Name == "import"
	o.Automation = c.Getenv("TF_IN_AUTOMATION") != ""
	if c.View.JSON && c.Command.Stream {
		s.View = view.NewJSON(c.Stdout, Version, o)
		return s.alsoInto(o)
	}
	out := c.Stdout
	if c.View.JSON || c.View.Raw || c.Command.Result {
		out = c.Stderr // standard output is reserved for the document
	}
	s.View = view.NewHuman(out, c.Stderr, o)
	return s.alsoInto(o)
}

// alsoInto makes the screen write the JSON stream to the file of -json-into, too, if the flag is set and the JSON of
// the command is a stream. It reports an error if the file cannot be opened.
func (s *Screen) alsoInto(o view.Options) *Screen {
	c := s.call
	if c.View.JSONInto == "" || !c.Command.Stream {
		return s
	}
	f, err := c.createInto()
	if err != nil {
		c.Bag.Add(diag.Errorf("Failed to open the file of -json-into", "The file %s of -json-into cannot be opened: %s.", c.View.JSONInto, disk.Reason(err)))
		return s
	}
	w := &stdout{Writer: f}
	s.into, s.writeError = f, w.why
	o.Terminal, o.Color, o.Width = false, false, 0
	s.View = both{s.View, view.NewJSON(w, Version, o)}
	return s
}

// both passes each event and diagnostic to two views: the view of the screen and the view of the file of -json-into.
type both struct{ screen, file view.View }

func (b both) Send(e event.Event)                    { b.screen.Send(e); b.file.Send(e) }
func (b both) Diagnostics(ds []diag.Diagnostic)      { b.screen.Diagnostics(ds); b.file.Diagnostics(ds) }
func (b both) Plan(p *plan.Plan, o view.PlanOptions) { b.screen.Plan(p, o); b.file.Plan(p, o) }
func (b both) Outputs(outs map[string]state.Output)  { b.screen.Outputs(outs); b.file.Outputs(outs) }
func (b both) Finish()                               { b.screen.Finish(); b.file.Finish() }

// Line prints a line of progress.
func (s *Screen) Line(text string) { s.Send(event.Note{Text: text}) }

// Step prints a line about the progress of init, with its code in the JSON output. Under the name terraform or tofu, it
// replaces the name Lethe in the text.
func (s *Screen) Step(code, text string) { s.Send(event.Note{Text: s.call.Renamed(text), Code: code}) }

// Renamed returns a sentence in which the names from Names replace the names of Lethe and its command.
func (c *Call) Renamed(sentence string) string { return c.ViewOptions().Named(sentence) }

// Print prints a command's result unchanged.
func (s *Screen) Print(text string) { io.WriteString(s.call.Stdout, text) }

// Document prints a command's result as JSON in one line. It panics if doc cannot be encoded.
func (s *Screen) Document(doc any) { s.Print(string(inOneLine(doc))) }

// Into writes doc as JSON to the file of -json-into, if this flag is set, and to standard output, if -json is set. It
// returns true if -json is set: then the caller prints nothing else. It panics if doc cannot be encoded.
func (s *Screen) Into(doc any) (alone bool) {
	alone, _ = s.call.Document(func(w io.Writer) error {
		_, err := w.Write(inOneLine(doc))
		return err
	})
	return alone
}

func inOneLine(doc any) []byte {
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}

// lacking returns a warning and true if the file of -json-into is incomplete, because a write failed. The command
// continues nevertheless.
func (s *Screen) lacking() (d diag.Diagnostic, is bool) {
	if s.writeError == nil || s.writeError() == nil {
		return d, false
	}
	return diag.Warningf("Failed to write the file of -json-into", "The file %s of -json-into is incomplete: %s.", s.call.View.JSONInto, disk.Reason(s.writeError())), true
}

// close closes the file of -json-into.
func (s *Screen) close() {
	s.into.Close() // without -json-into the file is nil, and Close only returns an error
}

// MayAsk reports whether the command may ask the user. It returns false with -json, after the end of the input, and for
// a nil Screen, which completions use.
func (s *Screen) MayAsk() bool { return s != nil && !s.call.View.JSON && !s.ended }

// Done prints the diagnostics of the command and returns the exit code: code, or ExitError if code is ExitOK and the
// bag has errors.
func (s *Screen) Done(code int) int {
	s.Diagnostics(s.call.Bag.List())
	s.Finish()
	if code == ExitOK && s.call.Bag.HasErrors() {
		return ExitError
	}
	return code
}

// Fail prints the diagnostics of the command and returns ExitError.
func (s *Screen) Fail() int { return s.Done(ExitError) }

// DoneDocument ends a command that has printed a document on standard output: it prints all diagnostics on standard
// error. It returns ExitError if the bag has errors, and ExitOK otherwise.
func (s *Screen) DoneDocument() int {
	c := s.call
	human := view.NewHuman(c.Stderr, c.Stderr, c.ViewOptions())
	human.Diagnostics(c.Bag.List())
	human.Finish()
	if c.Bag.HasErrors() {
		return ExitError
	}
	return ExitOK
}
