package fetch

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// An installed package can have hundreds of megabytes. Lethe computes its hash when it installs the package, and again
// only if the files have changed since then. A record (packageRecord) beside the packages has the device, inode, size,
// mode, mtime and ctime of each file. If they are equal, the file is unchanged. A user cannot write to a file without a
// change of its ctime, except by setting back the system clock. A user who can write to the record can also write to
// the lock file with the hashes.

// packageRecord is the record of the packages of a working directory whose hashes were computed. Several goroutines and
// processes may use the record. If two processes write it at the same time, some entries are lost, and the next command
// hashes these packages again.
type packageRecord struct {
	path     string
	disabled bool        // do not use the record: hash the packages in every command
	mu       *sync.Mutex // held while the record is changed
}

// checked is the entry of one package in a packageRecord.
type checked struct {
	Hash    string
	Files   []identity
	Archive string `json:",omitempty"` // the "zh:" hash of the archive from which the package was unpacked, if that hash was verified
}

// identity holds the attributes of a file of which at least one changes if the file changes.
type identity struct {
	Name            string
	Dev, Ino        uint64
	Size            int64
	Mode            fs.FileMode
	Changed, Status int64 // mtime and ctime, in nanoseconds
}

// settling is the minimum age of the times of a file. Younger times are not recorded, because a file that is written
// twice within one tick of the clock has the same times.
const settling = 2 * time.Second

// hash returns the "h1:" hash of a package directory. If the record has the same files, it returns the recorded hash
// without reading the package. Otherwise it computes the hash with hashDir, and records it unless a file is younger
// than settling or changed meanwhile.
func (r *packageRecord) hash(dir string) (string, error) {
	if r.disabled {
		return hashDir(dir)
	}
	files := identify(dir)
	if files == nil {
		return hashDir(dir)
	}
	if was, ok := r.read()[dir]; ok && slices.Equal(was.Files, files) {
		return was.Hash, nil
	}
	h, err := hashDir(dir)
	if err != nil || !settled(files) || !slices.Equal(files, identify(dir)) {
		return h, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.read()
	now := checked{Hash: h, Files: files}
	if was := known[dir]; was.Hash == h {
		now.Archive = was.Archive
	}
	known[dir] = now
	r.write(known)
	return h, nil
}

// setArchive records the "h1:" hash of a package, and the "zh:" hash of the archive from which it was unpacked. The
// lock file may contain only the "zh:" hash. With this entry, later commands accept the package nevertheless.
func (r *packageRecord) setArchive(dir, hash, archive string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.read()
	known[dir] = checked{Hash: hash, Archive: archive}
	r.write(known)
}

// read returns the entries of the record, by package directory. It returns an empty map if the file of the record is
// missing or broken.
func (r *packageRecord) read() map[string]checked {
	known := map[string]checked{}
	if text, err := os.ReadFile(r.path); err == nil {
		_ = json.Unmarshal(text, &known)
	}
	if known == nil {
		known = map[string]checked{}
	}
	return known
}

// write saves the record. It ignores errors: later commands then hash the packages again.
func (r *packageRecord) write(known map[string]checked) {
	if text, err := json.Marshal(known); err == nil {
		_ = replace(r.path, text)
	}
}

// identify returns the identities of the files of a package. It returns nil if they cannot be determined.
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
		info, err := os.Stat(path) // Stat follows links, because the target is read
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

// stamp returns the identity of a file without its name and ctime. New hard links to the file change the ctime, but not
// its content. stamp returns the zero identity if the file cannot be read.
func stamp(path string) identity {
	info, err := os.Stat(path)
	if err != nil {
		return identity{}
	}
	id := identity{Size: info.Size(), Mode: info.Mode(), Changed: info.ModTime().UnixNano()}
	id.Dev, id.Ino, _, _ = inode(info)
	return id
}

// settled reports whether the times of all files are older than settling.
func settled(files []identity) bool {
	return older(files, time.Now().Add(-settling).UnixNano())
}

// older reports whether all files are older than a time.
func older(files []identity, than int64) bool {
	return !slices.ContainsFunc(files, func(f identity) bool { return f.Changed >= than || f.Status >= than })
}
