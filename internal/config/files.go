package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// The suffixes of configuration files. A file with one of the second pair hides the one with the
// same base name and the first of its row.
var suffixes = [][2]string{{".tf", ".tofu"}, {".tf.json", ".tofu.json"}}

// moduleFiles picks from the names in a directory those that make up the module: primary files
// and override files, each in the order they are read.
func moduleFiles(names []string) (primary, overrides []string) {
	present := make(map[string]bool, len(names))
	for _, n := range names {
		present[n] = true
	}
	for _, n := range names {
		base, hidden := configBase(n, present)
		switch {
		case base == "" || hidden:
		case base == "override" || strings.HasSuffix(base, "_override"):
			overrides = append(overrides, n)
		default:
			primary = append(primary, n)
		}
	}
	slices.Sort(primary)
	slices.Sort(overrides)
	return primary, overrides
}

// configBase is the base name of a configuration file, "" for any other file, and whether another
// file hides it.
func configBase(name string, present map[string]bool) (base string, hidden bool) {
	if ignored(name) {
		return "", false
	}
	for _, row := range suffixes {
		if base, ok := strings.CutSuffix(name, row[1]); ok {
			return base, false
		}
		if base, ok := strings.CutSuffix(name, row[0]); ok {
			return base, present[base+row[1]]
		}
	}
	return "", false
}

// ignored reports whether a file is what editors leave behind, or hidden.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// parsed is one file after parsing.
type parsed struct {
	File
	body hcl.Body // never nil
	ok   bool     // it was read and parsed without errors
	bag  diag.Bag // what parsing said
}

// parseFile reads and parses one configuration file. tokens counts those of the whole module.
func parseFile(path string, o Options, tokens *atomic.Int64) *parsed {
	p := &parsed{File: File{Name: o.Display(path)}, body: hcl.EmptyBody()}
	text, err := o.Files.Read(path, o.Limits.Bytes)
	if err != nil {
		p.bag.Add(unreadableFile(p.Name, err))
		return p
	}
	p.Bytes = text
	if n := syntax.Words(text); n <= o.Limits.Tokens && tokens.Add(int64(n)) > int64(o.Limits.Tokens) {
		p.bag.Add(diag.Errorf("Configuration too large", "A module may have %d words and symbols in all its files, and this one has more. Divide it into several modules, or raise the limit if it is meant to be this large.", o.Limits.Tokens))
		return p
	}
	p.body, p.ok = ParseBody(p.Name, text, o.Limits, &p.bag)
	return p
}

func unreadableFile(name string, err error) diag.Diagnostic {
	var large TooLarge
	switch {
	case errors.As(err, &large):
		return diag.Errorf("Configuration file too large", "%s is larger than %d bytes, the limit for one file. Split it up, or raise the limit if it is meant to be this large.", name, large.Limit)
	case errors.As(err, new(NotRegular)):
		return diag.Errorf("Failed to read file", "%s is a device, a pipe or a socket, and configuration is read from ordinary files only.", name)
	case errors.Is(err, fs.ErrNotExist):
		return diag.Errorf("Failed to read file", "%s does not exist, or is a symbolic link that leads nowhere.", name)
	}
	return diag.Errorf("Failed to read file", "%s could not be read: %v.", name, reason(err))
}

// reason is an error without the path that the message names anyway.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// EncryptionVariable is the environment variable that says, in either syntax, what else would stand in an
// encryption block.
const EncryptionVariable = "TF_ENCRYPTION"

// ParseBody parses a text within the limits, in the syntax that its name asks for; that of EncryptionVariable may be in
// either. The body is never nil.
func ParseBody(name string, text []byte, l limits.Limits, bag *diag.Bag) (hcl.Body, bool) {
	if syntax.Wide(text) {
		bag.Add(diag.Errorf("Invalid character encoding", "The file is in UTF-16, and all input files must be UTF-8 encoded. Save it with UTF-8 encoding selected in the editor.").At(rangeAt(name, text, 0)))
		return hcl.EmptyBody(), false
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		bag.Add(diag.Errorf("Invalid character", "There is a NUL byte here, and no text has one. The file may be damaged, or be something else than configuration.").At(rangeAt(name, text, at)))
		return hcl.EmptyBody(), false
	}
	parse := parseNative
	if strings.HasSuffix(name, ".json") || name == EncryptionVariable && bytes.HasPrefix(text, []byte("{")) {
		parse = parseJSON
	}
	body, ds, p := parse(text, name, l.Filled())
	if p.Kind != syntax.None {
		bag.Add(Refused(p, name, text, l))
		return hcl.EmptyBody(), false
	}
	return body, bag.HCL(notTooMany(name, ds))
}

func parseNative(text []byte, name string, l limits.Limits) (hcl.Body, hcl.Diagnostics, syntax.Problem) {
	body, ds, p := syntax.Parse(text, name, l)
	if p.Kind != syntax.None {
		return nil, nil, p
	}
	return body, worded(ds, name, text), p
}

// ParseExpression parses an expression that stands by itself, within the limits.
func ParseExpression(name string, text []byte, l limits.Limits, bag *diag.Bag) (hclsyntax.Expression, bool) {
	l = l.Filled()
	if p := syntax.CheckExpression(text, l); p.Kind != syntax.None {
		bag.Add(Refused(p, name, text, l))
		return nil, false
	}
	e, ds := hclsyntax.ParseExpression(text, name, hcl.InitialPos)
	return e, bag.HCL(worded(ds, name, text))
}

// worded are what a parser says of a text in native syntax, one message for one mistake.
func worded(ds hcl.Diagnostics, name string, text []byte) hcl.Diagnostics {
	for _, d := range ds {
		openHeredoc(d, name, text)
	}
	ds = withoutUnbalanced(firstOfEachLine(ds))
	for _, d := range ds {
		foreignOperator(d, text)
	}
	return ds
}

func parseJSON(text []byte, name string, l limits.Limits) (hcl.Body, hcl.Diagnostics, syntax.Problem) {
	start := hcl.InitialPos
	rest := bytes.TrimPrefix(text, byteOrderMark)
	start.Byte = len(text) - len(rest)
	p := syntax.CheckJSON(rest, l)
	switch p.At += start.Byte; p.Kind {
	case syntax.None:
	case syntax.Unbalanced:
		rest = text[start.Byte:p.At]
	default:
		return nil, nil, p
	}
	file, ds := json.ParseWithStartPos(rest, name, start)
	if ds.HasErrors() {
		ds = ds[:1] // after it the parser has lost its place, and what else it says follows from that
	}
	if file == nil || file.Body == nil {
		return hcl.EmptyBody(), ds, syntax.Problem{}
	}
	return file.Body, ds, syntax.Problem{}
}

// foreign are operators of other languages, with what stands for them here.
var foreign = map[string]string{
	"and": "&&", "or": "||", "not": "!", "eq": "==", "ne": "!=", "mod": "%", "is": "==", "in": "contains(list, value)", "like": "regex(pattern, text)",
}

// foreignOperator says of a syntax error that is at an operator of another language, or behind one, how that is
// written here. The parser takes it for the end of the expression, and tells what should follow.
func foreignOperator(d *hcl.Diagnostic, text []byte) {
	if d.Subject == nil || d.Subject.Start.Byte > len(text) || strings.Contains(d.Summary, "definition") && !strings.Contains(d.Summary, "single-argument") {
		return // a word between arguments and blocks is a name
	}
	word := string(d.Subject.SliceBytes(text))
	before := bytes.TrimRight(text[:d.Subject.Start.Byte], " \t")
	if rest, is := bytes.CutSuffix(before, []byte("not")); is && len(before) < d.Subject.Start.Byte {
		if last, _ := utf8.DecodeLastRune(rest); !unicode.IsLetter(last) && !unicode.IsDigit(last) && !strings.ContainsRune("_-.", last) {
			word = "not"
		}
	}
	if strings.Contains(d.Summary, "'for'") && !strings.HasPrefix(d.Detail, "Extra characters") {
		return // where "in" is what it should be
	}
	if here := foreign[word]; here != "" {
		d.Detail = fmt.Sprintf("There is no operator %q in this language. Write %s.", word, here)
	}
}

// openHeredoc says of a heredoc that nothing closes where it begins: the parser gets to the end of the file.
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
	d.Detail = fmt.Sprintf("No closing marker was found for the string. The heredoc that begins here ends with a line that has nothing but %s in it.", strings.TrimLeft(marker, "<-"))
}

// withoutUnbalanced leaves out that the directives of a template do not match where one of them was not understood.
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

// firstOfEachLine keeps the first syntax error of each line. What follows on the line is said of what is left when
// the parser has stumbled; after a string that is not closed that is all the rest of the file.
func firstOfEachLine(ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) < 2 {
		return ds
	}
	last := math.MaxInt // the line after which nothing means what it seems to
	for _, d := range ds {
		if d.Subject != nil && unclosed[d.Summary] {
			last = min(last, d.Subject.Start.Line)
		}
	}
	var out hcl.Diagnostics
	seen := map[int]int{} // where in out
	for _, d := range ds {
		if d.Subject != nil {
			line := d.Subject.Start.Line
			if line > last {
				continue
			}
			if i, again := seen[line]; again {
				if d.Summary == unclosedInterpolation { // it is why the string does not end either
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

// unclosed are the errors about a string that does not end where it should.
var unclosed = map[string]bool{"Invalid multi-line string": true, unclosedInterpolation: true, unterminated: true}

// maxMessages is how many mistakes are listed of one file or module. Where there are more, something
// else is wrong than what they say.
const maxMessages = 100

// notTooMany keeps the first messages and says how many there are besides.
func notTooMany(name string, ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) <= maxMessages {
		return ds
	}
	return append(ds[:maxMessages:maxMessages], &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Too many errors",
		Detail:   fmt.Sprintf("There are %d more errors in %s. Check whether this file is what it should be.", len(ds)-maxMessages, name),
	})
}

// byteOrderMark is what some editors put at the start of a file. The parser for native syntax skips
// it itself.
var byteOrderMark = []byte("\ufeff")

// Refused is the diagnostic for a text that package syntax found too deep, long or large for the parser.
func Refused(p syntax.Problem, name string, text []byte, l limits.Limits) diag.Diagnostic {
	title, detail := problemText(p.Kind, l.Filled())
	return diag.Errorf(title, "%s", detail).At(rangeAt(name, text, p.At))
}

func problemText(k syntax.Kind, l limits.Limits) (title, detail string) {
	switch k {
	case syntax.Deep:
		return "Configuration nested too deeply", fmt.Sprintf("Brackets, blocks and templates may be nested %d deep, and here it gets deeper. Name a part of it in a locals block, or raise the limit if it is meant to be this deep.", l.Nesting)
	case syntax.Long:
		return "Expression too long", fmt.Sprintf("One expression may combine %d operators and brackets without a comma between them, and here it gets more. Name parts of it in a locals block, or use a function that takes a list.", syntax.Operators*l.Nesting)
	case syntax.Tokens:
		return "Configuration file too large", fmt.Sprintf("A file may have %d words and symbols, and this one has more. Split it up, or raise the limit if it is meant to be this large.", l.Tokens)
	case syntax.Number:
		return "Number literal too long", fmt.Sprintf("A number may be written with %d characters, and this one has more. Numbers are kept to about 150 digits in any case.", syntax.Longest)
	case syntax.Exponent:
		return "Number literal too large", fmt.Sprintf("The exponent of a number literal must lie between -%d and %d.", syntax.Longest, syntax.Longest)
	case syntax.Name:
		return "Name too long", fmt.Sprintf("A name may have %d bytes, and this one has more.", syntax.Longest)
	case syntax.Text:
		return "Text too long", "Strings and heredocs with very many lines take very long to read, and the one that begins here has too many of them. Put the text into a file of its own, and read it with file() or templatefile()."
	case syntax.Comment:
		return "Unterminated comment", "Nothing closes the comment that begins here. Add */ at its end."
	case syntax.Encoding:
		return "Invalid character encoding", "All input must be UTF-8 encoded, and here is a byte that is not. If it is in a file, save that with UTF-8 encoding selected in the editor."
	}
	return "Invalid expression", "A bracket is closed by one of another kind before this place, and too many brackets follow."
}

// rangeAt is the place of one byte of a text.
func rangeAt(name string, text []byte, at int) diag.Range {
	pos := hcl.Pos{Line: 1, Column: 1, Byte: at}
	for _, c := range text[:min(at, len(text))] {
		switch {
		case c == '\n':
			pos.Line++
			pos.Column = 1
		case c&0xC0 != 0x80: // columns count characters, not bytes
			pos.Column++
		}
	}
	end := pos
	if at < len(text) {
		end.Byte++
		end.Column++
	}
	return diag.Range{Filename: name, Start: pos, End: end}
}
