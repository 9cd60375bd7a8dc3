package diag

import (
	"bytes"
	"regexp"
	"slices"
	"sync"
)

// word matches the tokens of a line of HCL in native or JSON syntax. It also matches parts of any other text.
var word = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"?|[{}\[\]=:,]|[^\s"{}\[\]=:,]+`)
})

// Harmless has the names whose text messages may show, although the file or environment variable with the text may
// contain secrets.
type Harmless struct {
	Values []string // arguments whose values are shown
	Braces []string // arguments and types of blocks with braces in which all text is shown
	Labels []string // types of blocks whose labels are shown
}

// Masked returns a copy of a text in native or JSON syntax that can be shown in messages, although the text may contain
// secrets. It keeps names of arguments, types of blocks, and the text that harmless permits. It replaces all other text
// with stars. A misspelt name such as "tokn" is not in harmless, so its value is masked. Masked uses tokens and not the
// syntax tree, because the text contains mistakes.
func Masked(src []byte, harmless Harmless) []byte {
	const (
		none   = iota // a name may begin
		shown         // the value of a harmless argument
		hidden        // the value of another argument
	)
	out := slices.Clone(src)
	value, lists, heredoc := none, 0, false
	var inside []bool // for each open brace: whether all text inside it is harmless
	at := 0
	for line := range bytes.Lines(src) {
		words := word().FindAllIndex(line, -1)
		is := func(i int, chars string) bool {
			return i >= 0 && i < len(words) && bytes.IndexByte([]byte(chars), line[words[i][0]]) >= 0
		}
		begins := func(i int) bool { // whether a block with labels begins at the index i
			for i++; i < len(words) && !is(i, "}[]=:,"); i++ {
				if is(i, "{") {
					return true
				}
			}
			return false
		}
		first := func(i int) int { // the index of the first word of the header with the word at the index i
			for i > 0 && !is(i-1, "{}[]=:,") {
				i--
			}
			return i
		}
		header := func(i int) bool { // whether the word is the type of a block, or a label that is shown
			of := first(i)
			text := line[words[of][0]:words[of][1]]
			return begins(i) && text[0] != '"' && (i == of || slices.Contains(harmless.Labels, string(text)))
		}
		named := func(i int) bool { // a string, or an equals sign on the next line, follows the name
			if rest := bytes.TrimLeft(src[at+len(line):], " \t\r\n"); i+1 == len(words) && len(rest) > 0 {
				return rest[0] == '=' || rest[0] == ':'
			}
			return is(i+1, `"`)
		}
		if is(0, "=:") { // the name is in a previous line
			value = hidden
		}
		for i, w := range words {
			all := len(inside) > 0 && inside[len(inside)-1]
			switch text := line[w[0]:w[1]]; {
			case is(i, "{"):
				opens := i - 1 // the index of the name of the argument, or of the type of the block
				if is(opens, "=:") {
					opens--
				} else if opens > 0 {
					opens = first(opens)
				}
				inside = append(inside, all || value != hidden && opens >= 0 && slices.Contains(harmless.Braces, name(line, words[opens])))
				value = none
			case is(i, "}"):
				inside, value, lists = inside[:max(0, len(inside)-1)], none, 0
			case is(i, "["):
				lists++
			case is(i, "]"):
				if lists = max(0, lists-1); lists == 0 && value == shown {
					value = none
				}
			case is(i, "=:,"):
			case is(i+1, "=:") && !is(i-1, "=:"):
				value, lists, heredoc = hidden, 0, false
				if n := name(line, w); all || slices.Contains(harmless.Values, n) || slices.Contains(harmless.Braces, n) {
					value = shown
				}
			case bytes.IndexByte(text, '@') < 0 && (value == shown || all || // an address may have a password
				value == none && (header(i) || text[0] != '"' && (i == 0 || is(i-1, "{},")) && named(i))):
				if lists == 0 && value == shown {
					value = none
				}
			default:
				heredoc = heredoc || bytes.HasPrefix(text, []byte("<<"))
				copy(out[at+w[0]:at+w[1]], bytes.Repeat([]byte("*"), len(text)))
			}
		}
		if n := len(words) - 1; n >= 0 {
			last := line[words[n][0]:words[n][1]]
			open := last[0] == '"' && (len(last) == 1 || last[len(last)-1] != '"')
			if !(lists > 0 || is(n, "=:") || value == hidden && (open || heredoc || is(n, ","))) {
				value = none
			}
		}
		at += len(line)
	}
	return out
}

// name returns the word of a line at a range, without quotes.
func name(line []byte, word []int) string {
	return string(bytes.Trim(line[word[0]:word[1]], `"`))
}

// Unquoted returns a diagnostic about a text that may contain secrets. If the parser quotes words of the text in it,
// Unquoted replaces its detail.
func Unquoted(d Diagnostic) Diagnostic {
	switch d.Summary {
	case "Invalid JSON keyword":
		d.Detail = "A value in JSON is in double quotes, a number, true, false or null."
	case "Invalid template control keyword":
		d.Detail = "The characters %{ begin a control sequence of a template, such as %{if}. For the characters themselves, write %%{."
	}
	return d
}

// MoveUnquoted moves the diagnostics of from, which are about a text that may contain secrets, to b. They quote no words
// of the text (see Unquoted).
func (b *Bag) MoveUnquoted(from *Bag) {
	for _, d := range from.List() {
		b.Add(Unquoted(d))
	}
	from.Clear()
}
