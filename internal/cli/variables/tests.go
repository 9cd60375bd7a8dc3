package variables

import (
	"maps"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/testfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
)

// ExpectTests announces that test files will be read, which may use variables that the root module does not declare.
// Until CollectForTests is called, Values accepts values of such variables.
func (v *Values) ExpectTests() { v.undecided = true }

// CollectForTests collects the values of root variables, of variables of the modules that run blocks test, and of
// variables that test files declare or use. modules holds the tested modules, by testfile.Key. If no module declares a
// variable, and test files declare it without a type or only use it, CollectForTests takes a given text as an
// expression: if the expression is valid, its result is the value. CollectForTests returns false if an error was
// reported.
func (v *Values) CollectForTests(files []*testfile.File, modules map[string]*config.Node) bool {
	v.expected = map[string]*config.Variable{}
	for _, f := range files {
		maps.Copy(v.expected, f.Wanted())
	}
	undeclared := maps.Clone(v.expected)
	for _, f := range files {
		for _, r := range f.Runs {
			if n := modules[testfile.Key(f, r)]; n != nil {
				maps.Copy(v.expected, n.Module.Variables)
			}
		}
		maps.Copy(v.expected, f.Declared)
	}
	v.undecided = false
	ok := v.Collect()
	for name, g := range v.Given {
		if of := v.Declared(name); g.IsText && of == undeclared[name] && !of.TypeGiven {
			if value, is := config.ParseValue(name, g.Text, v.dir.Settings.Limits, &diag.Bag{}); is {
				v.Given[name] = frame.Given{Value: value, From: g.From}
			}
		}
	}
	return ok
}

// With returns the values in v.Given, overridden by the values in the values files of a directory. The result applies
// to the test files in this directory. With does not change v.Given. It returns false if a file cannot be read.
func (v *Values) With(dir string) (values map[string]frame.Given, ok bool) {
	given := v.Given
	v.Given, ok = maps.Clone(given), true
	for _, f := range config.ValueFiles(dir, v.dir.LoadOptions()) {
		ok = v.ReadFile(f) && ok
	}
	values, v.Given = v.Given, given
	return values, ok
}
