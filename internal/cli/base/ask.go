package base

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

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
	return strings.TrimRightFunc(text, unicode.IsSpace), err == nil || text != ""
}

// readHidden reads one line of a terminal that shows nothing of it, and leaves that as it was. What is typed is taken as
// it is, byte by byte, so that what is typed ahead is left for the next question. term.ReadPassword goes on after ^D, and
// the editor of term takes neither tabs nor bytes that are no text.
func (s *Screen) readHidden(f *os.File, shown *term.State) (string, bool) {
	text, end := hiddenLine(f)
	fmt.Fprint(s.call.Stdout, "\r\n")
	term.Restore(int(f.Fd()), shown)
	if end == interruptKey {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(os.Interrupt) == nil {
			<-s.call.Stops.begun()
		}
	}
	return text, end == enterKey
}

// Keys of a terminal in raw mode.
const (
	interruptKey = 3 // ^C
	endKey       = 4 // ^D
	enterKey     = '\r'
	eraseKey     = 8 // ^H
	deleteKey    = 127
	clearKey     = 21 // ^U
)

// hiddenLine reads a line from a terminal in raw mode, and gives the key that ended it: that of the end also where there
// is nothing to read any more.
func hiddenLine(in io.Reader) (text string, end byte) {
	var line []byte
	for {
		var key [1]byte
		if n, err := in.Read(key[:]); n == 0 && err != nil {
			return "", endKey
		}
		switch k := key[0]; {
		case k == enterKey || k == '\n':
			return string(line), enterKey
		case k == interruptKey || k == endKey && len(line) == 0:
			return "", k
		case k == endKey:
		case k == eraseKey || k == deleteKey:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
		case k == clearKey:
			line = nil
		default:
			line = append(line, k)
		}
	}
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
