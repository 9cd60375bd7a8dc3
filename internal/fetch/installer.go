package fetch

import (
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
	Host     string // registry of addresses that name none
	WorkDir  string
	DataDir  string
	CacheDir string // for copies of git repositories; "": below DataDir, for the time of the command
	Environ  []string
	Known    Modules // what is installed
	Upgrade  bool    // and what may be newer
	Note     func(string)

	packages map[string]string // directories of the packages that this command installed, by their address
	asked    map[registry.Module][]registry.Version
	copies   *repositories
	done     []manifestEntry
}

// Install makes sure that the module of a call is there, and gives its directory, its source as it is recorded,
// and its version, "" where it has none. key is the name of the call in the tree, and constraint what its version
// argument says.
func (m *Installer) Install(ctx context.Context, key, source, constraint string) (dir, from, version string, err error) {
	if !m.Upgrade {
		dir, from, version, err := m.Known.Find(m.WorkDir, key, source, constraint)
		if err == nil && dir != "" {
			return dir, from, version, nil
		}
	}
	s, err := parseSource(source, m.Host)
	if err != nil {
		return "", "", "", fmt.Errorf("the source %q: %w", display(source), err)
	}
	if s.registry == nil && constraint != "" {
		return "", "", "", errors.New("only modules of a registry have versions: remove the version argument, or name the registry")
	}
	pack, at := s, s.text
	if s.registry != nil {
		v, err := m.choose(ctx, *s.registry, constraint)
		if err != nil {
			return "", "", "", err
		}
		version = v.String()
		at += " " + version
		if pack, err = m.locate(ctx, *s.registry, v); err != nil {
			return "", "", "", err
		}
	}
	m.note("Downloading %s for %s...", display(at), key)
	base := filepath.Join(m.DataDir, "modules", key)
	if err := m.install(ctx, pack, at, base); err != nil {
		return "", "", "", err
	}
	for _, sub := range []string{pack.subOf(s), s.sub} {
		if base, err = inside(base, sub); err != nil {
			return "", "", "", err
		}
	}
	rel, err := filepath.Rel(m.WorkDir, base)
	if err != nil {
		rel = base
	}
	m.done = append(m.done, manifestEntry{Key: key, Source: s.recorded(), Version: version, Dir: filepath.ToSlash(rel)})
	return base, s.recorded(), version, nil
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

// subOf is the subdirectory that a registry names for a package; that of a source itself comes after it.
func (s *moduleSource) subOf(named *moduleSource) string {
	if s == named {
		return ""
	}
	return s.sub
}

// display is an address as users see it: without a password.
func display(text string) string { return withoutUser().ReplaceAllString(text, "://") }

func (m *Installer) note(format string, args ...any) {
	if m.Note != nil {
		m.Note(fmt.Sprintf(format, args...))
	}
}

// choose finds the newest version that fits.
func (m *Installer) choose(ctx context.Context, mod registry.Module, constraint string) (versions.Version, error) {
	allowed := versions.Released
	if constraint != "" {
		spec, err := constraints.ParseRubyStyleMulti(constraint)
		if err != nil {
			return versions.Unspecified, fmt.Errorf("the version constraint %q cannot be read: %w", constraint, err)
		}
		allowed = released(versions.MeetingConstraints(spec))
	}
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
	case protected && (s.archive != nil && s.archive.Scheme != "https" || s.git != nil && strings.HasPrefix(s.git.url, "http:")):
		return nil, fmt.Errorf("%s says that the module is at %q, which is not protected as it is itself", who, display(text))
	}
	return s, nil
}

// install puts a package into dir, anew. One that this command has installed elsewhere is copied from there.
func (m *Installer) install(ctx context.Context, s *moduleSource, at, dir string) error {
	if have, ok := m.packages[at]; ok && have != dir {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return os.CopyFS(dir, os.DirFS(have))
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	var err error
	switch {
	case s.git != nil:
		err = m.git(ctx, s.git, dir)
	case s.image != nil:
		err = m.image(ctx, s.image, dir)
	case s.local != "":
		if err = os.RemoveAll(dir); err == nil {
			err = errors.Join(os.MkdirAll(dir, 0o755), CopyModule(s.local, dir))
		}
	default:
		err = m.archive(ctx, s.archive, dir, 0)
	}
	if err == nil {
		if m.packages == nil {
			m.packages = map[string]string{}
		}
		m.packages[at] = dir
	}
	return err
}

func (m *Installer) git(ctx context.Context, g *gitSource, dir string) error {
	if m.copies == nil {
		m.copies = &repositories{dir: m.CacheDir, environ: m.Environ, offline: m.Registry.Client.Offline, commits: map[gitSource]string{}}
	}
	copies := m.copies
	if copies.dir == "" {
		tmp, err := os.MkdirTemp(m.DataDir, ".git-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		copies = &repositories{dir: tmp, environ: m.Environ, offline: copies.offline, commits: map[gitSource]string{}}
	}
	if err := os.MkdirAll(copies.dir, 0o700); err != nil {
		return err
	}
	return locked(copies.dir, "lock", func() error { return copies.checkout(ctx, *g, dir, 0) })
}

// image installs a package of an OCI registry.
func (m *Installer) image(ctx context.Context, s *imageSource, dir string) error {
	if m.Registry.Client.Offline {
		return fmt.Errorf("%s is not asked for: -offline forbids it", s.repository)
	}
	blob, err := m.OCI.Module(ctx, s.repository, s.reference)
	if err != nil {
		return err
	}
	return temporary(m.DataDir, blob.Sum, func(f *os.File) (string, error) {
		return hashed(ctx, blob.Save, f, moduleLimits.Bytes)
	}, func(zip string) error { return archive.Unpack(zip, dir, moduleLimits) })
}

// isArchive finds addresses that are of an archive by their name.
var isArchive = pattern(`\.(zip|tar|tgz|tar\.gz|tbz2|tar\.bz2|tar\.xz|txz)$`)

// archive installs an archive, or what the page at an address says is the module's.
func (m *Installer) archive(ctx context.Context, u *url.URL, dir string, hops int) error {
	q := u.Query()
	if q.Get("archive") == "" && !isArchive().MatchString(u.Path) {
		return m.page(ctx, u, dir, hops)
	}
	sum := q.Get("checksum")
	q.Del("archive")
	q.Del("checksum")
	plain := *u
	plain.RawQuery = q.Encode()
	return temporary(m.DataDir, sum, func(f *os.File) (string, error) {
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
func (m *Installer) page(ctx context.Context, u *url.URL, dir string, hops int) error {
	if hops > 5 {
		return fmt.Errorf("%s leads from page to page, and to no module", download.Show(u))
	}
	ask := *u
	q := ask.Query()
	q.Set("terraform-get", "1")
	ask.RawQuery = q.Encode()
	a, err := m.Registry.Client.Get(ctx, &ask, 1<<20)
	if err != nil {
		return err
	}
	text := a.Header.Get("X-Terraform-Get")
	if text == "" {
		if found := metaGet().FindSubmatch(a.Body); found != nil {
			text = string(found[1])
		}
	}
	if text == "" {
		return fmt.Errorf("%s is no archive (zip, tar, tar.gz, tar.bz2), and does not say where the module is", download.Show(u))
	}
	if text[0] == '/' || text[0] == '.' {
		next, err := a.URL.Parse(text)
		if err != nil {
			return err
		}
		text = next.String()
	}
	s, err := named(download.Show(u), text, u.Scheme == "https")
	if err != nil {
		return err
	}
	switch {
	case s.archive != nil:
		err = m.archive(ctx, s.archive, dir, hops+1)
	case s.image != nil:
		err = m.image(ctx, s.image, dir)
	default:
		err = m.git(ctx, s.git, dir)
	}
	if err != nil || s.sub == "" {
		return err
	}
	return lift(dir, s.sub)
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
