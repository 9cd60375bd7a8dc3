package fetch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config/lockfile"

	"github.com/hashicorp/go-version"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/registry"
)

// Install makes sure that the module of a call is installed, with the locked version and hash. It returns its
// directory, its source in the recorded form, and its version, "" for a module without a version. key is the name of
// the call in the tree, and constraint its version argument. The error is a *ChangedError if the source now has other
// content than the lock file.
func (m *Installer) Install(ctx context.Context, key, source, constraint string) (dir, from, version string, err error) {
	s, problem := parseSource(source, m.Host)
	c := &moduleCall{key: key, constraint: constraint, source: s}
	if problem == nil {
		m.name(c)
	}
	if !m.Upgrade {
		if dir, from, version, ok := m.lookup(c, source); ok {
			return dir, from, version, nil
		}
	}
	if problem != nil {
		return "", "", "", fmt.Errorf("the source %q: %w", display(source), problem)
	}
	if s.registry == nil && constraint != "" {
		return "", "", "", errors.New("only registry modules have versions. Remove the version argument, or use a registry address")
	}
	if err := m.settle(ctx, c); err != nil {
		return "", "", "", err
	}
	base := m.dirOf(key)
	if err := m.bring(ctx, c, base); err != nil {
		return "", "", "", err
	}
	if dir, err = m.enter(c, base); err != nil {
		return "", "", "", err
	}
	return dir, s.recorded(), c.lock.Version, nil
}

// dirOf returns the directory for the package of the module with the given key. On a file system that ignores the case
// of names, a key that differs only in case from the key of another installed module gets a directory with a number.
func (m *Installer) dirOf(key string) string {
	dir, number := moduleDir(m.DataDir, key), 1
	for _, e := range m.done {
		if e.Key != key && strings.EqualFold(e.Key, key) && sameFile(moduleDir(m.DataDir, e.Key), dir) {
			number++
		}
	}
	if number > 1 {
		dir += fmt.Sprintf("+%d", number)
	}
	return dir
}

func sameFile(a, b string) bool {
	is, err := os.Stat(a)
	other, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(is, other)
}

// isBelow reports whether path is dir or a path in dir.
func isBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// settle chooses the version of a registry module: the version that is locked for this call, otherwise an allowed
// version that is locked for another call of the same module, otherwise the newest. If modules are vendored, the list
// of vendored packages counts like the lock file.
func (m *Installer) settle(ctx context.Context, c *moduleCall) error {
	s := c.source.registry
	if c.locked {
		if err := versionFits(c.lock.Version, c.constraint); s != nil && c.constraint != "" && err != nil {
			return fmt.Errorf("%w, by %s. Run \"lethe init -upgrade\" to select a matching version", err, LockName)
		}
		return nil
	}
	allowed, err := wantedVersions(c.constraint)
	if err != nil {
		return err
	}
	known := m.Store.index()
	if s != nil && !m.Upgrade {
		known = append(m.Lock.Modules(), known...)
	}
	if m.adopt(c, known, allowed) || s == nil {
		return nil
	}
	v, err := m.choose(ctx, *s, c.constraint, allowed)
	if err == nil {
		c.lock.Version = v.String()
	}
	return err
}

// adopt searches known for packages of the same module, and sets c.lock to the newest with an allowed version. It
// returns false if it found none.
func (m *Installer) adopt(c *moduleCall, known []lockfile.Module, allowed *allowedVersions) bool {
	var best *version.Version
	for _, other := range known {
		if sameHost(other.Source) != sameHost(c.lock.Source) {
			continue
		}
		if v, err := version.NewVersion(other.Version); err == nil {
			if !allowed.has(v) || c.locked && best != nil && !best.LessThan(v) {
				continue
			}
			best = v
		}
		other.Source, other.Constraints = c.lock.Source, c.lock.Constraints
		c.lock, c.locked = other, true
	}
	return c.locked
}

// bring installs the package of a call in dir: from the store on this machine, or from the source of the module.
func (m *Installer) bring(ctx context.Context, c *moduleCall, dir string) error {
	if err := straight(m.DataDir, dir); err != nil {
		return err
	}
	pack, at := c.source, c.source.text
	if c.lock.Version != "" {
		at += " " + c.lock.Version
	}
	if c.locked && m.Registry.Client.Offline && m.Store.find(c.lock.Hash) != "" {
		m.note("Using %s for %s from this machine...", display(at), c.key)
		return m.fromStore(c, dir)
	}
	if m.Store.Vendor != "" && c.source.local == "" {
		return fmt.Errorf("it is not in %s, the vendor directory, which is the only source here. Run \"lethe vendor\" on a machine with network access", m.Store.Vendor)
	}
	if s := c.source.registry; s != nil {
		v, err := version.NewVersion(c.lock.Version)
		if err != nil {
			return err
		}
		if pack, err = m.locate(ctx, *s, v); err != nil {
			return err
		}
		if !c.locked {
			c.lock.Directory = pack.sub
		}
	}
	m.note("Downloading %s for %s...", display(at), c.key)
	return m.install(ctx, c, pack, at, dir)
}

// Populate copies the files of a module into a directory. The directory must be empty, except for DataDir.
func (m *Installer) Populate(ctx context.Context, source, dir string) error {
	s, err := parseSource(source, m.Host)
	if err != nil {
		return err
	}
	c := &moduleCall{key: "the working directory", source: s, lock: lockfile.Module{Source: s.name()}}
	if err := m.settle(ctx, c); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(m.DataDir, ".from-*")
	if err != nil {
		return err
	}
	defer disk.OS.RemoveAll(tmp)
	base := filepath.Join(tmp, "module")
	if err := m.bring(ctx, c, base); err != nil {
		return err
	}
	for _, sub := range []string{c.lock.Directory, s.sub} {
		if base, err = inside(base, sub); err != nil {
			return err
		}
	}
	return CopyModule(base, dir)
}

// Remember adds the installed modules to the list of installed modules. If the command ends before it writes the
// complete list, the next command does not download them again.
func (m *Installer) Remember() error {
	if len(m.done) == 0 {
		return nil
	}
	path := manifestPath(m.DataDir)
	all := map[string]manifestEntry{"": {Dir: "."}}
	for _, e := range append(readManifest(path), m.done...) {
		all[e.Key] = e
	}
	var doc manifest
	for _, key := range slices.Sorted(maps.Keys(all)) {
		doc.Modules = append(doc.Modules, all[key])
	}
	return doc.write(path)
}

// choose returns the newest allowed version of a module in its registry.
func (m *Installer) choose(ctx context.Context, mod registry.Module, constraint string, allowed *allowedVersions) (*version.Version, error) {
	all, ok := m.asked[mod]
	if !ok {
		var err error
		all, err = m.Registry.Modules(ctx, mod)
		switch {
		case errors.Is(err, registry.ErrNotFound):
			return nil, fmt.Errorf("the registry %s has no module %s", mod.Host, mod)
		case err != nil:
			return nil, err
		}
		slices.SortStableFunc(all, (*version.Version).Compare)
		if m.asked == nil {
			m.asked = map[registry.Module][]*version.Version{}
		}
		m.asked[mod] = all
	}
	for _, v := range slices.Backward(all) {
		if allowed.has(v) {
			return v, nil
		}
	}
	var texts []string
	for _, v := range all {
		texts = append(texts, v.String())
	}
	return nil, fmt.Errorf("the registry has no version of %s that matches the constraint %q. It has: %s", mod, constraint, listed(texts))
}

// locate returns the source of the package of a version, which the registry names.
func (m *Installer) locate(ctx context.Context, mod registry.Module, v *version.Version) (*moduleSource, error) {
	text, protected, err := m.Registry.Module(ctx, mod, v)
	if err != nil {
		return nil, err
	}
	return named("the registry", text, protected)
}

// lookup finds an installed module. A locked module must have the locked version and hash. A module that is not locked,
// for example because Terraform or OpenTofu installed it, is locked in its present state. lookup returns false if the
// module must be installed: it is missing, or differs from the lock file or the call.
func (m *Installer) lookup(c *moduleCall, source string) (dir, from, version string, ok bool) {
	dir, from, version, err := m.installed().Find(m.WorkDir, c.key, source, c.constraint)
	switch {
	case err != nil || dir == "":
		return "", "", "", false
	case c.source == nil || c.lock.Source == "":
		return dir, from, version, true
	case c.locked && version != c.lock.Version:
		return "", "", "", false
	}
	base, plain := m.dirOf(c.key), moduleDir(m.DataDir, c.key)
	if base != plain && isBelow(plain, dir) { // the directory belongs to another module
		return "", "", "", false
	}
	if !isBelow(base, dir) {
		base = dir
	}
	e := m.installed()[c.key]
	hash, err := m.unchanged(base, cmp.Or(c.lock.Hash, e.Hash))
	if err != nil {
		return "", "", "", false
	}
	if !c.locked {
		c.lock.Version, c.lock.Hash = version, hash
		c.lock.Revision, _ = m.recall(hash)
		if s, err := parseSource(from, m.Host); err == nil {
			c.lock.Source = s.name()
		}
		if rel, err := filepath.Rel(base, dir); err == nil && rel != "." {
			c.lock.Directory = strings.Trim(strings.TrimSuffix(filepath.ToSlash(rel), c.source.sub), "/")
		}
	}
	m.record(c, from, base, dir)
	return dir, from, version, true
}

// Find finds an installed module for a command that does not install modules. Its arguments and its first three results
// are the same as in Install. If the module is missing or differs from the lock file, Find installs it from a locked
// package on this machine. dir is "" if no module with that name was installed. The error describes the difference
// between the installed module and the configuration or the lock file.
func (m *Installer) Find(key, source, constraint string) (dir, from, version string, err error) {
	dir, from, version, err = m.installed().Find(m.WorkDir, key, source, constraint)
	s, problem := parseSource(source, m.Host)
	if problem != nil {
		return dir, from, version, err
	}
	c := &moduleCall{key: key, constraint: constraint, source: s}
	if m.name(c); !c.locked {
		return dir, from, version, err
	}
	e := m.installed()[key]
	switch {
	case err != nil || dir == "":
	case version != c.lock.Version:
		err = fmt.Errorf("the version %q was installed, but %s has %q", version, LockName, c.lock.Version)
	case e.Hash != "" && e.Hash != c.lock.Hash:
		err = fmt.Errorf("the installed package is not the package in %s", LockName)
	default:
		return dir, from, version, nil
	}
	base := m.dirOf(key)
	if m.Store.find(c.lock.Hash) == "" || straight(m.DataDir, base) != nil || m.fromStore(c, base) != nil {
		return "", "", "", err
	}
	at, problem := m.enter(c, base)
	if problem != nil {
		return "", "", "", err
	}
	m.linked = append(m.linked, key)
	return at, s.recorded(), c.lock.Version, nil
}

// Vendor copies the packages of the modules that Install has handled into the directory, and writes a list of them.
// Store finds them there. Packages that are in the directory already are kept.
func (m *Installer) Vendor(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	store := &Store{Vendor: dir}
	all := store.index()
	for _, lock := range m.Locks() {
		if !slices.Contains(all, lock) {
			all = append(all, lock)
		}
		to := filepath.Join(dir, fileName(lock.Hash))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		m.note("- Copying %s...", strings.TrimSpace(lock.Source+" "+lock.Version))
		_, list := m.recall(lock.Hash)
		if err := fill(to, func(tmp string) error { return copyListed(list, m.bases[lock.Hash], tmp) }); err != nil {
			return fmt.Errorf("%s: %w", lock.Source, err)
		}
	}
	slices.SortFunc(all, func(a, b lockfile.Module) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Constraints, b.Constraints))
	})
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return replace(filepath.Join(dir, indexName), append(text, '\n'))
}

// fromStore installs the locked package of a call from the store of packages on this machine.
func (m *Installer) fromStore(c *moduleCall, dir string) error {
	from := m.Store.find(c.lock.Hash)
	return fill(dir, func(tmp string) error {
		if err := os.CopyFS(tmp, os.DirFS(from)); err != nil {
			return err
		}
		list, err := summary(tmp)
		if err == nil && hashOf(list) != c.lock.Hash {
			err = fmt.Errorf("the contents of %s were changed: remove it", from)
		}
		m.remember(c.lock.Hash, c.lock.Revision, list)
		return err
	})
}

// WriteManifest writes the list of all installed modules into the data directory. It calls fresh for each module that
// the previous list does not have with the same source, version and directory. If the root module is the only module,
// it writes nothing.
func (i *Installer) WriteManifest(root *config.Node, fresh func(*config.Node)) error {
	m := manifest{}
	path := manifestPath(i.DataDir)
	known := map[manifestEntry]bool{}
	for _, e := range readManifest(path) {
		e.Hash = ""
		known[e] = true
	}
	installed := map[string]manifestEntry{}
	for _, e := range i.done {
		installed[e.Key] = e
	}
	base := func(dir string) string {
		if rel, err := filepath.Rel(i.WorkDir, dir); err == nil {
			return rel
		}
		return dir
	}
	root.Walk(func(n *config.Node) {
		e := manifestEntry{Key: strings.Join(n.Path.Path(), "."), Source: tidy(n.Source), Version: n.Version, Dir: n.SourceDir(base)}
		if n.Parent != nil && !known[e] {
			fresh(n)
		}
		e.Hash = installed[e.Key].Hash
		m.Modules = append(m.Modules, e)
	})
	if len(m.Modules) == 1 {
		return nil
	}
	return m.write(path)
}

// tidy returns the source of a local module as Terraform records it.
func tidy(source string) string {
	if !config.IsLocal(source) {
		return source
	}
	if source = path.Clean(source); source == "." || strings.HasPrefix(source, "..") {
		return source
	}
	return "./" + source
}

// copyListed copies the files in a summary (a list of files, see the function summary).
func copyListed(list, from, to string) error {
	for line := range strings.Lines(list) {
		_, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		name, linked := strings.CutSuffix(name, " ->")
		source, dest := filepath.Join(from, filepath.FromSlash(name)), filepath.Join(to, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(dest), 0o755)
		switch {
		case err != nil:
		case linked:
			var text string
			if text, err = os.Readlink(source); err == nil {
				err = disk.Symlink(text, dest)
			}
		default:
			err = copyFile(source, dest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
