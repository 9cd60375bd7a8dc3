package spec

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	peerVersion = "1.11.4"
	atOnce      = 3  // cases that run at the same time
	sample      = 50 // of how many cases one runs on the peer, unless LETHE_LONG is set
	sampleBombs = 3  // of how many bombs one runs, unless LETHE_LONG is set
)

// TestMain removes what was built.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range built {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var built []string

// binary is the program under test: SPEC_BIN, or a fresh build.
var binary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("SPEC_BIN"); bin != "" {
		return exec.LookPath(bin)
	}
	return build("..", "lethe", "./cmd/lethe")
})

// plugins is the folder of the playground providers, which are a module of their own.
var plugins = sync.OnceValues(func() (string, error) {
	bin, err := build("../test/providers", "", "./cmd/...")
	return filepath.Clean(bin), err
})

func build(module, name, pkg string) (string, error) {
	dir, err := os.MkdirTemp("", "lethe-spec-*")
	if err != nil {
		return "", err
	}
	built = append(built, dir)
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), pkg)
	cmd.Dir = filepath.FromSlash(module)
	if module != ".." {
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	}
	// What go build reads does not count when go test asks whether an earlier result still holds.
	for _, dir := range []string{"cmd", "internal", "framework", "sdkv2", "raw"} {
		_ = filepath.WalkDir(filepath.Join(cmd.Dir, dir), func(string, fs.DirEntry, error) error { return nil })
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return filepath.Join(dir, name), nil
}

// TestLanguage runs every case on the product; of the bombs only some, unless LETHE_LONG is set.
func TestLanguage(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var run []*kase
	for _, k := range load(t, "cases") {
		if !k.set.bomb || long() || drawn(k, sampleBombs) {
			run = append(run, k)
		}
	}
	each(t, run, &runner{bin: bin, product: true, patience: patience(t, bin)}, func(k *kase) string { return k.want })
}

// TestPeer runs the cases on Terraform: what the suite says the language means is what the peer says,
// except where a case gives the reason.
func TestPeer(t *testing.T) {
	bin := peer(t)
	var run []*kase
	for _, k := range load(t, "cases") {
		if k.runsOnPeer() && (long() || drawn(k, sample)) {
			run = append(run, k)
		}
	}
	each(t, run, &runner{bin: bin}, (*kase).expectedOfPeer)
}

// peer finds the binary that the expectations were made with.
func peer(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH to compare with")
	}
	cmd := exec.Command(bin, "version")
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	out, err := cmd.Output()
	if first, _, _ := strings.Cut(string(out), "\n"); err != nil || first != "Terraform v"+peerVersion {
		t.Skipf("the terraform on PATH is %q, and the expectations are those of %s", first, peerVersion)
	}
	return bin
}

func long() bool { return os.Getenv("LETHE_LONG") != "" }

// drawn takes a fixed part of the cases: one of so many.
func drawn(k *kase, of uint32) bool {
	h := fnv.New32a()
	h.Write([]byte(k.name))
	return h.Sum32()%of == 0
}

// each runs cases and compares.
func each(t *testing.T, all []*kase, r *runner, want func(*kase) string) {
	r.plugins = pluginsFor(t, all)
	slots := make(chan struct{}, atOnce)
	var bombs sync.Mutex // one at a time: they take memory
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			if k.set.providers && r.plugins == "" {
				t.Skip("the playground providers were not built")
			}
			t.Parallel()
			if k.set.bomb {
				bombs.Lock()
				defer bombs.Unlock()
			}
			slots <- struct{}{}
			defer func() { <-slots }()
			got := r.text(r.run(t, k), want(k))
			if recording(t, k, r, want(k), got) {
				return
			}
			if diff := cmp.Diff(want(k), got); diff != "" {
				t.Errorf("%s: case %s (-want +got):\n%s", k.file, k.short, diff)
			}
		})
	}
}

// pluginsFor builds the playground providers if a case wants them.
func pluginsFor(t *testing.T, all []*kase) string {
	for _, k := range all {
		if k.set.providers {
			dir, err := plugins()
			if err != nil {
				t.Logf("without the playground providers: %v", err)
			}
			return dir
		}
	}
	return ""
}

var writing sync.Mutex

// recording writes expectations instead of comparing, if SPEC_RECORD says so: "new" those that are
// missing, "all" also those that are no longer met. They are then to be read before they are believed.
func recording(t *testing.T, k *kase, r *runner, want, got string) bool {
	how := os.Getenv("SPEC_RECORD")
	if want == got || how != "all" && (how != "new" || want != "") {
		return false
	}
	name := k.short + "/want"
	if !r.product && k.set.differs != "" {
		name = k.short + "/peer"
	}
	writing.Lock()
	defer writing.Unlock()
	if err := record(k.file, map[string]string{name: got}); err != nil {
		t.Error(err)
	}
	t.Logf("recorded %s of %s", name, k.file)
	return true
}
