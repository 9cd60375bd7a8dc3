package project

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/lethe-iac/lethe/internal/state/store/crypt"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// ReadPlan reads a plan file.
func (p *Project) ReadPlan(ctx context.Context, name string) (*file.Contents, bool) {
	data, err := os.ReadFile(p.Call.Path(name))
	if err != nil {
		p.Bag.Add(diag.Errorf("Failed to load \""+name+"\" as a plan file", "The file %s cannot be read: %s.", name, disk.Reason(err)))
		return nil, false
	}
	return p.OpenPlan(ctx, name, data)
}

// OpenPlan reads the content of a plan file, which may be encrypted.
func (p *Project) OpenPlan(ctx context.Context, name string, data []byte) (*file.Contents, bool) {
	e, ok := p.States().Encryption()
	if !ok {
		return nil, false
	}
	if e.Plan != nil || crypt.Sealed(data) {
		var err error
		if data, _, err = e.Plan.Open(ctx, data); err != nil {
			p.Bag.Add(workspace.Problem(err, diag.Errorf("Invalid plan file", "The file %s cannot be decrypted: %s.", name, err)))
			return nil, false
		}
	}
	return file.Read(name, data, p.PlanKey.Read(), p.Bag)
}

// OpenState reads a state from a file, which may be encrypted. which is a sentence for messages that says what file that is.
func (p *Project) OpenState(ctx context.Context, data []byte, which string) (*state.Snapshot, bool) {
	var said diag.Bag
	s, ok := p.openState(ctx, data, &said)
	for _, d := range said.List() {
		d.Detail += " " + which
		p.Bag.Add(d)
	}
	return s, ok
}

func (p *Project) openState(ctx context.Context, data []byte, bag *diag.Bag) (*state.Snapshot, bool) {
	if crypt.Sealed(data) {
		e, ok := p.States().Encryption()
		if !ok {
			return nil, false
		}
		var err error
		if data, _, err = e.State.Open(ctx, data); err != nil {
			bag.Add(workspace.Problem(err, diag.Errorf("Failed to load state", "%s.", err)))
			return nil, false
		}
	}
	return state.Read(data, bag)
}

// SameProviders refuses a saved plan if the lock file selects other providers than when the plan was made: another version
// may plan otherwise, and may not understand what this plan has. Checksums may have been added or removed.
func (p *Project) SameProviders(saved *file.Contents) bool {
	var planned []config.Lock
	if len(saved.Lock) > 0 {
		var ok bool
		if planned, ok = config.ParseLocks(saved.Lock, fetch.LockName, p.Limits, p.Bag); !ok {
			return false
		}
	}
	text := ""
	for _, was := range planned {
		twin, _ := was.Provider.Counterpart()
		_, attached := p.reattach[was.Provider.Canon()]
		if attached || p.Settings.Overrides[was.Provider]+p.Settings.Overrides[twin] != "" { // no version counts for these
			continue
		}
		now, ok := p.Lock.Get(was.Provider)
		switch {
		case !ok:
			text += fmt.Sprintf("\n  - provider %s: the plan was made with version %s, and the lock file does not have it", was.Provider, was.Version)
		case now.Version != was.Version:
			text += fmt.Sprintf("\n  - provider %s: the plan was made with version %s, and the lock file has %s", was.Provider, was.Version, now.Version)
		case len(was.Hashes) > 0 && len(now.Hashes) > 0 && !slices.ContainsFunc(now.Hashes, func(h string) bool { return slices.Contains(was.Hashes, h) }):
			text += fmt.Sprintf("\n  - provider %s: the lock file has other checksums for version %s than when the plan was made", was.Provider, was.Version)
		}
	}
	if text != "" {
		p.Bag.Add(diag.Errorf("Inconsistent dependency lock file", "The given plan file was created with a different set of external dependency selections than the current configuration:%s\n\nA saved plan can be applied only to the same configuration it was created from. Create a new plan from the updated configuration.", text))
	}
	return text == ""
}

// LoadSaved takes configuration and variables from a saved plan. Its files lie where they were when
// the plan was made, so that path.module and the files that expressions read are the same.
func (p *Project) LoadSaved(ctx context.Context, saved *file.Contents) bool {
	files := config.Memory{}
	for _, m := range saved.Config {
		for name, text := range m.Files {
			files[path.Join(filepath.ToSlash(p.Call.Path(m.Dir)), name)] = text
		}
	}
	o := p.LoadOptions()
	o.Files = files
	o.Follow = func(n *config.Node) string {
		i := slices.IndexFunc(saved.Config, func(m file.ConfigModule) bool { return m.Key == ModuleKey(n.Path) })
		return saved.Config[i].Led // it was found before
	}
	var planned backend.Planned
	if err := json.Unmarshal(saved.Plan.Settings, &planned); err != nil {
		p.Bag.Add(diag.Errorf("Invalid plan file", "The plan does not say which backend it was made with: %s.", err))
		return false
	}
	planned.Lineage, planned.Place = saved.Plan.Previous.Lineage, saved.Plan.Place
	p.States().Planned = &planned
	p.States().Present = sync.OnceValue(func() *config.Module {
		now, _ := config.Load(p.Dir, p.LoadOptions(), nil, &diag.Bag{})
		if now == nil || len(now.Files) == 0 {
			return nil
		}
		return now
	})
	ok := p.load(filepath.ToSlash(p.Dir), o, func(at addr.Module, _ *config.Call, _ *config.Node, bag *diag.Bag) (string, string, string, bool) {
		for _, m := range saved.Config {
			if m.Key == ModuleKey(at) {
				return filepath.ToSlash(p.Call.Path(m.Dir)), m.Source, m.Version, true
			}
		}
		bag.Add(diag.Errorf("Invalid plan file", "The plan has no configuration for %s.", at))
		return "", "", "", false
	})
	if !ok {
		return false
	}
	if !p.Vars.saved(saved.Plan.Variables) {
		return false
	}
	p.unsecret()
	p.States().EncryptionOfPlan()
	// What is in a plan was checked when the plan was made; files beside it may be gone.
	return p.Compile(ctx, vet.CheckOptions{BodiesOnly: true})
}

// unsecret takes the block of the backend from the working directory where it has secrets, which a plan does not hold.
func (p *Project) unsecret() {
	m := p.Tree.Root.Module
	var lacking []string
	if m.Stored() != nil {
		for _, c := range backend.SecretsOf(m.Stored()) {
			if c.Null {
				lacking = append(lacking, mark.PathString(c.Path))
			}
		}
	}
	if len(lacking) == 0 {
		return
	}
	if now := p.States().Present(); now != nil && now.Stored() != nil && p.States().SameButSecrets(m, now) {
		m.Backend, m.Cloud = now.Backend, now.Cloud
		return
	}
	slices.Sort(lacking)
	p.lacking = lacking
}

// Lacking adds to what went wrong with the state that a saved plan has no secrets of a backend.
func (p *Project) Lacking() {
	list := p.Bag.List()
	for _, name := range p.States().Lacking() {
		if !slices.Contains(p.lacking, name) {
			p.lacking = append(p.lacking, name)
		}
	}
	if len(p.lacking) == 0 {
		return
	}
	p.Bag.Clear()
	for _, d := range list {
		if d.Severity == diag.Error {
			d.Detail += fmt.Sprintf("\n\nA saved plan holds no secret of the backend's settings, and this directory does not have those that the plan was made with. What may be missing: %s. Apply the plan where the configuration is that it was made from and \"lethe init\" was run, or set the environment variable that the backend reads for it.", strings.Join(p.lacking, ", "))
		}
		p.Bag.Add(d)
	}
}

// Recall takes how providers described themselves when a plan was made, so that they need not be
// started.
func (p *Project) Recall(saved *file.Contents) {
	for a, part := range saved.Schemas {
		if s := wire.Described(part, a); s != nil {
			p.Pool.Know(a, s)
		}
	}
}

// Remember takes how installed providers described themselves to earlier commands, so that a command that only shows that
// starts none. It comes after Installed, which has held them against the lock file.
func (p *Project) Remember() {
	for _, n := range p.Needs() {
		d := p.Providers.Described(n.Provider, p.Call.Environ)
		if d == nil {
			continue
		}
		if s := wire.Described(d.Load(), n.Provider); s != nil {
			p.Pool.Know(n.Provider, s)
		}
	}
}

// saved takes the values of variables from the plan, except those of ephemeral ones, which
// a plan does not hold. Other values may be given again if they are the same.
func (v *Variables) saved(values map[string]plan.Variable) bool {
	if !v.Collect() {
		return false
	}
	ok := true
	for name, of := range v.p.Tree.Root.Module.Variables {
		if of.Ephemeral {
			continue
		}
		given, isGiven := v.Given[name]
		delete(v.Given, name)
		kept, isKept := values[name]
		if isKept {
			v.Given[name] = frame.Given{Value: kept.Value, From: "the saved plan"}
		}
		if !isGiven || isKept && v.same(of, given, kept.Value) {
			continue
		}
		if !v.onCommandLine(given) {
			v.ignored(of, given, kept.Value, isKept)
		} else {
			v.p.Bag.Add(diag.Errorf("Can't change variable when applying a saved plan", "The variable %s cannot be set using the -var and -var-file options when applying a saved plan file, because a saved plan includes the variable values that were set when it was created. To change it, make a new plan.", name))
			ok = false
		}
	}
	return ok
}

// onCommandLine reports whether a value was given with -var or -var-file.
func (v *Variables) onCommandLine(given frame.Given) bool {
	return given.From == "-var" || slices.ContainsFunc(v.p.Options.Vars, func(a Assignment) bool {
		return a.File && given.From == v.p.Display(v.p.Call.Path(a.Text))
	})
}

// ignored warns of a value of the environment or of a file that is read without being named: the plan has another one.
func (v *Variables) ignored(of *config.Variable, given frame.Given, kept cty.Value, isKept bool) {
	values := ""
	if !of.Sensitive && isKept {
		values = " The saved plan has the value " + shown(kept) + "."
	}
	v.p.Bag.Add(diag.Warningf("Ignoring variable when applying a saved plan", "The variable %s cannot be set when applying a saved plan file, because a saved plan includes the variable values that were set when it was created.%s Now another value is set by %s, and it has no effect. To use that value, make a new plan.", of.Name, values, given.From))
}

// shown is a value as a message shows it, if it is short.
func shown(v cty.Value) string {
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil || len(text) > 80 {
		return "of when it was made"
	}
	return string(text)
}

// same reports whether a value that is given is the one that a plan has.
func (v *Variables) same(of *config.Variable, given frame.Given, kept cty.Value) bool {
	value := cty.StringVal(given.Text)
	if !given.IsText {
		value = given.Value
	} else if of.TypeGiven && !of.Type.IsPrimitiveType() {
		var ok bool
		if value, ok = config.ParseValue("-var", given.Text, v.p.Limits, &diag.Bag{}); !ok {
			return false
		}
	}
	a, err1 := convert.Convert(value, of.Type.WithoutOptionalAttributesDeep())
	b, err2 := convert.Convert(kept, of.Type.WithoutOptionalAttributesDeep())
	return err1 == nil && err2 == nil && a.RawEquals(b)
}

// ModuleKey is the address of a module as files know it: the names of its calls, with dots between.
func ModuleKey(m addr.Module) string { return strings.Join(m.Path(), ".") }
