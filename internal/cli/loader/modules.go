package loader

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/secret"
	"github.com/zclconf/go-cty/cty"
)

// resolve returns the directory of a called module, its source, and its version ("" if it has none). If the source
// needs the values of variables and they are not collected yet, resolve collects them. If the module cannot be found or
// installed, it adds an error to bag and returns false.
func (l *Loader) resolve(path addr.Module, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, source, version string, ok bool) {
	if l.Vars.Given == nil && len(path.Path()) == 1 {
		l.rootOnly(parent.Module) // the source of a module may refer to variables
		if !l.Vars.Collect() {
			return "", "", "", false
		}
	}
	source, ok = frame.StaticSource(parent, call, l.Vars.StaticOptions(), bag)
	if !ok {
		return "", "", "", false
	}
	if !config.IsLocal(source) {
		return l.installedModule(path, source, call, parent, bag)
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

// InstallModules makes later loads install remote modules. If upgrade is true, they also replace installed modules by
// newer versions. note receives the lines about progress. If a load fails, the modules that it has installed stay
// installed.
func (l *Loader) InstallModules(ctx context.Context, upgrade bool, note func(string)) {
	l.Modules.Upgrade, l.Modules.Note = upgrade, note
	l.install = func(key, source, wanted string) (string, string, string, error) {
		return l.Modules.Install(ctx, key, source, wanted)
	}
}

// installedModule returns the directory of a remote module. After InstallModules was called, it installs a missing
// module. Otherwise a missing module is an error. After adding an error to bag, it returns false.
func (l *Loader) installedModule(path addr.Module, source string, call *config.Call, parent *config.Node, bag *diag.Bag) (dir, from, version string, ok bool) {
	wanted, ok := frame.StaticVersion(parent, call, l.Vars.StaticOptions(), bag)
	if !ok {
		return "", source, "", false
	}
	l.Mask(source)
	l.hide(call.SourceRange, source)
	shown := fetch.Display(source)
	key := strings.Join(path.Path(), ".")
	if l.install != nil {
		return l.installModule(path, key, source, wanted, call, bag)
	}
	dir, from, version, err := l.Modules.Find(key, source, wanted)
	switch {
	case err != nil:
		bag.Add(diag.Errorf("Module not installed", "The installed module %s from %q does not match %s: %s. Run \"lethe init\" to install it again.", path, shown, l.Dir.Display(filepath.Join(l.Dir.Data, "modules")), err).At(call.SourceRange))
	case dir == "":
		bag.Add(diag.Errorf("Module not installed", "The module %s from %q is not yet installed. Run \"lethe init\" to install all modules required by this configuration.", path, shown).At(call.SourceRange))
	default:
		return dir, from, version, true
	}
	return "", source, "", false
}

// Mask registers the secrets in the source of a module, so that all output masks them.
func (l *Loader) Mask(source string) {
	for _, text := range fetch.SecretsIn(source) {
		l.Dir.Call.Secrets.MaskValue(cty.StringVal(text), secret.Origin{Addr: "the source of a module", Kind: secret.Setting})
	}
}

// hide replaces the secrets in the source of a module by asterisks in the source text that messages quote. Because the
// position of a password is known here, hide also replaces short passwords, which Mask does not.
func (l *Loader) hide(at diag.Range, source string) {
	text := bytes.Clone(l.Dir.Call.Sources.Get(at.Filename))
	secrets := fetch.SecretsIn(source)
	if len(secrets) == 0 || at.Start.Byte < 0 || at.End.Byte > len(text) || at.Start.Byte > at.End.Byte {
		return
	}
	part := text[at.Start.Byte:at.End.Byte]
	for _, s := range secrets {
		copy(part, bytes.ReplaceAll(part, []byte(s), bytes.Repeat([]byte("*"), len(s)))) // all positions remain the same
	}
	l.Dir.Call.Sources.Set(at.Filename, text)
}

// installModule installs a module, unless the locked version is installed already. If the installation fails, it adds
// an error to bag and returns false.
func (l *Loader) installModule(path addr.Module, key, source, wanted string, call *config.Call, bag *diag.Bag) (dir, from, version string, ok bool) {
	err := workdir.Workspaces(l.Dir.Call).MakeData()
	if err == nil {
		dir, from, version, err = l.install(key, source, wanted)
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
