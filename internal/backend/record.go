package backend

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/workspace"
	"github.com/zclconf/go-cty/cty"
)

// sharedFile is the content of the file .terraform/terraform.tfstate, which Terraform and OpenTofu read and write, too.
type sharedFile struct {
	Version    int          `json:"version"`
	Terraform  string       `json:"terraform_version"`
	Backend    *initialized `json:"backend,omitempty"`
	StateStore *initialized `json:"state_store,omitempty"`
}

// entry returns the recorded store, or nil if no store is recorded.
func (f sharedFile) entry() *initialized {
	if f.StateStore != nil && f.StateStore.Provider != nil {
		return f.StateStore
	}
	return f.Backend
}

// initialized is the recorded backend. Its JSON has the form that Terraform and OpenTofu read and write. It contains no
// setting that they do not know, because they would then report a changed backend.
type initialized struct {
	Type     string          `json:"type"`
	Provider *pinned         `json:"provider,omitempty"` // the provider of a state store; nil for a backend
	Config   json.RawMessage `json:"config"`
	Hash     uint32          `json:"hash"` // the hash of the block, as Terraform computes it

	own `json:"-"` // the data in the separate file that only Lethe uses
}

// own is the content of the file .terraform/lethe.backend.json: facts about the backend that only Lethe uses.
type own struct {
	Of        string          `json:"of"`                  // the digest of the entry in the shared file to which these facts belong
	Block     string          `json:"block"`               // the fingerprint (a digest) of the block that init has seen
	Ephemeral []string        `json:"ephemeral,omitempty"` // the names of settings from ephemeral variables, whose values are not recorded
	Config    json.RawMessage `json:"config,omitempty"`    // the settings that only Lethe has
}

// ourSettings are the settings of stores that neither Terraform nor OpenTofu has.
var ourSettings = map[string][]string{"s3": {"journal"}, "pg": {"journal", "layout", "history_days"}}

// openTofuSettings are the settings of stores that OpenTofu has and Terraform 1.11 lacks.
var openTofuSettings = map[string][]string{"gcs": {"universe_domain"}, "http": {"headers"}, "pg": {"table_name", "index_name"}}

// record is the record of init in the data directory: the store in use and its settings. Because of it, later commands
// need no -backend-config, and notice a change of the block.
type record struct {
	env      *workspace.Env
	display  func(path string) string
	declared *declaration
}

// newRecord returns the record of a directory. It reads no files.
func newRecord(o Options, declared *declaration) *record {
	return &record{env: o.Env, display: o.Display, declared: declared}
}

func (r *record) file() string    { return filepath.Join(r.env.Data, "terraform.tfstate") }
func (r *record) ownFile() string { return filepath.Join(r.env.Data, "lethe.backend.json") }

// digest returns a digest of an entry that is independent of the program that has written the entry.
func (b *initialized) digest() string {
	facts := []any{b.Type, dropNulls(decoded(b.Config)), b.Hash}
	if b.Provider != nil {
		facts = append(facts, b.Provider)
	}
	text, err := json.Marshal(facts)
	if err != nil {
		panic(err) // cannot fail, because the value was decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// read returns the recorded store. It returns nil and true if no record exists. If the record cannot be read, it adds
// an error and returns false.
func (r *record) read(bag *diag.Bag) (*initialized, bool) {
	shared := sharedFile{}
	read := func(file string, into any) (ok bool) {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			bag.Add(diag.Errorf("Failed to read the remembered backend", "The file %s, which has the backend settings of init, cannot be read: %s.\n\nCorrect or remove it, and run: lethe init -reconfigure", file, disk.Reason(err)))
		}
		return err == nil
	}
	if !read(r.file(), &shared) {
		return nil, false
	}
	var o own
	entry := shared.entry()
	if entry == nil || !read(r.ownFile(), &o) {
		return nil, entry == nil
	}
	if o.Of == entry.digest() { // otherwise another program has set up the backend since, so the facts do not apply
		entry.own = o
	}
	return entry, true
}

// settings returns the recorded settings. It returns false, and reports nothing, if no settings are recorded or they
// cannot be read.
func (r *record) settings() (settings, bool) {
	was, ok := r.read(&diag.Bag{})
	if !ok || was == nil {
		return settings{}, false
	}
	return was.settings(r.declared.stores, &diag.Bag{})
}

// settings returns the settings of the recorded backend. If they no longer fit the schema of the backend, it reports an
// error and returns false.
func (b *initialized) settings(stores *stateStores, bag *diag.Bag) (settings, bool) {
	out, config := settings{unrecorded: b.Ephemeral}, merged(b.Config, b.own.Config)
	if b.Provider != nil {
		k, err := stores.find(b.Provider.Source, b.Type)
		if err != nil {
			bag.Add(storeProblem(err))
			return settings{}, false
		}
		out.driver, out.provider, out.version = k.Driver, k.provider, k.version
		if of := b.Provider.Config; of != nil {
			config = merged(config, member(providerBlock, of))
		}
	} else if kind, ok := driver(b.Type, diag.Range{}, bag); !ok {
		return settings{}, false
	} else {
		out.driver = kind
	}
	v, err := decodeSettings(config, out.driver.Schema.Type())
	if err != nil {
		bag.Add(diag.Errorf("Failed to read the remembered backend", "The settings that init saved are not valid for a backend %q: %s.\n\nRun: lethe init -reconfigure", b.Type, err))
		return settings{}, false
	}
	out.config = v
	return out, true
}

// saw reports whether init has seen the present block. current are the recorded settings. If Terraform or OpenTofu
// wrote the record, it has no fingerprint. Then saw reports whether all settings of the block have the recorded values.
func (b *initialized) saw(declared, current settings) bool {
	if b.Block != "" {
		return b.Block == declared.fingerprint()
	}
	for name, v := range declared.recorded().AsValueMap() {
		if !v.IsNull() && !v.RawEquals(current.config.GetAttr(name)) {
			return false
		}
	}
	return true
}

// write records the store with the settings s. If the configuration no longer declares a backend, write removes the
// record. It keeps a present entry that has the same settings and was made for the same block. If another program made
// that entry, write keeps it only if anew is false; anew means that the user has set up the backend again. If the
// record cannot be written, write adds an error and returns false.
func (r *record) write(declared, s settings, anew bool, bag *diag.Bag) bool {
	if r.declared.block() == nil {
		return r.remove(bag)
	}
	attrs, ours := s.recorded().AsValueMap(), map[string]cty.Value{}
	for _, name := range ourSettings[s.driver.Name] {
		if v, ok := attrs[name]; ok {
			ours[name] = v
			delete(attrs, name)
		}
	}
	b := &initialized{Type: s.driver.Name, Hash: declared.terraformHash()}
	if !s.provider.IsZero() {
		b.Provider = &pinned{Source: s.provider, Version: s.version}
		b.Provider.Config, _ = json.Marshal(decoded(s.encode(attrs)).(map[string]any)[providerBlock])
		delete(attrs, providerBlock)
	}
	b.Config = s.encode(attrs)
	was, ok := r.entry()
	same := ok && b.Provider.same(was.Provider) && was.Type == b.Type && bytes.Equal(canonical(was.Config), canonical(b.Config)) && (was.Block == declared.fingerprint() || was.Block == "" && !anew)
	if same {
		b = was // keep the entry of the other program, with its hash
	}
	o := own{Of: b.digest(), Block: declared.fingerprint(), Ephemeral: s.ephemerals()}
	if config := s.encode(ours); string(config) != "{}" {
		o.Config = config
	}
	err := r.env.MakeData()
	if err == nil && !same {
		shared := sharedFile{Version: 3, Terraform: r.env.Version}
		if shared.Backend = b; b.Provider != nil {
			shared.Backend, shared.StateStore = nil, b
		}
		err = r.replace(r.file(), shared)
	}
	if err == nil {
		err = r.replace(r.ownFile(), o)
	}
	if err != nil {
		bag.Add(diag.Errorf("Failed to remember the backend", "The file %s cannot be written: %s.", r.display(r.file()), disk.Reason(err)))
	}
	return err == nil
}

// terraformHash returns the hash by which Terraform recognizes a block that its init has seen. Without the hash,
// Terraform would report a changed backend if -backend-config has added settings to the block.
func (s settings) terraformHash() uint32 {
	attrs := s.recorded().AsValueMap()
	for _, name := range slices.Concat(ourSettings[s.driver.Name], openTofuSettings[s.driver.Name]) {
		delete(attrs, name)
	}
	return uint32(cty.TupleVal([]cty.Value{cty.StringVal(s.driver.Name), cty.ObjectVal(attrs)}).Hash())
}

// replace writes v as JSON to a file. If the file already has this content, it writes nothing, because the directory
// may be read-only.
func (r *record) replace(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) {
		return nil
	}
	return disk.Replace(r.env.FS, file, text)
}

// remove removes the record. If that fails, it adds an error and returns false.
func (r *record) remove(bag *diag.Bag) bool {
	for _, file := range []string{r.ownFile(), r.file()} {
		if err := r.env.FS.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			bag.Add(diag.Errorf("Failed to forget the backend", "%s.", err))
			return false
		}
	}
	return true
}

// entry returns the record from both files. It returns false, and reports nothing, if the record is missing or cannot
// be read.
func (r *record) entry() (*initialized, bool) {
	var shared sharedFile
	data, err := os.ReadFile(r.file())
	if err != nil || json.Unmarshal(data, &shared) != nil || shared.entry() == nil {
		return nil, false
	}
	var o own
	entry := shared.entry()
	if data, err = os.ReadFile(r.ownFile()); err == nil && json.Unmarshal(data, &o) == nil && o.Of == entry.digest() {
		entry.own = o
	}
	return entry, true
}

// canonical returns settings in a form in which the settings that different programs wrote can be compared: without
// members that are null or empty lists.
func canonical(config json.RawMessage) []byte {
	v, _ := dropNulls(decoded(config)).(map[string]any)
	for name, x := range v {
		if list, ok := x.([]any); ok && len(list) == 0 {
			delete(v, name)
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // cannot fail, because the value was decoded from JSON
	}
	return text
}

// same reports whether two records name the same version of a provider with the same settings. Both are nil for
// backends, which have no provider; then same returns true.
func (p *pinned) same(as *pinned) bool {
	if p == nil || as == nil {
		return p == as
	}
	return p.Source.Canon() == as.Source.Canon() && p.Version == as.Version && bytes.Equal(canonical(p.Config), canonical(as.Config))
}

// member returns a JSON object with one member.
func member(name string, value json.RawMessage) json.RawMessage {
	text, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		panic(err) // cannot fail, because the value was decoded from JSON
	}
	return text
}

// merged returns the JSON object a with the members of the JSON object b, which replace members of a with the same
// name. If a or b is not an object, merged returns a.
func merged(a, b json.RawMessage) json.RawMessage {
	x, ok1 := decoded(a).(map[string]any)
	y, ok2 := decoded(b).(map[string]any)
	if !ok1 || !ok2 {
		return a
	}
	maps.Copy(x, y)
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // cannot fail, because the values were decoded from JSON
	}
	return text
}
