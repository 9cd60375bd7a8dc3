package fetch

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/shortcut"
)

// store is what a user has of packages that were downloaded, for all working directories: each unpacked, under the
// SHA-256 of its archive. Working directories have the same files, by hard links, where the system allows that.
//
// Beside each package is written what it hashes to, and which files those were (checked.go): it is not read again as
// long as they are the same. Each hard link moves the ctime of a file. Who makes one writes down the new ctime, but who
// removes one, with a working directory, does not, and then the package is read once more. So it is after each start of
// the machine, which may have ended the last time before all was on the disk.
type store struct {
	dir  string
	read bool // packages are read each time
}

func (p *Providers) store() store { return store{p.StoreDir, p.Closed.Has(shortcut.Packages)} }

// kept is what is known of a package.
type kept struct {
	checked
	Boot string // of the machine, when it was written
}

// of is the directory of a package.
func (s store) of(sum string) string { return filepath.Join(s.dir, sum) }

func (s store) record(dir string) string { return dir + ".json" }

// known reads what is known of a package; its Hash is "" if that is nothing.
func (s store) known(dir string) (k kept) {
	text, err := os.ReadFile(s.record(dir))
	if err != nil || json.Unmarshal(text, &k) != nil {
		return kept{}
	}
	return k
}

// find gives the "h1:" hash of a package that has what was unpacked into it, and "" otherwise.
func (s store) find(sum string) string {
	dir := s.of(sum)
	was := s.known(dir)
	if was.Hash == "" {
		return ""
	}
	if files := identify(dir); !s.read && files != nil && was.Boot == boot() && slices.Equal(was.Files, files) {
		return was.Hash
	}
	if is, err := hashDir(dir); err != nil || is != was.Hash {
		return ""
	}
	s.keep(dir, was.Hash)
	return was.Hash
}

// keep writes down what a package hashes to. If that is not possible it will be read, or downloaded again.
func (s store) keep(dir, hash string) {
	k := kept{checked{Hash: hash, Files: identify(dir)}, boot()}
	for tries := 0; !older(k.Files, clock(s.dir)); tries++ {
		if tries == 5 {
			k.Files = nil // of which nothing can be said yet
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if text, err := json.Marshal(k); err == nil {
		_ = replace(s.record(dir), text)
	}
}

// clock is the time that a file has which is written now, in a directory: that of the disk, in its steps.
func clock(dir string) int64 {
	f, err := os.CreateTemp(dir, ".clock-*")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// link puts a package of the store into dir, anew, and writes down which times its files have now. It was found before.
func (s store) link(from, dir string) error {
	return locked(s.dir, filepath.Base(from)+".lock", func() error {
		was := s.known(from)
		is := slices.Equal(was.Files, identify(from))
		if err := link(from, dir); err != nil {
			return err
		}
		files := identify(from)
		if !is || !slices.EqualFunc(was.Files, files, func(a, b identity) bool { a.Status = b.Status; return a == b }) {
			return nil // which the next one finds out
		}
		was.Files = files
		if text, err := json.Marshal(was); err == nil {
			_ = replace(s.record(from), text)
		}
		return nil
	})
}

// linked gives the "h1:" hash of a directory whose files are those of a package in the store that is locked, and "" if
// they are not.
func (s store) linked(dir string, lock config.Lock) string {
	if s.dir == "" || s.read {
		return ""
	}
	files := identify(dir)
	if files == nil {
		return ""
	}
	is := func(a, b identity) bool { return a.Name == b.Name && a.Dev == b.Dev && a.Ino == b.Ino }
	for _, sum := range sums(lock) {
		if was := s.known(s.of(sum)); was.Hash != "" && slices.EqualFunc(was.Files, files, is) {
			return s.find(sum)
		}
	}
	return ""
}

// sums are the SHA-256 of archives that a lock file has of a provider.
func sums(lock config.Lock) (out []string) {
	for _, h := range lock.Hashes {
		if sum, ok := strings.CutPrefix(h, "zh:"); ok && len(sum) == 2*sha256.Size && filepath.IsLocal(sum) {
			out = append(out, sum)
		}
	}
	return out
}
