package store

import "testing"

// TestWordsOfCommands checks that the shells of both systems pass printed words unchanged: a POSIX shell, and PowerShell.
func TestWordsOfCommands(t *testing.T) {
	for _, c := range []struct{ word, posix, windows string }{
		{"tfplan", "tfplan", "tfplan"},
		{`sub\p`, `'sub\p'`, `sub\p`},
		{"", "''", "''"},
		{"it's", `'it'\''s'`, "'it''s'"},
		{`aws_instance.a["x"]`, `'aws_instance.a["x"]'`, `'aws_instance.a["x"]'`},
		{"-replace-ok=aws_instance.a", "-replace-ok=aws_instance.a", "'-replace-ok=aws_instance.a'"},
	} {
		if got := shellWord(c.word, false); got != c.posix {
			t.Errorf("%s: %s", c.word, got)
		}
		if got := shellWord(c.word, true); got != c.windows {
			t.Errorf("%s on Windows: %s", c.word, got)
		}
	}
	for _, c := range []struct{ name, posix, windows string }{
		{"tfplan", `"tfplan"`, `"tfplan"`},
		{"my plan", `"my plan"`, `"my plan"`},
		{`sub\p`, `'sub\p'`, `"sub\p"`},
		{`C:\Users\a\p`, `'C:\Users\a\p'`, `"C:\Users\a\p"`},
		{"$HOME", "'$HOME'", "'$HOME'"},
		{"plän", `"plän"`, `"plän"`},
		{"a\x1b[31m", `"a\x1b[31m"`, `"a\x1b[31m"`},
	} {
		if got := shellFile(c.name, false); got != c.posix {
			t.Errorf("%s: %s", c.name, got)
		}
		if got := shellFile(c.name, true); got != c.windows {
			t.Errorf("%s on Windows: %s", c.name, got)
		}
	}
}
