package subprocess

import "strings"

// Quote returns a text as one word for a POSIX shell, in single quotes.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
