package journal

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
)

// TestResume checks that another process can continue the journal of a crashed run, with a torn end and with
// encryption. It knows which calls are open, and its records are replayed like the others.
func TestResume(t *testing.T) {
	for name, seal := range map[string]Sealing{"clear": nil, "sealed": plainSeal{}} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "j")
			var key []byte
			recorded := map[Op]bool{}
			w := create(t, path, nil, Options{Seal: seal, Opened: func(_ string, k []byte) { key = k }, Recorded: func(op Op) { recorded[op] = true }})
			if !Held(disk.OS, path) {
				t.Error("the journal is not held while it is written")
			}
			intend := func(a string) Op {
				op, err := w.Intent(Intent{Object: object(t, a), Action: "create"})
				if err != nil {
					t.Fatal(err)
				}
				return op
			}
			record := func(w *Writer, op Op, a string) {
				if err := w.Result(op, Change{object(t, a), entry("1")}); err != nil {
					t.Fatal(err)
				}
			}
			made, lost := intend("a.made"), intend("a.lost")
			lease, err := w.Opening(object(t, "ephemeral.a.x"), addr.Default("vault"))
			if err != nil {
				t.Fatal(err)
			}
			record(w, made, "a.made")
			if !recorded[made] || recorded[lost] {
				t.Errorf("recorded were %v", recorded)
			}
			f, err := Share(disk.OS, path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.file.Write(mark); err != nil { // writes the beginning of a record, as a crash during a write does
				t.Fatal(err)
			}
			w.file.Close()
			if !Held(disk.OS, path) {
				t.Error("the journal is not held by the process that outlives the run")
			}
			r, err := Resume(f, key)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Open) != 2 || r.Open[lost].Lease || !r.Open[lease].Lease || r.Open[lease].Provider != addr.Default("vault") || r.Header.Run == "" {
				t.Errorf("open are %v", r.Open)
			}
			record(r.Writer, lost, "a.lost")
			r.Closed(lease)
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			if Held(disk.OS, path) {
				t.Error("the journal is still held")
			}
			got, err := Recover(disk.OS, path, nil, seal)
			if err != nil {
				t.Fatal(err)
			}
			if got.Snapshot.Len() != 2 || len(got.Unknown)+len(got.Leases)+got.Missing != 0 {
				t.Errorf("%d objects, unknown %v, leases %v, %d records missing", got.Snapshot.Len(), got.Unknown, got.Leases, got.Missing)
			}
		})
	}
}

// plainSeal encrypts journals, but not their keys.
type plainSeal struct{}

func (plainSeal) Encrypts() bool { return true }

func (plainSeal) Seal(_ context.Context, plain []byte) ([]byte, error) { return plain, nil }

func (plainSeal) Open(_ context.Context, data []byte) ([]byte, error) { return data, nil }

func (plainSeal) AcceptsPlain() error { return errors.New("not encrypted") }
