package base

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lethe-iac/lethe/internal/diag"
	"golang.org/x/term"
)

// Question is a question for the user.
type Question struct {
	Title  string // the first line, such as "var.name"
	Note   string // printed below the title; may be empty
	Secret bool   // the terminal does not show the answer while the user types
}

// Ask prints a question and reads one line. It removes white space at the end of the line, except from a secret that is
// typed at a terminal. It returns false if the input has ended, if the user interrupted the command, or if the terminal
// cannot hide a secret. In these cases, later calls of MayAsk return false, and the caller of Ask reports the missing
// answer.
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

// read prints a prompt and reads one line. It returns false at the end of the input, after an interrupt, and if a
// terminal cannot be set to hide a secret answer. If the answer is secret, the terminal stops showing typed characters
// before the prompt is printed, because users and programs may type at once.
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
	s.asking.Store(true)
	defer s.asking.Store(false)
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
	case <-s.call.Stops.started():
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

// readHidden reads one line of a terminal in raw mode, and then sets the terminal back to the mode in the argument
// shown. It returns false if the line did not end with the Enter key: the user pressed ^C, or the input ended. After
// ^C, it sends an interrupt to its own process, because a terminal in raw mode does not. It uses neither
// term.ReadPassword, which continues after ^D, nor the editor of package term, which accepts no tabs and no invalid
// UTF-8.
func (s *Screen) readHidden(f *os.File, shown *term.State) (string, bool) {
	text, end := hiddenLine(f)
	fmt.Fprint(s.call.Stdout, "\r\n")
	term.Restore(int(f.Fd()), shown)
	if end == interruptKey {
		if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(os.Interrupt) == nil {
			<-s.call.Stops.started()
		}
	}
	return text, end == enterKey
}

// Keys of a terminal in raw mode.
const (
	interruptKey = 3 // the byte that Ctrl-C sends: interrupt the command
	endKey       = 4 // the byte that Ctrl-D sends: end the input without an answer
	enterKey     = '\r'
	eraseKey     = 8 // the byte that Ctrl-H sends: erase a character
	deleteKey    = 127
	clearKey     = 21 // the byte that Ctrl-U sends: erase the line
	suspendKey   = 26 // the byte that Ctrl-Z sends: stop the program, which is not possible in raw mode
	quitKey      = 28 // the byte that Ctrl-\ sends: interrupt the command, too
)

// hiddenLine reads a line from a terminal in raw mode, and returns it with the key that ended it: enterKey (also for a
// newline), interruptKey (also for quitKey), or endKey at the end of the input. If the key is not enterKey, the line is
// "". It reads single bytes, so that later lines remain for the next question. ^D ends only an empty line.
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
		case k == interruptKey || k == quitKey:
			return "", interruptKey
		case k == endKey && len(line) == 0:
			return "", k
		case k == endKey || k == suspendKey:
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

// Confirm asks a question that only "yes" confirms. The parameter what names the effect of "yes", such as "approve".
// yes is true if the user answered "yes". answered is false if the user cannot be asked or gave no answer.
func (s *Screen) Confirm(title, note, what string) (yes, answered bool) {
	s.Print("\n")
	text, ok := s.Ask(Question{Title: title, Note: strings.TrimPrefix(note+"\n", "\n") + "Only 'yes' will be accepted to " + what + "."})
	return ok && text == "yes", ok
}

// Asks reports whether the environment permits questions. It returns false only if TF_INPUT is a false value, such as
// 0.
func Asks(c *Call) bool {
	asks, err := strconv.ParseBool(c.Getenv("TF_INPUT"))
	return asks || err != nil
}

// Approval is the question that a command asks before it changes something.
type Approval struct {
	Given   bool   // a flag has given the approval, so Approve does not ask
	Title   string // the question
	Note    string // the text below the question
	For     string // the effect of "yes" in the question; "approve" if empty
	Use     string // the advice if no user can be asked: the words after "Use", such as a flag
	Refused string // the text to print after another answer
}

// Approve asks for approval and reports whether it was given. If no user can be asked, it adds an error with the advice
// and returns false. After an interrupt or an answer other than "yes", it prints Refused and returns false.
func (c *Call) Approve(a Approval) bool {
	if a.Given {
		return true
	}
	yes, answered := c.UI.Confirm(a.Title, a.Note, cmp.Or(a.For, "approve"))
	switch {
	case !answered && !c.Interrupted():
		c.Bag.Add(diag.Errorf("Not approved", notApproved, a.Use))
	case !yes:
		c.UI.Print(a.Refused + "\n")
	}
	return yes
}
