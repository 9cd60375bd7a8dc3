// Package install measures installations from a registry on a simulated slow network: each round trip takes latency,
// and the bandwidth may be limited.
package install

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/pem"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/registry/registrytest"
)

// latency is the time of a round trip to the distant registry.
const latency = 50 * time.Millisecond

// lethe returns the path of the program: the program in LETHE_BIN if that is set, and otherwise a build, which it makes
// once.
var lethe = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv("LETHE_BIN"); bin != "" {
		return bin, nil
	}
	dir, err := os.MkdirTemp("", "install")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "lethe"), "./cmd/lethe")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(dir, "lethe"), nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := lethe(); err == nil && os.Getenv("LETHE_BIN") == "" {
		os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// world is a distant registry with packages of providers, and the programs of its users.
type world struct {
	*testing.T
	*registrytest.Server
	lethe     string
	terraform string // the path of Terraform; "" if it is not installed
	dir       string // the directory of the configuration
	n         int    // number of packages in the registry
}

// newWorld makes a registry with n packages of size bytes each. Its connections carry at most rate bytes a second (0:
// no limit).
func newWorld(t *testing.T, n, size, rate int) *world {
	t.Helper()
	w := &world{T: t, n: n, dir: t.TempDir()}
	var err error
	if w.lethe, err = lethe(); err != nil {
		t.Fatal(err)
	}
	w.terraform, _ = exec.LookPath("terraform")
	w.Server = registrytest.NewOn(t, func(l net.Listener) net.Listener { return network{l, latency, rate} })
	config := "terraform {\n  required_providers {\n"
	for i := range n {
		name := fmt.Sprintf("p%02d", i)
		w.Provider(t, "acme/"+name, "1.0.0", map[string][]byte{runtime.GOOS + "_" + runtime.GOARCH: pack(t, name, size)})
		config += fmt.Sprintf("    %s = {\n      source  = \"%s/acme/%s\"\n      version = \"1.0.0\"\n    }\n", name, w.Host, name)
	}
	write(t, filepath.Join(w.dir, "main.tf"), config+"  }\n}\n")
	return w
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pack returns a zip file with the program of a provider. The program has size bytes, which cannot be compressed.
func pack(t *testing.T, name string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Grow(size + 4096)
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.NoCompression) })
	h := &zip.FileHeader{Name: "terraform-provider-" + name + "_v1.0.0", Method: zip.Deflate}
	h.SetMode(0o755)
	f, err := w.CreateHeader(h)
	if err == nil {
		var seed [32]byte
		copy(seed[:], name)
		_, err = io.CopyN(f, rand.NewChaCha8(seed), int64(size))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// user is a user with directories of configurations and a home directory, which is empty at first.
type user struct {
	*world
	home string
}

func (w *world) user() *user { return &user{w, w.TempDir()} }

// cost is the time and the memory that a command used.
type cost struct {
	wall, cpu time.Duration
	memory    int64 // peak of the memory in bytes
}

func (c cost) String() string {
	return fmt.Sprintf("%.2f s, %.3f s of CPU, %d MB", c.wall.Seconds(), c.cpu.Seconds(), c.memory>>20)
}

// directory returns another directory with the same configuration.
func (u *user) directory() string {
	u.Helper()
	dir := u.TempDir()
	if err := os.CopyFS(dir, os.DirFS(u.dir)); err != nil {
		u.Fatal(err)
	}
	return dir
}

// run runs a command in a directory and returns its cost. The command must succeed.
func (u *user) run(dir, program string, args ...string) cost {
	u.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "TF_") && !strings.HasPrefix(e, "XDG_") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+u.home, "SSL_CERT_FILE="+u.CA, "CHECKPOINT_DISABLE=1", "TF_REGISTRY_CLIENT_TIMEOUT=60")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	began := time.Now()
	err := cmd.Start()
	if err != nil {
		u.Fatal(err)
	}
	ended := make(chan bool)
	memory := make(chan int64)
	go watch(cmd.Process.Pid, ended, memory)
	err = cmd.Wait()
	wall := time.Since(began)
	close(ended)
	if err != nil {
		u.Fatalf("%s %v: %v\n%s", filepath.Base(program), args, err, &out)
	}
	c := cost{wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), <-memory}
	u.Logf("%s %s: %s", filepath.Base(program), strings.Join(args, " "), c)
	return c
}

// watch samples the peak memory of a process until ended is closed, and then sends it in bytes. It does not use the
// usage that the system reports afterwards, because that includes the memory of the process that started the other.
func watch(pid int, ended chan bool, memory chan int64) {
	peak := int64(0)
	for {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if _, after, ok := strings.Cut(string(text), "VmHWM:"); ok {
			var kb int64
			fmt.Sscan(after, &kb)
			peak = max(peak, kb<<10)
		}
		select {
		case <-ended:
			memory <- peak
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// certificate returns the certificate of a server in PEM.
func certificate(s *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
}
