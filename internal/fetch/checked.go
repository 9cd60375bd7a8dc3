package fetch

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/lethe-iac/lethe/internal/shortcut"
)

// A package is read, all of its hundreds of megabytes, when it is installed and when its files are
// not those that were read last. Which those were is in a file beside the packages: a file is the
// same if device, inode, size, mode and both times are. No user can write to a file without a change
// of its ctime, short of turning back the clock of the machine; and a user who can write to this record
// can as well write the lock file that the hashes are compared with.

// record is where it is known which packages were read.
func (p *Providers) record() string { return filepath.Join(p.DataDir, "lethe-packages.json") }

// checked is a package that was read.
type checked struct {
	Hash    string
	Files   []identity
	Archive string `json:",omitempty"` // the "zh:" hash of the archive that it was unpacked from, if that was verified
}

// identity is what tells that a file is still the same.
type identity struct {
	Name            string
	Dev, Ino        uint64
	Size            int64
	Mode            fs.FileMode
	Changed, Status int64 // mtime and ctime, in nanoseconds
}

// settling is how old a file's times must be to say something: a file that is written twice within
// a tick of the clock has the same times.
const settling = 2 * time.Second

// hash is hashDir, without reading what was read before.
func (p *Providers) hash(dir string) (string, error) {
	if p.Closed.Has(shortcut.Packages) {
		return hashDir(dir)
	}
	files := identify(dir)
	if files == nil {
		return hashDir(dir)
	}
	if was, ok := p.recorded()[dir]; ok && slices.Equal(was.Files, files) {
		return was.Hash, nil
	}
	h, err := hashDir(dir)
	if err != nil || !settled(files) || !slices.Equal(files, identify(dir)) {
		return h, err
	}
	p.checking.Lock()
	defer p.checking.Unlock()
	known := p.recorded()
	now := checked{Hash: h, Files: files}
	if was := known[dir]; was.Hash == h {
		now.Archive = was.Archive
	}
	known[dir] = now
	p.remember(known)
	return h, nil
}

// unpackedFrom records that a package was unpacked from an archive that the lock file has, for a lock file that does
// not have the hash of the package.
func (p *Providers) unpackedFrom(dir, hash, archive string) {
	p.checking.Lock()
	defer p.checking.Unlock()
	known := p.recorded()
	known[dir] = checked{Hash: hash, Archive: archive}
	p.remember(known)
}

// recorded are the packages that were read, by directory. A broken record is none.
func (p *Providers) recorded() map[string]checked {
	known := map[string]checked{}
	if text, err := os.ReadFile(p.record()); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	if known == nil {
		known = map[string]checked{}
	}
	return known
}

// remember writes the record. If it cannot be written, packages are read again.
func (p *Providers) remember(known map[string]checked) {
	if text, err := json.Marshal(known); err == nil {
		_ = replace(p.record(), text)
	}
}

// identify lists the files of a package; nil where that cannot be done, or says too little.
func identify(dir string) []identity {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	var out []identity
	err = filepath.WalkDir(real, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := os.Stat(path) // what the name leads to is what is read
		if err != nil {
			return err
		}
		name, err := filepath.Rel(real, path)
		id := identity{Name: name, Size: info.Size(), Mode: info.Mode(), Changed: info.ModTime().UnixNano()}
		var ok bool
		if id.Dev, id.Ino, id.Status, ok = inode(info); !ok || err != nil {
			return fs.ErrInvalid
		}
		out = append(out, id)
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

// stamp tells whether a file is still the same, but for what other hard links of it change.
func stamp(path string) identity {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}
	}
	id := identity{Size: info.Size(), Mode: info.Mode(), Changed: info.ModTime().UnixNano()}
	id.Dev, id.Ino, _, _ = inode(info)
	return id
}

// settled reports whether all files are old enough for their times to be their own.
func settled(files []identity) bool {
	return older(files, time.Now().Add(-settling).UnixNano())
}

// older reports whether all files are older than a time.
func older(files []identity, than int64) bool {
	return !slices.ContainsFunc(files, func(f identity) bool { return f.Changed >= than || f.Status >= than })
}
