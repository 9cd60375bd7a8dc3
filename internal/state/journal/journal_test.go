package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/disk/disktest"
	"github.com/lethe-iac/lethe/internal/state"
	"pgregory.net/rapid"
)

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func object(t fataler, a string) addr.Object {
	t.Helper()
	name, deposed, _ := strings.Cut(a, "#")
	i, err := addr.ParseInstance(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return addr.Object{Instance: i, Deposed: deposed}
}

var provider = addr.ProviderInstance{ProviderConfig: addr.ProviderConfig{Provider: addr.Default("x")}}

func entry(id string) *state.Entry {
	return &state.Entry{Attrs: []byte(fmt.Sprintf(`{"id":%q}`, id)), Provider: provider}
}

// read writes a snapshot and reads it again.
func read(t fataler, s *state.Snapshot) (*state.Snapshot, []byte) {
	t.Helper()
	data, err := s.Bytes()
	if err != nil {
		t.Fatalf("%v", err)
	}
	var bag diag.Bag
	out, ok := state.Read(data, &bag)
	if !ok {
		t.Fatalf("%v", bag.List())
	}
	return out, data
}

func snapshot(t fataler, objects ...string) *state.Snapshot {
	t.Helper()
	e := (*state.Snapshot)(nil).Edit()
	e.Head().Lineage, e.Head().Serial = "l", 4
	for _, o := range objects {
		e.Put(object(t, o), entry(o))
	}
	s, _ := read(t, e.Done())
	return s
}

// contents returns the attributes of the objects in a snapshot, by address.
func contents(s *state.Snapshot) map[string]string {
	out := map[string]string{}
	for o, e := range s.Objects() {
		out[o.String()] = string(bytes.ReplaceAll(bytes.Join(bytes.Fields(e.Attrs), nil), []byte(`":"`), []byte(`": "`)))
	}
	return out
}

func create(t fataler, path string, base *state.Snapshot, o Options) *Writer {
	t.Helper()
	w, err := Create(path, About(base, "new lineage", "run-1", "1.12.0"), o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if t, ok := t.(interface{ Cleanup(func()) }); ok {
		t.Cleanup(func() { w.Close() }) // Windows cannot remove a file that is open
	}
	return w
}

func TestReplayOfARun(t *testing.T) {
	base := snapshot(t, "a.keep", "a.gone", "a.replaced")
	path := Path(filepath.Join(t.TempDir(), "terraform.tfstate"))
	w := create(t, path, base, Options{})
	intent := func(o, action string) Op {
		op, err := w.Intent(Intent{Object: object(t, o), Action: action, Provider: provider, Known: map[string]string{"name": "n of " + o}})
		if err != nil {
			t.Fatal(err)
		}
		return op
	}
	result := func(op Op, changed ...Change) {
		if err := w.Result(op, changed...); err != nil {
			t.Fatal(err)
		}
	}
	result(0, Change{object(t, "a.replaced"), nil}, Change{object(t, "a.replaced#00000001"), entry("a.replaced")})
	result(intent("a.new", "create"), Change{object(t, "a.new"), entry("new")})
	result(intent("a.gone", "delete"), Change{object(t, "a.gone"), nil})
	result(intent("a.failed", "create"))
	intent("a.lost", "create")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := disktest.Private(path); err != nil {
		t.Error(err)
	}
	if _, err := Create(path, Header{}, Options{}); !errors.Is(err, ErrExists) {
		t.Errorf("a journal was overwritten: %v", err)
	}

	r, err := Recover(disk.OS, path, base, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a.keep": `{"id": "a.keep"}`, "a.new": `{"id": "new"}`, "a.replaced (deposed object 00000001)": `{"id": "a.replaced"}`}
	if got := contents(r.Snapshot); !maps.Equal(got, want) {
		t.Errorf("recovered: %v", got)
	}
	if len(r.Unknown) != 1 || r.Unknown[0].Object != object(t, "a.lost") || r.Unknown[0].Known["name"] != "n of a.lost" || r.Unknown[0].Run != "run-1" || r.Unknown[0].Provider != provider {
		t.Errorf("unknown: %v", r.Unknown)
	}
	if r.Damaged != 0 || r.Missing != 0 || r.Changes != 4 || r.Written || r.Header.Run != "run-1" {
		t.Errorf("%+v", r)
	}
	if s := r.Unknown[0].String(); !strings.Contains(s, `a.lost: the outcome of "create" is unknown: the run run-1 had no answer to it`) {
		t.Error(s)
	}

	// The recovery writes the state. The journal of the next run contains the calls that are still unknown.
	next, changed := state.Next(base, r.Snapshot, "1.12.0")
	if !changed || next.Serial != 5 || next.Lineage != "l" {
		t.Errorf("%v %+v", changed, next)
	}
	after, data := read(t, next)
	if err := r.Conclude(disk.OS, path, state.DigestOf(data)); err != nil {
		t.Fatal(err)
	}
	again, err := Recover(disk.OS, path, after, nil)
	if err != nil || !again.Written || again.Snapshot != after || len(again.Unknown) != 1 {
		t.Errorf("lost after writing: %+v, %v", again, err)
	}
	again, err = Recover(disk.OS, path, base, nil)
	if err != nil || again.Written || !maps.Equal(contents(again.Snapshot), want) {
		t.Errorf("lost before writing: %+v, %v", again, err)
	}
	if err := Remove(disk.OS, path); err != nil {
		t.Fatal(err)
	}

	w, err = Create(path, About(after, "", "run-2", "1.12.0"), Options{Carry: r.Notes})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = Recover(disk.OS, path, after, nil); err != nil || len(r.Unknown) != 1 || r.Unknown[0].Run != "run-1" {
		t.Errorf("carried: %+v, %v", r, err)
	}
	if err := w.Result(0, Change{object(t, "a.lost"), entry("imported")}); err != nil {
		t.Fatal(err)
	}
	if r, err = Recover(disk.OS, path, after, nil); err != nil || len(r.Unknown) != 0 {
		t.Errorf("settled: %+v, %v", r, err)
	}
	if err := errors.Join(w.Close(), Remove(disk.OS, path)); err != nil {
		t.Fatal(err)
	}
	if r, err = Recover(disk.OS, path, after, nil); err != nil || r != nil {
		t.Errorf("dropped: %+v, %v", r, err)
	}
}

func TestFirstState(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, nil, Options{})
	if err := w.Result(0, Change{object(t, "a.x"), entry("x")}); err != nil {
		t.Fatal(err)
	}
	r, err := Recover(disk.OS, path, nil, nil)
	if err != nil || r.Snapshot.Lineage != "new lineage" || r.Snapshot.Len() != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	next, _ := state.Next(nil, r.Snapshot, "1")
	if next.Serial != 1 || next.Lineage != "new lineage" {
		t.Errorf("%+v", next)
	}
}

func TestMismatch(t *testing.T) {
	dir := t.TempDir()
	base := snapshot(t, "a.x")
	path := filepath.Join(dir, "j")
	w := create(t, path, base, Options{})
	if err := w.Result(0, Change{object(t, "a.y"), entry("y")}); err != nil {
		t.Fatal(err)
	}
	edited := func(f func(*state.Edit)) *state.Snapshot {
		e := base.Edit()
		f(e)
		s, _ := read(t, e.Done())
		return s
	}
	for _, tt := range []struct {
		name string
		base *state.Snapshot
		want string
	}{
		{"no state", nil, "there is no state"},
		{"other lineage", edited(func(e *state.Edit) { e.Head().Lineage = "other" }), `has the lineage "l", and this state "other"`},
		{"moved on", edited(func(e *state.Edit) { e.Head().Serial = 9 }), "belongs to serial 4, and the state has serial 9"},
		{"edited by hand", edited(func(e *state.Edit) { e.Put(object(t, "a.x"), nil) }), "the same serial 4, but was changed"},
	} {
		_, err := Recover(disk.OS, path, tt.base, nil)
		var mismatch *MismatchError
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), tt.want) || mismatch.Header.Run != "run-1" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	first := filepath.Join(dir, "first")
	create(t, first, nil, Options{})
	if _, err := Recover(disk.OS, first, base, nil); err == nil || !strings.Contains(err.Error(), "there was no state when that run started") {
		t.Errorf("a state by now: %v", err)
	}
	for _, want := range []string{"j.aside-1", "j.aside-2"} {
		to, err := Aside(disk.OS, path)
		if err != nil || to != filepath.Join(dir, want) {
			t.Errorf("%s, %v", to, err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Recover(disk.OS, path, base, nil); r != nil || err != nil {
		t.Errorf("an empty journal: %v, %v", r, err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error("one that reads removed what another may be about to write")
	}
}

func TestNothingEphemeral(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, nil, Options{})
	o := object(t, "ephemeral.a.x")
	if _, err := w.Intent(Intent{Object: o}); err == nil {
		t.Error("an intent about an ephemeral resource was taken")
	}
	if err := w.Result(0, Change{o, entry("canary-7c1f")}); err == nil {
		t.Error("an ephemeral object was taken")
	}
	if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("canary-7c1f")) || bytes.Contains(data, []byte("ephemeral")) {
		t.Errorf("the journal holds %q", data)
	}
}

// run is a random run, with its journal and the expected result after each record.
type run struct {
	base    *state.Snapshot
	data    []byte
	ends    []int                    // the offset of the end of each record
	after   []map[addr.Object]string // the objects after each record
	unknown []map[addr.Object]bool   // the calls without outcome after each record
	touched []map[addr.Object]bool   // the objects that each record names
}

var names = []string{"a.x", "a.y", "b.z[0]", `module.m["k"].b.z`, "a.x#00000001"}

func drawRun(t *rapid.T) *run {
	g := &run{base: snapshot(t, "a.x", "b.z[0]")}
	fs := disktest.NewVolatile()
	w := create(t, "/w/j", g.base, Options{FS: fs})
	defer w.Close()
	model, unknown := map[addr.Object]string{}, map[addr.Object]bool{}
	for o, e := range g.base.Objects() {
		model[o] = string(bytes.Join(bytes.Fields(e.Attrs), nil))
	}
	note := func(about ...addr.Object) {
		data, err := fs.ReadFile("/w/j")
		if err != nil {
			t.Fatal(err)
		}
		g.data = data
		g.ends = append(g.ends, len(data))
		g.after = append(g.after, maps.Clone(model))
		g.unknown = append(g.unknown, maps.Clone(unknown))
		touched := map[addr.Object]bool{}
		for _, o := range about {
			touched[o] = true
		}
		g.touched = append(g.touched, touched)
	}
	note()
	open := map[Op]addr.Object{}
	for n := range rapid.IntRange(0, 12).Draw(t, "steps") {
		if len(open) == 0 || rapid.Bool().Draw(t, "intent") {
			o := object(t, rapid.SampledFrom(names).Draw(t, "object"))
			if slices.Contains(slices.Collect(maps.Values(open)), o) {
				continue
			}
			op, err := w.Intent(Intent{Object: o, Action: "update", Provider: provider})
			if err != nil {
				t.Fatal(err)
			}
			open[op] = o
			unknown[o] = true
			note(o)
			continue
		}
		op := slices.Min(slices.Collect(maps.Keys(open)))
		o := open[op]
		var changed []Change
		if rapid.IntRange(0, 3).Draw(t, "fails") > 0 {
			changed = append(changed, Change{o, nil})
			delete(model, o)
			if rapid.Bool().Draw(t, "there") {
				id := fmt.Sprintf("%d", n)
				changed[0].Entry = entry(id)
				model[o] = `{"id":"` + id + `"}`
			}
		}
		delete(open, op)
		delete(unknown, o)
		if err := w.Result(op, changed...); err != nil {
			t.Fatal(err)
		}
		note(o)
	}
	return g
}

// check compares a recovery with the expected result of the first n records.
func (g *run) check(t *rapid.T, r *Recovery, n int) {
	t.Helper()
	got := map[addr.Object]string{}
	for o, e := range r.Snapshot.Objects() {
		got[o] = string(bytes.Join(bytes.Fields(e.Attrs), nil))
	}
	if !maps.Equal(got, g.after[n-1]) {
		t.Fatalf("after %d records: %v, should be %v", n, got, g.after[n-1])
	}
	unknown := map[addr.Object]bool{}
	for _, u := range r.Unknown {
		unknown[u.Object] = true
	}
	if !maps.Equal(unknown, g.unknown[n-1]) {
		t.Fatalf("after %d records: unknown are %v, should be %v", n, unknown, g.unknown[n-1])
	}
}

// TestPrefixes checks that replaying any prefix of a journal applies exactly the records that are complete in it.
func TestPrefixes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawRun(t)
		cuts := []int{0, len(mark) - 1, len(g.data)}
		for _, end := range g.ends {
			cuts = append(cuts, end-1, end, min(end+1, len(g.data)), min(end+frameSize, len(g.data)))
		}
		for range 30 {
			cuts = append(cuts, rapid.IntRange(0, len(g.data)).Draw(t, "cut"))
		}
		for _, cut := range cuts {
			r, err := Replay(g.data[:cut], g.base, nil)
			whole, _ := slices.BinarySearch(g.ends, cut+1)
			if whole == 0 {
				if !errors.Is(err, ErrNothing) {
					t.Fatalf("%d bytes: %v", cut, err)
				}
				continue
			}
			if err != nil || r.Damaged != 0 || r.Missing != 0 {
				t.Fatalf("%d of %d bytes: %+v, %v", cut, len(g.data), r, err)
			}
			g.check(t, r, whole)
		}
	})
}

// TestDamage checks that a changed bit loses at most the record that contains it. The damage is reported, unless it is
// in the last record: the outcome of the call in that record is then unknown.
func TestDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawRun(t)
		at := rapid.IntRange(0, len(g.data)-1).Draw(t, "byte")
		data := bytes.Clone(g.data)
		data[at] ^= byte(1 << rapid.IntRange(0, 7).Draw(t, "bit"))
		hit, _ := slices.BinarySearch(g.ends, at+1)
		r, err := Replay(data, g.base, nil)
		if hit == 0 {
			var mismatch *MismatchError
			if !errors.Is(err, ErrNothing) && !errors.As(err, &mismatch) {
				t.Fatalf("with a damaged header: %+v, %v", r, err)
			}
			if errors.Is(err, ErrNothing) && len(g.ends) > 1 {
				t.Fatalf("with a damaged header the rest is nothing")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if hit == len(g.ends)-1 {
			g.check(t, r, hit)
			return
		}
		if r.Damaged == 0 || r.Missing != 1 {
			t.Fatalf("record %d of %d is damaged and nobody says so: %+v", hit, len(g.ends), r)
		}
		last := g.after[len(g.after)-1]
		for o, e := range r.Snapshot.Objects() {
			if got := string(bytes.Join(bytes.Fields(e.Attrs), nil)); got != last[o] && !g.touched[hit][o] {
				t.Fatalf("%s is %s, should be %s, and record %d is not about it", o, got, last[o], hit)
			}
		}
	})
}

// TestManyWriters checks that all acknowledged records of concurrent writers are in the journal.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	w := create(t, path, nil, Options{})
	const writers, each = 20, 10
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				o := object(t, fmt.Sprintf("a.w%d[%d]", i, n))
				op, err := w.Intent(Intent{Object: o, Action: "create", Provider: provider})
				if err == nil {
					err = w.Result(op, Change{o, entry(o.String())})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	r, err := Recover(disk.OS, path, nil, nil)
	if err != nil || r.Snapshot.Len() != writers*each || len(r.Unknown) != 0 || r.Missing != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestDiskFails checks that a writer accepts no record from any caller after a disk error.
func TestDiskFails(t *testing.T) {
	for at := 1; at < 30; at++ {
		path := filepath.Join(t.TempDir(), "j")
		faults := &disktest.Faults{FS: disk.OS, At: at, Err: syscall.EIO, Half: true}
		w, err := Create(path, About(nil, "l", "r", "1"), Options{FS: faults})
		if err != nil {
			if _, err := os.Stat(path); err == nil && !strings.HasPrefix(faults.Last(), "mkdir") {
				t.Errorf("call %d (%s) failed, and a journal is left", at, faults.Last())
			}
			continue
		}
		acknowledged := 0
		var wg sync.WaitGroup
		var mu sync.Mutex
		for i := range 8 {
			wg.Go(func() {
				err := w.Result(0, Change{object(t, fmt.Sprintf("a.w%d", i)), entry("x")})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					acknowledged++
				}
			})
		}
		wg.Wait()
		failed := w.Err() != nil
		if failed {
			if _, err := w.Intent(Intent{Object: object(t, "a.more"), Provider: provider}); err == nil {
				t.Errorf("call %d (%s) failed, and a call was let through after it", at, faults.Last())
			}
		} else if acknowledged != 8 {
			t.Errorf("%d acknowledged without an error", acknowledged)
		}
		w.Close()
		r, err := Recover(disk.OS, path, nil, nil)
		if err != nil || r.Snapshot.Len() < acknowledged {
			t.Fatalf("call %d (%s) failed: %d acknowledged, recovered %+v, %v", at, faults.Last(), acknowledged, r, err)
		}
	}
}

// TestPowerLoss checks that after a power failure all acknowledged changes are recovered, and that calls without an
// outcome are reported.
func TestPowerLoss(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := disktest.NewVolatile()
		choose := func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		w, err := Create("/w/j", About(nil, "l", "r", "1"), Options{FS: fs, Now: func() time.Time { return time.Time{} }})
		if err != nil {
			t.Fatal(err)
		}
		steps := rapid.IntRange(0, 6).Draw(t, "steps")
		for n := range steps {
			o := object(t, fmt.Sprintf("a.x[%d]", n))
			op, err := w.Intent(Intent{Object: o, Action: "create", Provider: provider})
			if err != nil {
				t.Fatal(err)
			}
			if n < steps-1 {
				if err := w.Result(op, Change{o, entry("x")}); err != nil {
					t.Fatal(err)
				}
			}
		}
		r, err := Recover(fs.Crash(choose), "/w/j", nil, nil)
		if err != nil || r == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		if done := max(0, steps-1); r.Snapshot.Len() != done || len(r.Unknown) != steps-done || r.Missing != 0 {
			t.Fatalf("%d steps: %d objects, unknown %v", steps, r.Snapshot.Len(), r.Unknown)
		}
	})
}

func TestNone(t *testing.T) {
	var j Journal = None{}
	op, err := j.Intent(Intent{})
	if err != nil {
		t.Error("the journal that keeps nothing fails")
	}
	j.Later(func(err error) {
		if err != nil {
			t.Error("the journal that keeps nothing fails")
		}
	}, op)
}

func FuzzReplay(f *testing.F) {
	base := snapshot(f, "a.x", "b.z[0]")
	path := filepath.Join(f.TempDir(), "j")
	w := create(f, path, base, Options{})
	for i, o := range names {
		op, err := w.Intent(Intent{Object: object(f, o), Action: "update", Provider: provider, Known: map[string]string{"name": "n"}})
		if err == nil && i%2 == 0 {
			err = w.Result(op, Change{object(f, o), entry(o)}, Change{object(f, "a.gone"), nil})
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := w.End(base.Digest()); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(append(bytes.Clone(data[:100]), data...))
	f.Add(mark)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		// A fuzzer does not find checksums. So the data is replayed unchanged, and also as the payloads of valid
		// records.
		replayed(t, data, base)
		var whole []byte
		for i, part := range bytes.Split(data, mark) {
			if len(part) > 0 {
				whole = appendRecord(whole, kind(part[0]), uint32(i), part[min(len(part), frameSize-len(mark)):])
			}
		}
		replayed(t, whole, base)
	})
}

func replayed(t *testing.T, data []byte, base *state.Snapshot) {
	r, err := Replay(data, base, nil)
	if (r == nil) == (err == nil) {
		t.Fatalf("%+v, %v", r, err)
	}
	if r == nil {
		return
	}
	if _, err := r.Snapshot.Bytes(); err != nil {
		t.Fatal(err)
	}
}

// TestLater checks that a record is on the disk before its callback runs, and that callbacks run in the order of the
// records.
func TestLater(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fs := disktest.NewVolatile()
		w := create(t, "/w/j", nil, Options{FS: fs})
		n := rapid.IntRange(1, 8).Draw(t, "records")
		crashed := make(chan *disktest.Volatile, n) // copies of the disk, one for each callback
		reported := make(chan int, n)
		for i := range n {
			o := object(t, fmt.Sprintf("a.x[%d]", i))
			op, err := w.Intent(Intent{Object: o, Action: "create", Provider: provider})
			if err != nil {
				t.Fatal(err)
			}
			if len(reported) != i {
				t.Fatalf("%d of %d were told before the intent that came after them", len(reported), i)
			}
			w.Later(func(err error) {
				if err != nil {
					t.Error(err)
				}
				crashed <- fs.Crash(func(string, int) int { return 0 })
				reported <- i
			}, op, Change{o, entry("x")})
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if at := <-reported; at != i {
				t.Fatalf("record %d was told of as number %d", at, i)
			}
			if r, err := Recover(<-crashed, "/w/j", nil, nil); err != nil || r.Snapshot.Len() < i+1 {
				t.Fatalf("record %d is not on the disk: %+v, %v", i, r, err)
			}
		}
		w.Later(func(err error) { reported <- 0; crashed <- nil }, 0)
		if len(reported) != 1 {
			t.Fatal("who comes after the end is told nothing")
		}
	})
}

func TestLaterFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	faults := &disktest.Faults{FS: disk.OS}
	w := create(t, path, nil, Options{FS: faults})
	faults.Err, faults.At = syscall.EIO, faults.Calls()+1
	reported := make(chan error, 2)
	w.Later(func(err error) { reported <- err }, 0, Change{object(t, "a.x"), entry("x")})
	if err := <-reported; !errors.Is(err, syscall.EIO) {
		t.Errorf("a record that could not be written: %v", err)
	}
	w.Later(func(err error) { reported <- err }, 0, Change{object(t, "a.y"), entry("y")})
	if err := <-reported; !errors.Is(err, syscall.EIO) {
		t.Errorf("a record after that: %v", err)
	}
	w.Later(func(err error) { reported <- err }, 0, Change{object(t, "ephemeral.a.x"), entry("canary-3f90")})
	if err := <-reported; err == nil {
		t.Error("an ephemeral object was taken")
	}
	w.Close()
	if data, _ := os.ReadFile(path); bytes.Contains(data, []byte("canary-3f90")) {
		t.Errorf("the journal holds %q", data)
	}
}

// gated is a disk whose flushes wait for the test.
type gated struct {
	disk.FS
	started, go_ chan struct{}
}

type gatedFile struct {
	disk.File
	g *gated
}

func (g *gated) OpenFile(name string, flag int, mode fs.FileMode) (disk.File, error) {
	f, err := g.FS.OpenFile(name, flag, mode)
	return &gatedFile{f, g}, err
}

func (f *gatedFile) DataSync() error {
	f.g.started <- struct{}{}
	<-f.g.go_
	return f.File.DataSync()
}

// TestOneWriteForMany checks that all records that arrive during a flush are written together after it.
func TestOneWriteForMany(t *testing.T) {
	const records = 50
	g := &gated{disktest.NewVolatile(), make(chan struct{}, 1), make(chan struct{}, 1)}
	g.go_ <- struct{}{} // permits the flush of the header
	w := create(t, "/w/j", nil, Options{FS: g})
	<-g.started
	var wg sync.WaitGroup
	later := func(i int) {
		wg.Add(1)
		w.Later(func(err error) {
			if err != nil {
				t.Error(err)
			}
			wg.Done()
		}, 0, Change{object(t, fmt.Sprintf("a.x[%d]", i)), entry("x")})
	}
	later(0)
	<-g.started // the disk is flushing the first record
	for i := range records {
		later(i + 1)
	}
	g.go_ <- struct{}{}
	<-g.started
	g.go_ <- struct{}{}
	wg.Wait()
	if len(g.started) > 0 {
		t.Errorf("%d records took more than one write", records)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWriterWaitsForMore checks that the writer waits for other records only while calls are open, and less often the
// more it waits in vain.
func TestWriterWaitsForMore(t *testing.T) {
	w := &Writer{signals: signals{idle: make(chan struct{}, 1)}, pace: pace{took: time.Hour}, pending: pending{batch: batch{awaited: true}}}
	timer := time.NewTimer(time.Hour)
	waits := func() bool {
		before := [2]int{w.vain, w.skip}
		w.batchWait(timer)
		return w.vain > before[0]
	}
	if waits() {
		t.Error("it waits though no call is under way")
	}
	w.open = 1
	var pattern []bool
	for range 11 {
		pattern = append(pattern, waits())
	}
	if got := fmt.Sprint(pattern); got != "[true false true false false false true false false false false]" {
		t.Errorf("when it waited in vain: %s", got)
	}
	w.skip = 0
	w.idle <- struct{}{}
	w.open = 0
	w.batch.done = make([]func(error), 1)
	if waits() {
		t.Error("it waits for calls that are over")
	}
	w.open, w.closed = 1, true
	if waits() {
		t.Error("it waits though it is to end")
	}
}

// TestResultWaits checks that a result that no caller waits for is written together with the next awaited record, or
// alone after a delay.
func TestResultWaits(t *testing.T) {
	w := &Writer{signals: signals{work: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}, lazy: time.Hour}
	w.urgent <- struct{}{} // as after the write of an awaited record
	timer := time.NewTimer(time.Hour)
	w.add(resultRecord, 0, nil, func(error) {})
	done := make(chan bool)
	go func() {
		w.batchWait(timer)
		close(done)
	}()
	select {
	case <-done:
		t.Error("the result did not wait")
	case <-time.After(5 * time.Millisecond):
	}
	w.addAwaited(intentRecord, nil, func(error) {})
	<-done
	if len(w.batch.done) != 2 {
		t.Errorf("%d records are written together", len(w.batch.done))
	}
	w = &Writer{lazy: time.Millisecond}
	w.batchWait(timer)
	w = &Writer{lazy: time.Hour, pending: pending{closed: true}}
	w.batchWait(timer)
}

// TestWithoutDirectorySync checks that a file system that cannot synchronise directories can hold a journal.
func TestWithoutDirectorySync(t *testing.T) {
	fsys := &disktest.Lacking{FS: disk.OS, NoSync: syscall.EINVAL}
	path := filepath.Join(t.TempDir(), "j")
	for _, done := range []bool{false, true} {
		w := create(t, path, nil, Options{FS: fsys, Replace: done})
		if err := errors.Join(w.Result(0, Change{object(t, "a.x"), entry("1")}), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if to, err := Aside(fsys, path); err != nil || Remove(fsys, to) != nil {
		t.Error(err)
	}
}
