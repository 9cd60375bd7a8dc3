// Package oci gets packages of providers and modules from OCI registries, in the shapes that OpenTofu knows: an index
// with the artifact type of a provider, which has a manifest for each platform, and a manifest with the artifact type of
// a module; each manifest has one layer, a zip file.
package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/download"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// What packages are called.
const (
	providerType = "application/vnd.opentofu.provider"        // the artifact type of an index
	targetType   = "application/vnd.opentofu.provider-target" // of a manifest in it
	moduleType   = "application/vnd.opentofu.modulepkg"       // of a module's manifest
	zipType      = "archive/zip"                              // the media type of a layer
)

// maxManifest is the size of the largest document that is read, in bytes.
const maxManifest = 4 << 20

// ErrNotFound says that a registry does not have what it was asked for.
var ErrNotFound = errors.New("the OCI registry has no repository of that name")

// Client asks OCI registries.
type Client struct {
	Transport http.RoundTripper // nil: the environment's proxy and certificates
	Header    http.Header       // sent with every request
	Stall     time.Duration     // of an answer without progress; 0: a minute
	Retries   int               // of a package whose transfer is cut
	// Credential finds the credentials for a repository of a host; the zero value is none. nil: there are none.
	Credential func(ctx context.Context, host, repository string) (auth.Credential, error)
}

// Blob is a zip file in a registry.
type Blob struct {
	Sum      string // its SHA-256, in hexadecimal
	Size     int64  // in bytes
	Manifest string // the digest of the manifest that names it
	at       v1.Descriptor
	repo     *repository
}

// repository is one whose answers make progress.
type repository struct {
	*remote.Repository
	stall time.Duration
	again download.Client // of which the retries count
	has   *atomic.Bool    // credentials were asked for, and there were some
}

// watch ends a context when nothing comes for a while.
func (r *repository) watch(ctx context.Context) (watched context.Context, alive, stop func()) {
	return download.Watch(ctx, r.Reference.Host(), r.stall)
}

// Save writes the file, and goes on after a cut. What comes is not held against Sum.
func (b *Blob) Save(ctx context.Context, w io.Writer, limit int64) error {
	if b.at.Size > limit {
		return fmt.Errorf("the package has %d bytes, more than %d", b.at.Size, limit)
	}
	var done int64
	return b.repo.again.Repeat(ctx, func() error { return b.rest(ctx, w, &done) })
}

// rest writes what of the file was not written yet.
func (b *Blob) rest(ctx context.Context, w io.Writer, done *int64) error {
	ctx, alive, stop := b.repo.watch(ctx)
	defer stop()
	r, err := b.repo.Blobs().Fetch(ctx, b.at)
	if err != nil {
		return b.repo.said(ctx, err)
	}
	defer r.Close()
	from := heard{r, alive}
	if s, ok := r.(io.Seeker); ok {
		_, err = s.Seek(*done, io.SeekStart)
	} else {
		_, err = io.CopyN(io.Discard, from, *done)
	}
	var n int64
	var broken error
	if err == nil {
		n, err = io.Copy(w, io.LimitReader(&breaking{from, &broken}, b.at.Size-*done))
		*done += n
	}
	switch {
	case ctx.Err() != nil:
		return download.Cause(ctx)
	case err != nil && broken == nil:
		return err // of the writer
	case *done < b.at.Size:
		return download.Cut(fmt.Errorf("the package ends after %d of %d bytes: %w", *done, b.at.Size, cmp.Or(err, io.ErrUnexpectedEOF)))
	}
	return nil
}

// breaking reads, and keeps the error that ends it.
type breaking struct {
	io.Reader
	err *error
}

func (r *breaking) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		*r.err = err
	}
	return n, err
}

// heard reads, and says when something came.
type heard struct {
	io.Reader
	alive func()
}

func (h heard) Read(b []byte) (int, error) {
	n, err := h.Reader.Read(b)
	if n > 0 {
		h.alive()
	}
	return n, err
}

// repository opens a repository, such as "registry.example.com/providers/random".
func (c *Client) repository(name string) (*repository, error) {
	repo, err := remote.NewRepository(name)
	if err != nil || repo.Reference.Reference != "" {
		return nil, fmt.Errorf("%q is not the address of a repository in an OCI registry", name)
	}
	client := &auth.Client{Client: &http.Client{Transport: retry.NewTransport(cmp.Or(c.Transport, download.ForFiles()))}, Header: c.Header, Cache: auth.NewCache()}
	if host, _, err := net.SplitHostPort(repo.Reference.Registry); err == nil && isLoopback(host) {
		client.BlockedRealmPrefixes = []netip.Prefix{} // a registry of this machine may send to a login service of this machine
	}
	has := new(atomic.Bool)
	if c.Credential != nil {
		client.Credential = func(ctx context.Context, host string) (auth.Credential, error) {
			if host != repo.Reference.Host() {
				return auth.EmptyCredential, nil
			}
			found, err := c.Credential(ctx, host, repo.Reference.Repository)
			has.Store(found != auth.EmptyCredential)
			return found, err
		}
	}
	repo.Client = client
	return &repository{repo, cmp.Or(c.Stall, download.Stall), download.Client{Retries: c.Retries}, has}, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Versions lists the versions of a provider whose repository it is: its tags, in which "_" stands for "+".
func (c *Client) Versions(ctx context.Context, repository string) ([]versions.Version, error) {
	repo, err := c.repository(repository)
	if err != nil {
		return nil, err
	}
	ctx, alive, stop := repo.watch(ctx)
	defer stop()
	var out []versions.Version
	err = repo.Tags(ctx, "", func(tags []string) error {
		alive()
		for _, tag := range tags {
			if v, err := versions.ParseVersion(strings.ReplaceAll(tag, "_", "+")); err == nil {
				out = append(out, v)
			}
		}
		return nil
	})
	return out, repo.said(ctx, err)
}

// Provider finds the package of one version for a platform, such as "linux_amd64".
func (c *Client) Provider(ctx context.Context, repository string, v versions.Version, platform string) (*Blob, error) {
	repo, err := c.repository(repository)
	if err != nil {
		return nil, err
	}
	var index v1.Index
	if _, err := document(ctx, repo, strings.ReplaceAll(v.String(), "+", "_"), &index); err != nil {
		return nil, err
	}
	if index.ArtifactType != providerType {
		return nil, fmt.Errorf("%s has something else than a provider in that version: its artifact type is %q, and not %q", repository, index.ArtifactType, providerType)
	}
	for _, m := range index.Manifests {
		if m.ArtifactType == targetType && m.Platform != nil && m.Platform.OS+"_"+m.Platform.Architecture == platform {
			return layer(ctx, repo, m.Digest.String(), targetType)
		}
	}
	return nil, fmt.Errorf("%s has no package of version %s for %s", repository, v, platform)
}

// Module finds the package of a module by a tag or a digest ("sha256:…").
func (c *Client) Module(ctx context.Context, repository, reference string) (*Blob, error) {
	repo, err := c.repository(repository)
	if err != nil {
		return nil, err
	}
	return layer(ctx, repo, reference, moduleType)
}

// layer finds the one layer of a manifest.
func layer(ctx context.Context, repo *repository, reference, artifact string) (*Blob, error) {
	var m v1.Manifest
	digest, err := document(ctx, repo, reference, &m)
	if err != nil {
		return nil, err
	}
	switch {
	case m.ArtifactType != artifact:
		return nil, fmt.Errorf("%s has something else under %s: its artifact type is %q, and not %q", repo.Reference, reference, m.ArtifactType, artifact)
	case len(m.Layers) != 1 || m.Layers[0].MediaType != zipType || m.Layers[0].Digest.Validate() != nil || m.Layers[0].Digest.Algorithm() != "sha256":
		return nil, fmt.Errorf("what %s has under %s is not a package: that would have exactly one layer, of the type %s and with a SHA-256 digest", repo.Reference, reference, zipType)
	}
	return &Blob{m.Layers[0].Digest.Encoded(), m.Layers[0].Size, digest, m.Layers[0], repo}, nil
}

// document reads an index or a manifest, and gives its digest.
func document(ctx context.Context, repo *repository, reference string, into any) (digest string, err error) {
	ctx, _, stop := repo.watch(ctx)
	defer stop()
	at, r, err := repo.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return "", repo.said(ctx, err)
	}
	defer r.Close()
	if at.Size > maxManifest {
		return "", fmt.Errorf("%s has a document of %d bytes under %s", repo.Reference, at.Size, reference)
	}
	text, err := content.ReadAll(r, at) // which holds it against its digest
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if cause := download.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", fmt.Errorf("what %s has under %s cannot be read: %w", repo.Reference, reference, err)
	}
	return at.Digest.String(), nil
}

// said is what a registry says about an error.
func (r *repository) said(ctx context.Context, err error) error {
	var answer *errcode.ErrorResponse
	switch cause := download.Cause(ctx); {
	case err != nil && cause != nil:
		return cause
	case errors.Is(err, errdef.ErrNotFound), errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return ErrNotFound
	case errors.As(err, &answer):
		why := ""
		switch refused := answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden; {
		case refused && r.has.Load():
			why = ": it does not accept, for this, the credentials that an oci_credentials block of the CLI configuration, or a file that docker login and its kind write, has for " + r.Reference.Registry
		case refused:
			why = ", and no credentials for " + r.Reference.Registry + " were sent: there are none, or it did not ask for them. They come with an oci_credentials block of the CLI configuration, or with docker login"
		}
		return fmt.Errorf("%s%s answered %d %s%s", answer.URL.Host, answer.URL.Path, answer.StatusCode, http.StatusText(answer.StatusCode), why)
	}
	return err
}
