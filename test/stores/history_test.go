package stores

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// TestHistoryOfVersions lists, compares, draws and restores the earlier versions of a state in a bucket, and checks the
// message about a bucket without versions.
func TestHistoryOfVersions(t *testing.T) {
	s3 := func(versions bool) string {
		backend := s3mem.New()
		check(t, backend.CreateBucket("states"))
		if versions {
			check(t, backend.SetVersioningConfiguration("states", gofakes3.VersioningConfiguration{Status: gofakes3.VersioningEnabled}))
		}
		server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
		t.Cleanup(server.Close)
		return server.URL
	}
	google := httptest.NewServer(&gcs{objects: map[string]*gcsObject{}, former: map[string][]*gcsObject{}})
	t.Cleanup(google.Close)
	for name, p := range map[string]place{
		"s3":      s3Place(s3(true), "a", ""),
		"gcs":     {"terraform {\n  backend \"gcs\" {\n    bucket = \"states\"\n    prefix = \"a\"\n  }\n}\n", []string{"GOOGLE_OAUTH_ACCESS_TOKEN=canary-4711", "GOOGLE_BACKEND_STORAGE_CUSTOM_ENDPOINT=" + google.URL + "/storage/v1/"}},
		"azurerm": {"terraform {\n  backend \"azurerm\" {\n    storage_account_name = \"acct\"\n    container_name = \"states\"\n    key = \"a\"\n  }\n}\n", serveAzure(t, &azure{blobs: map[string]*azureBlob{}, former: map[string][]azureVersion{}})},
	} {
		t.Run(name, func(t *testing.T) { historyOfVersions(t, p) })
	}

	ours, err := lethe()
	check(t, err)
	p := s3Place(s3(false), "plain", "")
	u := newDirectory(t, ours, p)
	u.configure(later + p.backend)
	u.run(0, "apply", "-auto-approve")
	if out := u.run(1, "state", "history"); !strings.Contains(out, "keeps no earlier versions of the state") {
		t.Errorf("without versions: %s", out)
	}
}

func historyOfVersions(t *testing.T, p place) {
	ours, err := lethe()
	check(t, err)
	u := newDirectory(t, ours, place{p.backend, append(p.env, "TF_VAR_password="+canary)})
	u.configure(storing + p.backend)
	u.run(0, "apply", "-auto-approve")
	u.run(0, "apply", "-auto-approve", "-var=note=more")
	u.configure(later + p.backend)
	u.run(0, "apply", "-auto-approve")

	out := u.run(0, "state", "history")
	for _, want := range []string{"3  ", "(now)", "2  ", "1  ", "0  "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out = u.run(0, "state", "history", "-json"); strings.Count(out, `"serial"`) != 3 || strings.Count(out, `"time"`) != 2 {
		t.Errorf("history -json: %s", out)
	}
	u.run(0, "state", "history", "-html=history.html")
	page, err := os.ReadFile(filepath.Join(u.dir, "history.html"))
	check(t, err)
	if text := string(page); !strings.Contains(text, "Serial 3 (now), at an unknown time, unknown writer: 0 added") || !strings.Contains(text, "changed output <code>dsn</code>") || strings.Contains(text, canary) || strings.Index(text, `id="s2"`) > strings.Index(text, `id="s1"`) {
		t.Errorf("page:\n%s", text)
	}
	if out = u.run(0, "state", "diff", "2"); !strings.Contains(out, "Serial 2 to 3") {
		t.Errorf("diff: %s", out)
	}
	if out = u.run(0, "state", "restore", "-auto-approve", "2"); !strings.Contains(out, "It has the serial 4 now") {
		t.Errorf("restore: %s", out)
	}
	if out = u.run(1, "state", "diff", "9"); !strings.Contains(out, "No state with that serial") {
		t.Errorf("diff of an unknown serial: %s", out)
	}
}
