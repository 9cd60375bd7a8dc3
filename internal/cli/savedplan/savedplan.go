// Package savedplan saves plans to files, and loads saved plans.
//
//	save.go       writes a plan, with the configuration and the schemas that it needs
//	savedplan.go  reads a plan, and checks who made it and with which providers
package savedplan

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

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/backend"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/fetch"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/store/crypt"
	"github.com/lethe-iac/lethe/internal/subprocess"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Plans saves and loads the plans of a session.
type Plans struct {
	session *session.Session
	lacking []string // names of the backend's secrets; a loaded plan does not contain their values
}

// New returns the plans of a session.
func New(s *session.Session) *Plans { return &Plans{session: s} }

// Read reads, decrypts and decodes the plan file with this name. It reports an error and returns false if a step is
// impossible.
func (p *Plans) Read(ctx context.Context, name string) (*file.Contents, bool) {
	data, err := os.ReadFile(p.session.Dir.Call.Path(name))
	if err != nil {
		p.session.Dir.Call.Bag.Add(base.UnreadablePlan(p.session.Dir.Call, name, err))
		return nil, false
	}
	return p.Decode(ctx, name, data)
}

// Sensitive returns, for each root variable by name, whether the configuration in a saved plan declares it sensitive.
func (p *Plans) Sensitive(saved *file.Contents) map[string]bool {
	out := map[string]bool{}
	for _, m := range saved.Config {
		if m.Key != "" {
			continue
		}
		files := config.Memory{}
		dir := filepath.ToSlash(p.session.Dir.Call.Path(m.Dir))
		for name, text := range m.Files {
			files[path.Join(dir, name)] = text
		}
		o := p.session.Dir.LoadOptions()
		o.Files = files
		root, _ := config.Load(dir, o, nil, &diag.Bag{}) // the configuration was checked when the plan was made
		if root == nil {
			continue
		}
		for name, v := range root.Variables {
			out[name] = out[name] || v.Sensitive
		}
	}
	return out
}

// Decode decodes the content of a plan file, which may be encrypted. name is the name of the file for messages. Decode
// reports an error and returns false if the content cannot be decrypted or decoded.
func (p *Plans) Decode(ctx context.Context, name string, data []byte) (*file.Contents, bool) {
	e, ok := p.session.States.Backend.Encryption()
	if !ok {
		return nil, false
	}
	if e.Plan != nil || crypt.Sealed(data) {
		var err error
		if data, _, err = e.Plan.Open(ctx, data); err != nil {
			p.session.Dir.Call.Bag.Add(workspace.Problem(err, diag.Errorf("Invalid plan file", "The file %s cannot be decrypted: %s.", name, err)))
			return nil, false
		}
	}
	return file.Read(name, data, p.session.Dir.PlanKey.Read(), &p.session.Dir.Call.Bag)
}

// Trust reports whether a saved plan may be applied, according to the plan key with which it was sealed: the file has a
// digest that was made with this key. Without a plan key in the environment, Trust accepts every plan, but warns if the
// user has a key in a file and the plan was not sealed with this key. With a key in the environment, a plan that was
// not sealed with this key is an error. If foreign is true, Trust accepts every plan without a warning.
func (p *Plans) Trust(saved *file.Contents, foreign bool) bool {
	switch {
	case saved.Own || foreign:
	case p.session.Dir.PlanKey.Given():
		p.session.Dir.Call.Bag.Add(diag.Errorf("Saved plan of unknown origin", "The plan was not sealed with the key in the environment variable %s, so it may have been changed. Make a new plan with this key set. To apply this plan anyway, use -foreign-plan.", subprocess.PlanKey))
		return false
	case p.session.Dir.PlanKey.Read() != nil:
		p.session.Dir.Call.UI.Diagnostics([]diag.Diagnostic{diag.Warningf("Saved plan made elsewhere", "The plan was not sealed with your key on this machine: another machine made it, or it was changed. If you trust it, use -foreign-plan. To share plans between machines, set %s to the same key on all of them.", subprocess.PlanKey)})
	}
	return true
}

// SameProviders adds an error and returns false if, since the plan was made, a provider was removed from the lock file,
// or its version there has changed, or all of its checksums there have changed. Another package of a provider may plan
// differently, and may not understand the plan. SameProviders does not check providers with a development override, and
// providers in a process of another program. It also returns false if the lock file in the plan cannot be read.
func (p *Plans) SameProviders(saved *file.Contents) bool {
	var planned []lockfile.Provider
	if len(saved.Lock) > 0 {
		var ok bool
		if planned, ok = lockfile.ParseProviders(saved.Lock, fetch.LockName, p.session.Dir.Settings.Limits, &p.session.Dir.Call.Bag); !ok {
			return false
		}
	}
	text := ""
	for _, was := range planned {
		if p.session.Plugins.Developed(was.Provider) { // the version does not identify the program of a developed provider
			continue
		}
		now, ok := p.session.Dir.Lock.Get(was.Provider)
		switch {
		case !ok:
			text += fmt.Sprintf("\n  - provider %s: the plan was made with version %s, but the lock file does not have it", was.Provider, was.Version)
		case now.Version != was.Version:
			text += fmt.Sprintf("\n  - provider %s: the plan was made with version %s, but the lock file has %s", was.Provider, was.Version, now.Version)
		case len(was.Hashes) > 0 && len(now.Hashes) > 0 && !slices.ContainsFunc(now.Hashes, func(h string) bool { return slices.Contains(was.Hashes, h) }):
			text += fmt.Sprintf("\n  - provider %s: the checksums for version %s in the lock file have changed since the plan was made", was.Provider, was.Version)
		}
	}
	if text != "" {
		p.session.Dir.Call.Bag.Add(diag.Errorf("Inconsistent dependency lock file", "The plan was created with other provider packages than the lock file selects now:%s\n\nCreate a new plan from the updated configuration.", text))
	}
	return text == ""
}

// Load reads the configuration and the values of variables from a saved plan, and compiles the configuration. The files
// have the same paths as when the plan was made, so that path.module and file functions return the same values. After
// an error, which it reports, Load returns false.
func (p *Plans) Load(ctx context.Context, saved *file.Contents) bool {
	files := config.Memory{}
	for _, m := range saved.Config {
		for name, text := range m.Files {
			files[path.Join(filepath.ToSlash(p.session.Dir.Call.Path(m.Dir)), name)] = text
		}
	}
	o := p.session.Dir.LoadOptions()
	o.Files = files
	o.Follow = func(n *config.Node) string {
		i := slices.IndexFunc(saved.Config, func(m file.ConfigModule) bool { return m.Key == loader.ModuleKey(n.Path) })
		return saved.Config[i].Led // the recorded target of a symbolic link, because the links may have changed since the plan was made
	}
	var planned backend.Planned
	if err := json.Unmarshal(saved.Plan.Settings, &planned); err != nil {
		p.session.Dir.Call.Bag.Add(diag.Errorf("Invalid plan file", "The plan does not name the backend that it was made with: %s.", err))
		return false
	}
	planned.Lineage, planned.Place = saved.Plan.Previous.Lineage, saved.Plan.Place
	p.session.States.Backend.UsePlan(&planned, sync.OnceValue(func() *config.Module {
		now, _ := config.Load(p.session.Dir.Path, p.session.Dir.LoadOptions(), nil, &diag.Bag{})
		if now == nil || len(now.Files) == 0 {
			return nil
		}
		return now
	}))
	ok := p.session.Loader.LoadFrom(filepath.ToSlash(p.session.Dir.Path), o, func(at addr.Module, _ *config.Call, _ *config.Node, bag *diag.Bag) (string, string, string, bool) {
		for _, m := range saved.Config {
			if m.Key == loader.ModuleKey(at) {
				return filepath.ToSlash(p.session.Dir.Call.Path(m.Dir)), m.Source, m.Version, true
			}
		}
		bag.Add(diag.Errorf("Invalid plan file", "The plan has no configuration for %s.", at))
		return "", "", "", false
	})
	if !ok {
		return false
	}
	if !p.session.Loader.Vars.CollectSaved(saved.Plan.Variables) {
		return false
	}
	p.unsecret()
	p.session.States.Backend.EncryptionOfPlan()
	// The configuration was checked when the plan was made. Other files of the directory may no longer exist.
	return p.session.Compile(ctx, vet.CheckOptions{BodiesOnly: true})
}

// unsecret replaces a backend block with secrets by the block of the working directory, because a plan does not contain
// the secrets. If the two blocks differ in more than the secrets, unsecret keeps the block of the plan, and records the
// names of the missing secrets in p.lacking.
func (p *Plans) unsecret() {
	m := p.session.Loader.Tree.Root.Module
	var lacking []string
	if m.Stored() != nil {
		for _, c := range p.session.States.Backend.SecretsOf(m.Stored()) {
			if c.Null {
				lacking = append(lacking, mark.PathString(c.Path))
			}
		}
	}
	if len(lacking) == 0 {
		return
	}
	if now, same := p.session.States.Backend.SameInDirectory(m); same {
		m.Backend, m.Cloud = now.Backend, now.Cloud
		return
	}
	slices.Sort(lacking)
	p.lacking = lacking
}

// Lacking adds a hint to the errors in the bag of the command: a saved plan does not contain the secrets of the
// backend. The hint names them. If no secret is missing, Lacking changes nothing.
func (p *Plans) Lacking() {
	list := p.session.Dir.Call.Bag.List()
	for _, name := range p.session.States.Backend.Lacking() {
		if !slices.Contains(p.lacking, name) {
			p.lacking = append(p.lacking, name)
		}
	}
	if len(p.lacking) == 0 {
		return
	}
	p.session.Dir.Call.Bag.Clear()
	for _, d := range list {
		if d.Severity == diag.Error {
			d.Detail += fmt.Sprintf("\n\nA saved plan does not store secret backend settings, and this directory does not have them. Settings that may be missing: %s. Apply the plan in the directory where it was made, after \"lethe init\", or set the backend's environment variables.", strings.Join(p.lacking, ", "))
		}
		p.session.Dir.Call.Bag.Add(d)
	}
}

// Recall makes the session use the schemas in a plan file, so that it need not start the providers to get their
// schemas. It skips schemas that cannot be decoded.
func (p *Plans) Recall(saved *file.Contents) {
	for a, part := range saved.Schemas {
		if s := wire.Described(part, a); s != nil {
			p.session.Pool.Know(a, s)
		}
	}
}
