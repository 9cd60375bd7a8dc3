package devcmd

import (
	"errors"
	"io"
	"strings"
	"testing"

	"golang.org/x/term"
)

// screen is a terminal that delivers its input in portions.
type screen struct{ portions []string }

func (s *screen) Read(p []byte) (int, error) {
	if len(s.portions) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.portions[0])
	if s.portions[0] = s.portions[0][n:]; s.portions[0] == "" {
		s.portions = s.portions[1:]
	}
	return n, nil
}

func (s *screen) Write(p []byte) (int, error) { return len(p), nil }

// TestKeyboard checks that the line editor returns the same lines however the input is divided into portions, and that
// method line reports for each line whether it was canceled and whether it was garbled.
func TestKeyboard(t *testing.T) {
	for name, test := range map[string]struct {
		typed []string
		want  string
	}{
		"lines at once":              {[]string{"a\rb\r"}, "a|b"},
		"one by one":                 {[]string{"a", "b", "\r"}, "ab"},
		"both ends of a line":        {[]string{"a\r\nb\r"}, "a||b"},
		"canceled":                   {[]string{"ab\x03cd\r"}, "ab canceled|cd"},
		"canceled with nothing":      {[]string{"\x03"}, " canceled"},
		"canceled after a line":      {[]string{"a\rb\x03"}, "a|b canceled"},
		"other letters":              {[]string{"ä中\r"}, "ä中"},
		"a letter in two portions":   {[]string{"\xe4\xb8", "\xad\r"}, "中"},
		"bytes that are no text":     {[]string{"a\xff\rb\r"}, "a? garbled|b"},
		"after a line":               {[]string{"b\r\xff\r"}, "b|? garbled"},
		"a letter without its end":   {[]string{"\xe4\r"}, "? garbled"},
		"at the end of all":          {[]string{"a\r\xe4"}, "a"},
		"the sign for what is wrong": {[]string{"\ufffd\r"}, "? garbled"},
		"canceled where it is wrong": {[]string{"\xff\x03b\r"}, "? canceled garbled|b"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &keyboard{ReadWriter: &screen{test.typed}}
			editor := term.NewTerminal(k, "> ")
			var got []string
			for {
				line, err := editor.ReadLine()
				if errors.Is(err, io.EOF) {
					break
				}
				canceled, garbled := k.line()
				if canceled {
					line += " canceled"
				}
				if garbled {
					line += " garbled"
				}
				got = append(got, line)
			}
			if s := strings.Join(got, "|"); s != test.want {
				t.Errorf("%q, want %q", s, test.want)
			}
		})
	}
}
