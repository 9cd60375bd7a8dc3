package project

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
)

// Collect gathers the values of root variables from all sources, later ones winning: what was
// asked for already (because nothing else sets it), environment, terraform.tfvars, terraform.tfvars.json, *.auto.tfvars(.json) in lexical order,
// -var and -var-file in the order given.
func (v *Variables) Collect() bool {
	v.Given = maps.Clone(v.answers)
	if v.Given == nil {
		v.Given = map[string]frame.Given{}
	}
	v.fromEnv()
	ok := true
	for _, f := range config.ValueFiles(v.p.Dir, v.p.LoadOptions()) {
		ok = v.fromFile(f) && ok
	}
	for _, a := range v.p.Options.Vars {
		if a.File {
			ok = v.fromFile(v.p.Call.Path(a.Text)) && ok
		} else {
			ok = v.fromFlag(a.Text) && ok
		}
	}
	for name, g := range v.Given {
		if g.IsText && v.Declared(name) != nil && !v.hides(name) && !v.p.Tree.Root.Module.Unreadable() {
			v.p.Call.Sources.Set(g.Source(name), []byte(g.Text))
		}
	}
	return ok
}

func (v *Variables) fromEnv() {
	for _, e := range v.p.Call.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name, ok := strings.CutPrefix(name, "TF_VAR_"); ok && v.Declared(name) != nil {
			v.Given[name] = frame.Given{Text: value, IsText: true, From: "TF_VAR_" + name}
		}
	}
}

// Declared is the root variable of that name, nil if there is none.
func (v *Variables) Declared(name string) *config.Variable {
	if v.p.Tree == nil || v.p.Tree.Root == nil {
		return nil
	}
	if of := v.p.Tree.Root.Module.Variables[name]; of != nil {
		return of
	}
	return v.wanted[name]
}

func (v *Variables) fromFile(path string) bool {
	name := v.p.Display(path)
	var found diag.Bag
	text, values, ok := config.ReadValues(path, v.p.LoadOptions(), &found)
	if !ok && v.mayHide() { // what belongs to which variable is not clear
		v.addUnshown(text, found.List())
	} else {
		v.p.Bag.Take(&found)
		if text != nil {
			v.p.Call.Sources.Set(name, v.showable(text, values))
		}
	}
	for _, key := range names(values) {
		given := values[key]
		if v.Declared(key) == nil {
			if !v.undecided && !v.p.Tree.Root.Module.Unreadable() {
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

// hides reports whether a root variable must not be shown.
func (v *Variables) hides(name string) bool {
	of := v.Declared(name)
	return of != nil && (of.Ephemeral || of.Sensitive)
}

// mayHide reports whether a file of values can have one that must not be shown, as far as is known.
func (v *Variables) mayHide() bool {
	m := v.p.Tree.Root.Module
	return m.Unreadable() || slices.ContainsFunc(names(m.Variables), v.hides)
}

// showable is the text of a file of values as messages may show it: without the values of
// variables that must not be shown, and of those that are not declared, which may be meant for them.
func (v *Variables) showable(src []byte, values map[string]*config.Value) []byte {
	if !v.mayHide() {
		return src
	}
	out := slices.Clone(src)
	for name, given := range values {
		if v.Declared(name) == nil || v.hides(name) {
			blank(out[given.Range.Start.Byte:given.Range.End.Byte])
		}
	}
	return out
}

// addUnshown reports what is wrong with a text that must not be shown: without the words that the messages
// have from it, and with the reason.
func (v *Variables) addUnshown(text []byte, found []diag.Diagnostic) {
	hide := func(quoted string) string {
		if name := strings.Trim(quoted, `"`); v.Declared(name) != nil || !bytes.Contains(text, []byte(name)) {
			return quoted
		}
		return "***"
	}
	for _, d := range found {
		d.Summary = quotedWord().ReplaceAllStringFunc(d.Summary, hide)
		d.Detail = quotedWord().ReplaceAllStringFunc(d.Detail, hide) + "\n\nThe text is not shown: values of variables that are sensitive or ephemeral may be in it."
		v.p.Bag.Add(d)
	}
}

// quotedWord is what messages quote from a text: words, not signs
var quotedWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"[\pL\pN_][^"]*"`) })

// blank makes a value unreadable, and how long it is, without moving what stands behind it.
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

func (v *Variables) undeclared(name, file string, r diag.Range) {
	v.p.Bag.Add(diag.Warningf("Value for undeclared variable",
		"The root module does not declare a variable named %q but a value was found in file %q. If you meant to use this value, add a \"variable\" block to the configuration.\n\nTo silence these warnings, use TF_VAR_... environment variables to provide certain \"global\" settings to all configurations in your organization. To reduce the verbosity of these warnings, use the -compact-warnings option.", name, file).At(r))
}

func (v *Variables) fromFlag(text string) bool {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		if v.Declared(text) == nil {
			text = "" // it may be a value
		}
		v.p.Bag.Add(noAssignment(text))
		return false
	}
	if strings.HasSuffix(name, " ") || strings.HasPrefix(name, " ") {
		v.p.Bag.Add(diag.Errorf("Invalid -var option", "The variable name %q has a space at its end. Write -var=\"name=value\" without spaces around the name.", name))
		return false
	}
	if v.Declared(name) == nil {
		if v.undecided {
			return true
		}
		if v.p.Tree.Root.Module.Unreadable() {
			return false // the block may be there and cannot be read
		}
		v.p.Bag.Add(diag.Errorf("Value for undeclared variable", "A variable named %q was assigned on the command line, but the root module does not declare a variable of that name. To use this value, add a \"variable\" block to the configuration.%s", name, diag.Meant(diag.Suggest(name, names(v.p.Tree.Root.Module.Variables)))))
		return false
	}
	v.Given[name] = frame.Given{Text: value, IsText: true, From: "-var"}
	return true
}

// names are the keys of a map, sorted.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
