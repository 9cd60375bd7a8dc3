package install

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// TestInterrupted checks that an interrupt during a download reports the downloads in progress and leaves no partial
// file. The next process removes the files that a killed process has left.
func TestInterrupted(t *testing.T) {
	w := newWorld(t, 1, 4<<20, 2<<20)
	u := w.user()
	dir := u.directory()
	begin := func() (*exec.Cmd, *bytes.Buffer) {
		w.Requests()
		cmd, out := exec.Command(w.lethe, "init"), &bytes.Buffer{}
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
		cmd.Env = []string{"HOME=" + u.home, "SSL_CERT_FILE=" + u.CA, "PATH=" + os.Getenv("PATH")}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the package is requested", func() bool { return strings.Contains(strings.Join(w.Requests(), ""), ".zip") })
		time.Sleep(800 * time.Millisecond) // wait until a part of the package has arrived, which only the program can observe
		return cmd, out
	}
	cmd, out := begin()
	_ = cmd.Process.Signal(syscall.SIGINT)
	began := time.Now()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || time.Since(began) > 5*time.Second {
		t.Errorf("it ended with %d after %s", code, time.Since(began))
	}
	for _, want := range []string{"Interrupt received.", "/acme/p00 1.0.0 (downloading, ", "Error: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if n := strings.Count(out.String(), "Error: "); n > 2 {
		t.Errorf("%d errors in\n%s", n, out)
	}
	t.Logf("%s", out)
	half := func() (files []string) {
		for _, d := range []string{dir, u.home} {
			_ = filepath.WalkDir(d, func(path string, e fs.DirEntry, _ error) error {
				if e != nil && !e.IsDir() && filepath.Ext(path) != ".lock" && filepath.Base(path) != "main.tf" {
					files = append(files, path)
				}
				return nil
			})
		}
		return files
	}
	if left := half(); left != nil {
		t.Errorf("%q are left", left)
	}
	cmd, _ = begin()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if half() == nil {
		t.Log("nothing was there to be left")
	}
	u.run(dir, w.lethe, "init")
	left, err := filepath.Glob(filepath.Join(u.home, ".cache/lethe/packages/.*"))
	if err != nil || left != nil {
		t.Errorf("%v, %q are left", err, left)
	}
}
