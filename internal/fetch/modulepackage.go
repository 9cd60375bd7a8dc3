package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"strings"

	"github.com/lethe-iac/lethe/internal/bucket"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/download"
)

// isArchive matches paths with the suffix of an archive.
var isArchive = pattern(`\.(zip|tar|tgz|tar\.gz|tbz2|tar\.bz2|tar\.xz|txz)$`)

var (
	metaTag       = pattern(`(?i)<meta\s[^>]*>`)
	metaAttribute = pattern(`(?i)\s(name|content)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))`)
)

// metaGet returns the address in the meta element with the name terraform-get of a page. It returns "" if the page has
// none.
func metaGet(page []byte) string {
	for _, tag := range metaTag().FindAllString(string(page), -1) {
		has := map[string]string{}
		for _, m := range metaAttribute().FindAllStringSubmatch(tag, -1) {
			has[strings.ToLower(m[1])] = html.UnescapeString(m[2] + m[3] + m[4])
		}
		if strings.EqualFold(has["name"], "terraform-get") && has["content"] != "" {
			return has["content"]
		}
	}
	return ""
}

// named parses the source that a server returns for a module. It must be a repository, an image or an archive, and an
// archive in S3 must be at an address of Amazon. If protected is true, the source must use TLS, too.
func named(who, text string, protected bool) (*moduleSource, error) {
	s, err := parseSource(text, "")
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s names %q as the source of the module: %w", who, display(text), err)
	case s.registry != nil || s.local != "" || s.git != nil && isLocal(s.git.url):
		return nil, fmt.Errorf("%s names %q as the source of the module, which is not a supported address", who, display(text))
	case s.bucket == "s3" && !bucket.IsAmazon(s.archive):
		return nil, fmt.Errorf("%s names %q as the source of the module, but Lethe sends S3 credentials only to Amazon and to addresses in your configuration", who, display(text))
	case protected && (s.archive != nil && s.archive.Scheme != "https" || s.git != nil && (schemeIs(s.git.url, "http") || schemeIs(s.git.url, "git"))):
		return nil, fmt.Errorf("%s names %q as the source of the module, which is not protected by TLS like the registry", who, display(text))
	}
	return s, nil
}

// install fetches the package of a call from the source s and installs it in dir, in place of the previous content. The
// parameter at is the address of the package for messages. If this command has installed the package elsewhere, install
// copies it from there. It returns an error if the hash of the package differs from the lock file.
func (m *Installer) install(ctx context.Context, c *moduleCall, s *moduleSource, at, dir string) error {
	if have, ok := m.packages[at]; ok && have.dir != dir {
		c.lock.Revision, c.lock.Hash = have.revision, have.hash
		return errors.Join(disk.OS.RemoveAll(dir), os.CopyFS(dir, os.DirFS(have.dir)))
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

// fetch downloads a package into dir, and returns its revision, or "" if it has none. If locked is not "", the revision
// must match it.
func (m *Installer) fetch(ctx context.Context, locked string, s *moduleSource, dir string) (revision string, err error) {
	switch {
	case s.git != nil:
		return m.git(ctx, s.git, locked, dir)
	case s.image != nil:
		return m.image(ctx, s.image, locked, dir)
	case s.bucket != "":
		return "", m.object(ctx, s, dir)
	case s.local != "":
		return "", m.local(s.local, dir)
	}
	return m.archive(ctx, s.archive, locked, dir, 0)
}

// local installs a directory or an archive of this machine. The address of an archive may end with a query.
func (m *Installer) local(address, dir string) error {
	path, query, _ := strings.Cut(address, "?")
	q, err := url.ParseQuery(query)
	if info, problem := os.Stat(path); problem == nil && info.Mode().IsRegular() && err == nil && (q.Get("archive") != "" || isArchive().MatchString(path)) {
		return m.unpackChecked(q.Get("checksum"), path, dir)
	}
	return errors.Join(os.MkdirAll(dir, 0o755), CopyModule(address, dir))
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
		defer disk.OS.RemoveAll(tmp)
		copies = newRepositories(tmp, m.Environ, copies.offline)
	}
	if err := os.MkdirAll(copies.dir, 0o700); err != nil {
		return "", err
	}
	copies.note = func(text string) { m.note("%s", text) }
	copies.waiting = func(address string) {
		m.note("Waiting for another process that fetches %s...", display(address))
	}
	return copies.checkout(ctx, *g, want, dir, 0)
}

// image installs a package of an OCI registry, and returns the digest of its manifest. A tag must still have the locked
// digest. Without a tag, image uses the locked digest. If no digest is locked, it uses the tag "latest".
func (m *Installer) image(ctx context.Context, s *imageSource, locked, dir string) (digest string, err error) {
	if m.Registry.Client.Offline {
		return "", fmt.Errorf("%s was not requested, because of -offline", s.repository)
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
			Keep: fmt.Sprintf(" To keep the locked package, add ?digest=%s to the source.", locked),
		}
	}
	return blob.Manifest, temporary(m.DataDir, blob.Sum, func(f *os.File) (string, error) {
		return hashed(ctx, blob.Save, f, moduleLimits.Bytes)
	}, func(zip string) error { return m.unpack(zip, dir) })
}

// unpack extracts the archive of a package. An archive without entries is an error, as in Terraform and OpenTofu: a
// module without resources would destroy the objects of its former version.
func (m *Installer) unpack(path, dir string) error {
	if err := unpackModule(path, dir, func(text string) { m.note("%s", text) }); err != nil {
		return err
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) == 0 {
		return cmp.Or(err, errors.New("the archive is empty"))
	}
	return nil
}

// downloaded extracts an archive that save downloads, if it has the checksum sum from the address of the module. save
// returns the SHA-256 of the archive, so the archive is read again only for a checksum of another kind.
func (m *Installer) downloaded(sum, dir string, save func(*os.File) (string, error)) error {
	sha256, rest := "", sum
	if text := strings.TrimPrefix(strings.ToLower(sum), "sha256:"); len(text) == 64 {
		sha256, rest = text, ""
	}
	return temporary(m.DataDir, sha256, save, func(path string) error { return m.unpackChecked(rest, path, dir) })
}

// unpackChecked extracts the archive of a package if it has the checksum.
func (m *Installer) unpackChecked(sum, path, dir string) error {
	if err := checkFile(sum, path); err != nil {
		return err
	}
	return m.unpack(path, dir)
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
	return m.downloaded(s.archive.Query().Get("checksum"), dir, func(f *os.File) (string, error) {
		return byURL(ctx, &client, at.URL, f, moduleLimits.Bytes)
	})
}

// archive installs an archive. An address that is not an archive is a page that names the source of the module. hops is
// the number of such pages before this address. revision is always "" for an archive.
func (m *Installer) archive(ctx context.Context, u *url.URL, locked, dir string, hops int) (revision string, err error) {
	q := u.Query()
	sum := q.Get("checksum")
	if q.Get("archive") == "" && !isArchive().MatchString(u.Path) {
		if sum != "" {
			return "", fmt.Errorf("the address %s has a checksum but is not known to be an archive. If it is an archive, add archive=zip (or tar.gz, tar.bz2, tar.xz). Otherwise remove the checksum", download.Show(u))
		}
		return m.page(ctx, u, locked, dir, hops)
	}
	q.Del("archive")
	q.Del("checksum")
	plain := *u
	plain.RawQuery = q.Encode()
	return "", m.downloaded(sum, dir, func(f *os.File) (string, error) {
		return byURL(ctx, m.Registry.Client, &plain, f, moduleLimits.Bytes)
	})
}

// page requests the source of the module from an address, and installs it. It returns an error if hops, the number of
// pages before this page, is more than 5.
func (m *Installer) page(ctx context.Context, u *url.URL, locked, dir string, hops int) (revision string, err error) {
	if hops > 5 {
		return "", fmt.Errorf("%s refers to a chain of pages without a module", download.Show(u))
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
		text = metaGet(a.Body)
	}
	if text == "" {
		return "", fmt.Errorf("%s is neither an archive (zip, tar, tar.gz, tar.bz2) nor a page that names the source of a module", download.Show(u))
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
