package store

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
)

var ctx = context.Background()

func stateText(n int) []byte {
	return []byte(fmt.Sprintf(`{"version":4,"serial":%d,"lineage":"l","outputs":{},"resources":[]}`, n))
}

func put(t *testing.T, l Store, workspace string, n int) {
	t.Helper()
	_, v, err := l.Get(ctx, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Put(ctx, workspace, stateText(n), v); err != nil {
		t.Fatal(err)
	}
}

// folding is a file system that ignores the case of the names of workspaces, when a name is looked up.
type folding struct{ disk.FS }

func (f folding) Lstat(name string) (fs.FileInfo, error) {
	return f.FS.Lstat(filepath.Join(filepath.Dir(name), strings.ToLower(filepath.Base(name))))
}

// TestNamesOfOneDirectory checks that no name of a workspace leads to the state of another workspace on a file system
// that ignores the case of names.
func TestNamesOfOneDirectory(t *testing.T) {
	ctx := context.Background()
	l := NewLocal(LocalOptions{Dir: t.TempDir(), FS: folding{disk.OS}})
	data := []byte(`{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}`)
	if _, err := l.Put(ctx, "prod", data, ""); err != nil {
		t.Fatal(err)
	}
	if got, _, err := l.Get(ctx, "prod"); err != nil || string(got) != string(data) {
		t.Errorf("%s, %v", got, err)
	}
	for what, do := range map[string]func() error{
		"get":     func() error { _, _, err := l.Get(ctx, "Prod"); return err },
		"put":     func() error { _, err := l.Put(ctx, "Prod", data, ""); return err },
		"lock":    func() error { _, err := l.Lock(ctx, "PROD", LockInfo{}); return err },
		"delete":  func() error { return l.Delete(ctx, "PROD") },
		"history": func() error { _, err := l.History(ctx, "PROD"); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), `takes it for the workspace "prod"`) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := l.Get(ctx, "staging"); err != nil {
		t.Error(err)
	}
}

// TestDeleteNoWorkspace checks that Delete removes no directory that has other files and no state. Such a directory is
// listed as a workspace if workspace_dir names a directory for other purposes.
func TestDeleteNoWorkspace(t *testing.T) {
	dir := t.TempDir()
	l := NewLocal(LocalOptions{Dir: dir, WorkspaceDir: "."})
	file := filepath.Join(dir, "modules", "main.tf")
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := l.Lock(ctx, "modules", NewLockInfo("test", "1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(ctx, "modules"); err == nil || !strings.Contains(err.Error(), "main.tf") {
		t.Errorf("%v", err)
	}
	if err := unlock(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	put(t, l, "modules", 1) // with a state, the directory is a workspace
	if err := l.Delete(ctx, "modules"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(file)); err == nil {
		t.Error("the workspace stays")
	}
}

// listings counts the directories that are listed.
type listings struct {
	disk.FS
	n int
}

func (l *listings) ReadDir(name string) ([]fs.DirEntry, error) {
	l.n++
	return l.FS.ReadDir(name)
}

// TestNamesAreListedOnce checks that reading the state of a workspace lists the workspaces only once.
func TestNamesAreListedOnce(t *testing.T) {
	files := &listings{FS: disk.OS}
	l := NewLocal(LocalOptions{Dir: t.TempDir(), FS: files})
	put(t, l, "w", 1)
	files.n = 0
	for range 3 {
		if _, _, err := l.Get(ctx, "w"); err != nil {
			t.Fatal(err)
		}
	}
	if files.n != 1 {
		t.Errorf("%d listings", files.n)
	}
}

// noLockInfo is a file system in which no file about the holder of a lock can be created.
type noLockInfo struct{ disk.FS }

func (n noLockInfo) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	if strings.Contains(name, "lock.info") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return n.FS.OpenFile(name, flag, mode)
}

// TestLockInfoNamed checks that the error for an unwritable lock info names the file, and not a temporary file.
func TestLockInfoNamed(t *testing.T) {
	_, err := NewLocal(LocalOptions{Dir: t.TempDir(), FS: noLockInfo{disk.OS}}).Lock(ctx, Default, NewLockInfo("test", "1"))
	if err == nil || !strings.Contains(err.Error(), ".terraform.tfstate.lock.info cannot be written: permission denied") || strings.Contains(err.Error(), ".tmp") {
		t.Error(err)
	}
}
