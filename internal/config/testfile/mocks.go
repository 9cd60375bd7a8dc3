package testfile

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/zclconf/go-cty/cty"
)

var (
	mockBlocks = []hcl.BlockHeaderSchema{
		{Type: "mock_resource", LabelNames: []string{"type"}}, {Type: "mock_data", LabelNames: []string{"type"}},
		{Type: "mock_ephemeral", LabelNames: []string{"type"}},
	}
	mockSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "alias"}, {Name: "source"}, {Name: "for_each"}, {Name: "override_during"}},
		Blocks:     slices.Concat(mockBlocks, overrideBlocks),
	}
	mockFileSchema = &hcl.BodySchema{Blocks: slices.Concat(mockBlocks, overrideBlocks)}
	defaultSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "defaults"}, {Name: "override_during"}}}
	overrideSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "target", Required: true}, {Name: "values"}, {Name: "outputs"}, {Name: "override_during"}}}
)

// mockSuffixes are the suffixes of mock files.
var mockSuffixes = []string{".tfmock.hcl", ".tofumock.hcl", ".tfmock.json", ".tofumock.json"}

// mockProvider reads a mock_provider block, and the mock files that it names. It reports mistakes to r.Bag, and drops a
// second mock of the same provider.
func (r *reader) mockProvider(b *hcl.Block) {
	content, _ := r.Content(b.Body, mockSchema)
	m := &Mock{ProviderName: config.ProviderName{Local: b.Labels[0]}, Range: config.Place(b)}
	r.Text(content.Attributes["alias"], &m.Alias)
	m.During = r.during(content.Attributes["override_during"])
	if a := content.Attributes["for_each"]; a != nil {
		e, ds := native.Expression(a.Expr)
		r.Bag.HCL(ds)
		lift(e)
		m.ForEach = e
		if m.Alias == "" {
			r.Bag.Add(diag.Errorf("Alias required when using \"for_each\"", "A mock with \"for_each\" must have an alias. Add the argument \"alias\".").At(a.NameRange))
		}
	}
	if first := r.file.Mocks[m.ProviderName]; first != nil {
		r.Bag.Add(diag.Errorf("Duplicate mock_provider block", "The provider %s is already mocked at %s. Remove one of the mocks.", m.ProviderName, first.Range).At(m.Range))
		return
	}
	r.file.Mocks[m.ProviderName] = m
	r.mocked(m, content.Blocks)
	var dir string
	if a := content.Attributes["source"]; r.Text(a, &dir) {
		r.mockFiles(m, dir, a.Expr.Range())
	}
}

// mockFiles reads the mock files in a directory, which is relative to the directory of the root module. The content of
// the block itself has precedence over the content of the files. It reports an error with the range at if the directory
// has no mock files.
func (r *reader) mockFiles(m *Mock, dir string, at diag.Range) {
	shown := dir
	dir = paths.Text(r.root, dir)
	names, ok := r.Files(dir, mockSuffixes)
	if !ok || len(names) == 0 {
		r.Bag.Add(diag.Errorf("Failed to read mock files", "There are no mock files in the directory %s: files whose names end in .tfmock.hcl or .tfmock.json.", shown).At(at))
	}
	for _, name := range names {
		if body, _, ok := r.Body(dir, name, r.sources); ok {
			content, _ := r.Content(body, mockFileSchema)
			r.mocked(m, content.Blocks)
		}
	}
}

// mocked reads the blocks of a mock: the defaults for types, and the overrides for objects. If the test file and a mock
// file have defaults for the same type, the defaults of the test file count. Any other repetition of a type is an
// error.
func (r *reader) mocked(m *Mock, blocks hcl.Blocks) {
	for _, b := range blocks {
		if strings.HasPrefix(b.Type, "override_") {
			m.Overrides = r.override(b, m.Overrides)
			continue
		}
		d := &Default{Mode: modeOf(b.Type), Type: b.Labels[0], Range: config.Place(b)}
		content, _ := r.Content(b.Body, defaultSchema)
		d.During = r.during(content.Attributes["override_during"])
		d.Values = r.values(content.Attributes["defaults"])
		same := func(x *Default) bool { return x.Mode == d.Mode && x.Type == d.Type }
		if i := slices.IndexFunc(m.Defaults, same); i >= 0 {
			if first := m.Defaults[i].Range.Filename; first == d.Range.Filename || first != m.Range.Filename {
				r.Bag.Add(diag.Errorf("Duplicate "+b.Type+" block", "The type %q is already mocked at %s. Merge the two blocks.", d.Type, m.Defaults[i].Range).At(d.Range))
			}
			continue
		}
		m.Defaults = append(m.Defaults, d)
	}
}

// modeOf returns the resource mode in the type of a mock or override block, such as override_data. It returns 0 for
// override_module.
func modeOf(block string) addr.Mode {
	_, what, _ := strings.Cut(block, "_")
	if what == addr.Action.Block() {
		return addr.Action
	}
	mode, _ := addr.ModeOf(what)
	return mode
}

// override reads an override block, and returns the list with the override added. If the block is invalid, override
// reports an error and returns the list unchanged.
func (r *reader) override(b *hcl.Block, into []*Override) []*Override {
	o := &Override{Mode: modeOf(b.Type), Range: config.Place(b)}
	content, ok := r.Content(b.Body, overrideSchema)
	if !ok {
		return into
	}
	o.During = r.during(content.Attributes["override_during"])
	name, other := "values", "outputs"
	if o.Mode == 0 {
		name, other = other, name
	}
	if a := content.Attributes[other]; a != nil {
		r.Bag.Add(diag.Errorf("Unsupported argument", "An argument named %q is not expected in a block of type %q. Did you mean %q?", other, b.Type, name).At(a.NameRange))
	}
	if a := content.Attributes[name]; a != nil && o.Mode == addr.Action {
		r.Bag.Add(diag.Errorf("Unsupported argument", "An argument named %q is not expected in a block of type %q, because actions return no values.", name, b.Type).At(a.NameRange))
		return into
	}
	o.Values = r.values(content.Attributes[name])
	ref, ok := r.Reference(content.Attributes["target"], "aws_vpc.main")
	if !ok {
		return into
	}
	target, err := addr.ParseTarget(ref.Text)
	if err != nil || target.Mode != o.Mode {
		what := map[addr.Mode]string{0: "a module", addr.Managed: "a resource", addr.Data: "a data source", addr.Ephemeral: "an ephemeral resource", addr.Action: "an action"}[o.Mode]
		r.Bag.Add(diag.Errorf("Invalid override target", "The target of a block of type %q must be %s, and %s is not.", b.Type, what, ref.Text).At(ref.Range))
		return into
	}
	o.Target, o.At = target, content.Attributes["target"].Range
	same := func(x *Override) bool { return x.Mode == o.Mode && x.Target.String() == o.Target.String() }
	if i := slices.IndexFunc(into, same); i >= 0 {
		r.Bag.Add(diag.Errorf("Duplicate "+b.Type+" block", "%s is already overridden at %s. Merge the two blocks.", o.Target, into[i].Range).At(o.Range))
		return into
	}
	return append(into, o)
}

// during reads an override_during argument. It returns Inherited if a is nil, and also after reporting an error if the
// value is neither plan nor apply.
func (r *reader) during(a *hcl.Attribute) During {
	switch word := r.Word(a); {
	case a == nil:
		return Inherited
	case word == "plan":
		return DuringPlan
	case word == "apply":
		return DuringApply
	}
	r.Bag.Add(diag.Errorf("Invalid override_during value", "The argument \"override_during\" must be the bare word plan or apply.").At(a.Expr.Range()))
	return Inherited
}

// values reads the object of values in an answer. It returns nil if a is nil, and also after reporting an error if the
// value is constant and not an object.
func (r *reader) values(a *hcl.Attribute) hcl.Expression {
	if a == nil {
		return nil
	}
	e, ds := native.Expression(a.Expr)
	r.Bag.HCL(ds)
	if v, ds := e.Value(nil); !ds.HasErrors() && v.Type() != cty.DynamicPseudoType && !v.Type().IsObjectType() {
		r.Bag.Add(diag.Errorf("Invalid "+a.Name+" attribute", "The argument %q must be an object: { name = value }.", a.Name).At(a.Expr.Range()))
		return nil
	}
	return e
}
