package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/state/disk"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

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
	Hash   uint32          `json:"hash"`            // of the block, as Terraform and OpenTofu make it; ours never matches theirs
	Block  string          `json:"block,omitempty"` // of the block, as we make it
	// Ephemeral names the settings that are not in Config, since they came from ephemeral variables.
	Ephemeral []string `json:"ephemeral,omitempty"`
}

func (d *Directory) file() string { return filepath.Join(d.Env.Data, "terraform.tfstate") }

// remembered reads what init wrote down; nil where nothing is remembered.
func (d *Directory) remembered() (*initialized, bool) {
	data, err := os.ReadFile(d.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	var r remembered
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		d.Env.Bag.Add(diag.Errorf("Failed to read the remembered backend", "The file %s, in which init keeps the settings of the backend, cannot be read: %s.\n\nCorrect or remove it, and run: lethe init -reconfigure", d.file(), disk.Reason(err)))
		return nil, false
	}
	return r.Backend, true
}

// settingsOf are those of a remembered backend.
func (d *Directory) settingsOf(b *initialized) (settings, bool) {
	driver, ok := d.driver(b.Type, diag.Range{})
	if !ok {
		return settings{}, false
	}
	v, err := decodeSettings(b.Config, driver.Schema.Type())
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
		err := os.Remove(d.file())
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			bag.Add(diag.Errorf("Failed to forget the backend", "%s.", err))
		}
		return err == nil
	}
	text, err := ctyjson.Marshal(s.kept(), s.driver.Schema.Type())
	if err == nil {
		b := &initialized{Type: s.driver.Name, Config: text, Block: declared.fingerprint(), Ephemeral: s.ephemerals()}
		text, err = json.MarshalIndent(remembered{Version: 3, Terraform: d.Env.Version, Backend: b}, "", "  ")
	}
	text = append(text, '\n')
	if was, reading := os.ReadFile(d.file()); err == nil && reading == nil && bytes.Equal(was, text) {
		return true // the directory may be one that is only read
	}
	if err = errors.Join(err, d.Env.MakeData()); err == nil {
		err = disk.Replace(d.Env.FS, d.file(), text)
	}
	if err != nil {
		bag.Add(diag.Errorf("Failed to remember the backend", "The file %s cannot be written: %s.", d.Display(d.file()), disk.Reason(err)))
	}
	return err == nil
}
