package cli

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
)

// collectVariables gathers the values of root variables from all sources, later ones winning: what was
// asked for already (because nothing else sets it),
// environment, terraform.tfvars, terraform.tfvars.json, *.auto.tfvars(.json) in lexical order,
// -var and -var-file in the order given.
func (p *project) collectVariables() bool {
	p.vars = maps.Clone(p.answers)
	if p.vars == nil {
		p.vars = map[string]lang.Given{}
	}
	p.variablesFromEnv()
	ok := true
	for _, f := range config.ValueFiles(p.dir, p.loadOptions()) {
		ok = p.variablesFromFile(f) && ok
	}
	for _, a := range p.opts.vars {
		if a.file {
			ok = p.variablesFromFile(p.path(a.text)) && ok
		} else {
			ok = p.variableFromFlag(a.text) && ok
		}
	}
	return ok
}

func (p *project) variablesFromEnv() {
	for _, e := range p.Environ {
		name, value, _ := strings.Cut(e, "=")
		if name, ok := strings.CutPrefix(name, "TF_VAR_"); ok && p.declared(name) != nil {
			p.vars[name] = lang.Given{Text: value, IsText: true, From: "TF_VAR_" + name}
		}
	}
}

// declared is the root variable of that name, nil if there is none.
func (p *project) declared(name string) *config.Variable {
	if p.tree == nil || p.tree.Root == nil {
		return nil
	}
	return p.tree.Root.Module.Variables[name]
}

func (p *project) variablesFromFile(path string) bool {
	name := p.display(path)
	var found diag.Bag
	text, values, ok := config.ReadValues(path, p.loadOptions(), &found)
	if !ok && p.mayHide() { // what belongs to which variable is not clear
		p.addUnshown(text, found.List())
	} else {
		p.bag.Take(&found)
		if text != nil {
			p.sources.Set(name, p.showable(text, values))
		}
	}
	for _, key := range sortedNames(values) {
		v := values[key]
		if p.declared(key) == nil {
			if !p.tree.Root.Module.MayDeclare(key) {
				p.undeclared(key, name, v.At)
			}
			continue
		}
		p.vars[key] = lang.Given{Value: v.Value, From: name, Range: v.Range}
		if p.hides(key) {
			p.vars[key] = lang.Given{Value: v.Value, From: name, Range: v.At}
		}
	}
	return ok
}

// hides reports whether a root variable must not be shown.
func (p *project) hides(name string) bool {
	v := p.declared(name)
	return v != nil && (v.Ephemeral || v.Sensitive)
}

// mayHide reports whether a file of values can have one that must not be shown, as far as is known.
func (p *project) mayHide() bool {
	m := p.tree.Root.Module
	return m.Gap() || slices.ContainsFunc(sortedNames(m.Variables), p.hides)
}

// showable is the text of a file of values as messages may show it: without the values of
// variables that must not be shown, and of those that nobody declared, which may be meant for them.
func (p *project) showable(src []byte, values map[string]*config.Value) []byte {
	if !p.mayHide() {
		return src
	}
	out := slices.Clone(src)
	for name, v := range values {
		if p.declared(name) == nil || p.hides(name) {
			blank(out[v.Range.Start.Byte:v.Range.End.Byte])
		}
	}
	return out
}

// addUnshown reports what is wrong with a text that must not be shown: without the words that the messages
// have from it, and with the reason.
func (p *project) addUnshown(text []byte, found []diag.Diagnostic) {
	hide := func(quoted string) string {
		if name := strings.Trim(quoted, `"`); p.declared(name) != nil || !bytes.Contains(text, []byte(name)) {
			return quoted
		}
		return "***"
	}
	for _, d := range found {
		d.Summary = quotedWord.ReplaceAllStringFunc(d.Summary, hide)
		d.Detail = quotedWord.ReplaceAllStringFunc(d.Detail, hide) + "\n\nThe text is not shown: values of variables that are sensitive or ephemeral may be in it."
		p.bag.Add(d)
	}
}

var quotedWord = regexp.MustCompile(`"[\pL\pN_][^"]*"`) // what messages quote from a text: words, not signs

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

func (p *project) undeclared(name, file string, r diag.Range) {
	p.bag.Add(diag.Warningf("Value for undeclared variable",
		"The root module does not declare a variable named %q but a value was found in file %q. If you meant to use this value, add a \"variable\" block to the configuration.\n\nTo silence these warnings, use TF_VAR_... environment variables to provide certain \"global\" settings to all configurations in your organization. To reduce the verbosity of these warnings, use the -compact-warnings option.", name, file).At(r))
}

func (p *project) variableFromFlag(text string) bool {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		if p.declared(text) == nil {
			text = "" // it may be a value
		}
		p.bag.Add(noAssignment(text))
		return false
	}
	if strings.HasSuffix(name, " ") || strings.HasPrefix(name, " ") {
		p.bag.Add(diag.Errorf("Invalid -var option", "The variable name %q has a space at its end. Write -var=\"name=value\" without spaces around the name.", name))
		return false
	}
	if p.declared(name) == nil {
		if p.tree.Root.Module.MayDeclare(name) {
			return false // the block may be there and cannot be read
		}
		p.bag.Add(diag.Errorf("Value for undeclared variable", "A variable named %q was assigned on the command line, but the root module does not declare a variable of that name. To use this value, add a \"variable\" block to the configuration.%s", name, p.nearVariable(name)))
		return false
	}
	p.vars[name] = lang.Given{Text: value, IsText: true, From: "-var"}
	return true
}

// noAssignment says that a -var has no name or no value. What was given is only repeated where it
// is a name.
func noAssignment(name string) diag.Diagnostic {
	given := "A given -var option"
	if name != "" {
		given = fmt.Sprintf("The given -var option %q", name)
	}
	return diag.Errorf("Invalid -var option", "%s is not correctly specified. Must be a variable name and value separated by an equals sign, like -var=\"key=value\".", given)
}

func (p *project) nearVariable(name string) string {
	if near := diag.Suggest(name, sortedNames(p.tree.Root.Module.Variables)); near != "" {
		return fmt.Sprintf(" Did you mean %q?", near)
	}
	return ""
}
