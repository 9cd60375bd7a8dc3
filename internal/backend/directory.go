package backend

import (
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/storeblock"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Directory manages the states of a working directory: it opens the store that keeps them, and moves them to another
// store. Only one goroutine may use a Directory, except that Encryption and Outputs may be called concurrently.
type Directory struct {
	Env *workspace.Env

	o          Options
	declared   *declaration
	record     *record
	encryption *encryptionConfig
	opener     *opener
	placement  *placement
	plan       *planBackend // nil unless a saved plan is applied
}

// New returns the Directory of a working directory. It reads no files.
func New(o Options) *Directory {
	declared := newDeclaration(o)
	clients := &clients{env: o.Env, o: o.Clients}
	encryption := newEncryptionConfig(o, clients)
	opener, record := newOpener(o, clients, declared, encryption), newRecord(o, declared)
	return &Directory{
		Env: o.Env, o: o, declared: declared, record: record, encryption: encryption,
		opener: opener, placement: newPlacement(opener, record),
	}
}

// UsePlan makes the backend of a saved plan the backend of this Directory. From then on, Options.Root must return the
// root module of the plan. directory returns the present root module of the working directory, or nil.
func (d *Directory) UsePlan(p *Planned, directory func() *config.Module) {
	d.plan = &planBackend{plan: p, directory: directory, opener: d.opener, record: d.record}
}

// Lacking returns the names of the settings that the saved plan omits as secrets, and that have no value from another
// source.
func (d *Directory) Lacking() []string {
	if d.plan == nil {
		return nil
	}
	return d.plan.lacking
}

// SameInDirectory returns the present root module of the working directory, or nil if it cannot be read or has neither
// a backend nor a cloud block. It also reports whether this block equals the block of ofPlan, the root module of the
// saved plan, apart from literal secrets.
func (d *Directory) SameInDirectory(ofPlan *config.Module) (*config.Module, bool) {
	now := d.plan.directory()
	if now == nil || now.Stored() == nil {
		return nil, false
	}
	was, ok1 := d.declared.of(ofPlan)
	is, ok2 := d.declared.of(now)
	return now, ok1 && ok2 && was.same(is)
}

// Encryption evaluates the encryption settings of the configuration and of the environment. If they are invalid, it
// returns false. Only the first call reports the errors.
func (d *Directory) Encryption() (*Encryption, bool) { return d.encryption.get() }

// EncryptionOfPlan makes Encryption use the configuration of the saved plan, if the present configuration of the
// working directory has no encryption block.
func (d *Directory) EncryptionOfPlan() {
	if now := d.plan.directory(); now == nil || now.Encryption == nil {
		d.encryption.reset()
	}
}

// CheckEncryption reports the mistakes in all encryption settings that can be found without the values of variables. It
// sends no requests to key services.
func (d *Directory) CheckEncryption(tree *config.Tree, static *frame.StaticFrame) {
	d.encryption.check(tree, static)
}

// StoreProviders returns the providers that must be installed before init can open the states: the provider of the
// state_store block and, if former is true, also the provider of the store that the last init has recorded.
func (d *Directory) StoreProviders(former bool) (out []addr.Provider) {
	if m := d.declared.root(); m != nil && m.Stored() != nil && m.Stored().Store {
		if parts, ok := storeblock.Divide(m.Stored(), &diag.Bag{}); ok {
			if r, ok := parts.Required(m); ok {
				out = append(out, r.Source)
			}
		}
	}
	if was, ok := d.record.read(&diag.Bag{}); former && ok && was != nil && was.Provider != nil {
		if a := was.Provider.Source; !slices.ContainsFunc(out, func(b addr.Provider) bool { return a.Canon() == b.Canon() }) {
			out = append(out, a)
		}
	}
	return out
}

// SecretsOf returns the values in a backend block that are secret and written literally.
func (d *Directory) SecretsOf(b *config.Backend) []config.Constant { return d.declared.secretsOf(b) }
