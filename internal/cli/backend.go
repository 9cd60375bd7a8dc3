package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A configuration says in its backend block where states are kept; -backend-config adds what
// should not stand there. What both come to is remembered by init in .terraform/terraform.tfstate,
// in the form that the peers use, so that later commands need no -backend-config. Without a
// remembered backend the block alone counts: for settings that need nothing else, init is not
// required (place.go).

// settings say which store to use, and how it is set up.
type settings struct {
	driver store.Driver
	config cty.Value // of the driver's schema
}

// remembered is .terraform/terraform.tfstate.
type remembered struct {
	Version   int          `json:"version"`
	Terraform string       `json:"terraform_version"`
	Backend   *initialized `json:"backend,omitempty"`
}

// initialized is the backend that init saw.
type initialized struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Hash   uint32          `json:"hash"`            // of the block, as the peers make it; ours never matches theirs
	Block  string          `json:"block,omitempty"` // of the block, as we make it
}

func (p *project) backendFile() string { return filepath.Join(p.data, "terraform.tfstate") }

// rememberedBackend reads what init wrote down. The type is "" where nothing is remembered.
func (p *project) rememberedBackend() (remembered, bool) {
	var r remembered
	data, err := os.ReadFile(p.backendFile())
	if errors.Is(err, fs.ErrNotExist) {
		return r, true
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to read the remembered backend", "The settings of the backend, which init writes down, cannot be read: %s.\n\nRun: lethe init -reconfigure", err))
		return r, false
	}
	return r, true
}

// settings of a remembered backend.
func (p *project) rememberedSettings(r remembered) (settings, bool) {
	driver, ok := p.driver(r.Backend.Type, diag.Range{})
	if !ok {
		return settings{}, false
	}
	v, err := ctyjson.Unmarshal(r.Backend.Config, driver.Schema.Type())
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to read the remembered backend", "The settings that init wrote down are not of a %q backend: %s.\n\nRun: lethe init -reconfigure", r.Backend.Type, err))
		return settings{}, false
	}
	return settings{driver, v}, true
}

func (p *project) driver(name string, at diag.Range) (store.Driver, bool) {
	driver, ok := drivers.Find(name)
	if !ok {
		p.bag.Add(noDriver(name).At(at))
	}
	return driver, ok
}

func noDriver(name string) diag.Diagnostic {
	return diag.Errorf("Unsupported backend type", "There is no backend type named %q. Available are: %s.", name, strings.Join(drivers.Names(), ", "))
}

// declaredSettings are those of the backend block; those of the working directory without one.
func (p *project) declaredSettings() (settings, bool) {
	b := p.backend()
	if !p.storable() {
		return settings{}, false
	}
	if b == nil {
		return p.implied(), true
	}
	driver, ok := p.driver(b.Type, b.Range)
	if !ok {
		return settings{}, false
	}
	static := lang.Static(p.tree.Root.Module, p.vars, p.staticOptions())
	if !static.Lasting(b.Body, "backend "+b.Type, &p.bag) {
		return settings{}, false
	}
	v, ok := static.Body(b.Body, driver.Schema, "backend "+b.Type, &p.bag)
	return settings{driver, v.Raw}, ok
}

// storable refuses to keep a state otherwise than the configuration asks for: in the clear what is to be
// encrypted, and in a file what belongs elsewhere.
func (p *project) storable() bool {
	if p.Getenv("TF_ENCRYPTION") != "" {
		p.bag.Add(diag.Errorf("Unsupported encryption", "The environment variable TF_ENCRYPTION asks for states and plans to be encrypted. They are not encrypted here, and what is to be encrypted must not be written as it is. Unset it if what keeps the state encrypts it."))
		return false
	}
	if p.tree == nil || p.tree.Root == nil || p.tree.Root.Module == nil {
		return true
	}
	switch m := p.tree.Root.Module; {
	case m.Encryption != nil:
		p.bag.Add(diag.Errorf("Unsupported block type", "States and plans are not encrypted here, and what is to be encrypted must not be written as it is. Remove the block if what keeps the state encrypts it.").At(m.Encryption.MissingItemRange()))
		return false
	case m.Cloud != nil:
		p.bag.Add(diag.Errorf("Unsupported backend type", "A cloud block asks for HCP Terraform, or something of its kind, to keep the state, and there is no such store here. Available backends are: %s.", strings.Join(drivers.Names(), ", ")).At(m.Cloud.Range))
		return false
	}
	return true
}

// implied are the settings where nothing is declared.
func (p *project) implied() settings {
	none, err := store.LocalDriver.Schema.Coerce(cty.EmptyObjectVal)
	if err != nil {
		panic(err) // nothing in it is required
	}
	return settings{store.LocalDriver, none}
}

// currentSettings are those that commands work with: what init remembered, as long as the block is
// still the one that it saw. known is false for a block that nothing remembers.
func (p *project) currentSettings() (current settings, known, ok bool) {
	declared, ok := p.declaredSettings()
	if !ok {
		return settings{}, false, false
	}
	r, ok := p.rememberedBackend()
	if !ok || r.Backend == nil {
		return declared, p.backend() == nil, ok
	}
	current, ok = p.rememberedSettings(r)
	if !ok {
		return settings{}, false, false
	}
	b := p.backend()
	reason := ""
	switch {
	case b == nil:
		reason = fmt.Sprintf("Unsetting the previously set backend %q", r.Backend.Type)
	case b.Type != r.Backend.Type:
		reason = fmt.Sprintf("Backend type changed from %q to %q", r.Backend.Type, b.Type)
	case !unchanged(r, declared, current):
		reason = "Backend configuration block has changed"
	default:
		return current, true, true
	}
	p.uninitialized(reason, p.moved(current, declared))
	return settings{}, false, false
}

// moved says from where to where the state has to go.
func (p *project) moved(was, next settings) string {
	from, ok1 := p.openWith(context.Background(), was)
	to, ok2 := p.openWith(context.Background(), next)
	if !ok1 || !ok2 {
		return "Changes to backend configurations require reinitialization."
	}
	return fmt.Sprintf("The state was kept in %s, and is to be kept in %s.", p.placeOf(was, from, p.workspace()), p.placeOf(next, to, p.workspace()))
}

// unchanged reports whether the block is the one that init saw. A peer's init left no fingerprint
// that we could compare: then all that the block sets has to be what is remembered.
func unchanged(r remembered, declared, current settings) bool {
	if r.Backend.Block != "" {
		return r.Backend.Block == fingerprint(declared)
	}
	for name, v := range declared.config.AsValueMap() {
		if !v.IsNull() && !v.RawEquals(current.config.GetAttr(name)) {
			return false
		}
	}
	return true
}

// fingerprint tells backend blocks apart.
func fingerprint(s settings) string {
	text, err := ctyjson.Marshal(s.config, s.config.Type())
	if err != nil {
		panic(err) // it is known, and of a schema's type
	}
	sum := sha256.Sum256(append([]byte(s.driver.Name+"\n"), text...))
	return hex.EncodeToString(sum[:16])
}

func (p *project) uninitialized(reason, places string) {
	p.bag.Add(diag.Errorf("Backend initialization required: please run \"lethe init\"",
		"Reason: %s\n\n%s\n\nTo move the state, run: lethe init -migrate-state\nTo use the backend as it is configured now, and leave the state where it is, run: lethe init -reconfigure\n\nNo changes to your existing configuration or state have been made.", reason, places))
}

// openWith opens a store.
func (p *project) openWith(ctx context.Context, s settings) (store.Store, bool) {
	st, err := s.driver.Open(ctx, store.Settings{Config: s.config, Dir: p.dir, Getenv: p.Getenv, FS: p.files()})
	if err != nil {
		d := diag.Errorf("Failed to open the state store", "%s.", err)
		if b := p.backend(); b != nil {
			d = d.At(b.Range)
		}
		p.bag.Add(d)
		return nil, false
	}
	return st, true
}

// initBackend settles which store is used from now on, moves what another one has if that is
// wanted, and writes it down.
func (p *project) initBackend(ctx context.Context) bool {
	declared, ok := p.declaredSettings()
	if !ok {
		return false
	}
	next, ok := p.withOverrides(declared)
	if !ok {
		return false
	}
	r, ok := p.rememberedBackend()
	if !ok && !p.setup.reconfigure {
		return false
	}
	was := p.implied()
	if r.Backend != nil && !p.setup.reconfigure {
		if was, ok = p.rememberedSettings(r); !ok {
			return false
		}
		if len(p.setup.backendConfig) == 0 && p.backend() != nil && was.driver.Name == next.driver.Name && unchanged(r, declared, was) {
			next = was // what -backend-config said when it was last given
		}
	}
	if !p.setup.reconfigure && !same(was, next) && !p.switchBackend(ctx, was, next, r.Backend != nil) {
		return false
	}
	if !p.rememberBackend(declared, next, &p.bag) || !p.tryBackend(ctx, next) {
		return false
	}
	if b := p.backend(); b != nil && (p.setup.reconfigure || r.Backend == nil || !same(was, next)) {
		p.ui.step("backend_configured_success_message", fmt.Sprintf("\nSuccessfully configured the backend %q! Lethe will automatically\nuse this backend unless the backend configuration changes.", b.Type))
	}
	return true
}

func same(a, b settings) bool {
	return a.driver.Name == b.driver.Name && a.config.RawEquals(b.config)
}

// tryBackend opens the store once, so that wrong settings are found now.
func (p *project) tryBackend(ctx context.Context, s settings) bool {
	st, ok := p.openWith(ctx, s)
	if !ok {
		return false
	}
	if _, err := st.List(ctx); err != nil {
		p.bag.Add(diag.Errorf("Failed to use the backend", "%s.", err))
		return false
	}
	return true
}

// withOverrides adds what -backend-config says.
func (p *project) withOverrides(s settings) (settings, bool) {
	if len(p.setup.backendConfig) == 0 {
		return s, true
	}
	if p.backend() == nil {
		p.bag.Add(diag.Warningf("Missing backend configuration", "-backend-config was used without a \"backend\" block in the configuration, and has no effect."))
		return s, true
	}
	attrs := s.config.AsValueMap()
	for _, text := range p.setup.backendConfig {
		if !p.override(s.driver, text, attrs) {
			return s, false
		}
	}
	v, err := s.driver.Schema.Coerce(cty.ObjectVal(attrs))
	if err != nil {
		p.bag.Add(diag.Errorf("Invalid backend configuration", "The settings given with -backend-config are not what the backend %q takes: %s.", s.driver.Name, err))
		return s, false
	}
	s.config = v
	return s, true
}

// override takes one -backend-config: "name=value", or a file of such settings.
func (p *project) override(driver store.Driver, text string, attrs map[string]cty.Value) bool {
	given := map[string]cty.Value{}
	if name, value, ok := strings.Cut(text, "="); ok {
		given[name] = cty.StringVal(value)
	} else {
		src, err := os.ReadFile(p.path(text))
		if err != nil {
			p.bag.Add(diag.Errorf("Failed to read backend configuration", "The file given with -backend-config cannot be read: %s.", err))
			return false
		}
		p.sources.Set(text, src)
		values, ok := config.LoadValues(text, src, p.limits.config, &p.bag)
		if !ok {
			return false
		}
		for name, v := range values {
			given[name] = v.Value
		}
	}
	for _, name := range sortedNames(given) {
		if !driver.Schema.Type().HasAttribute(name) {
			p.bag.Add(diag.Errorf("Invalid backend configuration argument", "The backend configuration argument %q given with -backend-config is not expected for the backend %q. Available are: %s.", name, driver.Name, strings.Join(sortedNames(driver.Schema.Type().AttributeTypes()), ", ")))
			return false
		}
		attrs[name] = given[name]
	}
	return true
}

// rememberBackend writes down which store is used; nothing, if none is declared.
func (p *project) rememberBackend(declared, s settings, bag *diag.Bag) bool {
	if p.backend() == nil {
		if err := os.Remove(p.backendFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			bag.Add(diag.Errorf("Failed to forget the backend", "%s.", err))
			return false
		}
		return true
	}
	text, err := ctyjson.Marshal(s.config, s.config.Type())
	if err == nil {
		b := &initialized{Type: s.driver.Name, Config: text, Block: fingerprint(declared)}
		text, err = json.MarshalIndent(remembered{Version: 3, Terraform: Version, Backend: b}, "", "  ")
	}
	text = append(text, '\n')
	if was, reading := os.ReadFile(p.backendFile()); err == nil && reading == nil && bytes.Equal(was, text) {
		return true // the directory may be one that is only read
	}
	if err = errors.Join(err, p.ensureData()); err == nil {
		err = disk.Replace(p.files(), p.backendFile(), text)
	}
	if err != nil {
		bag.Add(diag.Errorf("Failed to remember the backend", "The file %s cannot be written: %s.", p.display(p.backendFile()), reason(err)))
	}
	return err == nil
}

// switchBackend moves the states of one store into another, if there are any and the user agrees.
func (p *project) switchBackend(ctx context.Context, was, next settings, configured bool) bool {
	if configured && !p.setup.migrate && !p.setup.forceCopy {
		p.bag.Add(diag.Errorf("Backend configuration changed", "A change in the backend configuration has been detected, which may require migrating existing state.\n\nIf you wish to attempt automatic migration of the state, use \"lethe init -migrate-state\".\nIf you wish to store the current configuration with no changes to the state, use \"lethe init -reconfigure\"."))
		return false
	}
	from, ok1 := p.openWith(ctx, was)
	to, ok2 := p.openWith(ctx, next)
	if !ok1 || !ok2 {
		return false
	}
	if sameFiles(from, to) {
		return true
	}
	names, ok := p.filled(ctx, from)
	if !ok || len(names) == 0 {
		return ok
	}
	if copies, ok := p.wantsCopy(was, next); !ok || !copies {
		return ok
	}
	for _, name := range names {
		if !p.copyState(ctx, from, to, name, !configured) {
			return false
		}
	}
	return true
}

// sameFiles reports whether two stores keep their states in the same files.
func sameFiles(a, b store.Store) bool {
	x, ok1 := a.(store.Filer)
	y, ok2 := b.(store.Filer)
	return ok1 && ok2 && x.File(defaultWorkspace) == y.File(defaultWorkspace) && x.File("w") == y.File("w")
}

// filled lists the workspaces of a store that have a state, if any of these holds something.
func (p *project) filled(ctx context.Context, st store.Store) ([]string, bool) {
	all, err := st.List(ctx)
	var names []string
	holds := false
	for _, name := range all {
		var data []byte
		if data, _, err = st.Get(ctx, name); err != nil {
			break
		}
		if len(data) > 0 {
			names = append(names, name)
			holds = holds || holdsAnything(data)
		}
	}
	if !holds {
		names = nil
	}
	if err != nil {
		p.bag.Add(diag.Errorf("Failed to read the previous backend", "%s.", err))
	}
	return names, err == nil
}

// wantsCopy asks whether existing states are to be copied.
func (p *project) wantsCopy(was, next settings) (copies, ok bool) {
	if p.setup.forceCopy {
		return true, true
	}
	if p.mayAsk() {
		if text, ok := p.askCopy(was, next); ok {
			return text == "yes", true
		}
	}
	if !p.cutShort() {
		p.bag.Add(diag.Errorf("Existing state would be left behind", "The previous backend %q has state, and nobody can be asked whether it is to be copied to the newly configured %q. Use -force-copy to copy it, or -reconfigure to leave it where it is.", was.driver.Name, next.driver.Name))
	}
	return false, false
}

func (p *project) askCopy(was, next settings) (string, bool) {
	return p.ui.ask(question{
		Title: "Do you want to copy existing state to the new backend?",
		Note:  fmt.Sprintf("Pre-existing state was found while migrating the previous %q backend to the\nnewly configured %q backend. Do you want to copy this state to the new %q\nbackend? Enter \"yes\" to copy and \"no\" to start with an empty state.", was.driver.Name, next.driver.Name, next.driver.Name),
	})
}

// copyState copies one workspace, both sides locked. The original stays where it is, as a backup if it is
// moved: what is in the place of a directory without a backend block is taken for a state in use.
func (p *project) copyState(ctx context.Context, from, to store.Store, name string, moves bool) bool {
	source, ok := p.lockStored(ctx, from, name, "migration source state")
	if !ok {
		return false
	}
	defer source.unlock()
	target, ok := p.lockTarget(ctx, to, name)
	if !ok {
		return false
	}
	defer target.unlock()
	if have := target.snapshot; target.version != "" && have.Len() > 0 && have.Lineage != source.snapshot.Lineage && !p.setup.forceCopy {
		p.bag.Add(diag.Errorf("The new backend has a state already", "The workspace %q has a state in both backends, and they do not descend from one another. Use -force-copy to overwrite the one in the new backend, or -reconfigure to use it as it is.", name))
		return false
	}
	if !target.put(source.snapshot) {
		return false
	}
	if local, ok := from.(*store.Local); ok && moves {
		if err := local.SetAside(name); err != nil {
			p.bag.Add(diag.Errorf("Failed to move the state", "It was copied to the new backend, but the original cannot be renamed: %s. Remove it.", reason(err)))
			return false
		}
	}
	return true
}

// lockTarget locks what a state is copied to. A peer that has moved a state elsewhere left an empty file
// in its place.
func (p *project) lockTarget(ctx context.Context, to store.Store, name string) (*workspaceState, bool) {
	data, version, err := to.Get(ctx, name)
	if err != nil || version == "" || len(data) > 0 {
		return p.lockStored(ctx, to, name, "migration destination state")
	}
	ws := &workspaceState{project: p, store: to, name: name, version: version, snapshot: &state.Snapshot{}}
	return ws, !p.opts.lock || ws.take(ctx, "migration destination state")
}
