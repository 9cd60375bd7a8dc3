package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
	"github.com/lethe-iac/lethe/internal/store/crypt"
)

// document is the state of a workspace as the command last read or wrote it. Only one goroutine may use a document.
type document struct {
	env      *Env
	req      *Request
	snapshot *state.Snapshot // nil before the first load
	version  store.Version
	part     []string               // the resources whose objects snapshot contains; nil means all
	stamps   map[string]store.Stamp // digests of configurations by resource, which are written with the state
}

// load reads the part of the state that the command needs into the document. After an error, it reports the error and
// returns false.
func (d *document) load(ctx context.Context) (ok bool) {
	d.snapshot, d.version, ok = d.read(ctx)
	return ok
}

// read reads the part of the state that the command needs, and does not change the document. If the state cannot be
// read, it reports an error and returns false.
func (d *document) read(ctx context.Context) (*state.Snapshot, store.Version, bool) {
	return read(ctx, d.env, *d.req, d.part)
}

// present returns the present state. If its version has not changed, it returns the snapshot in the document without
// reading the state. If the state cannot be read, it reports an error and returns false.
func (d *document) present(ctx context.Context) (*state.Snapshot, store.Version, bool) {
	if v := d.req.Store.Capabilities().Versioner; v != nil {
		if now, err := v.Version(ctx, d.req.Name); err == nil && now == d.version {
			return d.snapshot, d.version, true
		}
	}
	return d.read(ctx)
}

// put writes a state and the stamps to the store. It returns the new version, and does not change the document.
func (d *document) put(data []byte) (store.Version, error) {
	p := d.req.Store.Capabilities().Parts
	if p == nil || d.part == nil && len(d.stamps) == 0 {
		return d.req.Store.Put(context.Background(), d.req.Name, data, d.version)
	}
	return p.PutPart(context.Background(), d.req.Name, store.Part{Whole: d.part == nil, Resources: d.part, Data: data, Stamps: d.stamps}, d.version)
}

// copyApart copies the state to the file that the command writes, if it reads another file, and sets *written to the
// digest. The journal is beside the written file, so a command after a crash that reads that file must find the state
// that the journal continues.
func (d *document) copyApart(written *state.Digest) (err error) {
	f, data := d.req.Store.Capabilities().Files, d.snapshot.Source()
	if f == nil || !f.Apart(d.req.Name) || d.version == "" {
		return nil
	}
	if data == nil {
		data, err = d.snapshot.Bytes()
	}
	if err == nil {
		d.version, err = d.put(data)
	}
	*written = state.DigestOf(data)
	return err
}

// stamp writes stamps for an unchanged state. It ignores errors, because without stamps the next plan only has to read
// more.
func (d *document) stamp() {
	if p := d.req.Store.Capabilities().Parts; p != nil && len(d.stamps) > 0 && d.version != "" {
		if v, err := p.PutPart(context.Background(), d.req.Name, store.Part{Whole: true, Stamps: d.stamps}, d.version); err == nil {
			d.version = v
		}
	}
}

// Problem returns the diagnostic in an error of the encryption. For any other error, it returns its second argument.
func Problem(err error, otherwise diag.Diagnostic) diag.Diagnostic {
	if d, ok := crypt.Diagnostic(err); ok {
		return d
	}
	return otherwise
}

// sealing returns the encryption of a store for journals, or nil if the store encrypts nothing.
func sealing(st store.Store) journal.Sealing {
	if s := st.Capabilities().Sealer; s != nil {
		return s
	}
	return nil
}

// read reads the state of a workspace, or if part is not nil, only the resources in part. A missing state is read as an
// empty state with the version "". If the state cannot be read, read reports an error and returns false. The exception
// is an operation that may overwrite an unreadable state (Policy.Forces): then read saves the unreadable text in a
// file, and returns an empty state.
func read(ctx context.Context, env *Env, req Request, part []string) (*state.Snapshot, store.Version, bool) {
	started := env.Now()
	var data []byte
	var version store.Version
	var err error
	if p := req.Store.Capabilities().Parts; p != nil && part != nil {
		data, version, err = p.GetPart(ctx, req.Name, part)
	} else {
		data, version, err = req.Store.Get(ctx, req.Name)
	}
	env.log(started, err, "read of the state of workspace %q, %d bytes", req.Name, len(data))
	damaged := new(store.DamagedError)
	if errors.As(err, &damaged) && req.Operation.Policy().Forces {
		return &state.Snapshot{}, damaged.Version, giveUp(ctx, env, req, damaged.Data, sentence(err))
	}
	if err != nil {
		problem := diag.Errorf("Failed to load state", "Error refreshing state: %s", err)
		if errors.As(err, &damaged) {
			problem.Detail += "." + checkIt
		}
		env.Bag.Add(Problem(err, problem))
		return nil, "", false
	}
	if version == "" || req.Operation.Policy().Overwrites && len(data) == 0 {
		return &state.Snapshot{}, version, true
	}
	var bag diag.Bag
	s, ok := state.Read(data, &bag)
	if !ok && req.Operation.Policy().Forces {
		return &state.Snapshot{}, version, giveUp(ctx, env, req, data, bag.List()[0].Summary+".")
	}
	list := bag.List()
	if !ok {
		list[len(list)-1].Detail += checkIt
	}
	env.Bag.Add(list...)
	return s, version, ok
}

// checkIt is the end of messages about a state that cannot be read.
const checkIt = " To check the state and its backups, run: lethe state check"

// sentence returns an error of a store as a sentence.
func sentence(err error) string { return strings.TrimSuffix(store.Sentence(err), ".") + "." }

// giveUp writes the bytes of an unreadable state, which is about to be replaced, to a file, and warns the user. The
// parameter why is the reason in sentences. If the file cannot be written, giveUp adds an error and returns false. It
// writes no file if data is empty.
func giveUp(ctx context.Context, env *Env, req Request, data []byte, why string) bool {
	kept := "It could not be saved in a file."
	if len(data) > 0 {
		path := unreadable(env, req)
		if err := keep(ctx, env, req, path, data); err != nil {
			env.Bag.Add(diag.Errorf("Failed to put the state aside", "The stored state cannot be read: %s Lethe saves it in the file %s before replacing it, and this failed: %s. Nothing was changed.", why, relative(env, path), disk.Reason(err)))
			return false
		}
		kept = "It is saved as " + relative(env, path) + "."
	}
	env.Bag.Add(diag.Warningf("Unreadable state replaced", "The replaced state cannot be read: %s %s", why, kept))
	return true
}

// unreadable returns an unused file name beside the journal, for saving an unreadable state.
func unreadable(env *Env, req Request) string {
	path := filepath.Join(env.Data, req.Name)
	if f := req.Store.Capabilities().Files; f != nil {
		path = strings.TrimSuffix(journalFile(env, req.Store, req.Name), ".journal")
	}
	path += ".unreadable"
	for n, name := 1, path; ; n++ {
		if _, err := env.FS.Lstat(name); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d", path, n)
	}
}

// keep writes the text of a state to a file. If the store encrypts states, the file is encrypted, too.
func keep(ctx context.Context, env *Env, req Request, path string, data []byte) error {
	var err error
	if seal := sealing(req.Store); seal != nil && !crypt.Sealed(data) { // data may be encrypted bytes that could not be decrypted, which are not encrypted again
		data, err = seal.Seal(ctx, data)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err != nil {
		return err
	}
	return disk.Replace(env.FS, path, data)
}

// already returns a function for journal.RecoverRest, which returns how many records of a run's journal another command
// has replayed from the copy in the store.
func already(ctx context.Context, st store.Store, name string) journal.Already {
	return func(h journal.Header) (uint32, error) { return store.ReplayedRecords(ctx, st, name, h.Name()) }
}

// runs has the headers of the journals that were replayed from files.
type runs []journal.Header

func (r runs) same(h journal.Header) bool {
	return slices.ContainsFunc(r, func(x journal.Header) bool { return x.Run == h.Run && x.Time.Equal(h.Time) })
}
