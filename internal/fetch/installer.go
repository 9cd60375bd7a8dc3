package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/download"
	"github.com/lethe-iac/lethe/internal/oci"
	"github.com/lethe-iac/lethe/internal/registry"
)

// moduleLimits are what a module package may hold.
var moduleLimits = archive.Options{Bytes: 1 << 30, Files: 50_000, Links: true}

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

// Install makes sure that the module of a call is there, as it is locked, and gives its directory, its source as it
// is recorded, and its version, "" where it has none. key is the name of the call in the tree, and constraint what its
// version argument says. The error is a *ChangedError where there is something else now than what was locked.
func (m *Installer) Install(ctx context.Context, key, source, constraint string) (dir, from, version string, err error) {
	s, problem := parseSource(source, m.Host)
	c := &moduleCall{key: key, constraint: constraint, source: s}
	if problem == nil {
		m.name(c)
	}
	if !m.Upgrade {
		if dir, from, version, ok := m.there(c, source); ok {
			return dir, from, version, nil
		}
	}
	if problem != nil {
		return "", "", "", fmt.Errorf("the source %q: %w", display(source), problem)
	}
	if s.registry == nil && constraint != "" {
		return "", "", "", errors.New("only modules of a registry have versions: remove the version argument, or name the registry")
	}
	if err := m.settle(ctx, c); err != nil {
		return "", "", "", err
	}
	base := filepath.Join(m.DataDir, "modules", key)
	if err := m.bring(ctx, c, base); err != nil {
		return "", "", "", err
	}
	if dir, err = m.enter(c, base); err != nil {
		return "", "", "", err
	}
	return dir, s.recorded(), c.lock.Version, nil
}

// settle chooses the version of a registry module: the one that is locked for this call, else one that is locked for
// another that calls the same module, else what is newest. Without servers, what is vendored is all there is.
func (m *Installer) settle(ctx context.Context, c *moduleCall) error {
	s := c.source.registry
	if c.locked {
		if err := versionFits(c.lock.Version, c.constraint); s != nil && c.constraint != "" && err != nil {
			return fmt.Errorf("%w, by %s. Run \"lethe init -upgrade\" to choose a version that fits", err, LockName)
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
	c.lock.Version = v.String()
	return err
}

// adopt takes the newest of those packages that are known, if there is one, and reports whether there is.
func (m *Installer) adopt(c *moduleCall, known []config.ModuleLock, allowed versions.Set) bool {
	best := versions.Unspecified
	for _, other := range known {
		if sameHost(other.Source) != sameHost(c.lock.Source) {
			continue
		}
		if v, err := versions.ParseVersion(other.Version); err == nil {
			if !allowed.Has(v) || c.locked && !best.LessThan(v) {
				continue
			}
			best = v
		}
		other.Source, other.Constraints = c.lock.Source, c.lock.Constraints
		c.lock, c.locked = other, true
	}
	return c.locked
}

// bring puts the package of a call into dir.
func (m *Installer) bring(ctx context.Context, c *moduleCall, dir string) error {
	pack, at := c.source, c.source.text
	if c.lock.Version != "" {
		at += " " + c.lock.Version
	}
	if c.locked && m.Registry.Client.Offline && m.Store.find(c.lock.Hash) != "" {
		m.note("Using %s for %s from this machine...", display(at), c.key)
		return m.fromStore(c, dir)
	}
	if m.Store.Vendor != "" && c.source.local == "" {
		return fmt.Errorf("it is not in %s, which has all that is installed. Run \"lethe vendor\" where there are servers to ask", m.Store.Vendor)
	}
	if s := c.source.registry; s != nil {
		v, err := versions.ParseVersion(c.lock.Version)
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

// Populate copies the files of a module from anywhere into a directory, in which there is nothing but perhaps DataDir.
func (m *Installer) Populate(ctx context.Context, source, dir string) error {
	s, err := parseSource(source, m.Host)
	if err != nil {
		return err
	}
	c := &moduleCall{key: "the working directory", source: s, lock: config.ModuleLock{Source: s.name()}}
	if err := m.settle(ctx, c); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(m.DataDir, ".from-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
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

// Remember adds what was installed to the list of installed modules, for the case that the command ends before
// it writes that: what is there is not downloaded again.
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

// SecretsIn lists what is secret in the source of a module: passwords, and parameters that let a user in.
func SecretsIn(source string) (out []string) {
	for _, m := range passwords().FindAllStringSubmatch(source, -1) {
		out = append(out, m[1]+m[2])
	}
	for _, m := range secretValues().FindAllStringSubmatch(source, -1) {
		out = append(out, strings.TrimPrefix(m[0], m[1]))
	}
	for _, text := range out {
		if plain, err := url.QueryUnescape(text); err == nil && plain != text {
			out = append(out, plain)
		}
	}
	return out
}

// passwords finds the password in addresses, or what stands for it and the name.
var passwords = pattern(`[a-z]+://[^/@:\s]*:([^/@\s]+)@|https?://([^/@:\s]+)@`)

// display is an address as users see it: without passwords and the like.
func display(text string) string {
	return secretValues().ReplaceAllString(withoutUser().ReplaceAllString(text, "://"), "$1…")
}

func (m *Installer) note(format string, args ...any) {
	if m.Note != nil {
		m.Note(fmt.Sprintf(format, args...))
	}
}

// wantedVersions are those that a version argument allows.
func wantedVersions(constraint string) (versions.Set, error) {
	if constraint == "" {
		return versions.Released, nil
	}
	spec, err := constraints.ParseRubyStyleMulti(constraint)
	if err != nil {
		return versions.None, fmt.Errorf("the version constraint %q cannot be read: %w", constraint, err)
	}
	return released(versions.MeetingConstraints(spec)), nil
}

// choose finds the newest version of those allowed.
func (m *Installer) choose(ctx context.Context, mod registry.Module, constraint string, allowed versions.Set) (versions.Version, error) {
	all, ok := m.asked[mod]
	if !ok {
		var err error
		all, err = m.Registry.Modules(ctx, mod)
		switch {
		case errors.Is(err, registry.ErrNotFound):
			return versions.Unspecified, fmt.Errorf("the registry %s has no module %s", mod.Host, mod)
		case err != nil:
			return versions.Unspecified, err
		}
		if m.asked == nil {
			m.asked = map[registry.Module][]registry.Version{}
		}
		m.asked[mod] = all
	}
	var there []found
	for _, v := range all {
		there = append(there, found{version: v.Version})
	}
	best, ok := newest(there, func(f found) bool { return allowed.Has(f.version) })
	if !ok {
		return versions.Unspecified, fmt.Errorf("the registry has no version of %s that fits the constraint %q. It has: %s", mod, constraint, listed(there))
	}
	return best.version, nil
}

// locate finds where the registry says that the package of a version is.
func (m *Installer) locate(ctx context.Context, mod registry.Module, v versions.Version) (*moduleSource, error) {
	text, err := m.Registry.Module(ctx, mod, v)
	if err != nil {
		return nil, err
	}
	return named("the registry", text, true)
}

// named reads the source that a server names for a module: a repository or an archive, and protected on the way
// where the server is.
func named(who, text string, protected bool) (*moduleSource, error) {
	s, err := parseSource(text, "")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s says that the module is at %q: %w", who, display(text), err)
	case s.registry != nil || s.local != "":
		return nil, fmt.Errorf("%s says that the module is at %q, which is no place to install from", who, display(text))
	case s.bucket == "s3" && !bucket.IsAmazon(s.archive):
		return nil, fmt.Errorf("%s says that the module is at %q, and your credentials for S3 are for Amazon and the addresses in your configuration", who, display(text))
	case protected && (s.archive != nil && s.archive.Scheme != "https" || s.git != nil && strings.HasPrefix(s.git.url, "http:")):
		return nil, fmt.Errorf("%s says that the module is at %q, which is not protected as it is itself", who, display(text))
	}
	return s, nil
}

// install puts a package into dir, anew, if it is what was locked. One that this command has installed elsewhere is
// copied from there.
func (m *Installer) install(ctx context.Context, c *moduleCall, s *moduleSource, at, dir string) error {
	if have, ok := m.packages[at]; ok && have.dir != dir {
		c.lock.Revision, c.lock.Hash = have.revision, have.hash
		return errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(have.dir)))
	}
	var got delivery
	err := fill(dir, func(tmp string) (err error) {
		if got.revision, err = m.fetch(ctx, c.lock.Revision, s, tmp); err != nil || c.lock.Source == "" {
			return err
		}
		list, err := summary(tmp)
		if err != nil {
			return err
		}
		if got.hash = hashOf(list); c.locked && got.hash != c.lock.Hash {
			return c.changed(got)
		}
		m.remember(got.hash, got.revision, list)
		m.Store.keep(got.hash, tmp)
		return nil
	})
	if err != nil {
		return err
	}
	got.dir, c.lock.Revision, c.lock.Hash = dir, got.revision, got.hash
	if m.packages == nil {
		m.packages = map[string]delivery{}
	}
	m.packages[at] = got
	return nil
}

// fetch gets a package, and gives its revision, where it has one: the locked one, unless that is "".
func (m *Installer) fetch(ctx context.Context, locked string, s *moduleSource, dir string) (revision string, err error) {
	switch {
	case s.git != nil:
		return m.git(ctx, s.git, locked, dir)
	case s.image != nil:
		return m.image(ctx, s.image, locked, dir)
	case s.bucket != "":
		return "", m.object(ctx, s, dir)
	case s.local != "":
		return "", errors.Join(os.MkdirAll(dir, 0o755), CopyModule(s.local, dir))
	}
	return m.archive(ctx, s.archive, locked, dir, 0)
}

func (m *Installer) git(ctx context.Context, g *gitSource, want, dir string) (commit string, err error) {
	if m.copies == nil {
		m.copies = newRepositories(m.CacheDir, m.Environ, m.Registry.Client.Offline)
	}
	copies := m.copies
	if copies.dir == "" {
		tmp, err := os.MkdirTemp(m.DataDir, ".git-*")
		if err != nil {
			return "", err
		}
		defer os.RemoveAll(tmp)
		copies = newRepositories(tmp, m.Environ, copies.offline)
	}
	if err := os.MkdirAll(copies.dir, 0o700); err != nil {
		return "", err
	}
	err = locked(copies.dir, "lock", func() error {
		commit, err = copies.checkout(ctx, *g, want, dir, 0)
		return err
	})
	return commit, err
}

// image installs a package of an OCI registry, and gives the digest of its manifest. A tag is not to move; what has
// none is the latest, which does.
func (m *Installer) image(ctx context.Context, s *imageSource, locked, dir string) (digest string, err error) {
	if m.Registry.Client.Offline {
		return "", fmt.Errorf("%s is not asked for: -offline forbids it", s.repository)
	}
	reference := s.reference
	if reference == "" {
		reference = cmp.Or(locked, "latest")
	}
	blob, err := m.OCI.Module(ctx, s.repository, reference)
	if err != nil {
		return "", err
	}
	if locked != "" && locked != blob.Manifest {
		return "", &ChangedError{
			Was: locked, Is: blob.Manifest,
			What: fmt.Sprintf("the tag %q of %s was moved to another package", reference, s.repository),
			Keep: fmt.Sprintf(" To stay with what was locked, name it: ?digest=%s.", locked),
		}
	}
	return blob.Manifest, temporary(m.DataDir, blob.Sum, func(f *os.File) (string, error) {
		return hashed(ctx, blob.Save, f, moduleLimits.Bytes)
	}, func(zip string) error { return archive.Unpack(zip, dir, moduleLimits) })
}

// object installs an archive that is an object in a cloud.
func (m *Installer) object(ctx context.Context, s *moduleSource, dir string) error {
	read := m.Buckets.S3
	if s.bucket == "gcs" {
		read = m.Buckets.GCS
	}
	at, err := read(s.archive)
	if err != nil {
		return err
	}
	client := *m.Registry.Client
	client.Authorize = at.Authorize
	return temporary(m.DataDir, s.archive.Query().Get("checksum"), func(f *os.File) (string, error) {
		return byURL(ctx, &client, at.URL, f, moduleLimits.Bytes)
	}, func(path string) error { return archive.Unpack(path, dir, moduleLimits) })
}

// isArchive finds addresses that are of an archive by their name.
var isArchive = pattern(`\.(zip|tar|tgz|tar\.gz|tbz2|tar\.bz2|tar\.xz|txz)$`)

// archive installs an archive, or what the page at an address says is the module's.
func (m *Installer) archive(ctx context.Context, u *url.URL, locked, dir string, hops int) (revision string, err error) {
	q := u.Query()
	if q.Get("archive") == "" && !isArchive().MatchString(u.Path) {
		return m.page(ctx, u, locked, dir, hops)
	}
	sum := q.Get("checksum")
	q.Del("archive")
	q.Del("checksum")
	plain := *u
	plain.RawQuery = q.Encode()
	return "", temporary(m.DataDir, sum, func(f *os.File) (string, error) {
		return byURL(ctx, m.Registry.Client, &plain, f, moduleLimits.Bytes)
	}, func(path string) error { return archive.Unpack(path, dir, moduleLimits) })
}

// checkSum holds an archive against the checksum in its address, "" or "sha256:HEX".
func checkSum(want, got string) error {
	want = strings.TrimPrefix(strings.ToLower(want), "sha256:")
	switch {
	case want == "" || want == got:
		return nil
	case len(want) != len(got) || strings.Contains(want, ":"):
		return fmt.Errorf("the checksum in the address is no SHA-256, which is the only kind that is verified")
	}
	return fmt.Errorf("the archive has the SHA-256 checksum %s, and %s is what was promised", got, want)
}

var metaGet = pattern(`(?i)<meta\s+name="terraform-get"\s+content="([^"]+)"`)

// page asks an address where the module is.
func (m *Installer) page(ctx context.Context, u *url.URL, locked, dir string, hops int) (revision string, err error) {
	if hops > 5 {
		return "", fmt.Errorf("%s leads from page to page, and to no module", download.Show(u))
	}
	ask := *u
	q := ask.Query()
	q.Set("terraform-get", "1")
	ask.RawQuery = q.Encode()
	a, err := m.Registry.Client.Get(ctx, &ask, 1<<20)
	if err != nil {
		return "", err
	}
	text := a.Header.Get("X-Terraform-Get")
	if text == "" {
		if found := metaGet().FindSubmatch(a.Body); found != nil {
			text = string(found[1])
		}
	}
	if text == "" {
		return "", fmt.Errorf("%s is no archive (zip, tar, tar.gz, tar.bz2), and does not say where the module is", download.Show(u))
	}
	if text[0] == '/' || text[0] == '.' {
		next, err := a.URL.Parse(text)
		if err != nil {
			return "", err
		}
		text = next.String()
	}
	s, err := named(download.Show(u), text, u.Scheme == "https")
	if err != nil {
		return "", err
	}
	if s.archive != nil {
		revision, err = m.archive(ctx, s.archive, locked, dir, hops+1)
	} else {
		revision, err = m.fetch(ctx, locked, s, dir)
	}
	if err != nil || s.sub == "" {
		return revision, err
	}
	return revision, lift(dir, s.sub)
}

// lift makes a subdirectory of a package the package.
func lift(dir, sub string) error {
	at, err := inside(dir, sub)
	if err != nil {
		return err
	}
	tmp := dir + ".whole"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	rel, err := filepath.Rel(dir, at)
	if err != nil {
		return err
	}
	return errors.Join(os.Rename(dir, tmp), os.Rename(filepath.Join(tmp, rel), dir), os.RemoveAll(tmp))
}

// inside is the subdirectory of a package, in which "*" stands for the name of the only one that there is.
func inside(dir, sub string) (string, error) {
	if sub == "" {
		return dir, nil
	}
	all, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(sub)))
	if err != nil || len(all) != 1 {
		return "", fmt.Errorf("the package has no subdirectory %q, or several that fit", sub)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	rel, err := filepath.Rel(dir, all[0])
	if err != nil {
		return "", err
	}
	if info, err := root.Stat(rel); err != nil || !info.IsDir() {
		return "", fmt.Errorf("%q in the package is no directory inside of it", sub)
	}
	return all[0], nil
}
