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
	atOnce      = 3  // number of cases that run at the same time
	sample      = 50 // one of so many cases runs on the peer, unless LETHE_LONG is set
	sampleBombs = 3  // one of so many bombs runs, unless LETHE_LONG is set
)

// TestMain removes the built programs.
func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range built {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

var built []string

// binary returns the path of the program under test: the program in SPEC_BIN, or a new build if SPEC_BIN is not set.
var binary = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("SPEC_BIN"); bin != "" {
		return exec.LookPath(bin)
	}
	return build("..", "lethe", "./cmd/lethe")
})

// plugins returns the folder of the playground providers, which are a separate module.
var plugins = sync.OnceValues(func() (string, error) {
	bin, err := build("../test/providers", "", "./cmd/...")
	if err != nil {
		return "", err
	}
	return filepath.Clean(bin), nil
})

// build builds the package pkg of a module and returns the path of the program name, or of its directory if name is "".
// The directory is new, except that the providers are built in the directory LETHE_TEST_PROVIDERS if that is set. There
// they remain for other tests.
func build(module, name, pkg string) (string, error) {
	dir := os.Getenv("LETHE_TEST_PROVIDERS")
	if dir == "" || module == ".." {
		var err error
		if dir, err = os.MkdirTemp("", "lethe-spec-*"); err != nil {
			return "", err
		}
		built = append(built, dir)
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, name), pkg)
	cmd.Dir = filepath.FromSlash(module)
	if module != ".." {
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	}
	// The walk opens the sources, so that go test repeats the test after a change of them. It does not see the files
	// that go build reads.
	for _, dir := range []string{"cmd", "internal", "framework", "sdkv2", "raw"} {
		_ = filepath.WalkDir(filepath.Join(cmd.Dir, dir), func(string, fs.DirEntry, error) error { return nil })
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return filepath.Join(dir, name), nil
}

// TestLanguage runs every case with Lethe. It runs only some bombs, unless LETHE_LONG is set.
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

// TestPeer runs the cases with Terraform. Its results equal the suite's, except if a case has a reason.
func TestPeer(t *testing.T) {
	if os.Getenv("LETHE_WIDE") == "" && !long() {
		t.Skip("it runs Terraform again and again: LETHE_WIDE=1 runs it")
	}
	bin := peer(t)
	var run []*kase
	for _, k := range load(t, "cases") {
		if k.runsOnPeer() && (long() || drawn(k, sample)) {
			run = append(run, k)
		}
	}
	each(t, run, &runner{bin: bin}, (*kase).expectedOfPeer)
}

// peer returns the path of the program that produced the expectations. It skips the test if PATH has no terraform, or
// one of another version.
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

// drawn reports whether a case belongs to a fixed sample. The sample contains about one case in every n, where n is the
// argument of.
func drawn(k *kase, of uint32) bool {
	h := fnv.New32a()
	h.Write([]byte(k.name))
	return h.Sum32()%of == 0
}

// each runs cases and compares the result of each with the result of want, or records it.
func each(t *testing.T, all []*kase, r *runner, want func(*kase) string) {
	r.plugins = pluginsFor(t, all)
	slots := make(chan struct{}, atOnce)
	var bombs sync.Mutex // bombs run one at a time, because they need memory
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

// pluginsFor builds the playground providers if a case needs them, and returns their directory. It returns "" if no
// case needs them or the build fails.
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

// recording writes an expectation and returns true, if SPEC_RECORD asks for that: "new" writes missing expectations,
// and "all" also replaces wrong ones. Otherwise, or if want and got are equal, it returns false. Read the new
// expectations before you accept them.
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
