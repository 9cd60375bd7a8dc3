package syntax

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Worded improves the messages ds of the parser about text, a file in native syntax with this name, and keeps one
// message for each mistake. It changes the diagnostics in ds.
func Worded(ds hcl.Diagnostics, name string, text []byte) hcl.Diagnostics {
	for _, d := range ds {
		openHeredoc(d, name, text)
	}
	ds = withoutUnbalanced(firstOfEachLine(ds))
	for _, d := range ds {
		foreignOperator(d, text)
	}
	return ds
}

// foreign maps operators of other languages to their equivalents.
var foreign = map[string]string{
	"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "mod": "%", "is": "==", "in": "contains(list, value)", "like": "regex(pattern, text)",
}

// foreignOperator rewrites the message of a syntax error at or after an operator of another language. The new message
// names the equivalent. The original message is misleading, because the parser takes the operator for the end of the
// expression.
func foreignOperator(d *hcl.Diagnostic, text []byte) {
	if d.Subject == nil || d.Subject.Start.Byte > len(text) || strings.Contains(d.Summary, "definition") && !strings.Contains(d.Summary, "single-argument") {
		return // a word at the start of an argument or a block is a name, not an operator
	}
	word := string(d.Subject.SliceBytes(text))
	before := bytes.TrimRight(text[:d.Subject.Start.Byte], " \t")
	if rest, is := bytes.CutSuffix(before, []byte("not")); is && len(before) < d.Subject.Start.Byte {
		if last, _ := utf8.DecodeLastRune(rest); !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("_-.", last) {
			word = "not"
		}
	}
	if strings.Contains(d.Summary, "'for'") && !strings.HasPrefix(d.Detail, "Extra characters") {
		return // "in" is correct in a for expression, so keep the message
	}
	if here := foreign[word]; here != "" {
		d.Detail = fmt.Sprintf("There is no operator %q in this language. Write %s.", word, here)
	}
}

// openHeredoc moves the error about an unterminated heredoc to the line where the heredoc begins. The parser reports
// the end of the file.
func openHeredoc(d *hcl.Diagnostic, name string, text []byte) {
	if d.Summary != unterminated {
		return
	}
	tokens, _ := hclsyntax.LexConfig(text, name, hcl.InitialPos)
	var open []hclsyntax.Token
	for _, t := range tokens {
		switch {
		case t.Type == hclsyntax.TokenOHeredoc:
			open = append(open, t)
		case t.Type == hclsyntax.TokenCHeredoc && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return
	}
	at := open[len(open)-1]
	marker := strings.TrimRight(string(at.Bytes), "\r\n")
	at.Range.End = hcl.Pos{Line: at.Range.Start.Line, Column: at.Range.Start.Column + len(marker), Byte: at.Range.Start.Byte + len(marker)}
	d.Subject, d.Context = &at.Range, nil
	d.Detail = fmt.Sprintf("The heredoc that begins here has no end. Add a line that contains only %s.", strings.TrimLeft(marker, "<-"))
}

// withoutUnbalanced removes errors about unmatched template directives if another error is about a directive that the
// parser did not understand. The removed errors are consequences of this error.
func withoutUnbalanced(ds hcl.Diagnostics) hcl.Diagnostics {
	if !slices.ContainsFunc(ds, func(d *hcl.Diagnostic) bool {
		return strings.HasPrefix(d.Summary, "Invalid template ") || strings.HasSuffix(d.Summary, " directive") && strings.HasPrefix(d.Summary, "Invalid '")
	}) {
		return ds
	}
	return slices.DeleteFunc(ds, func(d *hcl.Diagnostic) bool {
		return d.Summary == "Unexpected end of template" || strings.HasPrefix(d.Summary, "Unexpected ") && strings.HasSuffix(d.Summary, " directive")
	})
}

// firstOfEachLine keeps the first syntax error of each line, because later errors on the line are usually consequences.
// But an error about an interpolation that is not closed replaces the earlier error of the line. After a string that is
// not closed, firstOfEachLine removes the errors of all later lines. It keeps all errors that have no place.
func firstOfEachLine(ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) < 2 {
		return ds
	}
	last := math.MaxInt // the first line with a string that is not closed
	for _, d := range ds {
		if d.Subject != nil && unclosed[d.Summary] {
			last = min(last, d.Subject.Start.Line)
		}
	}
	var out hcl.Diagnostics
	seen := map[int]int{} // by line number: the index of the line's error in out
	for _, d := range ds {
		if d.Subject != nil {
			line := d.Subject.Start.Line
			if line > last {
				continue
			}
			if i, again := seen[line]; again {
				if d.Summary == unclosedInterpolation { // an interpolation that is not closed is also the reason why the string does not end
					out[i] = d
				}
				continue
			}
			seen[line] = len(out)
		}
		out = append(out, d)
	}
	return out
}

const (
	unclosedInterpolation = "Unclosed template interpolation sequence"
	unterminated          = "Unterminated template string"
)

// unclosed holds the summaries of errors about strings that do not end.
var unclosed = map[string]bool{"Invalid multi-line string": true, unclosedInterpolation: true, unterminated: true}
