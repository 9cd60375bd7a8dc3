//go:build unix

package lethe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

const secretFileType = "lethe_secret_file"

// change plans a change of an object and applies the plan, unless the plan is an error, a replacement or no change.
// given has the arguments; nil destroys the object. change returns the object afterwards, and whether the plan replaces
// it. It checks both answers against the protocol, and checks that the new state does not contain the canary.
func (r *rig) change(prior cty.Value, given map[string]any) (after cty.Value, replace bool, ds provider.Diags) {
	r.t.Helper()
	s := r.schema(addr.Managed, secretFileType)
	config := s.Null()
	planned := s.Null()
	if given != nil {
		config = r.config(s, given)
		if ds := r.p.Validate(r.t.Context(), addr.Managed, secretFileType, r.encode(s, config)); ds.HasErrors() {
			return prior, false, ds
		}
		resp, ds := r.p.Plan(r.t.Context(), provider.PlanRequest{
			Type: secretFileType, Prior: r.encode(s, prior), Config: r.encode(s, config), Proposed: r.encode(s, s.Propose(prior, config)),
		})
		if ds.HasErrors() {
			return prior, false, ds
		}
		planned, replace = r.decode(s, resp.Planned), len(resp.Replace) > 0
		without := config.AsValueMap()
		without["content_wo"] = cty.NullVal(cty.String)
		if breaches := s.PlanBreaches(prior, cty.ObjectVal(without), planned); len(breaches) > 0 {
			r.t.Errorf("the plan contradicts the configuration: %v", breaches)
		}
		if !planned.GetAttr("content_wo").IsNull() {
			r.t.Error("the plan holds the write-only value")
		}
		if planned.RawEquals(prior) || replace {
			return prior, replace, nil
		}
	}
	resp, ds := r.p.Apply(r.t.Context(), provider.ApplyRequest{
		Type: secretFileType, Prior: r.encode(s, prior), Planned: r.encode(s, planned), Config: r.encode(s, config),
	})
	after = r.decode(s, resp.State)
	if breaches := s.ApplyBreaches(planned, after); len(breaches) > 0 && !ds.HasErrors() {
		r.t.Errorf("the object is not what was planned: %v", breaches)
	}
	if strings.Contains(string(resp.State.Msgpack), canary) {
		r.t.Error("the state holds the secret")
	}
	return after, false, ds
}

func (r *rig) refresh(v cty.Value) (cty.Value, provider.Diags) {
	r.t.Helper()
	s := r.schema(addr.Managed, secretFileType)
	resp, ds := r.p.Read(r.t.Context(), provider.ReadRequest{Type: secretFileType, State: r.encode(s, v)})
	return r.decode(s, resp.State), ds
}

// file returns the content and the mode of a file, or "" and "-" if it does not exist.
func (r *rig) file(name string) (content, mode string) {
	r.t.Helper()
	p := filepath.Join(r.dir, name)
	info, err := os.Lstat(p)
	if err != nil {
		return "", "-"
	}
	b, err := os.ReadFile(p)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b), modeOf(info)
}

func (r *rig) files() string {
	var names []string
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func (r *rig) wants(name, content, mode string) {
	r.t.Helper()
	if c, m := r.file(name); c != content || m != mode {
		r.t.Errorf("%s holds %q with mode %s, want %q with %s", name, c, m, content, mode)
	}
}

func TestSecretFile(t *testing.T) {
	r := newRig(t)
	null := r.schema(addr.Managed, secretFileType).Null()
	given := map[string]any{"path": "a/b/secret", "content_wo": canary + "-1", "content_wo_version": 1}
	must := func(prior cty.Value, given map[string]any) cty.Value {
		t.Helper()
		after, _, ds := r.change(prior, given)
		if ds != nil {
			t.Fatal(r.show(ds))
		}
		return after
	}
	v := must(null, given)
	r.wants("a/b/secret", canary+"-1", "0600")
	if dir, _ := os.Stat(filepath.Join(r.dir, "a")); disktest.Modes && dir.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %s", dir.Mode())
	}

	given["content_wo"] = canary + "-2"
	if again := must(v, given); !again.RawEquals(v) {
		t.Error("another content without another version is a change")
	}
	r.wants("a/b/secret", canary+"-1", "0600")

	given["content_wo_version"] = 2
	v = must(v, given)
	r.wants("a/b/secret", canary+"-2", "0600")

	given["path"] = "elsewhere"
	if _, replace, _ := r.change(v, given); !replace {
		t.Error("another path is no replacement")
	}
	gone := must(v, nil)
	if !gone.IsNull() {
		t.Errorf("after destroying: %#v", gone)
	}
	r.wants("a/b/secret", "", "-")
	if again := must(v, nil); !again.IsNull() { // the file was removed before this second destroy
		t.Errorf("after destroying twice: %#v", again)
	}
	if left, _ := filepath.Glob(filepath.Join(r.dir, "a/b", ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSecretFileDrift checks that changes of the file are found and corrected, without writing a content that has no
// new version.
func TestSecretFileDrift(t *testing.T) {
	r := newRig(t)
	given := map[string]any{"path": "s", "content_wo": canary + "-1", "content_wo_version": 1}
	v, _, _ := r.change(r.schema(addr.Managed, secretFileType).Null(), given)
	if same, ds := r.refresh(v); ds != nil || !same.RawEquals(v) {
		t.Errorf("there is drift without any: %s", r.show(ds))
	}

	if err := os.Chmod(filepath.Join(r.dir, "s"), 0o644); err != nil {
		t.Fatal(err)
	}
	open, ds := r.refresh(v)
	if ds != nil || open.GetAttr("mode").AsString() != "0644" {
		t.Errorf("mode: %#v %s", open, r.show(ds))
	}
	given["content_wo"] = canary + "-2"
	if v, _, ds = r.change(open, given); ds != nil {
		t.Error(r.show(ds))
	}
	r.wants("s", canary+"-1", "0600")

	r.write("s", canary+"-somebody", 0o600) // the provider never reads the content of the file, so it finds no change
	if same, ds := r.refresh(v); ds != nil || !same.RawEquals(v) {
		t.Errorf("content: %#v %s", same, r.show(ds))
	}

	if err := os.Remove(filepath.Join(r.dir, "s")); err != nil {
		t.Fatal(err)
	}
	if gone, ds := r.refresh(v); ds != nil || !gone.IsNull() {
		t.Errorf("gone: %#v %s", gone, r.show(ds))
	}

	if err := os.Mkdir(filepath.Join(r.dir, "s"), 0o700); err != nil {
		t.Fatal(err)
	}
	gone, ds := r.refresh(v)
	if !gone.IsNull() || !strings.Contains(r.show(ds), "warning path: Secret file replaced") {
		t.Errorf("directory: %#v %s", gone, r.show(ds))
	}
	if _, _, ds := r.change(v, nil); !strings.Contains(r.show(ds), "error path: Secret file not removed; The file could not be removed: it is not a regular file") {
		t.Errorf("destroying a directory: %s", r.show(ds))
	}
}

// Temporary files of a killed run contain a secret. The next run removes them.
func TestSecretFileLeftovers(t *testing.T) {
	r := newRig(t)
	left := func(name string) string {
		path := filepath.Join(r.dir, name)
		if err := os.WriteFile(path, []byte(canary), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	exists := func(path string) bool {
		_, err := os.Lstat(path)
		return err == nil
	}
	others := []string{left(".g.0123456789abcdef.tmp"), left(".f.0123.tmp"), left(".f.0123456789abcdeg.tmp"), left(".f.0123456789abcdef"), left("f.0123456789abcdef.tmp")}
	killed := left(".f.0123456789abcdef.tmp")
	made, _, ds := r.change(r.schema(addr.Managed, secretFileType).Null(), map[string]any{"path": "f", "content_wo": canary})
	if ds.HasErrors() || exists(killed) {
		t.Errorf("creating leaves it: %s", r.show(ds))
	}
	killed = left(".f.fedcba9876543210.tmp")
	if _, _, ds = r.change(made, nil); ds.HasErrors() || exists(killed) {
		t.Errorf("destroying leaves it: %s", r.show(ds))
	}
	for _, path := range others {
		if !exists(path) {
			t.Errorf("%s is gone", path)
		}
	}
}

func TestSecretFileFails(t *testing.T) {
	r := newRig(t)
	null := r.schema(addr.Managed, secretFileType).Null()
	r.write("mine", "other", 0o644)
	r.write("target", "other", 0o644)
	for name, to := range map[string]string{"link": "target", "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := r.files()
	for path, want := range map[string]string{
		"mine":     "error path: Secret file not written; The file could not be written: the file already exists. Import it, or remove it",
		"link":     "the file already exists",
		"dangling": "the file already exists",
		"":         "The path must not be empty",
		".":        "the file already exists",
		"mine/x":   "not a directory",
	} {
		after, _, ds := r.change(null, map[string]any{"path": path, "content_wo": canary, "content_wo_version": 1})
		if !strings.Contains(r.show(ds), want) || !after.IsNull() {
			t.Errorf("%q: %s, left %#v", path, r.show(ds), after)
		}
	}
	r.wants("mine", "other", "0644")
	r.wants("target", "other", "0644")
	if now := r.files(); now != before {
		t.Errorf("there was %s, there is %s", before, now)
	}
}

// TestSecretFileUpdateFails checks that the old object and the old content remain after a failed update.
func TestSecretFileUpdateFails(t *testing.T) {
	r := newRig(t)
	given := map[string]any{"path": "s", "content_wo": canary + "-1", "content_wo_version": 1}
	v, _, _ := r.change(r.schema(addr.Managed, secretFileType).Null(), given)
	p := filepath.Join(r.dir, "s")
	if err := os.Rename(p, p+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("s-away", p); err != nil {
		t.Fatal(err)
	}
	given["content_wo_version"] = 2
	after, _, ds := r.change(v, given)
	if !after.RawEquals(v) || !strings.Contains(r.show(ds), "it is not a regular file") {
		t.Errorf("%#v %s", after, r.show(ds))
	}
	r.wants("s-away", canary+"-1", "0600")
}

func TestSecretFileImport(t *testing.T) {
	r := newRig(t)
	s := r.schema(addr.Managed, secretFileType)
	r.write("s", canary, 0o640)
	resp, ds := r.p.Import(t.Context(), provider.ImportRequest{Type: secretFileType, ID: "s"})
	if ds != nil || len(resp.Objects) != 1 {
		t.Fatal(r.show(ds))
	}
	v := r.decode(s, resp.Objects[0].State)
	if v, ds = r.refresh(v); ds != nil || v.GetAttr("mode").AsString() != "0640" || !v.GetAttr("content_wo").IsNull() {
		t.Errorf("%#v %s", v, r.show(ds))
	}
	if _, _, ds := r.change(v, map[string]any{"path": "s", "content_wo": "new " + canary, "content_wo_version": 1}); ds != nil {
		t.Error(r.show(ds))
	}
	r.wants("s", "new "+canary, "0600")
	for id, want := range map[string]string{"nope": "there is no file", ".": "it is not a regular file"} {
		if _, ds := r.p.Import(t.Context(), provider.ImportRequest{Type: secretFileType, ID: id}); !strings.Contains(r.show(ds), want) {
			t.Errorf("%s: %s", id, r.show(ds))
		}
	}
}

// Of several objects with the same path, one gets the file, and the others fail.
func TestSecretFileIsExclusive(t *testing.T) {
	r := newRig(t)
	null := r.schema(addr.Managed, secretFileType).Null()
	var wg sync.WaitGroup
	var made atomic.Int32
	for n := range 8 {
		wg.Go(func() {
			_, _, ds := r.change(null, map[string]any{"path": "d/out", "content_wo": fmt.Sprint(canary, n), "content_wo_version": 1})
			if ds == nil {
				made.Add(1)
			} else if text := r.show(ds); !strings.Contains(text, "the file already exists") {
				t.Error(text)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 || r.files() != "d" {
		t.Errorf("%d objects were made, and these files are left: %s", made.Load(), r.files())
	}
	if entries, _ := os.ReadDir(filepath.Join(r.dir, "d")); len(entries) != 1 {
		t.Errorf("%d files", len(entries))
	}
}

// A new version belongs to the user who writes it, even if the old file belongs to another user.
func TestSecretFileBelongsToItsWriter(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	r := newRig(t)
	null := r.schema(addr.Managed, secretFileType).Null()
	o, _, ds := r.change(null, map[string]any{"path": "out", "content_wo": canary + "1", "content_wo_version": 1})
	if ds != nil {
		t.Fatal(r.show(ds))
	}
	at := filepath.Join(r.dir, "out")
	if err := os.Chown(at, 1000, 1000); err != nil {
		t.Fatal(err)
	}
	if _, _, ds := r.change(o, map[string]any{"path": "out", "content_wo": canary + "2", "content_wo_version": 2}); ds != nil {
		t.Fatal(r.show(ds))
	}
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 {
		t.Errorf("the new version belongs to user %d", owner)
	}
	r.wants("out", canary+"2", secretMode)
}
