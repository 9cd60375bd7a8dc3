package cli

import (
	"errors"
	"strings"

	"github.com/lethe-iac/lethe/internal/subprocess"
)

// splitShell splits a line into words with the quotation rules of a shell: spaces separate words, except in quotes and
// after a backslash. It expands no variables or patterns. It returns an error if a quote is not closed.
func splitShell(line string) ([]string, error) {
	words, last := scanShell(line)
	if last.quote != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if last.started {
		words = append(words, last.text)
	}
	return words, nil
}

// lastWord is the word at the end of an incomplete line.
type lastWord struct {
	text    string
	started bool // the word has begun; text may still be empty, as after an opening quote
	quote   byte // the quotation mark that is still open at the end of the word; 0 if no quotation mark is open
	from    int  // the position in text after the last =, : or opening quote, from which bash replaces the word
}

// scanShell returns the words of a line before the last word, and the last word.
func scanShell(line string) (words []string, last lastWord) {
	var word strings.Builder
	var quote byte
	inWord, from := false, 0
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\' && i+1 < len(line):
			i++
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(line[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord, from = c, true, word.Len()
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord, from = false, 0
			}
		default:
			word.WriteByte(c)
			inWord = true
			if c == '=' || c == ':' {
				from = word.Len()
			}
		}
	}
	return words, lastWord{word.String(), inWord, quote, from}
}

// rest returns the text that bash inserts for a completed word, beginning at w.from. bash inserts the text verbatim, so
// rest escapes it for the open quote.
func (w lastWord) rest(word string) string {
	word = word[min(w.from, len(word)):]
	switch w.quote {
	case '\'':
		return strings.ReplaceAll(word, "'", `'\''`)
	case '"':
		return escapeShell(word, "\"\\$`")
	}
	return escapeShell(word, "\"'\\$` \t[]{}()*?<>|&;!#~")
}

// escapeShell puts a backslash before each character of text that is in special.
func escapeShell(text, special string) string {
	var b strings.Builder
	for _, c := range text {
		if strings.ContainsRune(special, c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}

// quoteShell quotes a text as one word for a shell.
func quoteShell(text string) string {
	if text != "" && strings.Trim(text, "/._-+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return text
	}
	return subprocess.Quote(text)
}
