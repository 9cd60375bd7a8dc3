package project

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
)

// Load reads the configuration of the working directory.
func (p *Project) Load() bool { return p.load(p.Root, p.LoadOptions(), p.resolve) }

// LoadWith reads it with a file more, of that name in the root module.
func (p *Project) LoadWith(name string, text []byte) bool {
	o := p.LoadOptions()
	o.Files = config.With(p.Root, name, text)
	return p.load(p.Root, o, p.resolve)
}

func (p *Project) load(root string, o config.Options, resolve config.Resolve) bool {
	var ok bool
	p.Tree, ok = config.LoadTree(root, o, resolve, p.Bag)
	p.Call.Sources.Adopt(p.Tree.Sources)
	if linked := p.Modules.Linked(); len(linked) > 0 {
		p.UI.Line("Installed what " + fetch.LockName + " selects from this machine: module " + strings.Join(linked, ", module "))
	}
	if !ok || p.install == nil {
		if err := p.Modules.Remember(); err != nil {
			p.Bag.Add(diag.Errorf("Failed to write module manifest", "%s.", err))
		}
	}
	return ok
}

// Empty reports whether there is no file of configuration in the root module.
func (p *Project) Empty() bool { return len(p.Tree.Root.Module.Files) == 0 }

// RequireFiles refuses a directory without configuration, with the reason.
func (p *Project) RequireFiles(why string) bool {
	if p.Empty() {
		p.Bag.Add(diag.Errorf("No configuration files", "%s Otherwise, create a Lethe configuration file (.tf file) and try again.", why))
	}
	return !p.Empty()
}

// resolve finds the directory of a called module.
func (p *Project) resolve(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, source, version string, ok bool) {
	if p.Vars.Given == nil && len(path.Path()) == 1 {
		p.rootOnly(parent.Module) // a source may name variables
		if !p.Vars.Collect() {
			return "", "", "", false
		}
	}
	source, ok = frame.StaticSource(parent, call, p.StaticOptions(), bag)
	if !ok {
		return "", "", "", false
	}
	if !config.IsLocal(source) {
		return p.installedModule(path, source, call, parent, bag)
	}
	if call.Versions != nil {
		bag.Add(diag.Errorf("Invalid registry module source address", "Can't use local directory %q as a module registry address: the argument \"version\" applies only to registry modules. Remove it.", source).At(call.Versions.Range()))
		return "", source, "", false
	}
	dir, err := fetch.LocalDir(source, parent.Module.Dir)
	if err != nil {
		bag.Add(diag.Errorf("Unreadable module directory", "The directory of %s cannot be read: %s. Correct the source, or create the directory.", path, err).At(call.SourceRange))
		return "", source, "", false
	}
	return dir, source, "", true
}

// installedModule finds a module that comes from elsewhere. Commands that install modules do that here.
func (p *Project) installedModule(path addr.Module, source string, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, from, version string, ok bool) {
	wanted, ok := frame.StaticVersion(parent, call, p.StaticOptions(), bag)
	if !ok {
		return "", source, "", false
	}
	p.Mask(source)
	p.hide(call.SourceRange, source)
	shown := fetch.Display(source)
	key := strings.Join(path.Path(), ".")
	if p.install != nil {
		return p.installModule(path, key, source, wanted, call, bag)
	}
	dir, from, version, err := p.Modules.Find(key, source, wanted)
	switch {
	case err != nil:
		bag.Add(diag.Errorf("Module not installed", "The module %s comes from %q, and is not in %s as it should be: %s. Run \"lethe init\" to install it again.", path, shown, p.Display(filepath.Join(p.Data, "modules")), err).At(call.SourceRange))
	case dir == "":
		bag.Add(diag.Errorf("Module not installed", "The module %s comes from %q, and is not yet installed. Run \"lethe init\" to install all modules required by this configuration.", path, shown).At(call.SourceRange))
	default:
		return dir, from, version, true
	}
	return "", source, "", false
}

// Mask keeps out of what is printed what is secret in the source of a module.
func (p *Project) Mask(source string) {
	for _, text := range fetch.SecretsIn(source) {
		p.Call.Secrets.MaskValue(cty.StringVal(text), secret.Origin{Addr: "the source of a module", Kind: secret.Setting})
	}
}

// hide replaces what is secret in the source of a module in the text that messages quote. Short passwords are hidden as
// well: here it is known what they are.
func (p *Project) hide(at diag.Range, source string) {
	text := bytes.Clone(p.Call.Sources.Get(at.Filename))
	secrets := fetch.SecretsIn(source)
	if len(secrets) == 0 || at.Start.Byte < 0 || at.End.Byte > len(text) || at.Start.Byte > at.End.Byte {
		return
	}
	part := text[at.Start.Byte:at.End.Byte]
	for _, s := range secrets {
		copy(part, bytes.ReplaceAll(part, []byte(s), bytes.Repeat([]byte("*"), len(s)))) // all positions stay
	}
	p.Call.Sources.Set(at.Filename, text)
}

// installModule makes sure that a module is there, and is what was locked.
func (p *Project) installModule(path addr.Module, key, source, wanted string, call *config.Call, bag *diag.Bag) (dir, from, version string, ok bool) {
	err := Workspaces(p.Call).MakeData()
	if err == nil {
		dir, from, version, err = p.Modules.Install(p.install, key, source, wanted)
	}
	if err == nil {
		return dir, from, version, true
	}
	if changed := (*fetch.ChangedError)(nil); errors.As(err, &changed) {
		bag.Add(diag.Errorf("Module changed since it was locked", "The module %s is locked, and %s", path, changed).At(call.SourceRange))
	} else {
		bag.Add(diag.Errorf("Failed to download module", "The module %s cannot be installed: %s.", path, err).At(call.SourceRange))
	}
	return "", source, "", false
}

// Compile makes the program: names, references, schemas, and all that can be wrong without values.
func (p *Project) Compile(ctx context.Context, o vet.CheckOptions) bool {
	p.WarnOverrides()
	installed := p.Installed()
	var ok bool
	o.Options = p.StaticOptions()
	p.Program, ok = p.Engine.Compile(ctx, p.Tree, o, p.Bag)
	return ok && installed
}

// PlanRequest is what every plan asks of the engine: with this state, its real objects looked at first,
// and as the environment and the CLI configuration have it.
func (p *Project) PlanRequest(s *state.Snapshot) (engine.Request, bool) {
	spares, ok := p.sparesDeposed()
	return engine.Request{
		Program: p.Program, Options: p.LangOptions(), State: s, Refresh: true, Backend: p.Backend,
		DeferEphemerals: p.Settings.DeferEphemerals, SpareDeposed: spares,
	}, ok
}

// sparesDeposed says whether destroy-time provisioners are not to run for deposed objects: as the
// environment says, or the CLI configuration.
func (p *Project) sparesDeposed() (spares, ok bool) {
	const name = "LETHE_SKIP_DEPOSED_PROVISIONERS"
	given := p.Call.Getenv(name)
	if given == "" {
		return p.Settings.SkipDeposed, true
	}
	spares, err := strconv.ParseBool(given)
	if err != nil {
		p.Bag.Add(diag.Errorf("Invalid CLI configuration", "The environment variable %s is %q, and must be true or false.", name, given))
	}
	return spares, err == nil
}
