package secret

import (
	"slices"
	"strings"
)

// forms are the ways in which a string is written where text is made of it and nothing is escaped. The
// first is the string itself.
func forms(text string) []string {
	all := []string{text}
	if trimmed := strings.TrimSpace(text); trimmed != text && len(trimmed) >= shortest {
		all = append(all, trimmed)
	}
	if strings.Contains(text, "\n") && !strings.Contains(text, "\r") {
		all = append(all, strings.ReplaceAll(text, "\n", "\r\n"))
	}
	return all
}

// lines are the lines of a secret of several, for text that is shown in a frame. They are masked,
// not refused: a line may be a common one. The frame of a PEM block is.
func lines(text string) []string {
	if !strings.Contains(text, "\n") {
		return nil
	}
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if len(line) >= shortest && !strings.HasPrefix(line, "-----") && !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}
