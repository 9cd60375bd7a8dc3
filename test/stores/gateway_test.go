package stores

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/state/store"
	"github.com/lethe-iac/lethe/internal/state/store/storetest"
	"github.com/zclconf/go-cty/cty"
)

// TestS3Gateway runs the contract of stores on versitygw, which checks signatures and keeps objects as files.
func TestS3Gateway(t *testing.T) {
	if os.Getenv("LETHE_LONG") == "" {
		t.Skip("to build the server takes minutes: LETHE_LONG=1 does it")
	}
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
	files := filepath.Join(dir, "files")
	check(t, os.Mkdir(files, 0o700))
	running, stop := context.WithCancel(ctx)
	server := exec.CommandContext(running, filepath.Join(dir, "versitygw"), "--port", at, "--access", "user", "--secret", "canary-4711", "--region", "us-east-1", "posix", files)
	check(t, server.Start())
	t.Cleanup(func() {
		stop()
		_ = server.Wait()
	})
	for range 200 {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	n := 0
	storetest.Run(t, func(t *testing.T) func() store.Store {
		n++
		bucket := fmt.Sprintf("bucket-%d", n)
		check(t, os.Mkdir(filepath.Join(files, bucket), 0o700))
		return s3Opener(t, s3Settings("http://"+at, map[string]cty.Value{"use_lockfile": cty.True, "bucket": cty.StringVal(bucket)}))
	})
}
