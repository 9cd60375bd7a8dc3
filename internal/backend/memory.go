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

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
	"github.com/zclconf/go-cty/cty"
)

// remembered is .terraform/terraform.tfstate.
type remembered struct {
	Version   int          `json:"version"`
	Terraform string       `json:"terraform_version"`
	Backend   *initialized `json:"backend,omitempty"`
}

// initialized is the backend that init saw. The part with names in JSON is in the form that Terraform and OpenTofu read
// and write. It has no setting that they do not know: they would take the backend for changed.
type initialized struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Hash   uint32          `json:"hash"` // of the block, as Terraform makes it

	own `json:"-"` // what Lethe keeps besides, in a file of its own
}

// own is .terraform/lethe.backend.json: what Lethe knows of the backend, and the other programs do not.
type own struct {
	Of        string          `json:"of"`                  // digest of the entry of the other file that this is about
	Block     string          `json:"block"`               // fingerprint of the block
	Ephemeral []string        `json:"ephemeral,omitempty"` // settings that came from ephemeral variables, and are not written down
	Config    json.RawMessage `json:"config,omitempty"`    // settings that only Lethe has
}

// ourSettings are the settings of stores that neither Terraform nor OpenTofu has.
var ourSettings = map[string][]string{"s3": {"journal"}, "pg": {"journal", "layout", "history_days"}}

// notInTerraform are the settings of stores that Terraform 1.11 does not have: ours, and those of OpenTofu.
var notInTerraform = map[string][]string{
	"http": {"headers"},
	"pg":   {"journal", "layout", "history_days", "table_name", "index_name"},
	"s3":   {"journal"},
}

func (d *Directory) file() string    { return filepath.Join(d.Env.Data, "terraform.tfstate") }
func (d *Directory) ownFile() string { return filepath.Join(d.Env.Data, "lethe.backend.json") }

// digest tells entries apart, whoever has written them.
func (b *initialized) digest() string {
	text, err := json.Marshal([]any{b.Type, dropNulls(decoded(b.Config)), b.Hash})
	if err != nil {
		panic(err) // JSON that was read
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// remembered reads what init wrote down; nil where nothing is remembered.
func (d *Directory) remembered() (*initialized, bool) {
	r := remembered{}
	read := func(file string, into any) (ok bool) {
		data, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			d.Env.Bag.Add(diag.Errorf("Failed to read the remembered backend", "The file %s, in which init keeps the settings of the backend, cannot be read: %s.\n\nCorrect or remove it, and run: lethe init -reconfigure", file, disk.Reason(err)))
		}
		return err == nil
	}
	if !read(d.file(), &r) {
		return nil, false
	}
	var o own
	if r.Backend == nil || !read(d.ownFile(), &o) {
		return nil, r.Backend == nil
	}
	if o.Of == r.Backend.digest() { // else another program has set up the backend since
		r.Backend.own = o
	}
	return r.Backend, true
}

// settingsOf are those of a remembered backend.
func (d *Directory) settingsOf(b *initialized) (settings, bool) {
	driver, ok := d.driver(b.Type, diag.Range{})
	if !ok {
		return settings{}, false
	}
	v, err := decodeSettings(merged(b.Config, b.own.Config), driver.Schema.Type())
	if err != nil {
		d.Env.Bag.Add(diag.Errorf("Failed to read the remembered backend", "The settings that init has kept are not those of a backend %q: %s.\n\nRun: lethe init -reconfigure", b.Type, err))
		return settings{}, false
	}
	return settings{driver: driver, config: v, lost: b.Ephemeral}, true
}

// saw reports whether the block is the one that init saw; current is what it made of that. Init of
// Terraform or OpenTofu left no fingerprint that we could compare: then all that the block sets has
// to be what is remembered.
func (b *initialized) saw(declared, current settings) bool {
	if b.Block != "" {
		return b.Block == declared.fingerprint()
	}
	for name, v := range declared.kept().AsValueMap() {
		if !v.IsNull() && !v.RawEquals(current.config.GetAttr(name)) {
			return false
		}
	}
	return true
}

// remember writes down which store is used; nothing, if none is declared.
func (d *Directory) remember(declared, s settings, bag *diag.Bag) bool {
	if d.block() == nil {
		return d.forget(bag)
	}
	attrs, ours := s.kept().AsValueMap(), map[string]cty.Value{}
	for _, name := range ourSettings[s.driver.Name] {
		if v, ok := attrs[name]; ok {
			ours[name] = v
			delete(attrs, name)
		}
	}
	b := &initialized{Type: s.driver.Name, Config: s.encode(attrs), Hash: declared.terraformHash()}
	was, ok := d.rememberedEntry()
	same := ok && was.Type == b.Type && bytes.Equal(canonical(was.Config), canonical(b.Config))
	if same {
		b = was // with the hash that another program may have made
	}
	o := own{Of: b.digest(), Block: declared.fingerprint(), Ephemeral: s.ephemerals()}
	if config := s.encode(ours); string(config) != "{}" {
		o.Config = config
	}
	err := d.Env.MakeData()
	if err == nil && !same {
		err = d.replace(d.file(), remembered{Version: 3, Terraform: d.Env.Version, Backend: b})
	}
	if err == nil {
		err = d.replace(d.ownFile(), o)
	}
	if err != nil {
		bag.Add(diag.Errorf("Failed to remember the backend", "The file %s cannot be written: %s.", d.Display(d.file()), disk.Reason(err)))
	}
	return err == nil
}

// terraformHash is the number by which Terraform recognises a block that it has seen. Without it, Terraform takes a backend
// for changed if -backend-config has added something to the block.
func (s settings) terraformHash() uint32 {
	attrs := s.kept().AsValueMap()
	for _, name := range notInTerraform[s.driver.Name] {
		delete(attrs, name)
	}
	return uint32(cty.TupleVal([]cty.Value{cty.StringVal(s.driver.Name), cty.ObjectVal(attrs)}).Hash())
}

// replace writes a file, unless it has the same already: the directory may be one that is only read.
func (d *Directory) replace(file string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) {
		return nil
	}
	return disk.Replace(d.Env.FS, file, text)
}

// forget removes what is remembered.
func (d *Directory) forget(bag *diag.Bag) bool {
	for _, file := range []string{d.ownFile(), d.file()} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			bag.Add(diag.Errorf("Failed to forget the backend", "%s.", err))
			return false
		}
	}
	return true
}

// rememberedEntry reads the entry of the file that is shared with other programs, if that can be read.
func (d *Directory) rememberedEntry() (*initialized, bool) {
	var r remembered
	data, err := os.ReadFile(d.file())
	if err != nil || json.Unmarshal(data, &r) != nil || r.Backend == nil {
		return nil, false
	}
	return r.Backend, true
}

// canonical writes settings in the form in which those of different programs can be compared: without names whose values
// are null or empty.
func canonical(config json.RawMessage) []byte {
	v, _ := dropNulls(decoded(config)).(map[string]any)
	for name, x := range v {
		if list, ok := x.([]any); ok && len(list) == 0 {
			delete(v, name)
		}
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // JSON that was read
	}
	return text
}

// merged adds the members of one object to another.
func merged(a, b json.RawMessage) json.RawMessage {
	x, ok1 := decoded(a).(map[string]any)
	y, ok2 := decoded(b).(map[string]any)
	if !ok1 || !ok2 {
		return a
	}
	maps.Copy(x, y)
	text, err := json.Marshal(x)
	if err != nil {
		panic(err) // JSON that was read
	}
	return text
}
