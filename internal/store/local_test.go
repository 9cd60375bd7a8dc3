//go:build unix

package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/zclconf/go-cty/cty"
)

func wantFile(t *testing.T, path string, n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if n == 0 {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %q, %v", filepath.Base(path), data, err)
		}
		return
	}
	if err != nil || !bytes.Equal(data, stateText(n)) {
		t.Errorf("%s is %q (%v), not state %d", filepath.Base(path), data, err, n)
	}
}

func TestLocalPaths(t *testing.T) {
	d := filepath.FromSlash
	for _, tt := range []struct {
		options   LocalOptions
		workspace string
		file, bak string
	}{
		{LocalOptions{}, Default, "/w/terraform.tfstate", "/w/terraform.tfstate.backup"},
		{LocalOptions{}, "a", "/w/terraform.tfstate.d/a/terraform.tfstate", "/w/terraform.tfstate.d/a/terraform.tfstate.backup"},
		{LocalOptions{Path: "s/x.tfstate"}, Default, "/w/s/x.tfstate", "/w/s/x.tfstate.backup"},
		{LocalOptions{Path: "/abs/x", WorkspaceDir: "/ws"}, "a", "/ws/a/terraform.tfstate", "/ws/a/terraform.tfstate.backup"},
		{LocalOptions{In: "in"}, "a", "/w/in", "/w/in.backup"},
		{LocalOptions{In: "in", Out: "out"}, Default, "/w/out", "/w/out.backup"},
		{LocalOptions{In: "in", Out: "out", Backup: "b"}, Default, "/w/out", "/w/b"},
		{LocalOptions{Backup: NoBackup}, Default, "/w/terraform.tfstate", ""},
	} {
		tt.options.Dir = "/w"
		l := NewLocal(tt.options)
		if got, bak := l.File(tt.workspace), l.BackupFile(tt.workspace); got != d(tt.file) || bak != d(tt.bak) {
			t.Errorf("%+v: %s, %s", tt.options, got, bak)
		}
	}
}

func TestLocalDriver(t *testing.T) {
	driver, ok := Drivers{LocalDriver}.Find("local")
	if !ok || driver.Schema.Attr("path") == nil || driver.Schema.Attr("workspace_dir") == nil {
		t.Fatal("the driver is not whole")
	}
	dir := t.TempDir()
	st, err := driver.Open(ctx, Settings{Dir: dir, Config: cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("x.tfstate"), "workspace_dir": cty.NullVal(cty.String)})})
	if err != nil || st.Capabilities().Files.File(Default) != filepath.Join(dir, "x.tfstate") {
		t.Errorf("opened %v, %v", st, err)
	}
	if st, err = driver.Open(ctx, Settings{Dir: dir, Config: cty.NullVal(driver.Schema.Type())}); err != nil || st.Capabilities().Files.File(Default) != filepath.Join(dir, "terraform.tfstate") {
		t.Errorf("opened without settings: %v, %v", st, err)
	}
	if _, ok := (Drivers{LocalDriver}).Find("s3"); ok {
		t.Error("found what is not there")
	}
}

// TestModes checks that files have mode 0600 with any umask, and after a write to a file with another mode.
func TestModes(t *testing.T) {
	for _, umask := range []int{0, 0o22, 0o77, 0o277} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "terraform.tfstate")
			if err := os.WriteFile(path, stateText(1), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			defer syscall.Umask(syscall.Umask(umask))
			l := NewLocal(LocalOptions{Dir: dir})
			unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
			if err != nil {
				t.Fatal(err)
			}
			put(t, l, Default, 2)
			dump, err := EmergencyDump(disk.OS, stateText(3), dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []string{path, path + ".backup", filepath.Join(dir, ".terraform.tfstate.lock.info"), dump} {
				info, err := os.Stat(p)
				if err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v %v", filepath.Base(p), info, err)
				}
			}
			if err := unlock(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	dir := t.TempDir()
	defer syscall.Umask(syscall.Umask(0))
	put(t, NewLocal(LocalOptions{Dir: dir}), "w", 1)
	if info, err := os.Stat(filepath.Join(dir, "terraform.tfstate.d", "w")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the workspace's directory: %v %v", info, err)
	}
}

func TestSymlinkStays(t *testing.T) {
	dir := t.TempDir()
	link, real := filepath.Join(dir, "terraform.tfstate"), filepath.Join(dir, "elsewhere", "real.tfstate")
	if err := os.Symlink(filepath.Join("elsewhere", "real.tfstate"), link); err != nil {
		t.Fatal(err)
	}
	l := NewLocal(LocalOptions{Dir: dir})
	for n := 1; n < 3; n++ {
		unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
		if err != nil {
			t.Fatal(err)
		}
		put(t, l, Default, n)
		wantFile(t, real, n)
		if to, err := os.Readlink(link); err != nil || to != filepath.Join("elsewhere", "real.tfstate") {
			t.Fatalf("the link leads to %q, %v", to, err)
		}
		if err := unlock(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wantFile(t, link+".backup", 0) // no state existed before this run, so no backup was made
	put(t, NewLocal(LocalOptions{Dir: dir}), Default, 3)
	wantFile(t, link+".backup", 2)
	if err := os.Symlink(link+"2", link+"2"); err != nil {
		t.Fatal(err)
	}
	if _, err := NewLocal(LocalOptions{Dir: dir, Path: "terraform.tfstate2"}).Put(ctx, Default, stateText(1), ""); err == nil {
		t.Error("a link to itself was followed")
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	l := NewLocal(LocalOptions{Dir: dir})
	put(t, l, Default, 1)
	wantFile(t, at("terraform.tfstate.backup"), 0)
	put(t, l, Default, 2)
	wantFile(t, at("terraform.tfstate.backup"), 0) // a run backs up only the state from before the run, and none existed

	l = NewLocal(LocalOptions{Dir: dir})
	put(t, l, Default, 3)
	put(t, l, Default, 4)
	wantFile(t, at("terraform.tfstate.backup"), 2)

	put(t, l.Override("", "", at("mine")), Default, 5)
	wantFile(t, at("mine"), 4)
	put(t, l.Override("", "", NoBackup), Default, 6)
	wantFile(t, at("terraform.tfstate.backup"), 2)
}

func TestStateOut(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("in"), stateText(1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("out"), stateText(7), 0o600); err != nil {
		t.Fatal(err)
	}
	l := NewLocal(LocalOptions{Dir: dir}).Override("in", "out", "")
	unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
	if err != nil {
		t.Fatal(err)
	}
	data, v, err := l.Get(ctx, Default)
	if err != nil || !bytes.Equal(data, stateText(1)) {
		t.Fatalf("%q, %v", data, err)
	}
	apart := func(l Store) bool { return l.Capabilities().Files.Apart(Default) }
	if !apart(l) || apart(l.Capabilities().Files.Override("", "./in", "")) || apart(NewLocal(LocalOptions{Dir: dir})) {
		t.Error("another file is written")
	}
	if v, err = l.Put(ctx, Default, stateText(2), v); err != nil {
		t.Fatal(err)
	}
	if apart(l) {
		t.Error("after a write, another file is read")
	}
	if _, err = l.Put(ctx, Default, stateText(3), v); err != nil {
		t.Fatal(err)
	}
	wantFile(t, at("in"), 1)
	wantFile(t, at("out"), 3)
	wantFile(t, at("out.backup"), 7)
	if err := unlock(ctx); err != nil {
		t.Error(err)
	}
}

// TestKilledHolder checks that a process that dies while it holds the lock leaves an empty state and lock information
// that blocks no other run.
func TestKilledHolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "terraform.tfstate")
	dead := NewLocal(LocalOptions{Dir: dir})
	who := NewLockInfo("OperationTypeApply", "1")
	if _, err := dead.Lock(ctx, Default, who); err != nil {
		t.Fatal(err)
	}
	dead.held[Default].file.Close() // the kernel closes the files of a dead process

	l := NewLocal(LocalOptions{Dir: dir})
	if data, v, err := l.Get(ctx, Default); data != nil || v != "" || err != nil {
		t.Fatalf("%q, %q, %v", data, v, err)
	}
	if err := l.Break(ctx, Default, who.ID); err != nil {
		t.Errorf("breaking the lock of the dead: %v", err)
	}
	unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, Default, 1)
	if err := unlock(ctx); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, 1)
	wantFile(t, path+".backup", 0)
}

// TestOldFileIsRetired: a Terraform process that waits for the lock has the state open. It must not use the contents of
// that file after the file has been replaced.
func TestOldFileIsRetired(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "terraform.tfstate")
	l := NewLocal(LocalOptions{Dir: dir})
	for _, tt := range []struct {
		name string
		put  bool
	}{{"after an unlock without a state", false}, {"after a first state", true}, {"after another state", true}} {
		unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
		if err != nil {
			t.Fatal(err)
		}
		waiter, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if tt.put {
			put(t, l, Default, 1)
		}
		if err := unlock(ctx); err != nil {
			t.Fatal(err)
		}
		if err := lockFile(osFile{waiter}, exclusive); err != nil {
			t.Errorf("%s: the waiter does not get its lock: %v", tt.name, err)
		}
		data := make([]byte, 4096)
		n, _ := waiter.ReadAt(data, 0)
		if !bytes.Equal(data[:n], retired) {
			t.Errorf("%s the waiter reads %q", tt.name, data[:n])
		}
		waiter.Close()
	}
	hard := filepath.Join(dir, "hard link")
	if err := os.Link(path, hard); err != nil {
		t.Fatal(err)
	}
	unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, l, Default, 2)
	if err := unlock(ctx); err != nil {
		t.Fatal(err)
	}
	wantFile(t, hard, 1) // a file with a second name (hard link) is replaced, not written
}

type osFile struct{ *os.File }

func (f osFile) DataSync() error { return f.Sync() }

// TestUnwritable checks that Put returns an error and stores nothing if it lacks permission, also without a lock.
func TestUnwritable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	l := NewLocal(LocalOptions{Dir: dir})
	put(t, l, Default, 1)
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	_, v, _ := l.Get(ctx, Default)
	if _, err := l.Put(ctx, Default, stateText(2), v); err == nil {
		t.Error("nothing was said")
	}
	wantFile(t, filepath.Join(dir, "terraform.tfstate"), 1)
}

func TestNotAFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "terraform.tfstate"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := NewLocal(LocalOptions{Dir: dir})
	if _, _, err := l.Get(ctx, Default); err == nil {
		t.Error("a directory was read")
	}
	if _, err := l.Lock(ctx, Default, NewLockInfo("test", "1")); err == nil {
		t.Error("a directory was locked")
	}
	if _, err := l.Put(ctx, Default, stateText(1), ""); err == nil {
		t.Error("a directory was written")
	}
	if _, err := l.Put(ctx, "w", nil, ""); err == nil {
		t.Error("an empty state was written")
	}
}

// TestFaults fails each call to the file system in turn, with the process killed or not. The state must be the old one
// or the new one, and after a success it must be the new one.
func TestFaults(t *testing.T) {
	for _, locked := range []bool{false, true} {
		for _, dead := range []bool{false, true} {
			for _, before := range []int{0, 1} {
				name := fmt.Sprintf("locked %v, killed %v, state before %d", locked, dead, before)
				t.Run(name, func(t *testing.T) {
					for at := 1; ; at++ {
						faults := &disktest.Faults{FS: disk.OS, At: at, Err: syscall.ENOSPC, Dead: dead, Half: at%2 == 0}
						oneFault(t, faults, locked, before)
						if faults.Calls() < at {
							t.Logf("%d calls", faults.Calls())
							break
						}
					}
				})
			}
		}
	}
}

func oneFault(t *testing.T, faults *disktest.Faults, locked bool, before int) {
	dir := t.TempDir()
	path := filepath.Join(dir, "terraform.tfstate")
	if before > 0 {
		put(t, NewLocal(LocalOptions{Dir: dir}), Default, before)
	}
	l := NewLocal(LocalOptions{Dir: dir, FS: faults})
	stored := attempt(l, locked)
	after := NewLocal(LocalOptions{Dir: dir})
	data, _, err := after.Get(ctx, Default)
	old := before == 0 && data == nil || before > 0 && bytes.Equal(data, stateText(before))
	if isNew := bytes.Equal(data, stateText(2)); err != nil || !old && !isNew || stored && !isNew {
		t.Fatalf("call %d (%s) failed: stored %v, there is %q, %v", faults.At, faults.Last(), stored, data, err)
	}
	if bak, err := os.ReadFile(path + ".backup"); err == nil && !bytes.Equal(bak, stateText(before)) {
		t.Fatalf("call %d (%s) failed: the backup is %q", faults.At, faults.Last(), bak)
	}
	if faults.Dead {
		if h := l.held[Default]; h != nil {
			h.file.Close()
		}
	} else if left, _ := filepath.Glob(filepath.Join(dir, ".*.tmp")); len(left) > 0 && !strings.HasPrefix(faults.Last(), "remove") {
		t.Fatalf("call %d (%s) failed: %v is left over", faults.At, faults.Last(), left)
	}
	unlock, err := after.Lock(ctx, Default, NewLockInfo("next", "1"))
	if err != nil {
		t.Fatalf("call %d (%s) failed: the next one gets no lock: %v", faults.At, faults.Last(), err)
	}
	put(t, after, Default, 9)
	if err := unlock(ctx); err != nil {
		t.Fatal(err)
	}
}

// attempt stores state 2 and reports whether Put succeeded.
func attempt(l *Local, locked bool) bool {
	if locked {
		unlock, err := l.Lock(ctx, Default, NewLockInfo("test", "1"))
		if err != nil {
			return false
		}
		defer unlock(ctx)
	}
	_, v, err := l.Get(ctx, Default)
	if err != nil {
		return false
	}
	_, err = l.Put(ctx, Default, stateText(2), v)
	return err == nil
}

func TestEmergencyDump(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "new", "dir")
	for i, want := range []string{"errored.tfstate", "errored.tfstate.1", "errored.tfstate.2"} {
		path, err := EmergencyDump(disk.OS, stateText(i+1), dir, other)
		if err != nil || path != filepath.Join(dir, want) {
			t.Fatalf("%s, %v", path, err)
		}
	}
	wantFile(t, filepath.Join(dir, "errored.tfstate"), 1)
	wantFile(t, filepath.Join(dir, "errored.tfstate.2"), 3)

	full := &disktest.Faults{FS: disk.OS, At: 2, Err: syscall.ENOSPC, Half: true}
	empty := t.TempDir()
	path, err := EmergencyDump(full, stateText(5), empty, other)
	if err != nil || path != filepath.Join(other, "errored.tfstate") {
		t.Fatalf("%s, %v", path, err)
	}
	wantFile(t, path, 5)
	if left, _ := os.ReadDir(empty); len(left) > 0 {
		t.Errorf("%v is left over", left)
	}
	broken := &disktest.Faults{FS: disk.OS, At: 1, Err: syscall.EIO, Dead: true}
	if path, err := EmergencyDump(broken, []byte("canary"), empty, other); err == nil || path != "" || strings.Contains(err.Error(), "canary") {
		t.Errorf("%s, %v", path, err)
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"HOME": "/home/u", "TMPDIR": "/t"}, "[. /home/u/.local/state/lethe /t]"},
		{map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "/s"}, "[. /s/lethe /tmp]"},
		{map[string]string{"HOME": "/home/u", "XDG_STATE_HOME": "relative"}, "[. /home/u/.local/state/lethe /tmp]"},
		{map[string]string{"HOME": "relative"}, "[. /tmp]"},
	} {
		if got := EmergencyDirs(".", func(k string) string { return c.env[k] }); fmt.Sprint(got) != c.want {
			t.Error(c.env, got)
		}
	}
}

func TestLockInfo(t *testing.T) {
	const wrote = `{"ID":"d3731f55-7e65-e622-d0d4-74e761ba53f4","Operation":"OperationTypeApply","Info":"","Who":"u@host","Version":"1.11.4","Created":"2026-11-20T12:25:22.530824751Z","Path":"terraform.tfstate"}`
	i, err := ParseLockInfo([]byte(wrote))
	if err != nil || string(i.Marshal()) != wrote {
		t.Fatalf("%s, %v", i.Marshal(), err)
	}
	e := &LockError{Held: &i, Err: syscall.EAGAIN}
	const shown = `Error message: resource temporarily unavailable
Lock Info:
  ID:        d3731f55-7e65-e622-d0d4-74e761ba53f4
  Path:      terraform.tfstate
  Operation: OperationTypeApply
  Who:       u@host
  Version:   1.11.4
  Created:   2026-11-20 12:25:22.530824751 +0000 UTC
  Info:      


Lethe locks the state so that only one process writes it at a time. Resolve the issue above, or wait with -lock-timeout=5m. If the holder no longer exists, run force-unlock with the ID. The option -lock=false skips locking, which is not recommended.`
	if d := LockDiagnostic(e, "Lethe"); d.Summary != "Error acquiring the state lock" || d.Detail != shown {
		t.Errorf("%s\n%s", d.Summary, d.Detail)
	}
	if _, err := ParseLockInfo([]byte("{")); err == nil {
		t.Error("half a lock info was read")
	}
}

// TestUnlockedWhileAnotherHasTheFile checks that a lock is released even if a child process has inherited the file. A
// starting child process has all open files until its program runs.
func TestUnlockedWhileAnotherHasTheFile(t *testing.T) {
	l := NewLocal(LocalOptions{Dir: t.TempDir()})
	put(t, l, Default, 1)
	unlock, err := l.Lock(ctx, Default, NewLockInfo("test", ""))
	if err != nil {
		t.Fatal(err)
	}
	forked, err := syscall.Dup(int(l.held[Default].file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(forked)
	if err := unlock(ctx); err != nil {
		t.Fatal(err)
	}
	unlock, err = l.Lock(ctx, Default, NewLockInfo("test", ""))
	if err != nil {
		t.Fatal(err)
	}
	if err := unlock(ctx); err != nil {
		t.Error(err)
	}
}

// TestSharedLock: several commands that read hold the lock at once, a command that writes holds it alone, and the last
// holder removes the file that was made only to be locked.
func TestSharedLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "terraform.tfstate")
	lock := func(shared bool) (func(context.Context) error, error) {
		who := NewLockInfo("test", "1")
		who.Shared = shared
		return NewLocal(LocalOptions{Dir: dir}).Lock(ctx, Default, who)
	}
	release := func(unlock func(context.Context) error) {
		t.Helper()
		if err := unlock(ctx); err != nil {
			t.Error(err)
		}
	}
	for _, stored := range []bool{false, true} {
		if stored {
			put(t, NewLocal(LocalOptions{Dir: dir}), Default, 1)
		}
		first, err1 := lock(true)
		second, err2 := lock(true)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		for _, unlock := range []func(context.Context) error{first, second} {
			var held *LockError
			if _, err := lock(false); !errors.As(err, &held) {
				t.Errorf("stored %t: a shared lock does not exclude an exclusive one: %v", stored, err)
			}
			release(unlock)
		}
		if _, err := os.Stat(path); (err == nil) != stored {
			t.Errorf("stored %t: %v", stored, err)
		}
		alone, err := lock(false)
		if err != nil {
			t.Fatal(err)
		}
		var held *LockError
		if _, err := lock(true); !errors.As(err, &held) {
			t.Errorf("stored %t: an exclusive lock does not exclude a shared one: %v", stored, err)
		}
		release(alone)
	}
}
