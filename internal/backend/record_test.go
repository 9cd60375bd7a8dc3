package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// declare returns the settings of the backend block.
func (b *bench) declare(block string) settings {
	b.Helper()
	b.configure(block)
	s, ok := b.declared.settings()
	if !ok {
		b.Fatal(b.Env.Bag.List())
	}
	return s
}

// recorded writes settings to the record.
func (b *bench) recorded(s settings, anew bool) {
	b.Helper()
	if !b.record.write(s, s, anew, b.Env.Bag) {
		b.Fatal(b.Env.Bag.List())
	}
}

func TestRecordReturnsTheWrittenSettings(t *testing.T) {
	b := newBench(t)
	if was, ok := b.record.read(b.Env.Bag); was != nil || !ok {
		t.Errorf("without a record: %v, %t", was, ok)
	}
	s := b.declare(`backend "local" { path = "one/s" }`)
	b.recorded(s, false)
	was, ok := b.record.read(b.Env.Bag)
	if !ok || !was.saw(s, s) {
		t.Fatal(b.Env.Bag.List())
	}
	if got, ok := b.record.settings(); !ok || !got.same(s) {
		t.Errorf("%#v", got)
	}
	if other := b.declare(`backend "local" { path = "two/s" }`); was.saw(other, s) {
		t.Error("another block counts as seen")
	}
}

func TestRecordIsRemovedIfNoBlockDeclaresABackend(t *testing.T) {
	b := newBench(t)
	b.recorded(b.declare(`backend "local" { path = "one/s" }`), false)
	b.configure("")
	b.recorded(implied(), false)
	if b.exists(".terraform/terraform.tfstate") || b.exists(".terraform/lethe.backend.json") {
		t.Error("the record still exists")
	}
}

func TestRecordKeepsTheHashOfAnotherProgramUntilInitWritesAnew(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "local" { path = "one/s" }`)
	b.write(".terraform/terraform.tfstate", `{"version":3,"terraform_version":"1.11.4","backend":{"type":"local","config":{"path":"one/s","workspace_dir":null},"hash":17}}`)
	b.recorded(s, false)
	if was, _ := b.record.entry(); was.Hash != 17 || was.Block != s.fingerprint() {
		t.Errorf("%+v", was)
	}
	b.write(".terraform/lethe.backend.json", "{}")
	b.recorded(s, true)
	if was, _ := b.record.entry(); was.Hash != s.terraformHash() {
		t.Errorf("anew: %+v", was)
	}
}

func TestRecordIgnoresItsOwnFileAfterAnotherProgramWrote(t *testing.T) {
	b := newBench(t)
	b.recorded(b.declare(`backend "local" { path = "one/s" }`), false)
	b.write(".terraform/terraform.tfstate", `{"version":3,"backend":{"type":"local","config":{"path":"two/s"},"hash":17}}`)
	if was, ok := b.record.read(b.Env.Bag); !ok || was.Block != "" || was.Of != "" {
		t.Errorf("%+v", was)
	}
}

func TestRecordHasNoEphemeralSettings(t *testing.T) {
	b := newBench(t)
	s := b.declare(`backend "local" { path = "canary-17" }`)
	s.ephemeral = []cty.Path{cty.GetAttrPath("path")}
	b.recorded(s, false)
	for _, name := range []string{"terraform.tfstate", "lethe.backend.json"} {
		if text, err := os.ReadFile(filepath.Join(b.Env.Data, name)); err != nil || strings.Contains(string(text), "canary-17") {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	if got, ok := b.record.settings(); !ok || len(got.unrecorded) != 1 || got.unrecorded[0] != "path" || !got.with(s).same(s) {
		t.Errorf("%+v", got)
	}
}

func TestSettingsOfAnUnreadableRecordAreUnknownWithoutAnError(t *testing.T) {
	b := newBench(t)
	b.write(".terraform/terraform.tfstate", "{")
	if _, ok := b.record.settings(); ok {
		t.Error("settings")
	}
	b.reported()
}
