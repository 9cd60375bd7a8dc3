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

	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
)

// changed says that a package hashes to something else.
func (c *moduleCall) changed(got delivery) error {
	with := func(hash, revision string) string {
		if revision != "" {
			hash += " (" + revision + ")"
		}
		return hash
	}
	return &ChangedError{
		What: fmt.Sprintf("the package of %s is another one than was locked", strings.TrimSpace(c.lock.Source+" "+c.lock.Version)),
		Was:  with(c.lock.Hash, c.lock.Revision), Is: with(got.hash, got.revision),
	}
}

// name is what the lock file calls a package: its address without a subdirectory, and without what may be secret or
// says only how it is fetched. It is "" for a directory of this machine, which is not locked.
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

// name finds out what is recorded of the package of a call, by this command or, but for an upgrade, in the lock file.
func (m *Installer) name(c *moduleCall) {
	c.lock.Source = c.source.name()
	if c.constraint != "" {
		c.lock.Constraints = cmp.Or(config.Constraint([]config.VersionConstraint{{Text: c.constraint}}), c.constraint)
	}
	lock, ok := m.named[nameOf(c.lock)]
	if !ok && !m.Upgrade {
		lock, ok = m.Lock.Module(c.lock.Source, c.lock.Constraints)
	}
	if ok {
		c.lock, c.locked = lock, true
	}
}

// enter notes what a call is to be locked to, and gives the directory of its module in the package that is at base.
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

// record notes where the package and the module of a call are, and what it is to be locked to.
func (m *Installer) record(c *moduleCall, from, base, dir string) {
	rel, err := filepath.Rel(m.WorkDir, dir)
	if err != nil {
		rel = dir
	}
	e := manifestEntry{Key: c.key, Source: from, Version: c.lock.Version, Dir: filepath.ToSlash(rel)}
	if c.lock.Source != "" {
		e.Hash = c.lock.Hash
		if m.named == nil {
			m.named, m.bases = map[moduleName]config.ModuleLock{}, map[string]string{}
		}
		m.bases[c.lock.Hash] = base
		m.named[nameOf(c.lock)] = c.lock
	}
	m.done = append(m.done, e)
}

// Locks are the module packages that were found to be needed.
func (m *Installer) Locks() []config.ModuleLock { return slices.Collect(maps.Values(m.named)) }

// installed are the modules that were installed before.
func (m *Installer) installed() Modules {
	if m.known == nil {
		m.known = ReadModules(m.DataDir)
	}
	return m.known
}

// Linked are the calls whose modules Find put into place.
func (m *Installer) Linked() []string { return m.linked }

// commitIn returns the commit that a peer has checked out in a directory, or "" if the directory is no git repository.
// It reads the files itself: an archive may contain a directory called .git, and git would read the settings in it.
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

// packedRef looks a reference up in git's list of them.
func packedRef(path, ref string) string {
	text, _ := config.ReadOne(path, limits.Limits{})
	for line := range strings.Lines(string(text)) {
		if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
			return commit
		}
	}
	return ""
}

// aboutPath is where it is kept what a package is that was installed in the working directory: the line
// "revision REVISION" where it has one, and its summary, which says what files are not the package's.
func (m *Installer) aboutPath(hash string) string {
	return filepath.Join(m.DataDir, "lethe-modules", fileName(hash))
}

// remember keeps that. Without it, a package is installed again if files were written beside its own.
func (m *Installer) remember(hash, revision, list string) {
	path := m.aboutPath(hash)
	if revision != "" {
		list = "revision " + revision + "\n" + list
	}
	if _, err := os.Stat(path); err != nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = replace(path, []byte(list))
	}
}

// recall gives what is kept, "" where nothing is, or what is not of this package.
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

// unchanged returns the hash of an installed package. It returns an error if a hash is wanted and the package has
// another one. Files that a run has written beside the files of the package do not count, unless they are configuration.
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
		if isConfiguration().MatchString(line) {
			return "", errChanged
		}
	}
	return want, nil
}

var errChanged = errors.New("it was changed since it was installed")

// Installer installs modules that come from elsewhere, for one init or get. It is used by one goroutine.
type Installer struct {
	Registry *registry.Registry
	OCI      *oci.Client
	Buckets  *bucket.Access
	Host     string // registry of addresses that name none
	WorkDir  string
	DataDir  string
	CacheDir string // for copies of git repositories; "": below DataDir, for the time of the command
	Environ  []string
	Lock     *Lockfile
	Store    *Store // packages that this machine has
	Upgrade  bool   // and what may be newer
	Note     func(string)

	known    Modules             // what is installed; nil: not read yet
	packages map[string]delivery // what this command installed, by its address
	asked    map[registry.Module][]registry.Version
	copies   *repositories
	done     []manifestEntry
	linked   []string                         // calls whose modules Find installed
	named    map[moduleName]config.ModuleLock // what was found to be needed
	bases    map[string]string                // the directory of a package in the working directory, by its hash
}

// delivery is a package that this command installed.
type delivery struct {
	dir, revision, hash string
}

// moduleCall is a call whose module is to be installed.
type moduleCall struct {
	key        string // the name of the call in the tree
	constraint string
	source     *moduleSource
	lock       config.ModuleLock // with the name of the package, "" if it is not one that is locked
	locked     bool              // and what is recorded of it
}

func (m *Installer) note(format string, args ...any) {
	if m.Note != nil {
		m.Note(fmt.Sprintf(format, args...))
	}
}
