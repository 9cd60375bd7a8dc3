package comment

import (
	"strings"

	"github.com/lethe-iac/lethe/internal/view"
)

// span returns a text from outside, such as a name, as a code span on one line.
func (d *draft) span(s string) string {
	s = view.EscapeLine(d.o.Scrub(s))
	if s == "" {
		s = " "
	}
	delimiter := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") || strings.HasPrefix(s, " ") && strings.HasSuffix(s, " ") && strings.Trim(s, " ") != "" {
		s = " " + s + " " // because Markdown removes one space at each end of a code span
	}
	return delimiter + s + delimiter
}

// fence returns the content of a change in a code block for differences. It returns "" if lines is empty. The symbol
// "~" becomes "!", which GitHub colours.
func fence(lines string) string {
	if lines == "" {
		return ""
	}
	fence := strings.Repeat("`", max(3, longestRun(lines)+1))
	var b strings.Builder
	b.WriteString("\n" + fence + "diff\n")
	for line := range strings.Lines(lines) {
		if line[0] == '~' {
			b.WriteByte('!')
			line = line[1:]
		}
		b.WriteString(line)
	}
	if !strings.HasSuffix(lines, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(fence + "\n")
	return b.String()
}

// longestRun returns the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for _, c := range []byte(s) {
		if run++; c != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
