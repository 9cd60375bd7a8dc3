package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/ProtonMail/go-crypto/openpgp"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/apparentlymart/go-versions/versions"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/download"
)

// ErrNotFound means that a registry or mirror does not have the requested provider or module.
var ErrNotFound = errors.New("it has no provider or module of that name")

// Providers returns the versions of a provider in its registry, and the registry's warnings for users. It omits
// versions that cannot be parsed. The error is ErrNotFound if the registry does not have the provider.
func (r *Registry) Providers(ctx context.Context, p addr.Provider) ([]Version, []string, error) {
	ctx, base, err := r.Service(ctx, p.Host, "providers.v1")
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		Versions []struct {
			Version   string
			Protocols []string
			Platforms []struct{ OS, Arch string }
		}
		Warnings []string
	}
	if _, err := r.document(ctx, base.JoinPath(p.Namespace, p.Type, "versions"), &doc); err != nil {
		return nil, nil, missing(err)
	}
	var out []Version
	for _, v := range doc.Versions {
		parsed, err := versions.ParseVersion(v.Version)
		if err != nil {
			continue // constraints cannot select a version that is not a valid version
		}
		x := Version{Version: parsed, Protocols: v.Protocols}
		for _, at := range v.Platforms {
			x.Platforms = append(x.Platforms, at.OS+"_"+at.Arch)
		}
		out = append(out, x)
	}
	return out, doc.Warnings, nil
}

// missing returns ErrNotFound if the server answered 404, and other errors unchanged.
func missing(err error) error {
	if download.IsStatus(err, http.StatusNotFound) {
		return ErrNotFound
	}
	return err
}

// Provider returns the package of a version for a platform, such as "linux_amd64". The registry's list of checksums
// must have the checksum of the package. If the registry names signing keys, Provider verifies the signature of that
// list. Without keys, it returns an error if Registry.Signed is true.
func (r *Registry) Provider(ctx context.Context, p addr.Provider, v versions.Version, platform string) (*Package, error) {
	ctx, base, err := r.Service(ctx, p.Host, "providers.v1")
	if err != nil {
		return nil, err
	}
	system, arch, _ := strings.Cut(platform, "_")
	var doc struct {
		OS, Arch     string
		Filename     string
		URL          string `json:"download_url"`
		Sum          string `json:"shasum"`
		SumsURL      string `json:"shasums_url"`
		SignatureURL string `json:"shasums_signature_url"`
		Keys         struct {
			GPG []struct {
				Armor string `json:"ascii_armor"`
			} `json:"gpg_public_keys"`
		} `json:"signing_keys"`
	}
	a, err := r.document(ctx, base.JoinPath(p.Namespace, p.Type, v.String(), "download", system, arch), &doc)
	if err != nil {
		return nil, missing(err)
	}
	if is := doc.OS + "_" + doc.Arch; is != platform && is != "_" {
		return nil, fmt.Errorf("the registry names a package for %s, but was asked for %s", is, platform)
	}
	where := func(name, text string) (*url.URL, error) { return packageURL(a.URL, name, text) }
	out := &Package{Sum: strings.ToLower(doc.Sum), Keys: len(doc.Keys.GPG) > 0}
	if out.URL, err = where("download_url", doc.URL); err != nil {
		return nil, err
	}
	var signature []byte
	var unsigned error
	var both sync.WaitGroup
	if out.Keys || doc.SignatureURL != "" { // a signature is required only if the registry names keys or the address of a signature
		both.Go(func() { signature, unsigned = r.listed(ctx, "shasums_signature_url", doc.SignatureURL, where) })
	}
	sums, err := r.listed(ctx, "shasums_url", doc.SumsURL, where)
	both.Wait()
	if err = cmp.Or(err, unsigned); err != nil {
		return nil, err
	}
	var keys []string
	for _, k := range doc.Keys.GPG {
		keys = append(keys, k.Armor)
	}
	switch {
	case out.Keys:
		if out.Key, err = verify(sums, signature, keys, r.Unexpired); err != nil {
			return nil, err
		}
	case r.Signed:
		return nil, fmt.Errorf("%s names no signing key for %s, but OPENTOFU_ENFORCE_GPG_VALIDATION requires a signature", p.Host, p)
	}
	by := parseSums(sums)
	if by[doc.Filename] != out.Sum || out.Sum == "" {
		return nil, fmt.Errorf("the registry names the checksum %[2]q for %[1]s, but its own list of checksums has %[3]q", doc.Filename, out.Sum, by[doc.Filename])
	}
	out.Hashes = hashes(by, "terraform-provider-"+p.Type+"_"+v.String()+"_")
	return out, nil
}

// listed downloads the list of checksums of a release, or its signature. where returns the address of this document,
// from its name and its text in the answer of the registry.
func (r *Registry) listed(ctx context.Context, name, text string, where func(name, text string) (*url.URL, error)) ([]byte, error) {
	u, err := where(name, text)
	if err != nil {
		return nil, err
	}
	a, err := r.Client.Get(ctx, u, 1<<20)
	if err != nil {
		return nil, err
	}
	return a.Body, nil
}

// packageURL returns the absolute form of an address in a document. The parameter from is the URL of the document. The
// address must use https, unless the URL of the document does not use https either.
func packageURL(from *url.URL, name, text string) (*url.URL, error) {
	u, err := from.Parse(text)
	switch {
	case text == "":
		return nil, fmt.Errorf("the answer of %s lacks the address %q. The administrator of that server must correct it", download.Show(from), name)
	case err != nil:
		return nil, fmt.Errorf("the answer of %s has an address %q that cannot be read", download.Show(from), name)
	case u.Scheme != "https" && u.Scheme != from.Scheme:
		return nil, fmt.Errorf("%s names the address %s, which is not protected by TLS like the registry", download.Show(from), download.Show(u))
	}
	return u, nil
}

// parseSums parses a list of SHA-256 checksums in the format of sha256sum. It returns the checksums by file name. Like
// Terraform, it ignores other lines, such as comments, and uses the first checksum of a file.
func parseSums(text []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || len(fields[0]) != 64 || !isHex(fields[0]) {
			continue
		}
		if name := strings.TrimPrefix(fields[1], "*"); out[name] == "" {
			out[name] = strings.ToLower(fields[0])
		}
	}
	return out
}

func isHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}

// hashes returns the hashes of all packages of a version, for a lock file. sums is the signed list: the checksums by
// file name. prefix is the beginning of the packages' file names. Other parts of the registry's answers are not signed,
// so hashes does not use them.
func hashes(sums map[string]string, prefix string) []string {
	var out []string
	for name, sum := range sums {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, ".zip") {
			out = append(out, "zh:"+sum)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// verify returns the ID of the registry's key that signed a list of checksums. A key that has expired is accepted, as
// in OpenTofu and Terraform, because its signatures cannot be renewed. If unexpired is true, an expired key is an
// error. A revoked key is always an error.
func verify(signed, signature []byte, keys []string, unexpired bool) (string, error) {
	for _, armor := range keys {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(armor))
		if err != nil {
			return "", fmt.Errorf("a signing key of the registry cannot be read: %w", err)
		}
		by, err := openpgp.CheckDetachedSignature(ring, bytes.NewReader(signed), bytes.NewReader(signature), nil)
		switch {
		case errors.Is(err, pgperrors.ErrUnknownIssuer):
		case by != nil && (err == nil || errors.Is(err, pgperrors.ErrKeyExpired) && !unexpired):
			return by.PrimaryKey.KeyIdString(), nil
		case by != nil && errors.Is(err, pgperrors.ErrKeyExpired):
			return "", fmt.Errorf("the key %s, which signed the registry's list of checksums, has expired, but OPENTOFU_ENFORCE_GPG_EXPIRATION requires a valid key", by.PrimaryKey.KeyIdString())
		default:
			return "", fmt.Errorf("the signature of the registry's list of checksums is not valid: %w", err)
		}
	}
	return "", errors.New("no key of the registry signed its list of checksums")
}
