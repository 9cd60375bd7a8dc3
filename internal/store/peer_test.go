package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// terraform returns a directory with a configuration, and a function that runs Terraform in it. It skips the test if
// Terraform is not installed.
func terraform(t *testing.T, config string) (dir string, run func(args ...string) *exec.Cmd) {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("Terraform is not on the PATH, so there is nobody to share a lock with")
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run = func(args ...string) *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE=/dev/null", "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1", "TF_INPUT=0")
		return cmd
	}
	if out, err := run("init", "-no-color").CombinedOutput(); err != nil {
		t.Fatalf("terraform init: %v\n%s", err, out)
	}
	return dir, run
}

func TestTerraformHoldsTheLock(t *testing.T) {
	dir, run := terraform(t, `resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "touch started; while ! test -e go; do sleep 0.05; done" }
}`)
	apply := run("apply", "-auto-approve", "-no-color")
	var out bytes.Buffer
	apply.Stdout, apply.Stderr = &out, &out
	if err := apply.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, filepath.Join(dir, "started"))
	l := store.NewLocal(store.LocalOptions{Dir: dir})
	_, err := l.Lock(context.Background(), store.Default, store.NewLockInfo("test", "1"))
	var held *store.LockError
	if !errors.As(err, &held) || held.Held == nil || held.Held.Operation != "OperationTypeApply" {
		t.Errorf("while Terraform applies: %v", err)
	}
	if held != nil && held.Held != nil {
		if err := l.Break(context.Background(), store.Default, held.Held.ID); err == nil {
			t.Error("the lock of a running Terraform was broken")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Acquire(context.Background(), l, store.Default, store.NewLockInfo("test", "1"), time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := l.Get(context.Background(), store.Default); err != nil || !bytes.Contains(data, []byte("terraform_data")) {
		t.Errorf("after Terraform: %q, %v", data, err)
	}
	if err := unlock(context.Background()); err != nil {
		t.Error(err)
	}
	if err := apply.Wait(); err != nil {
		t.Errorf("terraform apply: %v\n%s", err, out.String())
	}
}

func waitFor(t *testing.T, path string) {
	t.Helper()
	waittest.Until(t, filepath.Base(path)+" exists", func() bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

// waitForOpen returns when a process has the state open, and so is about to wait for its lock.
func waitForOpen(t *testing.T, pid int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		time.Sleep(5 * time.Second) // there is no /proc that shows the files of a process
		return
	}
	waittest.Until(t, "Terraform has opened the state", func() bool {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		return slices.ContainsFunc(fds, func(fd string) bool {
			to, err := os.Readlink(fd)
			return err == nil && filepath.Base(to) == "terraform.tfstate"
		})
	})
	time.Sleep(100 * time.Millisecond) // the attempt to lock the open file cannot be observed
}

func TestTerraformFindsOurLock(t *testing.T) {
	dir, run := terraform(t, `resource "terraform_data" "a" {}`)
	l := store.NewLocal(store.LocalOptions{Dir: dir})
	for _, exists := range []bool{false, true} {
		if exists {
			if out, err := run("apply", "-auto-approve", "-no-color").CombinedOutput(); err != nil {
				t.Fatalf("terraform apply: %v\n%s", err, out)
			}
		}
		who := store.NewLockInfo("OperationTypeApply", "1.12.0")
		unlock, err := l.Lock(context.Background(), store.Default, who)
		if err != nil {
			t.Fatal(err)
		}
		out, err := run("plan", "-no-color").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "Error acquiring the state lock") || !strings.Contains(string(out), who.ID) {
			t.Errorf("with a state: %v: terraform plan under our lock: %v\n%s", exists, err, out)
		}
		if err := unlock(context.Background()); err != nil {
			t.Error(err)
		}
		if out, err := run("plan", "-no-color").CombinedOutput(); err != nil {
			t.Errorf("terraform plan after our lock: %v\n%s", err, out)
		}
	}
}

// TestTerraformWaitsForUs: Terraform opens the state once and waits for the lock on the open file. Lethe replaces the
// file meanwhile. Terraform must not work on the old file and store its result where no command reads it.
func TestTerraformWaitsForUs(t *testing.T) {
	dir, run := terraform(t, `resource "terraform_data" "a" { input = "new" }`)
	for _, first := range []bool{true, false} {
		l := store.NewLocal(store.LocalOptions{Dir: dir})
		unlock, err := l.Lock(context.Background(), store.Default, store.NewLockInfo("test", "1"))
		if err != nil {
			t.Fatal(err)
		}
		apply := run("apply", "-auto-approve", "-no-color", "-lock-timeout=60s")
		var out bytes.Buffer
		apply.Stdout, apply.Stderr = &out, &out
		if err := apply.Start(); err != nil {
			t.Fatal(err)
		}
		waitForOpen(t, apply.Process.Pid)
		_, v, err := l.Get(context.Background(), store.Default)
		if err != nil {
			t.Fatal(err)
		}
		ours := []byte(`{"version":4,"terraform_version":"1.12.0","serial":40,"lineage":"ours","outputs":{"ours":{"value":1,"type":"number"}},"resources":[]}`)
		if _, err := l.Put(context.Background(), store.Default, ours, v); err != nil {
			t.Fatal(err)
		}
		if err := unlock(context.Background()); err != nil {
			t.Fatal(err)
		}
		err = apply.Wait()
		data, _, getErr := l.Get(context.Background(), store.Default)
		if getErr != nil {
			t.Fatal(getErr)
		}
		stored := bytes.Contains(data, []byte(`"new"`)) && bytes.Contains(data, []byte(`"ours"`))
		untouched := bytes.Equal(data, ours)
		t.Logf("first state: %v: terraform said %v", first, err)
		if err == nil && !stored || err != nil && !untouched {
			t.Errorf("first state: %v: terraform apply: %v, and the state is\n%s\n%s", first, err, data, out.String())
		}
	}
}
