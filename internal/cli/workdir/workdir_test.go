package workdir

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/base/basetest"
)

func TestDirectoryNeedsNoConfiguration(t *testing.T) {
	d := basetest.New(t, "nonsense")
	out := d.Do(func(_ context.Context, c *base.Call) {
		if dir, ok := Open(c, &Options{}); !ok || dir.Path != c.Dir || dir.Root != c.Dir || dir.Data != filepath.Join(c.Dir, ".terraform") {
			t.Errorf("%t: %+v", ok, dir)
		}
		if c.Work.Load() != nil || c.Keeps.Load() != nil {
			t.Error("a directory has an engine or a keeper")
		}
	})
	if out != "" {
		t.Error(out)
	}
}

func TestConfigNamesTheDirectoryOfTheRootModule(t *testing.T) {
	d := basetest.New(t, "")
	d.Do(func(_ context.Context, c *base.Call) {
		if dir, ok := Open(c, &Options{Config: "below"}); !ok || dir.Root != filepath.Join(c.Dir, "below") || dir.Path != c.Dir {
			t.Errorf("%t: %+v", ok, dir)
		}
	})
}

func TestEmptyDataDirectoryIsRemovedIfTheCommandMadeIt(t *testing.T) {
	for _, before := range []bool{false, true} {
		d := basetest.New(t, "")
		data := filepath.Join(d.Path, ".terraform")
		if before {
			_ = os.Mkdir(data, 0o755)
		}
		d.Do(func(_ context.Context, c *base.Call) {
			Open(c, &Options{})
			_ = os.MkdirAll(filepath.Join(data, "modules"), 0o755)
		})
		if _, err := os.Stat(data); (err == nil) != before {
			t.Errorf("there before: %t; after: %v", before, err)
		}
	}
}

func TestDataDirectoryMustNotBeAFile(t *testing.T) {
	d := basetest.New(t, "")
	d.Write(".terraform", "")
	out := d.Do(func(_ context.Context, c *base.Call) {
		if _, ok := Open(c, &Options{}); ok {
			t.Error("opened")
		}
	})
	if !strings.Contains(out, "Invalid data directory") {
		t.Error(out)
	}
}

func TestEnvironmentHasPrecedenceForThePluginCache(t *testing.T) {
	d := basetest.New(t, "")
	d.Write("rc", "plugin_cache_dir = \"$HOME/configured\"\n")
	for _, given := range []string{"", "given"} {
		d.Environ = []string{"TF_CLI_CONFIG_FILE=" + filepath.Join(d.Path, "rc"), "TF_PLUGIN_CACHE_DIR=" + given}
		d.Do(func(_ context.Context, c *base.Call) {
			want := "configured"
			if given != "" {
				want = given
			}
			if dir, ok := Open(c, &Options{}); !ok || filepath.Base(dir.PluginCache()) != want {
				t.Errorf("%q, %t: %v", given, ok, dir)
			}
		})
	}
}

func TestVendoredDirectoryAsksNoServer(t *testing.T) {
	d := basetest.New(t, "")
	for _, dir := range []string{"", "third_party"} {
		d.Environ = []string{"LETHE_VENDOR_DIR=" + dir}
		d.Do(func(_ context.Context, c *base.Call) {
			if opened, ok := Open(c, &Options{}); !ok || opened.Network.Registry.Client.Offline != (dir != "") {
				t.Errorf("%q, %t", dir, ok)
			}
		})
	}
}
