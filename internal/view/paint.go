package view

// style is how text looks on a terminal with colours. Nothing is said by colour alone.
type style string

// The styles.
const (
	bold      style = "\x1b[1m"
	underline style = "\x1b[4m"
	red       style = "\x1b[31m"
	green     style = "\x1b[32m"
	yellow    style = "\x1b[33m"
	dim       style = "\x1b[90m"
	reset           = "\x1b[0m"
)

// paint styles text, where colours are wanted.
func (o Options) paint(text string, styles ...style) string {
	if !o.Color || text == "" {
		return text
	}
	out := ""
	for _, s := range styles {
		out += string(s)
	}
	if out == "" {
		return text
	}
	return out + text + reset
}
