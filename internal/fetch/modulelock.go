package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
)

// changed returns the error for a package whose hash differs from the lock file.
func (c *moduleCall) changed(got delivery) error {
	with := func(hash, revision string) string {
		if revision != "" {
			hash += " (" + revision + ")"
		}
		return hash
	}
	return &ChangedError{
		What: fmt.Sprintf("the package of %s differs from the locked package", strings.TrimSpace(c.lock.Source+" "+c.lock.Version)),
		Was:  with(c.lock.Hash, c.lock.Revision), Is: with(got.hash, got.revision),
	}
}

// name returns the address of a package for the lock file: without a subdirectory, credentials, and parameters that
// only determine how it is fetched. It returns "" for a directory of this machine, because such a package is not
// locked.
func (s *moduleSource) name() string {
	switch {
	case s.registry != nil:
		return s.registry.String()
	case s.git != nil:
		text := "git::" + withoutPassword(s.git.url)
		if s.git.ref != "" {
			text += "?ref=" + url.QueryEscape(s.git.ref)
		}
		return text
	case s.image != nil:
		return s.text
	case s.local != "":
		return ""
	}
	u := *s.archive
	u.User = nil
	q := u.Query()
	maps.DeleteFunc(q, func(name string, _ []string) bool { return secretParameters().MatchString(name) })
	u.RawQuery = q.Encode()
	if s.bucket != "" {
		return s.bucket + "::" + u.String()
	}
	return u.String()
}

// name sets c.lock, the lock of a call. It uses the lock of a package that this command has installed or, without
// Upgrade, the lock file.
func (m *Installer) name(c *moduleCall) {
	c.lock.Source = c.source.name()
	if c.constraint != "" {
		c.lock.Constraints = cmp.Or(lockfile.Constraint([]config.VersionConstraint{{Text: moduleVersions(c.constraint)}}), c.constraint)
	}
	lock, ok := m.named[nameOf(c.lock)]
	if !ok && !m.Upgrade {
		lock, ok = m.Lock.Module(c.lock.Source, c.lock.Constraints)
	}
	if ok {
		c.lock, c.locked = lock, true
	}
}

// enter records the lock of a call, and returns the directory of its module. base is the directory of its package.
func (m *Installer) enter(c *moduleCall, base string) (dir string, err error) {
	dir = base
	for _, sub := range []string{c.lock.Directory, c.source.sub} {
		if dir, err = inside(dir, sub); err != nil {
			return "", err
		}
	}
	m.record(c, c.source.recorded(), base, dir)
	return dir, nil
}

// record records the directories of the package and of the module of a call, and its lock.
func (m *Installer) record(c *moduleCall, from, base, dir string) {
	rel, err := filepath.Rel(m.WorkDir, dir)
	if err != nil {
		rel = dir
	}
	e := manifestEntry{Key: c.key, Source: from, Version: c.lock.Version, Dir: filepath.ToSlash(rel)}
	if c.lock.Source != "" {
		e.Hash = c.lock.Hash
		if m.named == nil {
			m.named, m.bases = map[moduleName]lockfile.Module{}, map[string]string{}
		}
		m.bases[c.lock.Hash] = base
		m.named[nameOf(c.lock)] = c.lock
	}
	m.done = append(m.done, e)
}

// Locks returns the locks of the module packages that the configuration needs.
func (m *Installer) Locks() []lockfile.Module { return slices.Collect(maps.Values(m.named)) }

// installed returns the modules that were installed before.
func (m *Installer) installed() Modules {
	if m.known == nil {
		m.known = ReadModules(m.DataDir)
	}
	return m.known
}

// Linked returns the calls whose modules Find has installed.
func (m *Installer) Linked() []string { return m.linked }

// commitIn returns the commit that Terraform or OpenTofu has checked out in a directory, or "" if the directory is not
// a git repository. It reads the files of the repository and does not call git: an archive may contain a directory
// called .git, and git would apply the settings in it.
func commitIn(dir string) string {
	repo := filepath.Join(dir, ".git")
	text := firstLine(filepath.Join(repo, "HEAD"))
	if ref, ok := strings.CutPrefix(text, "ref: "); ok && filepath.IsLocal(ref) {
		if text = firstLine(filepath.Join(repo, ref)); text == "" {
			text = packedRef(filepath.Join(repo, "packed-refs"), ref)
		}
	}
	if fullCommit().MatchString(text) {
		return text
	}
	return ""
}

// firstLine returns the first line of a small file, or "" if it cannot be read.
func firstLine(path string) string {
	text, _ := config.ReadOne(path, limits.Limits{})
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// packedRef returns the commit of a reference in git's packed-refs file, or "" if the file does not contain it.
func packedRef(path, ref string) string {
	text, _ := config.ReadOne(path, limits.Limits{})
	for line := range strings.Lines(string(text)) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit
		}
	}
	return ""
}

// aboutPath returns the path of a file about a package that was installed in the working directory. The file contains
// the line "revision REVISION" if the package has a revision, and then the summary. With the summary, files of the
// package can be distinguished from files that were written later.
func (m *Installer) aboutPath(hash string) string {
	return filepath.Join(m.DataDir, "lethe-modules", fileName(hash))
}

// remember writes the file at aboutPath, unless it exists. It ignores errors. Without the file, a package is installed
// again if other files were written into its directory.
func (m *Installer) remember(hash, revision, list string) {
	path := m.aboutPath(hash)
	if revision != "" {
		list = "revision " + revision + "\n" + list
	}
	if _, err := os.Stat(path); err != nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = replace(path, []byte(list))
	}
}

// recall returns the revision and the summary in the file at aboutPath. It returns "" for both if the file is missing
// or belongs to another package.
func (m *Installer) recall(hash string) (revision, list string) {
	text, _ := os.ReadFile(m.aboutPath(hash))
	list = string(text)
	if first, rest, _ := strings.Cut(list, "\n"); strings.HasPrefix(first, "revision ") {
		revision, list = strings.TrimPrefix(first, "revision "), rest
	}
	if hashOf(list) != hash {
		return "", ""
	}
	return revision, list
}

// unchanged returns the hash of the installed package in dir. If want is not "" and the package differs from want, it
// returns an error. If the package has additional files, for example files that a run has written, unchanged ignores
// them and returns want, unless one of them is configuration.
func (m *Installer) unchanged(dir, want string) (string, error) {
	list, err := summary(dir)
	if err != nil {
		return "", err
	}
	hash := hashOf(list)
	if hash != want && commitIn(dir) != "" {
		if list, err = checkoutSummary(dir); err != nil {
			return "", err
		}
		hash = hashOf(list)
	}
	if want == "" || hash == want {
		if _, kept := m.recall(hash); kept == "" {
			m.remember(hash, commitIn(dir), list)
		}
		return hash, nil
	}
	_, known := m.recall(want)
	if known == "" {
		return "", errChanged
	}
	left := map[string]bool{}
	for line := range strings.Lines(list) {
		left[line] = true
	}
	for line := range strings.Lines(known) {
		if !left[line] {
			return "", errChanged
		}
		delete(left, line)
	}
	for line := range left {
		if isConfiguration(line) {
			return "", errChanged
		}
	}
	return want, nil
}

var errChanged = errors.New("it was changed since it was installed")

// Installer installs modules that are not local, for one init or get. Only one goroutine may use it.
type Installer struct {
	Registry *registry.Registry
	OCI      *oci.Client
	Buckets  *bucket.Access
	Host     string // registry of addresses without a host
	WorkDir  string
	DataDir  string
	CacheDir string // directory for copies of git repositories; "": a temporary directory in DataDir
	Environ  []string
	Lock     *Lockfile
	Store    *Store // packages on this machine
	Upgrade  bool   // ignore the locked versions and revisions
	Note     func(string)

	known    Modules                                // installed modules; nil before they are read
	packages map[string]delivery                    // packages that this command installed, by address
	asked    map[registry.Module][]*version.Version // versions in registries, in ascending order
	copies   *repositories
	done     []manifestEntry
	linked   []string                       // calls whose modules Find installed
	named    map[moduleName]lockfile.Module // locks of the packages that the configuration needs
	bases    map[string]string              // by the hash of a package: its directory in the working directory
}

// delivery is a package that this command installed.
type delivery struct {
	dir, revision, hash string
}

// moduleCall is a call whose module must be installed.
type moduleCall struct {
	key        string // the name of the call in the tree of modules
	constraint string
	source     *moduleSource
	lock       lockfile.Module // the lock of the package; Source is "" for a package that is not locked
	locked     bool            // lock is an entry of the lock file, or of a call that this command has handled
}

func (m *Installer) note(format string, args ...any) {
	if m.Note != nil {
		m.Note(fmt.Sprintf(format, args...))
	}
}
