package stores

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/storetest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
	"github.com/zclconf/go-cty/cty"
)

// startGateway builds versitygw, which checks signatures and stores objects as files, and runs it until the end of the
// test. It returns the URL, and the directory of the files, which has a directory for each bucket.
func startGateway(t *testing.T) (url, files string) {
	dir := t.TempDir()
	build := exec.Command("go", "install", "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	build.Dir, build.Env = dir, append(os.Environ(), "GOBIN="+dir, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the server: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	at := l.Addr().String()
	check(t, l.Close())
	files = filepath.Join(dir, "files")
	check(t, os.Mkdir(files, 0o700))
	running, stop := context.WithCancel(ctx)
	server := exec.CommandContext(running, filepath.Join(dir, "versitygw"), "--port", at, "--access", "user", "--secret", "canary-4711", "--region", "us-east-1", "posix", files)
	check(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	waittest.Until(t, "the gateway listens", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return "http://" + at, files
}

// TestS3Gateway runs the contract of stores on a service that checks signatures.
func TestS3Gateway(t *testing.T) {
	t.Parallel()
	url, files := startGateway(t)
	n := 0
	storetest.Run(t, func(t *testing.T) func() store.Store {
		n++
		bucket := fmt.Sprintf("bucket-%d", n)
		check(t, os.Mkdir(filepath.Join(files, bucket), 0o700))
		return s3Opener(t, s3Settings(url, map[string]cty.Value{"use_lockfile": cty.True, "bucket": cty.StringVal(bucket)}))
	})
}

// TestS3GatewayJournal checks that the service keeps journals, and that the next run recovers them, including records
// that a keeper uploads.
func TestS3GatewayJournal(t *testing.T) {
	t.Parallel()
	url, files := startGateway(t)
	check(t, os.Mkdir(filepath.Join(files, "states"), 0o700))
	left := func() (n int) {
		check(t, filepath.WalkDir(filepath.Join(files, "states"), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(path, ".journal"+string(filepath.Separator)) {
				n++
			}
			return err
		}))
		return n
	}
	f := newFleet(t, s3Place(url, "net/a", journalOn))
	u := f.machine()
	cmd, keeper := f.making(u, "1500ms")
	loseWith(u, cmd, keeper)
	if left() < 2 {
		t.Errorf("there are %d objects of a journal", left())
	}
	next := f.machine()
	free(next)
	wants(t, next.run(0, "apply", "-auto-approve"), "Recovered an interrupted run", "2 changes were recovered", "1 added, 1 changed, 0 destroyed")
	if left() != 0 {
		t.Errorf("%d objects of journals are left", left())
	}
}
