package base

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"golang.org/x/term"
)

// Question is something to ask the user.
type Question struct {
	Title  string // "var.name"
	Note   string
	Secret bool // not to be shown while it is typed
}

// Ask puts a question and reads one line. Where it gets none, because the input has ended or an
// interrupt came (cutShort), no questions may be put from then on, and the caller says what that
// means.
func (s *Screen) Ask(q Question) (string, bool) {
	fmt.Fprintf(s.call.Stdout, "%s\n", q.Title)
	if q.Note != "" {
		fmt.Fprintf(s.call.Stdout, "  %s\n\n", strings.ReplaceAll(q.Note, "\n", "\n  "))
	}
	text, ok := s.read("  Enter a value: ", q.Secret)
	fmt.Fprintln(s.call.Stdout)
	s.ended = !ok
	return text, ok
}

// read reads one line, until the first interrupt: what is typed after that is not read. What is secret is hidden before the
// prompt is there, because users and programs may type at once.
func (s *Screen) read(prompt string, secret bool) (string, bool) {
	f, isFile := s.call.Stdin.(*os.File)
	var shown *term.State
	if secret && isFile && term.IsTerminal(int(f.Fd())) {
		var err error
		if shown, err = term.MakeRaw(int(f.Fd())); err != nil {
			return "", false
		}
		defer term.Restore(int(f.Fd()), shown)
	}
	fmt.Fprint(s.call.Stdout, prompt)
	type answer struct {
		text string
		ok   bool
	}
	answers := make(chan answer, 1)
	go func() {
		text, ok := s.readLine(f, shown)
		answers <- answer{text, ok}
	}()
	select {
	case a := <-answers:
		return a.text, a.ok
	case <-s.call.Stops.begun():
		return "", false
	}
}

func (s *Screen) readLine(f *os.File, shown *term.State) (string, bool) {
	if shown != nil {
		return s.readHidden(f, shown)
	}
	text, err := s.in.ReadString('\n')
	text = strings.TrimRight(text, "\r\n")
	return text, err == nil || text != ""
}

// readHidden reads one line of a terminal that shows nothing of it, and leaves that as it was. It is read key by key,
// because term.ReadPassword goes on after ^D.
func (s *Screen) readHidden(f *os.File, shown *term.State) (string, bool) {
	k := &keys{f: f}
	text, err := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{k, s.call.Stdout}, "").ReadPassword("")
	term.Restore(int(f.Fd()), shown)
	if k.canceled {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(os.Interrupt) == nil {
			<-s.call.Stops.begun()
		}
	}
	return text, err == nil
}

// keys reads a terminal key by key, so that what is typed ahead is left for the next question, until ^C.
type keys struct {
	f        *os.File
	canceled bool
}

// Read implements io.Reader.
func (k *keys) Read(p []byte) (int, error) {
	const interrupt = 3 // ^C
	n, err := k.f.Read(p[:min(len(p), 1)])
	if n == 1 && p[0] == interrupt {
		k.canceled = true
		return 0, io.EOF
	}
	return n, err
}

// Confirm asks for a plain "yes"; what says what it is given for, such as "approve". Without an answer it is false and false.
func (s *Screen) Confirm(title, note, what string) (yes, answered bool) {
	s.Print("\n")
	text, ok := s.Ask(Question{Title: title, Note: strings.TrimPrefix(note+"\n", "\n") + "Only 'yes' will be accepted to " + what + "."})
	return ok && text == "yes", ok
}

// Approval is what a command asks for before it changes something.
type Approval struct {
	Given   bool   // by a flag: nothing is asked
	Title   string // the question
	Note    string // what stands below it
	For     string // what "yes" is given for, "approve" if empty
	Use     string // what to give where no user can be asked
	Refused string // what is printed where the answer is another
}

// Approve asks for approval, and reports it if no user can be asked.
func (c *Call) Approve(a Approval) bool {
	if a.Given {
		return true
	}
	yes, answered := c.UI.Confirm(a.Title, a.Note, cmp.Or(a.For, "approve"))
	switch {
	case !answered && !c.CutShort():
		c.Bag.Add(diag.Errorf("Not approved", notApproved, a.Use))
	case !yes:
		c.UI.Print(a.Refused + "\n")
	}
	return yes
}
