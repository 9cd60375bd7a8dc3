package journal

import (
	"errors"
	"io"
	"os"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/disk"
)

// Share opens the journal of another running process, so that the caller can Resume the journal when that process has
// ended. While the file is open, Held returns true for the journal. It returns an error if the file cannot be opened.
func Share(fsys disk.FS, path string) (disk.File, error) {
	f, err := fsys.OpenFile(path, os.O_RDWR|os.O_APPEND, 0)
	if err == nil {
		_ = disk.Share(f)
	}
	return f, err
}

// Held reports whether a process uses the journal at path: the run that began the journal, or the keeper of that run,
// which outlives a crash. It returns false if the journal cannot be opened, or if the system has no file locks.
func Held(fsys disk.FS, path string) bool {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return disk.Held(f)
}

// Resumed is the journal of an interrupted run while another process, such as the keeper, continues it.
type Resumed struct {
	*Writer
	Header Header
	Open   map[Op]Open // the calls and leases of the run that have no recorded outcome
}

// Open is a call or a lease that has no recorded outcome. Lease distinguishes the two.
type Open struct {
	Provider addr.Provider
	Lease    bool
}

var errKey = errors.New("the key does not belong to the journal")

// Resume continues the journal of an interrupted run, in the file f that Share has opened. key encrypts the records; it
// is nil if they are not encrypted. If the journal has no undamaged record, the error is ErrNothing. If only one of the
// two is encrypted, the journal or the caller's records, Resume returns an error, too.
func Resume(f disk.File, key []byte) (*Resumed, error) {
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	list, _ := records(data)
	if len(list) == 0 {
		return nil, ErrNothing
	}
	if list[0].kind == keyRecord != (key != nil) {
		return nil, errKey
	}
	if key != nil {
		list, _ = decrypted(list, key)
	}
	r := &Resumed{Writer: newWriter("", Options{}), Open: map[Op]Open{}}
	r.file, r.key, r.number = f, aead(key), list[len(list)-1].number+1
	for _, rec := range list {
		if err := r.read(rec); err != nil {
			return nil, err
		}
	}
	go r.write()
	return r, nil
}

func (r *Resumed) read(rec record) (err error) {
	switch rec.kind {
	case headerRecord:
		r.Header, err = decode[Header](rec.payload)
	case intentRecord:
		var op Op
		var u Unknown
		if op, u, err = decodeIntent(rec.payload); err == nil && u.Run == "" {
			r.Open[op] = Open{Provider: u.Provider.Provider}
		}
	case leaseRecord:
		var l leaseJSON
		if l, err = decode[leaseJSON](rec.payload); err == nil && !l.Named {
			r.Open[l.Op] = Open{Provider: l.Provider, Lease: true}
		}
	case resultRecord, closedRecord:
		var j closedJSON // decode any result as closedJSON, because only the number of the call matters
		if j, err = decode[closedJSON](rec.payload); err == nil {
			delete(r.Open, j.Op)
		}
	}
	return err
}
