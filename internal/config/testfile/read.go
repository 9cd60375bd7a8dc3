package testfile

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
)

var fileSchema = &hcl.BodySchema{Blocks: slices.Concat([]hcl.BlockHeaderSchema{
	{Type: "run", LabelNames: []string{"name"}}, {Type: "provider", LabelNames: []string{"name"}},
	{Type: "mock_provider", LabelNames: []string{"name"}}, {Type: "variables"}, {Type: "test"},
	{Type: "variable", LabelNames: []string{"name"}},
}, overrideBlocks)}

// Read reads the test files of some directories, sorted by name within each directory. The first directory must be the
// directory of the root module. Read reports mistakes and returns the files that it could parse. found has one element
// for each directory: true if it could be read.
func Read(dirs []string, o config.Options, sources *diag.Sources, bag *diag.Bag) (files []*File, found []bool) {
	seen := map[string]bool{}
	for _, dir := range dirs {
		parts := config.NewParts(o, bag)
		names, ok := parts.Files(dir, testSuffixes)
		found = append(found, ok)
		for _, name := range names {
			body, shown, ok := parts.Body(dir, name, sources)
			if !ok || seen[shown] {
				continue
			}
			seen[shown] = true
			r := &reader{Parts: parts, root: dirs[0], sources: sources, file: &File{Name: shown, Dir: dir, Variables: map[string]*Value{}, Mocks: map[config.ProviderName]*Mock{}}}
			r.read(body)
			files = append(files, r.file)
		}
	}
	return files, found
}

func (r *reader) read(body hcl.Body) {
	content, understood := r.Content(body, fileSchema)
	runs := map[string]*Run{}
	var providers, variables hcl.Blocks
	if b := r.sole(content.Blocks.OfType("test")); b != nil {
		r.test(b)
	}
	if b := r.sole(content.Blocks.OfType("variables")); b != nil {
		r.variables(b, r.file.Variables)
	}
	for _, b := range content.Blocks {
		switch b.Type {
		case "run":
			run := r.run(b)
			if first := runs[run.Name]; first != nil {
				r.Bag.Add(diag.Errorf("Duplicate \"run\" block names", "A run block named %q is already declared at %s. Rename one of them.", run.Name, first.Range).At(run.Range))
				continue
			}
			runs[run.Name] = run
			r.file.Runs = append(r.file.Runs, run)
		case "provider":
			providers = append(providers, b)
		case "mock_provider":
			r.mockProvider(b)
		case "variable":
			variables = append(variables, b)
		case "test", "variables":
		default:
			r.file.Overrides = r.override(b, r.file.Overrides)
		}
	}
	r.file.Providers, r.file.Declared = r.Module(providers).Providers, r.Module(variables).Variables
	for _, p := range r.file.Providers {
		if !liftRuns(p) {
			r.Bag.Add(diag.Errorf("Unsupported in test files", "In JSON syntax, the settings of a provider cannot refer to runs. Write the test file in native syntax.").At(p.Range))
		}
	}
	r.backends()
	if understood { // if something was not understood, a missing block may be a misspelt block
		r.passed()
		r.references()
	}
	for name, m := range r.file.Mocks {
		if p := r.file.Providers[name]; p != nil {
			r.Bag.Add(diag.Errorf("Duplicate provider block", "The provider %s is configured at %s and mocked here. Remove the provider block or the mock.", name, p.Range).At(m.Range))
		}
	}
}

// backends reports the backend block of a run that uses the state of an earlier run. Only the first run with a state
// may have a backend block.
func (r *reader) backends() {
	used := map[string]*Run{}
	for _, run := range r.file.Runs {
		key := run.StateKey + " " + run.source()
		if first := used[key]; first == nil {
			used[key] = run
		} else if run.Backend != nil {
			r.Bag.Add(diag.Errorf("Invalid backend block", "The run %q uses the state of the earlier run %q. Move the backend block to that run, or set another \"state_key\" here.", run.Name, first.Name).At(run.Backend.Range))
		}
	}
}

// passed reports provider configurations that a run passes and that the file does not contain. A run can only pass
// configurations of the file, not configurations of the module under test.
func (r *reader) passed() {
	for _, run := range r.file.Runs {
		for _, p := range run.Providers {
			if name := p.Parent.ProviderName; r.file.Providers[name] == nil && r.file.Mocks[name] == nil {
				r.Bag.Add(diag.Errorf("Missing provider definition for "+name.String(), "This test file has no block provider or mock_provider for %s, so the run cannot pass it. Add one.", name).At(p.Range))
			}
		}
	}
}

// references reports an error for each reference of a run to a run that does not precede it in the file. Such a file is
// not run.
func (r *reader) references() {
	for i, run := range r.file.Runs {
		for ref, at := range run.uses() {
			if name, is := ref.Run(); is && !slices.ContainsFunc(r.file.Runs[:i], func(o *Run) bool { return o.Name == name }) {
				r.Bag.Add(r.file.Unavailable(name).At(at))
			}
		}
	}
}

// Unavailable returns the diagnostic for a reference to a run that has not finished or does not exist.
func (f *File) Unavailable(run string) diag.Diagnostic {
	if run == "" {
		return diag.Errorf("Invalid reference", "The object \"run\" must be followed by the name of a run, without an index, as in run.NAME.OUTPUT.")
	}
	if slices.ContainsFunc(f.Runs, func(o *Run) bool { return o.Name == run }) {
		return diag.Errorf("Reference to unavailable run block", "The run block %q has not run yet at this point. Only outputs of earlier runs can be used.", run)
	}
	return diag.Errorf("Reference to unknown run block", "The run block %q does not exist within this test file. Use outputs of earlier runs in this file.", run)
}
