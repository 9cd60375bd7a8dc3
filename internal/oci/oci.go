// Package oci fetches packages of providers and modules from OCI registries, in the formats of OpenTofu. A provider is
// an index with the artifact type of providers, with a manifest for each platform. A module is a manifest with the
// artifact type of modules. Each manifest has one layer, a zip file.
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

// Types of packages.
const (
	providerType = "application/vnd.opentofu.provider"        // the artifact type of an index
	targetType   = "application/vnd.opentofu.provider-target" // the artifact type of a manifest in an index
	moduleType   = "application/vnd.opentofu.modulepkg"       // the artifact type of a module's manifest
	zipType      = "archive/zip"                              // the media type of a layer
)

// maxManifest is the maximum size of an index or a manifest in bytes.
const maxManifest = 4 << 20

// ErrNotFound reports that a registry does not have the requested repository, tag, manifest or blob.
var ErrNotFound = errors.New("the OCI registry has no repository or tag of that name")

// Client makes requests to OCI registries.
type Client struct {
	Transport http.RoundTripper // nil means the proxy and certificates of the environment
	Header    http.Header       // sent with every request
	Stall     time.Duration     // time limit for an answer without progress; 0 means a minute
	Retries   int               // number of further attempts if the transfer of a package was interrupted
	// Credential returns the credentials for a repository of a host, or the zero value without credentials. A nil
	// function means no credentials.
	Credential func(ctx context.Context, host, repository string) (auth.Credential, error)
}

// Blob is a zip file in a registry.
type Blob struct {
	Sum      string // the SHA-256 of the file, in hexadecimal
	Size     int64  // size in bytes
	Manifest string // the digest of the manifest that contains the blob
	at       v1.Descriptor
	repo     *repository
}

// repository is a repository with a time limit for answers without progress.
type repository struct {
	*remote.Repository
	stall time.Duration
	again download.Client // repeats interrupted transfers; only the field Retries is used
	has   *atomic.Bool    // whether the last request for credentials found credentials
}

// watch returns a context that ends when no data arrives within the time limit of the repository. The caller calls
// alive when data arrives, and stop at the end.
func (r *repository) watch(ctx context.Context) (watched context.Context, alive, stop func()) {
	return download.Watch(ctx, r.Reference.Host(), r.stall)
}

// Save writes the zip file to w. If the transfer is cut, Save requests the file again and writes the rest. If the file
// has more than limit bytes, Save returns an error. It does not compare the content with Sum: the caller must do this.
func (b *Blob) Save(ctx context.Context, w io.Writer, limit int64) error {
	if b.at.Size > limit {
		return fmt.Errorf("the package has %d bytes, more than %d", b.at.Size, limit)
	}
	var done int64
	return b.repo.again.Repeat(ctx, func() error { return b.rest(ctx, w, &done) })
}

// rest writes the rest of the file to w, and adds the number of written bytes to done. done is the number of bytes that
// earlier attempts have written.
func (b *Blob) rest(ctx context.Context, w io.Writer, done *int64) error {
	ctx, alive, stop := b.repo.watch(ctx)
	defer stop()
	r, err := b.repo.Blobs().Fetch(ctx, b.at)
	if err != nil {
		return b.repo.answerError(ctx, err)
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
		return err // return an error of the writer unchanged
	case *done < b.at.Size:
		return download.Transient(fmt.Errorf("the package ends after %d of %d bytes: %w", *done, b.at.Size, cmp.Or(err, io.ErrUnexpectedEOF)))
	}
	return nil
}

// breaking is a reader that stores its error.
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

// heard is a reader that calls alive each time data arrives.
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

// repository returns a client for the repository with a name such as "registry.example.com/providers/random". It
// returns an error if the name is invalid or has a tag or digest.
func (c *Client) repository(name string) (*repository, error) {
	repo, err := remote.NewRepository(name)
	if err != nil || repo.Reference.Reference != "" {
		return nil, fmt.Errorf("%q is not the address of a repository in an OCI registry", name)
	}
	client := &auth.Client{Client: &http.Client{Transport: retry.NewTransport(cmp.Or(c.Transport, download.ForFiles()))}, Header: c.Header, Cache: auth.NewCache()}
	if host, _, err := net.SplitHostPort(repo.Reference.Registry); err == nil && isLoopback(host) {
		client.BlockedRealmPrefixes = []netip.Prefix{} // no blocked addresses: a local registry may use a local login service
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

// Versions returns the versions of the provider in a repository, from its tags. A tag is a version with "_" instead of
// "+". Other tags are ignored. If the repository does not exist, the error is ErrNotFound.
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
	return out, repo.answerError(ctx, err)
}

// Provider returns the package of a version of a provider for a platform such as "linux_amd64". It returns an error if
// the repository has no such version or platform.
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
		return nil, fmt.Errorf("%s does not have a provider in that version: the artifact type is %q, not %q", repository, index.ArtifactType, providerType)
	}
	for _, m := range index.Manifests {
		if m.ArtifactType == targetType && m.Platform != nil && m.Platform.OS+"_"+m.Platform.Architecture == platform {
			return layer(ctx, repo, m.Digest.String(), targetType)
		}
	}
	return nil, fmt.Errorf("%s has no package of version %s for %s", repository, v, platform)
}

// Module returns the package of a module with a tag or a digest ("sha256:…").
func (c *Client) Module(ctx context.Context, repository, reference string) (*Blob, error) {
	repo, err := c.repository(repository)
	if err != nil {
		return nil, err
	}
	return layer(ctx, repo, reference, moduleType)
}

// layer returns the only layer of a manifest. It returns an error if the manifest has another artifact type than
// artifact, or not exactly one zip layer.
func layer(ctx context.Context, repo *repository, reference, artifact string) (*Blob, error) {
	var m v1.Manifest
	digest, err := document(ctx, repo, reference, &m)
	if err != nil {
		return nil, err
	}
	switch {
	case m.ArtifactType != artifact:
		return nil, fmt.Errorf("%s does not have a package under %s: the artifact type is %q, not %q", repo.Reference, reference, m.ArtifactType, artifact)
	case len(m.Layers) != 1 || m.Layers[0].MediaType != zipType || m.Layers[0].Digest.Validate() != nil || m.Layers[0].Digest.Algorithm() != "sha256":
		return nil, fmt.Errorf("%s does not have a package under %s: a package has exactly one layer, of the type %s and with a SHA-256 digest", repo.Reference, reference, zipType)
	}
	return &Blob{m.Layers[0].Digest.Encoded(), m.Layers[0].Size, digest, m.Layers[0], repo}, nil
}

// document reads an index or a manifest into the argument into, and returns its digest.
func document(ctx context.Context, repo *repository, reference string, into any) (digest string, err error) {
	ctx, _, stop := repo.watch(ctx)
	defer stop()
	at, r, err := repo.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return "", repo.answerError(ctx, err)
	}
	defer r.Close()
	if at.Size > maxManifest {
		return "", fmt.Errorf("%s has a document of %d bytes under %s", repo.Reference, at.Size, reference)
	}
	text, err := content.ReadAll(r, at) // ReadAll compares the content with the digest
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if cause := download.Cause(ctx); cause != nil {
		return "", cause
	}
	if err != nil {
		return "", fmt.Errorf("the document that %s has under %s cannot be read: %w", repo.Reference, reference, err)
	}
	return at.Digest.String(), nil
}

// answerError converts an error of a registry to an error for users. If ctx has ended, it returns the cause. If the
// registry answered 404, it returns ErrNotFound.
func (r *repository) answerError(ctx context.Context, err error) error {
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
			why = ": it rejected the credentials in an oci_credentials block of the CLI configuration or in a file of docker login for " + r.Reference.Registry
		case refused:
			why = ", and no credentials for " + r.Reference.Registry + " were sent: none are configured, or it did not ask for them. Add an oci_credentials block to the CLI configuration, or use docker login"
		}
		return fmt.Errorf("%s%s answered %d %s%s", answer.URL.Host, answer.URL.Path, answer.StatusCode, http.StatusText(answer.StatusCode), why)
	}
	return err
}
