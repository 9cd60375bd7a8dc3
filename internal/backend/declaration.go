package backend

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/remotestore"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// declaration reads the backend block of the root module, and the settings that -backend-config adds.
type declaration struct {
	env     *workspace.Env
	root    func() *config.Module
	static  func(*config.Module) *frame.StaticFrame
	limits  limits.Limits
	sources *diag.Sources
	stores  *stateStores
}

// newDeclaration returns the declaration of the root module that o.Root returns. Each method calls o.Root again,
// because the root module may change.
func newDeclaration(o Options) *declaration {
	return &declaration{env: o.Env, root: o.Root, static: o.Static, limits: o.Limits, sources: o.Sources, stores: newStateStores(o)}
}

// block returns the backend block, the cloud block or the state_store block of the root module, or nil if it has none.
func (d *declaration) block() *config.Backend {
	if m := d.root(); m != nil {
		return m.Stored()
	}
	return nil
}

// settings returns the settings of the backend block. Without a block, they are the settings for state files in the
// working directory. If the settings are invalid or not known, settings reports an error and returns false.
func (d *declaration) settings() (settings, bool) {
	root, b := d.root(), d.block()
	if b == nil {
		return implied(), true
	}
	if b.Store {
		return d.stores.evaluate(root, d.static(root), d.env.Bag)
	}
	kind, ok := driver(b.Type, b.Range, d.env.Bag)
	if ok && root.Cloud == nil && kind.Name == remotestore.Cloud.Name {
		d.env.Bag.Add(noDriver(b.Type).At(b.Range))
		ok = false
	}
	if !ok {
		return settings{}, false
	}
	static := d.static(root)
	if !static.Lasting(b.Body, "backend "+b.Type, SecretIn(b.Type), d.env.Bag) {
		return settings{}, false
	}
	v, ok := static.Body(b.Body, kind.Schema, "backend "+b.Type, d.env.Bag)
	return settings{driver: kind, config: v.Raw, ephemeral: append(v.PathsOf(mark.Ephemeral), v.PathsOf(mark.Sensitive)...)}, ok
}

// of returns the settings in the block of a module, and reports no errors. A literal secret in the block is treated
// like a value of an ephemeral variable: the record of init does not contain it. If the settings are invalid, it
// returns false.
func (d *declaration) of(m *config.Module) (settings, bool) {
	b := m.Stored()
	if b == nil {
		return implied(), true
	}
	if b.Store {
		s, ok := d.stores.evaluate(m, d.static(m), &diag.Bag{})
		for _, c := range d.secretsOf(b) {
			s.ephemeral = append(s.ephemeral, c.Path)
		}
		return s, ok
	}
	driver, ok := find(b.Type)
	if !ok {
		return settings{}, false
	}
	v, ok := d.static(m).Body(b.Body, driver.Schema, "backend "+b.Type, &diag.Bag{})
	s := settings{driver: driver, config: v.Raw}
	for _, c := range d.secretsOf(b) {
		s.ephemeral = append(s.ephemeral, c.Path)
	}
	return s, ok
}

// overridden returns s with the settings of the -backend-config options in overrides. Without a backend block, it warns
// and returns s. If a setting is invalid, it reports an error and returns false.
func (d *declaration) overridden(s settings, overrides []string) (settings, bool) {
	if len(overrides) == 0 {
		return s, true
	}
	if d.block() == nil {
		d.env.Bag.Add(diag.Warningf("Missing backend configuration", "-backend-config was used without a \"backend\" block in the configuration, and has no effect."))
		return s, true
	}
	if slices.Equal(overrides, []string{""}) {
		return s, true // an empty -backend-config= drops the settings of an earlier init
	}
	attrs := s.config.AsValueMap()
	for _, text := range overrides {
		if !d.override(s.driver, text, attrs) {
			return s, false
		}
	}
	v, err := s.driver.Schema.Coerce(cty.ObjectVal(attrs))
	if err != nil {
		d.env.Bag.Add(diag.Errorf(badBackend, "The settings given with -backend-config are not valid for backend %q: %s.", s.driver.Name, err))
		return s, false
	}
	s.config = v
	return s, true
}

// override adds the settings of one -backend-config option to attrs. text is "name=value", or the name of a file with
// settings. If the settings cannot be read, or if the backend has no such setting, override reports an error and
// returns false.
func (d *declaration) override(driver store.Driver, text string, attrs map[string]cty.Value) bool {
	given := map[string]cty.Value{}
	ty := driver.Schema.Type()
	name, value, ok := strings.Cut(text, "=")
	switch {
	case ok && !config.ValidName(name): // the whole text may be a secret value, such as a URL
		d.env.Bag.Add(diag.Errorf("Invalid backend configuration argument", "A text given with -backend-config begins with no name of a setting. Write -backend-config=\"name=value\", or the name of a file."))
		return false
	case !ok:
		if !d.readOverrides(driver, text, given) {
			return false
		}
	case driver.Schema.Attr(name) != nil && !ty.AttributeType(name).IsPrimitiveType():
		var found diag.Bag
		given[name], ok = config.ParseValue(fmt.Sprintf("-backend-config=%q", name+"=..."), value, d.limits, &found) // messages must not contain the value, which may be secret
		if d.env.Bag.MoveUnquoted(&found); !ok {
			return false
		}
	default:
		given[name] = cty.StringVal(value)
	}
	names := slices.Sorted(maps.Keys(ty.AttributeTypes()))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !ty.HasAttribute(name) || ok && driver.Schema.Attr(name) == nil {
			d.env.Bag.Add(diag.Errorf("Invalid backend configuration argument", "The backend configuration argument %q given with -backend-config is not expected for the backend %q.%s", name, driver.Name, expected(name, names)))
			return false
		}
		attrs[name] = given[name]
	}
	return true
}

// expected returns the end of a message about an unexpected argument: a similar name, or else a list of the arguments
// of the backend. For the name of a block, it returns the way to set a block.
func expected(name string, names []string) string {
	if slices.Contains(names, name) {
		return " It is a block: write the block to a file, and name the file with -backend-config=FILE."
	}
	return cmp.Or(diag.DidYouMean(name, names), " Available are: "+strings.Join(names, ", ")+".")
}

// readOverrides reads a file with settings, which -backend-config names, into given. If that fails, it reports an error
// and returns false.
func (d *declaration) readOverrides(driver store.Driver, file string, given map[string]cty.Value) bool {
	if file == "" {
		d.env.Bag.Add(diag.Errorf("Failed to read backend configuration", "An empty -backend-config removes the settings of an earlier init, so it cannot be combined with another -backend-config."))
		return false
	}
	src, err := os.ReadFile(paths.Text(d.env.Dir, file))
	if err != nil {
		name := " " + file
		if strings.Contains(file, "://") || strings.ContainsAny(file, " @\n") { // the text may be a secret value without a name
			name = ""
		}
		d.env.Bag.Add(diag.Errorf("Failed to read backend configuration", "The file%s given with -backend-config cannot be read: %s.", name, disk.Reason(err)))
		return false
	}
	d.sources.Set(file, diag.Masked(src, diag.Harmless{Values: shownSettings(driver.Schema)}))
	var blocks []string
	for _, b := range driver.Schema.Blocks {
		blocks = append(blocks, b.Name)
	}
	var found diag.Bag
	values, ok := config.LoadSettings(file, src, blocks, d.limits, &found)
	d.env.Bag.MoveUnquoted(&found)
	for name, v := range values {
		given[name] = v.Value
	}
	return ok
}

// shownSettings returns the names of the settings that messages about a file of settings may show. The names of secret
// settings are not among them.
func shownSettings(b *schema.Block) []string {
	secret, shown := map[string]bool{}, []string{}
	var visit func([]*schema.Attr)
	visit = func(attrs []*schema.Attr) {
		for _, a := range attrs {
			shown = append(shown, a.Name)
			secret[a.Name] = secret[a.Name] || a.Sensitive
			if a.Object != nil {
				visit(a.Object.Attrs)
			}
		}
	}
	visit(b.Attrs)
	for _, n := range b.Blocks {
		visit(n.Block.Attrs)
	}
	return slices.DeleteFunc(shown, func(name string) bool { return secret[name] })
}

// sets reports whether the setting at path in s comes from the backend block.
func (d *declaration) sets(s settings, path cty.Path) bool {
	m := d.root()
	if m == nil {
		return false
	}
	declared, ok := d.of(m)
	if !ok || declared.kind() != s.kind() {
		return false
	}
	was, err := path.Apply(declared.config)
	if err != nil {
		return false
	}
	now, err := path.Apply(s.config)
	return err == nil && now.RawEquals(was)
}

// secretsOf returns the values in a backend block that are secret and written literally.
func (d *declaration) secretsOf(b *config.Backend) []config.Constant {
	if b.Store {
		return d.stores.secretsOf(b)
	}
	return b.Constants(SecretIn(b.Type))
}

// at returns problem with the position of the backend block, or of the setting in the block that the problem is about.
func (d *declaration) at(problem diag.Diagnostic, sch *schema.Block) diag.Diagnostic {
	b := d.block()
	if b == nil {
		return problem
	}
	place := b.Range
	switch {
	case len(problem.Path) == 0 || secret(sch, problem.Path):
	case b.Store:
		place = whereIn(b, d.static(d.root()), sch, problem.Path)
	default:
		place = d.static(d.root()).Where(b.Body, sch, place, problem.Path)
	}
	problem.Path = nil
	return problem.At(place)
}
