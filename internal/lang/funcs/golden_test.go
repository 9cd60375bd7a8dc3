package funcs

import (
	"os"
	"strings"
	"testing"
)

// golden is one recorded expression. answer starts with one of these lines:
//
//   - "= TYPE": the type of the value. The next line is the value as JSON.
//   - "! TITLE": the title of the error. The next lines are the detail.
//   - "= console": the next lines are the text that the console printed.
type golden struct {
	expr   string
	line   int
	answer []string
}

// readGolden reads a file of expressions. head holds the lines before the first expression.
func readGolden(t *testing.T, file string) (cases []*golden, head []string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		switch expr, ok := strings.CutPrefix(line, "> "); {
		case ok:
			cases = append(cases, &golden{expr: expr, line: i + 1})
		case len(cases) == 0:
			head = append(head, line)
		case line != "":
			c := cases[len(cases)-1]
			c.answer = append(c.answer, line)
		}
	}
	return cases, head
}

func writeGolden(t *testing.T, file string, head []string, cases []*golden) {
	var b strings.Builder
	for _, l := range head {
		b.WriteString(l + "\n")
	}
	for _, c := range cases {
		b.WriteString("> " + c.expr + "\n")
		for _, l := range c.answer {
			b.WriteString(strings.TrimRight(l, " ") + "\n")
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
