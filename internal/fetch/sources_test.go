package fetch

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cliconfig"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/registry"
)

// kinds returns the types of the sources that a search uses.
func kinds(t *testing.T, s *Sources) (out []string) {
	t.Helper()
	all, err := s.methods()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		out = append(out, fmt.Sprintf("%T", m.source))
	}
	return out
}

// testSources returns sources without settings, in an empty working directory.
func testSources(t *testing.T) *Sources {
	env := map[string]string{"HOME": t.TempDir(), "XDG_DATA_DIRS": t.TempDir()}
	return &Sources{Settings: &cliconfig.Settings{}, WorkDir: t.TempDir(), Getenv: func(name string) string { return env[name] }}
}

func TestSourcesWithoutSettingsAreImpliedMirrorsAndTheRegistry(t *testing.T) {
	s := testSources(t)
	if got := fmt.Sprint(kinds(t, s)); got != "[fetch.direct]" {
		t.Error(got)
	}
	dir := filepath.Join(s.WorkDir, "terraform.d", "plugins", addr.DefaultHost, "acme", "toy")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kinds(t, s)); got != "[fetch.mirror fetch.direct]" {
		t.Error(got)
	}
	if all, _ := s.methods(); !all[1].takes(acme) {
		t.Error("the registry is not asked for a provider of which an implied mirror has an empty directory")
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform-provider-toy_1.0.0_plan9_mips.zip"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if all, _ := s.methods(); all[1].takes(acme) {
		t.Error("the registry is asked for a provider that an implied mirror contains")
	}
}

func TestOnlyReplacesTheConfiguredSources(t *testing.T) {
	s := testSources(t)
	s.Settings.Installs = true
	s.Settings.Sources = []cliconfig.Installation{{Method: "filesystem_mirror", Path: "x"}}
	s.OnlyRegistries()
	if got := fmt.Sprint(kinds(t, s)); got != "[fetch.direct]" {
		t.Error(got)
	}
	if err := s.OnlyMirror("https://mirror.example.test/"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kinds(t, s)); got != "[fetch.network]" {
		t.Error(got)
	}
}

func TestOfflineSourcesAreMirrorDirectories(t *testing.T) {
	s := testSources(t)
	s.Registry = &registry.Registry{Client: &download.Client{Offline: true}}
	if got := kinds(t, s); len(got) != 0 {
		t.Error(got)
	}
	s.OnlyDir(t.TempDir())
	if got := fmt.Sprint(kinds(t, s)); got != "[fetch.mirror]" {
		t.Error(got)
	}
}

func TestOverridesApplyToBothPublicRegistries(t *testing.T) {
	s := testSources(t)
	theirs, _ := acme.Counterpart()
	if _, ok := s.Override(acme); ok {
		t.Error("an override exists without settings")
	}
	s.Settings.Overrides = map[addr.Provider]string{theirs: "dev"}
	if dir, ok := s.Override(acme); !ok || dir != filepath.Join(s.WorkDir, "dev") {
		t.Errorf("of the other registry: %q %v", dir, ok)
	}
	s.Settings.Overrides[acme] = "own"
	if dir, _ := s.Override(acme); dir != filepath.Join(s.WorkDir, "own") {
		t.Errorf("of the exact address: %q", dir)
	}
	if all := s.Overridden(); len(all) != 2 || all[0].Compare(all[1]) > 0 {
		t.Error(all)
	}
}

func TestProgressSendsOneNoteAtATime(t *testing.T) {
	var notes []event.Note
	g := &Progress{Note: func(n event.Note) { notes = append(notes, n) }} // concurrent calls of Note would be a data race
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() { g.notef("%d", i) })
	}
	all.Wait()
	if len(notes) != 50 {
		t.Error(len(notes))
	}
	g.note("text", "record")
	if n := notes[50]; n.Text != "text" || n.Record != "record" {
		t.Errorf("%+v", n)
	}
}

func TestProgressReportsBeginAndEndOfNamedDownloads(t *testing.T) {
	var all []event.Transfer
	g := &Progress{Transfer: func(t event.Transfer) { all = append(all, t) }}
	moved, ended := g.download("x")
	moved(1, 2)
	moved(2, 2) // less than a tenth of a second after the previous report
	ended()
	if n := len(all); n < 3 || all[0] != (event.Transfer{Name: "x"}) || all[n-1] != (event.Transfer{Name: "x", Ended: true}) {
		t.Errorf("%+v", all)
	}
	all = nil
	_, ended = g.download("")
	if ended(); len(all) != 0 {
		t.Errorf("without a name: %+v", all)
	}
}

// TestUnspoken checks the protocols that a registry names for a version.
func TestUnspoken(t *testing.T) {
	for _, x := range []struct {
		protocols []string
		fits      bool
	}{{nil, true}, {[]string{}, true}, {[]string{"5"}, true}, {[]string{"4.0", "6.9"}, true}, {[]string{"4.0"}, false}, {[]string{"50.1"}, false}} {
		if got := unspoken(x.protocols); (got == "") != x.fits {
			t.Errorf("%q: %s", x.protocols, got)
		}
	}
}

// TestMirrorWithCapitals checks that capitals in the names of directories and archives of a mirror do not count, as in
// Terraform.
func TestMirrorWithCapitals(t *testing.T) {
	s := newStage(t)
	s.write(filepath.Join(s.mirror, "Example.COM", "Acme", "Toy", "Terraform-Provider-Toy_1.0.0_"+Platform()+".zip"), "PK")
	all, _, err := mirror(s.mirror).list(t.Context(), addr.Provider{Host: "example.com", Namespace: "acme", Type: "toy"})
	if err != nil || len(all) != 1 || all[0].unfitOn(Platform()) != "" {
		t.Errorf("%v: %+v", err, all)
	}
}
