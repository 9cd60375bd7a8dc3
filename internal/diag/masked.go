package diag

import (
	"bytes"
	"regexp"
	"slices"
)

// word finds what a line of HCL is made of, in either syntax, and whatever is wrong with it.
var word = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"?|[{}\[\]=:,]|[^\s"{}\[\]=:,]+`)

// Masked is a text in one of the two syntaxes of HCL that may have secrets in it, for Sources: stars are in the place of
// the value of each argument whose name is not one of the harmless ones. Who misspells "token" does not write a harmless
// name. It goes by words and not by the syntax, because what is shown is what has mistakes in it.
func Masked(src []byte, harmless []string) []byte {
	out := slices.Clone(src)
	secret, lists, heredoc := false, 0, false
	var inside []bool // for each brace that is open: whether all in it is harmless
	at := 0
	for line := range bytes.Lines(src) {
		words := word.FindAllIndex(line, -1)
		is := func(i int, chars string) bool {
			return i >= 0 && i < len(words) && bytes.IndexByte([]byte(chars), line[words[i][0]]) >= 0
		}
		secret = secret || is(0, "=:") // the name is in a line before
		for i, w := range words {
			switch {
			case is(i, "{"):
				inside = append(inside, len(inside) > 0 && inside[len(inside)-1] || !secret && i > 0 && slices.Contains(harmless, wordBefore(line, words[:i])))
				secret = false
			case is(i, "}"):
				inside, secret, lists = inside[:max(0, len(inside)-1)], false, 0
			case is(i, "["):
				lists++
			case is(i, "]"):
				lists = max(0, lists-1)
			case is(i, "=:,"):
			case is(i+1, "=:") && !is(i-1, "=:"):
				all := len(inside) > 0 && inside[len(inside)-1]
				heredoc = false
				secret = !all && !slices.Contains(harmless, string(bytes.Trim(line[w[0]:w[1]], `"`)))
				lists = 0
			case secret, bytes.IndexByte(line[w[0]:w[1]], '@') >= 0: // an address may have a password
				heredoc = heredoc || bytes.HasPrefix(line[w[0]:], []byte("<<"))
				copy(out[at+w[0]:at+w[1]], bytes.Repeat([]byte("*"), w[1]-w[0]))
			}
		}
		if n := len(words) - 1; n >= 0 {
			last := line[words[n][0]:words[n][1]]
			open := last[0] == '"' && (len(last) == 1 || last[len(last)-1] != '"')
			secret = secret && (open || heredoc || lists > 0 || is(n, "=:,"))
		}
		at += len(line)
	}
	return out
}

// wordBefore is the name that the words before a brace give it.
func wordBefore(line []byte, words [][]int) string {
	i := len(words) - 1
	if c := line[words[i][0]]; (c == '=' || c == ':') && i > 0 {
		i--
	}
	return string(bytes.Trim(line[words[i][0]:words[i][1]], `"`))
}

// Unquoted is a mistake in a text that is masked, without the words of the text that parsers quote.
func Unquoted(d Diagnostic) Diagnostic {
	if d.Summary == "Invalid JSON keyword" {
		d.Detail = "A value in JSON is in double quotes, a number, true, false or null."
	}
	return d
}
