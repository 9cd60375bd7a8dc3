package variables

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// Values collects and holds the values of root variables.
type Values struct {
	Given map[string]frame.Given // the collected values, keyed by name; nil before Collect

	dir      *workdir.Directory
	root     *config.Module              // declares the variables; nil before Declare
	expected map[string]*config.Variable // variables of tested modules and of test files, in addition to the variables of the root module; nil before CollectForTests
	// undecided is true while a command has not read its test files yet, which may use more variables. Meanwhile,
	// values of undeclared variables are accepted.
	undecided bool
	answers   map[string]frame.Given // answers of the user, keyed by name of the variable
}

// New returns the values for a working directory, without collecting them.
func New(d *workdir.Directory) *Values { return &Values{dir: d} }

// Declare sets the root module, which declares the variables. A caller that reads the configuration again calls Declare
// again.
func (v *Values) Declare(root *config.Module) { v.root = root }

// Collect reads the values from all sources. It adds errors and returns false if a file cannot be read, or if a -var is
// malformed or names an undeclared variable. If several sources set a variable, the last in this list counts:
//
//   - answers of the user to earlier questions
//   - the environment
//   - terraform.tfvars, then terraform.tfvars.json
//   - *.auto.tfvars and *.auto.tfvars.json, in lexical order
//   - -var and -var-file, in the order of the command line
func (v *Values) Collect() bool {
	v.Given = maps.Clone(v.answers)
	if v.Given == nil {
		v.Given = map[string]frame.Given{}
	}
	v.fromEnv()
	ok := true
	for _, f := range config.ValueFiles(v.dir.Path, v.dir.LoadOptions()) {
		ok = v.ReadFile(f) && ok
	}
	for _, a := range v.dir.Options.Vars {
		if a.File {
			ok = v.readGiven(a.Text) && ok
		} else {
			ok = v.fromFlag(a.Text) && ok
		}
	}
	for name, g := range v.Given {
		if g.IsText && v.Declared(name) != nil && !v.hides(name) && !v.root.Unreadable() {
			v.dir.Call.Sources.Set(g.Source(name), []byte(g.Text))
		}
	}
	return ok
}

// readGiven reads the file that a -var-file option names.
func (v *Values) readGiven(name string) bool {
	path := v.dir.Call.Path(name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && strings.Contains(name, "=") { // the error must not show the value of a variable
		v.dir.Call.Bag.Add(diag.Errorf("Failed to read variables file", "The option -var-file takes the name of a file. To set one variable, use -var=\"name=value\"."))
		return false
	}
	return v.ReadFile(path)
}

func (v *Values) fromEnv() {
	for _, e := range v.dir.Call.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name, ok := subprocess.CutPrefix(name, "TF_VAR_"); ok && v.Declared(name) != nil {
			v.Given[name] = frame.Given{Text: value, IsText: true, From: "TF_VAR_" + name}
		}
	}
}

// Declared returns the declaration of a variable in the root module or for test files. It returns nil if the variable
// is not declared.
func (v *Values) Declared(name string) *config.Variable {
	if v.root == nil {
		return nil
	}
	if of := v.root.Variables[name]; of != nil {
		return of
	}
	return v.expected[name]
}

// ReadFile reads the values in a file into Given. It omits values of undeclared variables, and warns of them, unless
// test files or a part of the root module that could not be read may declare them. If the file cannot be read or has
// errors, ReadFile reports the errors and returns false.
func (v *Values) ReadFile(path string) bool {
	name := v.dir.Display(path)
	var found diag.Bag
	text, values, ok := config.ReadValues(path, v.dir.LoadOptions(), &found)
	switch {
	case !ok && v.mayHide(): // the text may contain values that must not be shown
		v.addUnshown(text, found.List())
	case !ok && text != nil: // the text may contain values of variables that other configurations declare sensitive
		v.dir.Call.Bag.MoveUnquoted(&found)
		declared := slices.Concat(names(v.root.Variables), names(v.expected))
		v.dir.Call.Sources.Set(name, diag.Masked(text, diag.Harmless{Values: declared, Braces: declared}))
	default:
		v.dir.Call.Bag.Move(&found)
		if text != nil {
			v.dir.Call.Sources.Set(name, v.showable(text, values))
		}
	}
	for _, key := range names(values) {
		given := values[key]
		if v.Declared(key) == nil {
			if !v.undecided && !v.root.Unreadable() {
				v.undeclared(key, name, given.At)
			}
			continue
		}
		v.Given[key] = frame.Given{Value: given.Value, From: name, Range: given.Range}
		if v.hides(key) {
			v.Given[key] = frame.Given{Value: given.Value, From: name, Range: given.At}
		}
	}
	return ok
}

// hides reports whether the value of a variable must not be shown, because the variable is sensitive or ephemeral.
func (v *Values) hides(name string) bool {
	of := v.Declared(name)
	return of != nil && (of.Ephemeral || of.Sensitive)
}

// mayHide reports whether a values file may contain a value that must not be shown: a variable is sensitive or
// ephemeral, or the root module cannot be read completely.
func (v *Values) mayHide() bool {
	return v.root.Unreadable() || slices.ContainsFunc(names(v.root.Variables), v.hides) || slices.ContainsFunc(names(v.expected), v.hides)
}

// showable returns the text of a values file for messages. It omits the values of sensitive, ephemeral and undeclared
// variables. The names of undeclared variables may be misspelt, or other configurations may declare them sensitive.
func (v *Values) showable(src []byte, values map[string]*config.Value) []byte {
	out := slices.Clone(src)
	for name, given := range values {
		if v.Declared(name) == nil || v.hides(name) {
			blank(out[given.Range.Start.Byte:given.Range.End.Byte])
		}
	}
	return out
}

// addUnshown reports the errors in a text that must not be shown. The messages quote no words of the text, except names
// of declared variables, and explain why the text is not shown.
func (v *Values) addUnshown(text []byte, found []diag.Diagnostic) {
	hide := func(quoted string) string {
		if name := strings.Trim(quoted, `"`); v.Declared(name) != nil || !bytes.Contains(text, []byte(name)) {
			return quoted
		}
		return "***"
	}
	for _, d := range found {
		d.Summary = quotedWord().ReplaceAllStringFunc(d.Summary, hide)
		d.Detail = quotedWord().ReplaceAllStringFunc(d.Detail, hide) + "\n\nThe source is not shown, because it may contain sensitive or ephemeral values."
		v.dir.Call.Bag.Add(d)
	}
}

// quotedWord matches the words that messages quote from a text, but not quoted punctuation.
var quotedWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[\pL\pN_][^"]*"`) })

// blank overwrites a value in place: the first three bytes with asterisks, and the rest with spaces, so that a reader
// does not see the length. It keeps the line ends, so that the text after the value keeps its position.
func blank(text []byte) {
	for i := range text {
		switch {
		case text[i] == '\n':
		case i < 3:
			text[i] = '*'
		default:
			text[i] = ' '
		}
	}
}

func (v *Values) undeclared(name, file string, r diag.Range) {
	v.dir.Call.Bag.Add(diag.Warningf("Value for undeclared variable",
		"The root module does not declare a variable named %q but a value was found in file %q. If you meant to use this value, add a \"variable\" block to the configuration.\n\nFor values that many configurations share, use TF_VAR_... environment variables, which cause no warnings. To shorten these warnings, use -compact-warnings.", name, file).At(r))
}

func (v *Values) fromFlag(text string) bool {
	name, value, found := strings.Cut(text, "=")
	padding := strings.HasPrefix(value, "=") && strings.Trim(value, "=") == "" // the end of a value in base64
	if !found || !config.ValidName(strings.TrimSpace(name)) || padding && v.Declared(name) == nil {
		if v.Declared(text) == nil {
			text = "" // text may be a secret value, and not a name
		}
		v.dir.Call.Bag.Add(workdir.NoAssignment(text))
		return false
	}
	if name != strings.TrimSpace(name) {
		v.dir.Call.Bag.Add(diag.Errorf("Invalid -var option", "The variable name %q ends with a space. Write -var=\"name=value\" without spaces around the name.", name))
		return false
	}
	if v.Declared(name) == nil {
		if v.undecided {
			return true
		}
		if v.root.Unreadable() {
			return false // the part of the root module that cannot be read may declare the variable
		}
		v.dir.Call.Bag.Add(diag.Errorf("Value for undeclared variable", "A variable named %q was assigned on the command line, but the root module does not declare a variable of that name. To use this value, add a \"variable\" block to the configuration.%s", name, diag.Meant(diag.Suggest(name, names(v.root.Variables)))))
		return false
	}
	v.Given[name] = frame.Given{Text: value, IsText: true, From: "-var"}
	return true
}

// GivenEphemeral returns the names of the ephemeral variables that have a value, sorted.
func (v *Values) GivenEphemeral() []string {
	var out []string
	for _, name := range names(v.root.Variables) {
		if _, given := v.Given[name]; given && v.root.Variables[name].Ephemeral {
			out = append(out, name)
		}
	}
	return out
}

// names returns the keys of a map, sorted.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
