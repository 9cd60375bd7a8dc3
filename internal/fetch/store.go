package fetch

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/lethe-iac/lethe/internal/shortcut"
)

// store holds the packages that a user has downloaded, for all working directories. Each package is unpacked, in a
// directory named after the SHA-256 of its archive. Working directories contain hard links to its files if the system
// allows them.
//
// A record beside each package contains its hash and the identities of its files (checked.go). A package whose files
// have the recorded identities is not read again. Each new or removed hard link changes the ctime of a file. The
// process that creates a link updates the record. If a user removes a working directory with its links, the
// record is not updated, and the package is read once more. A package is also read after each boot, because the last
// shutdown may have happened before all data was on the disk.
type store struct {
	dir  string
	read bool // read the packages in each command instead of using their records
}

func (p *Providers) store() store { return store{p.StoreDir, p.Disabled.Has(shortcut.Packages)} }

// kept is the record of a package in the store.
type kept struct {
	checked
	Boot string // identifies the boot of the machine during which the record was written
}

// of returns the directory of a package.
func (s store) of(sum string) string { return filepath.Join(s.dir, sum) }

func (s store) record(dir string) string { return dir + ".json" }

// known reads the record of a package. Its Hash is "" if the record is missing or broken.
func (s store) known(dir string) (k kept) {
	text, err := os.ReadFile(s.record(dir))
	if err != nil || json.Unmarshal(text, &k) != nil {
		return kept{}
	}
	return k
}

// find returns the "h1:" hash of a package if its content is unchanged since it was unpacked. Otherwise it returns "".
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

// keep writes the record of a package. It ignores errors: later commands then read or download the package again.
func (s store) keep(dir, hash string) {
	k := kept{checked{Hash: hash, Files: identify(dir)}, boot()}
	for tries := 0; !older(k.Files, clock(s.dir)); tries++ {
		if tries == 5 {
			k.Files = nil // drop the identities, because the times are too recent to be compared
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if text, err := json.Marshal(k); err == nil {
		_ = replace(s.record(dir), text)
	}
}

// clock returns the modification time of a new file in a directory, in nanoseconds: the time of the file system, in its
// resolution. It returns 0 if the file cannot be created.
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

// link installs a package of the store in dir and records the new times of its files. The caller has found the package
// with find.
func (s store) link(from, dir string) error {
	return locked(s.dir, filepath.Base(from)+".lock", func() error {
		was := s.known(from)
		is := slices.Equal(was.Files, identify(from))
		if err := link(from, dir); err != nil {
			return err
		}
		files := identify(from)
		if !is || !slices.EqualFunc(was.Files, files, func(a, b identity) bool { a.Status = b.Status; return a == b }) {
			return nil // ignore the error: the next call of find reads the package
		}
		was.Files = files
		if text, err := json.Marshal(was); err == nil {
			_ = replace(s.record(from), text)
		}
		return nil
	})
}

// linked returns the "h1:" hash of dir if its files are hard links to the files of a locked package in the store.
// Otherwise it returns "".
func (s store) linked(dir string, lock lockfile.Provider) string {
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

// sums returns the SHA-256 checksums of archives in the lock of a provider.
func sums(lock lockfile.Provider) (out []string) {
	for _, h := range lock.Hashes {
		if sum, ok := strings.CutPrefix(h, "zh:"); ok && len(sum) == 2*sha256.Size && filepath.IsLocal(sum) {
			out = append(out, sum)
		}
	}
	return out
}
