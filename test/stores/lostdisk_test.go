package stores

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// TestLostDisk kills the engine and the keeper and removes the disk while objects are created. It does so on every
// store without encryption, and on some stores also with encryption: without LETHE_LONG on three stores, otherwise on
// all stores except two. Interim states are written every second. The next machine reads the last interim state: the
// lineage is the same, the serial is higher, and the lock can be broken. A third machine finds the journal of the lost
// machine later: no object is in the state twice or is created again.
func TestLostDisk(t *testing.T) {
	t.Parallel()
	all := places(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := all[name]
		p.env = append(slices.Clip(p.env), "TF_STATE_PERSIST_INTERVAL=1")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lostDisk(t, p)
			if name == "gcs with a key" || name == "s3 with a table" || os.Getenv("LETHE_LONG") == "" && name != "http" && name != "pg" && name != "s3 with a lock object" {
				return
			}
			p.env = append(p.env, "TF_ENCRYPTION="+fmt.Sprintf(encryptionOn, "aes_gcm.m", "unencrypted.none"))
			t.Run("encrypted", func(t *testing.T) { lostDisk(t, p) })
		})
	}
}

// providersEnd waits until no process of the fleet runs. A provider whose engine was killed finishes its calls first, and
// they create objects.
func (f *fleet) providersEnd() {
	f.Helper()
	waittest.Until(f.T, "the providers have ended", func() bool {
		all, _ := filepath.Glob("/proc/[0-9]*/environ")
		return !slices.ContainsFunc(all, func(environ string) bool {
			text, _ := os.ReadFile(environ)
			return strings.Contains(string(text), "\x00PLAYGROUND_CLOUD="+f.real+"\x00")
		})
	})
}

// lostDisk runs TestLostDisk on the store of one place.
func lostDisk(t *testing.T, p place) {
	f := newFleet(t, p)
	u, v := f.machine(), f.machine()
	u.configure(many + p.backend)
	v.configure(many + p.backend)
	cmd := u.cmd("apply", "-auto-approve", "-parallelism=2") // the apply takes 8 seconds, so that it does not end before it is killed
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	check(t, cmd.Start())
	objects := func(d *directory) (known map[string]bool) {
		known = map[string]bool{}
		for _, o := range strings.Fields(d.run2("state", "list")) {
			if strings.HasPrefix(o, "playground_thing.a[") {
				known[o] = true
			}
		}
		return known
	}
	keeper := 0
	waittest.Until(t, "there is a keeper", func() bool {
		keeper = child(cmd.Process.Pid, "_keep")
		return keeper != 0
	})
	var before map[string]bool
	waittest.Until(t, "the store has an interim state", func() bool {
		before = objects(v)
		return len(before) > 0
	})
	if len(before) == 40 {
		t.Fatalf("there is no interim state: %d objects", len(before))
	}
	interim := v.stored()
	check(t, syscall.Kill(keeper, syscall.SIGKILL))
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, keeper)
	f.providersEnd()
	kept := filepath.Join(t.TempDir(), "kept")
	check(t, os.CopyFS(kept, os.DirFS(filepath.Join(u.dir, ".terraform"))))
	check(t, os.RemoveAll(u.dir))
	made, _ := filepath.Glob(filepath.Join(f.real, "*"))

	free(v)
	after := objects(v)
	for o := range before {
		if !after[o] {
			t.Errorf("%s was in the state, and is not any more", o)
		}
	}
	t.Logf("%d were made, %d of them are in the state", len(made), len(after))
	if s := v.stored(); s.Lineage != interim.Lineage || s.Serial < interim.Serial {
		t.Errorf("there is %+v, and there was %+v", s, interim)
	}

	// The journal is found: each created object is known, or its call is named.
	w := f.machine()
	w.configure(many + p.backend)
	check(t, os.CopyFS(filepath.Join(w.dir, "journal"), os.DirFS(kept)))
	journals, _ := filepath.Glob(filepath.Join(w.dir, "journal", "*journal*"))
	if len(journals) == 0 {
		t.Fatal("the lost machine had no journal")
	}
	for _, j := range journals {
		check(t, os.Rename(j, filepath.Join(w.dir, ".terraform", filepath.Base(j))))
	}
	plan := w.run2("plan", "-no-color")
	for _, file := range made {
		text, _ := os.ReadFile(file)
		m := regexp.MustCompile(`"n(\d+)"`).FindStringSubmatch(string(text))
		if m == nil {
			continue
		}
		switch o := "playground_thing.a[" + m[1] + "]"; {
		case strings.Contains(plan, o+": Refreshing state"):
		case strings.Contains(plan, "  "+o+":"):
			check(t, os.Remove(file)) // remove the file, as a user does who finds the journal
		default:
			t.Errorf("%s was made, and is neither known nor named:\n%s", o, plan)
		}
	}
	w.run(0, "apply", "-auto-approve", "-unknown=create")
	w.run(0, "plan", "-detailed-exitcode")
	if s, n := w.stored(), len(objects(w)); s.Lineage != interim.Lineage || s.Serial <= interim.Serial || n != 40 {
		t.Errorf("there is %+v with %d objects, and there was %+v", s, n, interim)
	}

	// The journal is found again after another machine has worked.
	for _, j := range journals {
		check(t, os.CopyFS(filepath.Join(v.dir, "again"), os.DirFS(kept)))
		check(t, os.Rename(filepath.Join(v.dir, "again", filepath.Base(j)), filepath.Join(v.dir, ".terraform", filepath.Base(j))))
	}
	v.run(0, "plan", "-detailed-exitcode")
	v.run(0, "apply", "-auto-approve")
	if n := len(objects(v)); n != 40 {
		t.Errorf("there are %d objects", n)
	}
	files, _ := filepath.Glob(filepath.Join(f.real, "*"))
	if len(files) != 40 {
		t.Errorf("%d objects exist", len(files))
	}
	v.run(0, "destroy", "-auto-approve")
}
