package backend

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/remotestore"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

func (d *Directory) driver(name string, at diag.Range) (store.Driver, bool) {
	driver, ok := find(name)
	if !ok {
		d.Env.Bag.Add(noDriver(name).At(at))
	}
	return driver, ok
}

// find gives a kind of store: the cloud block asks for one that no backend block names.
func find(name string) (store.Driver, bool) {
	if name == remotestore.Cloud.Name {
		return remotestore.Cloud, true
	}
	return Drivers.Find(name)
}

// badBackend is the title of mistakes in the settings of a backend.
const badBackend = "Invalid backend configuration"

func noDriver(name string) diag.Diagnostic {
	why := fmt.Sprintf("There is no backend type named %q.%s", name, diag.DidYouMean(name, Drivers.Names()))
	switch name {
	case "artifactory", "etcd", "etcdv3", "manta", "swift":
		why = fmt.Sprintf("The backend %q is not supported: Terraform removed it in version 1.3. To move the state, configure another backend with Terraform 1.2, and run \"terraform init -migrate-state\".", name)
	case "azure":
		why = "The backend \"azure\" is named \"azurerm\" now."
	case "cloud":
		why = "There is no backend type named \"cloud\": its settings belong in a \"cloud\" block, which replaces the \"backend\" block."
	case "cos", "oss", "oci":
		why = fmt.Sprintf("Lethe does not support the backend %q, which Terraform or OpenTofu has. To move the state, configure one of the backends below, and run \"init -migrate-state\" with one of these programs.", name)
	}
	return diag.Errorf("Unsupported backend type", "%s Available are: %s.", why, strings.Join(Drivers.Names(), ", "))
}

// declared are the settings of the backend block; those of the working directory without one.
func (d *Directory) declared() (settings, bool) {
	root, b := d.Root(), d.block()
	if b == nil {
		return implied(), true
	}
	driver, ok := d.driver(b.Type, b.Range)
	if ok && root.Cloud == nil && driver.Name == remotestore.Cloud.Name {
		d.Env.Bag.Add(noDriver(b.Type).At(b.Range))
		ok = false
	}
	if !ok {
		return settings{}, false
	}
	static := d.Static(root)
	if !static.Lasting(b.Body, "backend "+b.Type, SecretIn(b.Type), d.Env.Bag) {
		return settings{}, false
	}
	v, ok := static.Body(b.Body, driver.Schema, "backend "+b.Type, d.Env.Bag)
	return settings{driver: driver, config: v.Raw, ephemeral: append(v.PathsOf(mark.Ephemeral), v.PathsOf(mark.Sensitive)...)}, ok
}

// SecretIn tells of the settings of a kind of store which of them are secrets by themselves.
func SecretIn(backend string) func(cty.Path) bool {
	driver, _ := find(backend)
	return func(path cty.Path) bool {
		if driver.Schema == nil {
			return false
		}
		a := driver.Schema.Attribute(path)
		return a != nil && a.Sensitive
	}
}

// SecretsOf gives the values that are secrets by themselves and stand in a block as they are.
func SecretsOf(b *config.Backend) []config.Constant { return b.Constants(SecretIn(b.Type)) }

// SameButSecrets reports whether the blocks of two modules say the same, apart from secrets that stand in them as they are.
func (d *Directory) SameButSecrets(a, b *config.Module) bool {
	was, ok1 := d.said(a)
	is, ok2 := d.said(b)
	return ok1 && ok2 && was.same(is)
}

// said are the settings of a module, without a word on what is wrong with them. Secrets that stand in its block as they are
// count as ephemeral.
func (d *Directory) said(m *config.Module) (settings, bool) {
	of := m.Stored()
	if of == nil {
		return implied(), true
	}
	driver, ok := find(of.Type)
	if !ok {
		return settings{}, false
	}
	v, ok := d.Static(m).Body(of.Body, driver.Schema, "backend "+of.Type, &diag.Bag{})
	s := settings{driver: driver, config: v.Raw}
	for _, c := range SecretsOf(of) {
		s.ephemeral = append(s.ephemeral, c.Path)
	}
	return s, ok
}

// kept are the settings as they are written down: what is ephemeral in them is null.
func (s settings) kept() cty.Value {
	v, err := cty.Transform(s.config, func(path cty.Path, v cty.Value) (cty.Value, error) {
		if slices.ContainsFunc(s.ephemeral, path.Equals) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		panic(err) // nothing in there gives one
	}
	return v
}

// with are settings that were written down, with what is ephemeral in those that are declared.
func (s settings) with(declared settings) settings {
	if s.driver.Name == "" || s.driver.Name != declared.driver.Name || len(declared.ephemeral) == 0 {
		return s
	}
	attrs := s.config.AsValueMap()
	for _, name := range declared.ephemerals() {
		attrs[name] = declared.config.GetAttr(name)
	}
	s.config, s.ephemeral, s.lost = cty.ObjectVal(attrs), declared.ephemeral, nil
	return s
}

// implied are the settings where nothing is declared.
func implied() settings {
	none, err := store.LocalDriver.Schema.Coerce(cty.EmptyObjectVal)
	if err != nil {
		panic(err) // nothing in it is required
	}
	return settings{driver: store.LocalDriver, config: none}
}

// ephemerals names what is ephemeral in settings.
func (s settings) ephemerals() (names []string) {
	for _, path := range s.ephemeral {
		names = append(names, path[0].(cty.GetAttrStep).Name)
	}
	return names
}

// fingerprint tells backend blocks apart.
func (s settings) fingerprint() string {
	text, err := ctyjson.Marshal(s.kept(), s.config.Type())
	if err != nil {
		panic(err) // it is known, and of a schema's type
	}
	sum := sha256.Sum256(append([]byte(s.driver.Name+"\n"), text...))
	return hex.EncodeToString(sum[:16])
}

// overridden adds what -backend-config says.
func (d *Directory) overridden(s settings, overrides []string) (settings, bool) {
	if len(overrides) == 0 {
		return s, true
	}
	if d.block() == nil {
		d.Env.Bag.Add(diag.Warningf("Missing backend configuration", "-backend-config was used without a \"backend\" block in the configuration, and has no effect."))
		return s, true
	}
	if slices.Equal(overrides, []string{""}) {
		return s, true // -backend-config= drops what was given before
	}
	attrs := s.config.AsValueMap()
	for _, text := range overrides {
		if !d.override(s.driver, text, attrs) {
			return s, false
		}
	}
	v, err := s.driver.Schema.Coerce(cty.ObjectVal(attrs))
	if err != nil {
		d.Env.Bag.Add(diag.Errorf(badBackend, "The settings given with -backend-config are not valid for backend %q: %s.", s.driver.Name, err))
		return s, false
	}
	s.config = v
	return s, true
}

// override takes one -backend-config: "name=value", or a file of such settings.
func (d *Directory) override(driver store.Driver, text string, attrs map[string]cty.Value) bool {
	given := map[string]cty.Value{}
	ty := driver.Schema.Type()
	name, value, ok := strings.Cut(text, "=")
	switch {
	case !ok:
		if !d.readOverrides(driver, text, given) {
			return false
		}
	case driver.Schema.Attr(name) != nil && !ty.AttributeType(name).IsPrimitiveType():
		// The text is in no message: it may be a secret.
		if given[name], ok = config.ParseValue(fmt.Sprintf("-backend-config=%q", name+"=..."), value, d.Limits, d.Env.Bag); !ok {
			return false
		}
	default:
		given[name] = cty.StringVal(value)
	}
	names := slices.Sorted(maps.Keys(ty.AttributeTypes()))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !ty.HasAttribute(name) || ok && driver.Schema.Attr(name) == nil {
			d.Env.Bag.Add(diag.Errorf("Invalid backend configuration argument", "The backend configuration argument %q given with -backend-config is not expected for the backend %q.%s", name, driver.Name, expected(name, names)))
			return false
		}
		attrs[name] = given[name]
	}
	return true
}

// expected says which arguments a backend has instead of one that is not expected on the command line.
func expected(name string, names []string) string {
	if slices.Contains(names, name) {
		return " It is a block: write the block to a file, and name the file with -backend-config=FILE."
	}
	return cmp.Or(diag.DidYouMean(name, names), " Available are: "+strings.Join(names, ", ")+".")
}

func (d *Directory) readOverrides(driver store.Driver, file string, given map[string]cty.Value) bool {
	if file == "" {
		d.Env.Bag.Add(diag.Errorf("Failed to read backend configuration", "An empty -backend-config drops the settings that were given to an earlier init, and cannot be combined with others."))
		return false
	}
	src, err := os.ReadFile(paths.Text(d.Env.Dir, file))
	if err != nil {
		d.Env.Bag.Add(diag.Errorf("Failed to read backend configuration", "The file given with -backend-config cannot be read: %s.", err))
		return false
	}
	d.Sources.Set(file, src)
	var blocks []string
	for _, b := range driver.Schema.Blocks {
		blocks = append(blocks, b.Name)
	}
	values, ok := config.LoadSettings(file, src, blocks, d.Limits, d.Env.Bag)
	for name, v := range values {
		given[name] = v.Value
	}
	return ok
}

// place names the place of a workspace's state.
func (d *Directory) place(s settings, st store.Store, workspace string) string {
	if f, ok := store.As[store.Filer](st); ok {
		return d.Display(f.File(workspace))
	}
	return fmt.Sprintf("the backend %q", s.driver.Name)
}

func (d *Directory) storeSettings(sch *schema.Block, config cty.Value, where string) store.Settings {
	s := store.Settings{Config: config, Schema: sch, Dir: d.Env.Dir, FS: d.Env.FS, Getenv: d.Env.Getenv, Agent: d.Agent, Hosts: d.Hosts, Tell: d.Tell, Stop: d.Stop}
	if d.Secret != nil {
		s.Learn = func(text string) { d.Secret(text, where) }
	}
	return s
}

func (s settings) same(as settings) bool {
	return s.driver.Name == as.driver.Name && s.kept().RawEquals(as.kept())
}

// secret reports whether a setting is one that is not to be shown, not even with a mistake in it.
func secret(sch *schema.Block, path cty.Path) bool {
	a := sch.Attribute(path)
	return a != nil && a.Sensitive
}
