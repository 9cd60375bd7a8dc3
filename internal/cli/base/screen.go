package base

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/view"
)

// ViewOptions are those of all that a command shows.
func (c *Call) ViewOptions() view.Options {
	product, command := c.Names()
	return view.Options{
		Product: product, Command: command, Plain: c.View.NoColor, Color: c.Color(), ShowSensitive: c.View.ShowSecrets,
		Sources: c.Sources, Scrub: c.Secrets.Scrub, Now: c.Now,
	}
}

// NewScreen makes the screen of a command whose flags are read.
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
		out = c.Stderr // the document has standard output to itself
	}
	s.View = view.NewHuman(out, c.Stderr, o)
	return s.alsoInto(o)
}

// alsoInto makes a screen that writes the JSON stream to the file of -json-into as well.
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
	s.into, s.lost = f, w.why
	o.Terminal, o.Color, o.Width = false, false, 0
	s.View = both{s.View, view.NewJSON(w, Version, o)}
	return s
}

// both shows everything twice: on the screen and in a file.
type both struct{ screen, file view.View }

func (b both) Tell(e event.Event)                    { b.screen.Tell(e); b.file.Tell(e) }
func (b both) Diagnostics(ds []diag.Diagnostic)      { b.screen.Diagnostics(ds); b.file.Diagnostics(ds) }
func (b both) Plan(p *plan.Plan, o view.PlanOptions) { b.screen.Plan(p, o); b.file.Plan(p, o) }
func (b both) Outputs(outs map[string]state.Output)  { b.screen.Outputs(outs); b.file.Outputs(outs) }
func (b both) Finish()                               { b.screen.Finish(); b.file.Finish() }

// Line prints one line of progress.
func (s *Screen) Line(text string) { s.Tell(event.Note{Text: text}) }

// Step prints one line of init's progress, with the code that programs know it by.
func (s *Screen) Step(code, text string) { s.Tell(event.Note{Text: s.call.Renamed(text), Code: code}) }

// Renamed returns a sentence with the names that the program is called by.
func (c *Call) Renamed(sentence string) string { return c.ViewOptions().Named(sentence) }

// Print prints a command's result as it is.
func (s *Screen) Print(text string) { io.WriteString(s.call.Stdout, text) }

// Document prints a command's result for programs, in one line. doc has to be what JSON can say.
func (s *Screen) Document(doc any) { s.Print(string(inOneLine(doc))) }

// Into writes a result to the file of -json-into, and prints it with -json; alone means that people are shown nothing
// besides. doc has to be what JSON can say.
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

// lacking says that the file of -json-into has not all that it was to have. What the command does is done all the same.
func (s *Screen) lacking() (d diag.Diagnostic, is bool) {
	if s.lost == nil || s.lost() == nil {
		return d, false
	}
	return diag.Warningf("Failed to write the file of -json-into", "The file %s of -json-into lacks a part of what happened: %s.", s.call.View.JSONInto, disk.Reason(s.lost())), true
}

// close ends a screen.
func (s *Screen) close() {
	s.into.Close() // nil is fine: there is nothing to close then
}

// MayAsk reports whether the user may be asked: where a program reads the output, or the input has ended,
// a question has no answer. A completion, which has no screen, asks nothing.
func (s *Screen) MayAsk() bool { return s != nil && !s.call.View.JSON && !s.ended }

// Done prints the diagnostics and gives the exit code that they ask for.
func (s *Screen) Done(code int) int {
	s.Diagnostics(s.call.Bag.List())
	s.Finish()
	if code == ExitOK && s.call.Bag.HasErrors() {
		return ExitError
	}
	return code
}

// Fail is done for a command that could not do its work.
func (s *Screen) Fail() int { return s.Done(ExitError) }

// DoneQuiet is Done for a command whose standard output is a document: diagnostics go to standard error.
func (s *Screen) DoneQuiet() int {
	c := s.call
	human := view.NewHuman(c.Stderr, c.Stderr, c.ViewOptions())
	human.Diagnostics(c.Bag.List())
	human.Finish()
	if c.Bag.HasErrors() {
		return ExitError
	}
	return ExitOK
}
