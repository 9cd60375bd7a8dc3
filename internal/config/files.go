package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// suffixes holds the suffixes of configuration files, by syntax. If a directory has two files with the same base name
// and suffixes of the same row, only the file with the later suffix is read.
var suffixes = [][]string{{".tf", ".tofu", letheSuffix}, {".tf.json", ".tofu.json", letheSuffix + ".json"}}

// letheSuffix is the suffix of files that only Lethe reads. They may use features of the language that Terraform and
// OpenTofu reject.
const letheSuffix = ".lethe"

// Suffixes returns the suffixes of configuration files.
func Suffixes() []string { return slices.Concat(suffixes...) }

// moduleFiles selects the configuration files of a module from the names in a directory. It returns primary files and
// override files separately, each sorted by name, which is the order of reading.
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

// configBase returns the base name of a configuration file, and true if another file in present hides it (see
// suffixes). It returns "" for a file that is not configuration.
func configBase(name string, present map[string]bool) (base string, hidden bool) {
	if ignored(name) {
		return "", false
	}
	for _, row := range suffixes {
		for i, suffix := range row {
			if base, ok := strings.CutSuffix(name, suffix); ok {
				return base, slices.ContainsFunc(row[i+1:], func(later string) bool { return present[base+later] })
			}
		}
	}
	return "", false
}

// ignored reports whether a file name begins with a dot, or belongs to a backup or autosave file of an editor.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// parsed is a file and the result of parsing it.
type parsed struct {
	File
	body hcl.Body // never nil
	ok   bool     // the file was read and parsed without errors
	bag  diag.Bag // messages of the parser
}

// parseFile reads and parses one configuration file. tokens counts the tokens of all files of the module. If the files
// together exceed the limit, parseFile reports an error.
func parseFile(path string, o Options, tokens *atomic.Int64) *parsed {
	p := &parsed{File: File{Name: o.Display(path)}, body: hcl.EmptyBody()}
	text, err := o.Files.Read(path, o.Limits.Bytes)
	if err != nil {
		p.bag.Add(unreadableFile(p.Name, err))
		return p
	}
	p.Bytes = text
	if n := syntax.Words(text); n <= o.Limits.Tokens && tokens.Add(int64(n)) > int64(o.Limits.Tokens) {
		p.bag.Add(diag.Errorf("Configuration too large", "The files of this module have more than %d words and symbols. Divide it into several modules, or raise the limit with LETHE_LIMITS=tokens=NUMBER.", o.Limits.Tokens))
		return p
	}
	p.body, p.ok = ParseBody(p.Name, text, o.Limits, &p.bag)
	return p
}

func unreadableFile(name string, err error) diag.Diagnostic {
	var large TooLarge
	switch {
	case errors.As(err, &large):
		return diag.Errorf("Configuration file too large", "%s is larger than %d bytes. Split the file, or raise the limit with LETHE_LIMITS=bytes=NUMBER.", name, large.Limit)
	case errors.As(err, new(NotRegular)):
		return diag.Errorf("Failed to read file", "%s is a device, a pipe or a socket. Configuration can only be read from regular files.", name)
	case errors.Is(err, fs.ErrNotExist):
		return diag.Errorf("Failed to read file", "%s does not exist, or is a broken symbolic link.", name)
	}
	return diag.Errorf("Failed to read file", "%s could not be read: %v.", name, reason(err))
}

// reason returns the cause of an error without the path, because the message names the path already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// EncryptionVariable is the environment variable that can contain the content of an encryption block, in either syntax.
const EncryptionVariable = "TF_ENCRYPTION"

// ParseBody parses a text within the limits. The suffix of the name selects the syntax; the text of EncryptionVariable
// may have either syntax. The body is never nil. The boolean is false if an error was reported.
func ParseBody(name string, text []byte, l limits.Limits, bag *diag.Bag) (hcl.Body, bool) {
	if syntax.Wide(text) {
		bag.Add(diag.Errorf("Invalid character encoding", "The file is in UTF-16. Save it in UTF-8.").At(rangeAt(name, text, 0)))
		return hcl.EmptyBody(), false
	}
	if at := bytes.IndexByte(text, 0); at >= 0 {
		bag.Add(diag.Errorf("Invalid character", "There is a NUL byte here, so this file is not text. Check whether it is damaged.").At(rangeAt(name, text, at)))
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
	return body, syntax.Worded(ds, name, text), p
}

// ParseExpression parses a single expression within the limits. It returns false if it has added an error to bag.
func ParseExpression(name string, text []byte, l limits.Limits, bag *diag.Bag) (hclsyntax.Expression, bool) {
	l = l.Filled()
	if p := syntax.CheckExpression(text, l); p.Kind != syntax.None {
		bag.Add(Refused(p, name, text, l))
		return nil, false
	}
	e, ds := hclsyntax.ParseExpression(text, name, hcl.InitialPos)
	return e, bag.HCL(syntax.Worded(ds, name, text))
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
		ds = ds[:1] // keep only the first error: later errors are consequences of it, because the parser does not recover
	}
	if file == nil || file.Body == nil {
		return hcl.EmptyBody(), ds, syntax.Problem{}
	}
	return file.Body, ds, syntax.Problem{}
}

// maxMessages is the number of mistakes that are reported for one file or module. More mistakes usually have one common
// cause, such as a file that is not configuration.
const maxMessages = 100

// notTooMany keeps the first maxMessages messages and adds a message with the number of the others.
func notTooMany(name string, ds hcl.Diagnostics) hcl.Diagnostics {
	if len(ds) <= maxMessages {
		return ds
	}
	return append(ds[:maxMessages:maxMessages], &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  "Too many errors",
		Detail:   fmt.Sprintf("There are %d more errors in %s. Check that this file is configuration.", len(ds)-maxMessages, name),
	})
}

// byteOrderMark is the prefix that some editors write at the start of a file. The parser for native syntax ignores it,
// but the parser for JSON does not.
var byteOrderMark = []byte("\ufeff")

// Refused returns the diagnostic for a text that package syntax refused, for example because it is nested too deeply.
func Refused(p syntax.Problem, name string, text []byte, l limits.Limits) diag.Diagnostic {
	title, detail := problemText(p.Kind, l.Filled())
	return diag.Errorf(title, "%s", detail).At(rangeAt(name, text, p.At))
}

func problemText(k syntax.Kind, l limits.Limits) (title, detail string) {
	switch k {
	case syntax.Deep:
		return "Configuration nested too deeply", fmt.Sprintf("Brackets, blocks and templates are nested more than %d deep here. Move a part into a local value, or raise the limit with LETHE_LIMITS=nesting=NUMBER.", l.Nesting)
	case syntax.Long:
		return "Expression too long", fmt.Sprintf("This expression has more than %d operators and brackets without a comma between them. Move parts of it into local values, or use a function that takes a list.", syntax.Operators*l.Nesting)
	case syntax.Tokens:
		return "Configuration file too large", fmt.Sprintf("This file has more than %d words and symbols. Split it, or raise the limit with LETHE_LIMITS=tokens=NUMBER.", l.Tokens)
	case syntax.Number:
		return "Number literal too long", fmt.Sprintf("This number has more than %d characters. Shorten it: numbers are rounded to about 150 digits.", syntax.Longest)
	case syntax.Exponent:
		return "Number literal too large", fmt.Sprintf("The exponent of a number literal must lie between -%d and %d.", syntax.Longest, syntax.Longest)
	case syntax.Name:
		return "Name too long", fmt.Sprintf("This name has more than %d bytes. Shorten it.", syntax.Longest)
	case syntax.Text:
		return "Text too long", "The string that begins here has too many lines. Move the text to a separate file, and read it with file() or templatefile()."
	case syntax.Comment:
		return "Unterminated comment", "The comment that begins here is not closed. Add */ at its end."
	case syntax.Encoding:
		return "Invalid character encoding", "There is a byte here that is not valid UTF-8. If this is a file, save it in UTF-8."
	}
	return "Invalid expression", "A bracket before this place is closed by a bracket of another kind, and too many brackets follow. Correct the closing bracket."
}

// rangeAt returns the range of one byte of a text, which has the offset at. If this offset is the length of the text,
// the range is empty.
func rangeAt(name string, text []byte, at int) diag.Range {
	pos := hcl.Pos{Line: 1, Column: 1, Byte: at}
	for _, c := range text[:min(at, len(text))] {
		switch {
		case c == '\n':
			pos.Line++
			pos.Column = 1
		case c&0xC0 != 0x80: // count only the first byte of a character, because columns count characters
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
