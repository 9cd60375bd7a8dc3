package base

import (
	"cmp"
	"fmt"
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
	fmt.Fprint(s.call.Stdout, "  Enter a value: ")
	text, ok := s.read(q.Secret)
	fmt.Fprintln(s.call.Stdout)
	s.ended = !ok
	return text, ok
}

// read reads one line, until the first interrupt: what is typed after that is not read.
func (s *Screen) read(secret bool) (string, bool) {
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
	case <-s.call.Stops.begun():
		return "", false
	}
}

func (s *Screen) readLine(f *os.File, secret bool) (string, bool) {
	if secret {
		b, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(s.call.Stdout)
		return string(b), err == nil
	}
	text, err := s.in.ReadString('\n')
	text = strings.TrimRight(text, "\r\n")
	return text, err == nil || text != ""
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
