package fetch

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/registry"
)

// moduleSource is the parsed source address of a module that is not local. Exactly one of registry, git, archive, image
// and local is set.
type moduleSource struct {
	text     string // the address as .terraform/modules/modules.json records it, without the subdirectory
	registry *registry.Module
	git      *gitSource
	archive  *url.URL
	bucket   string // "s3" or "gcs" if archive is an object in such a cloud store; otherwise ""
	image    *imageSource
	local    string // absolute path of a local directory
	sub      string // directory inside the package, with slashes; "" is its root
}

// gitSource is a revision of a repository.
type gitSource struct {
	url   string
	ref   string // branch, tag or commit; "" is the HEAD of the remote
	depth int    // 0 fetches the whole history
	key   string // a private key for SSH; "" if the address has none
}

// imageSource is a package in an OCI registry.
type imageSource struct {
	repository string // host and path
	reference  string // tag or digest; "" if the address has neither
}

// pattern returns a function that compiles a regular expression at its first call and returns it. Most commands install
// nothing, and so do not compile it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	registryName = pattern(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)
	scpForm      = pattern(`^([A-Za-z0-9_.-]+)@([A-Za-z0-9_.-]+):/?([^/:].*)$`)
	hostPath     = pattern(`^[A-Za-z0-9][A-Za-z0-9.-]*:/?[^/:]`) // without a user; the path is relative to the home directory on the host
	bucketHost   = pattern(`^(?:[a-z0-9.-]+\.)?s3[a-z0-9.-]*\.amazonaws\.com(?:\.cn)?$`)
	forcedForm   = pattern(`^([A-Za-z0-9]+)::(.+)$`)
)

// parseSource parses the source address of a module that is not local, as Terraform and OpenTofu do: addresses of
// registries, git repositories and archives, and the short forms of some hosts. host is the registry of addresses that
// name no registry.
func parseSource(text, host string) (*moduleSource, error) {
	if m, sub, ok := registrySource(text, host); ok {
		return &moduleSource{text: m.String(), registry: &m, sub: sub}, nil
	}
	base, sub, err := splitSub(text)
	if err != nil {
		return nil, err
	}
	s, err := packageSource(base)
	if err != nil {
		return nil, err
	}
	s.sub = path.Join(s.sub, sub)
	return s, nil
}

// IsSource reports whether text is the source address of a module that is not local, even if such a source cannot be
// installed.
func IsSource(text string) bool {
	_, err := parseSource(text, "registry")
	return err == nil || forcedForm().MatchString(text) || strings.Contains(text, "://")
}

// registrySource parses "namespace/name/system" and "host/namespace/name/system", optionally with a subdirectory. It
// returns false for other addresses.
func registrySource(text, host string) (registry.Module, string, bool) {
	base, sub, _ := strings.Cut(text, "//")
	parts := strings.Split(base, "/")
	if len(parts) == 4 {
		host, parts = strings.ToLower(parts[0]), parts[1:]
		if strings.Contains(host, "::") || !strings.Contains(host, ".") && !strings.HasPrefix(host, "localhost:") || host == "github.com" || host == "bitbucket.org" {
			return registry.Module{}, "", false
		}
	} else if len(parts) == 3 && strings.Contains(parts[0], ".") {
		return registry.Module{}, "", false // the short form of a repository on a host, such as github.com
	}
	if len(parts) != 3 || strings.ContainsAny(sub, "?") || !clean(sub) {
		return registry.Module{}, "", false
	}
	for _, p := range parts {
		if !registryName().MatchString(p) {
			return registry.Module{}, "", false
		}
	}
	return registry.Module{Host: host, Namespace: parts[0], Name: parts[1], System: parts[2]}, sub, true
}

// splitSub separates the subdirectory from an address: the part between "//" and the query. The "//" of the scheme does
// not count. It returns an error if the subdirectory is outside the package.
func splitSub(text string) (base, sub string, err error) {
	from := 0
	if i := strings.Index(text, "://"); i >= 0 {
		from = i + 3
	}
	rest, query, _ := strings.Cut(text[from:], "?")
	base = text[:from] + rest
	if i := strings.Index(rest, "//"); i >= 0 {
		base, sub = text[:from]+rest[:i], strings.Trim(rest[i+2:], "/")
	}
	if query != "" {
		base += "?" + query
	}
	if !clean(sub) {
		return "", "", fmt.Errorf("the subdirectory %q leads out of the package", sub)
	}
	return base, path.Join(sub), nil
}

// clean reports whether a subdirectory in an address is inside the package. "" is the package itself.
func clean(sub string) bool {
	return sub == "" || filepath.IsLocal(filepath.FromSlash(path.Clean(sub)))
}

func packageSource(text string) (*moduleSource, error) {
	if m := forcedForm().FindStringSubmatch(text); m != nil {
		switch m[1] {
		case "git":
			return git(m[2])
		case "http", "https":
			return archived(m[2])
		case "file":
			return packageSource(m[2])
		case "hg":
			return nil, fmt.Errorf("modules in Mercurial repositories are not supported. Use an archive over https, or a git repository")
		case "s3", "gcs":
			s, err := archived(m[2])
			if err == nil {
				s.text, s.bucket = text, m[1]
			}
			return s, err
		}
		return nil, fmt.Errorf("%q is not a known kind of source", m[1])
	}
	host, rest, _ := strings.Cut(text, "/")
	switch {
	case isHosted(text):
		return hosted(text)
	case bucketHost().MatchString(host) && rest != "":
		return packageSource("s3::https://" + text)
	case host == "www.googleapis.com" && strings.HasPrefix(rest, "storage/v1/"):
		return packageSource("gcs::https://" + text)
	case filepath.IsAbs(text):
		return &moduleSource{text: "file://" + filepath.ToSlash(text), local: text}, nil
	case strings.HasPrefix(text, "file://"):
		return &moduleSource{text: text, local: filePath(text)}, nil
	case !strings.Contains(text, "://") && scpForm().MatchString(text), !strings.Contains(text, ":/") && hostPath().MatchString(text):
		return git(text)
	case schemeIs(text, "https"), schemeIs(text, "http"):
		return archived(text)
	case schemeIs(text, "git"):
		return git(text)
	case strings.HasPrefix(text, "oci://"):
		return image(text)
	}
	return nil, fmt.Errorf("it is not the address of a module. Use a path that begins with ./ or ../, a registry address NAMESPACE/NAME/SYSTEM, or an address with a scheme such as git::https:// or https://")
}

// filePath returns the path of a file URL. On Windows, a path with a drive can follow a third slash.
func filePath(address string) string {
	path := filepath.FromSlash(strings.TrimPrefix(address, "file://"))
	if path != "" && filepath.VolumeName(path[1:]) != "" && os.IsPathSeparator(path[0]) {
		return path[1:]
	}
	return path
}

// schemeIs reports whether an address has the scheme, in upper or lower case.
func schemeIs(text, scheme string) bool {
	before, _, ok := strings.Cut(text, "://")
	return ok && strings.EqualFold(before, scheme)
}

// isHosted reports whether an address is a short form, which names a repository on a known host.
func isHosted(text string) bool {
	return strings.HasPrefix(text, "github.com/") || strings.HasPrefix(text, "bitbucket.org/")
}

// hosted parses a short form. On github.com, a subdirectory may follow the repository without "//".
func hosted(text string) (*moduleSource, error) {
	repo, query, hasQuery := strings.Cut(text, "?")
	parts := strings.SplitN(strings.TrimRight(repo, "/"), "/", 4)
	if len(parts) < 3 || parts[1] == "" || len(parts) == 4 && (parts[0] != "github.com" || !clean(parts[3])) {
		return nil, fmt.Errorf("an address on %s has the form %s/OWNER/REPOSITORY, with a subdirectory after //", parts[0], parts[0])
	}
	address := "https://" + strings.TrimSuffix(strings.Join(parts[:3], "/"), ".git") + ".git"
	if hasQuery {
		address += "?" + query
	}
	s, err := git(address)
	if err == nil && len(parts) == 4 {
		s.sub = path.Join(parts[3])
	}
	return s, err
}

// git parses the address of a repository. The query contains the revision.
func git(text string) (*moduleSource, error) {
	if isHosted(text) {
		return hosted(text)
	}
	base, query, _ := strings.Cut(text, "?")
	if filepath.IsAbs(base) {
		base = "file:///" + strings.TrimPrefix(filepath.ToSlash(base), "/")
	}
	if m := scpForm().FindStringSubmatch(base); m != nil && !strings.Contains(base, "://") {
		base = "ssh://" + m[1] + "@" + m[2] + "/" + m[3]
	}
	fetched := base
	if host, _, _ := strings.Cut(base, ":"); !hostPath().MatchString(base) || strings.EqualFold(host, "file") {
		var err error
		if fetched, err = withScheme(base); err != nil {
			return nil, err
		}
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the part after the question mark cannot be read")
	}
	out := &gitSource{url: fetched, ref: q.Get("ref")}
	if strings.HasPrefix(out.ref, "-") {
		return nil, fmt.Errorf("%q is not the name of a revision", out.ref)
	}
	if text := q.Get("depth"); text != "" {
		depth, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("the depth must be a number of commits, not %q", text)
		}
		out.depth = max(depth, 0)
	}
	if text := q.Get("sshkey"); text != "" {
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, fmt.Errorf("sshkey must be a private key in base64, with the characters +, / and = escaped as in an address")
		}
		out.key = string(key)
	}
	for _, name := range []string{"ref", "depth", "sshkey", "archive"} { // remove parameters for Lethe; archive has no meaning for a repository
		q.Del(name)
	}
	for name := range q {
		return nil, fmt.Errorf("a git source takes only ref, depth and sshkey after the question mark, not %q", name)
	}
	recorded := "git::" + base
	if query != "" {
		recorded += "?" + query
	}
	return &moduleSource{text: recorded, git: out}, nil
}

// withScheme returns the address of a repository with its scheme in lower case, because git accepts only such schemes. It
// returns an error for an address without a scheme, or with a scheme that is not supported.
func withScheme(address string) (string, error) {
	u, err := url.Parse(address)
	_, rest, ok := strings.Cut(address, "://")
	if err != nil || u.Scheme == "" || !ok {
		return "", fmt.Errorf("it names no git repository")
	}
	switch u.Scheme {
	case "https", "http", "ssh", "git", "file":
		return u.Scheme + "://" + rest, nil
	}
	return "", fmt.Errorf("git repositories need one of https, ssh, http, git and file, not %s", u.Scheme)
}

// image parses the address of a repository in an OCI registry. The query contains a tag or a digest.
func image(text string) (*moduleSource, error) {
	base, query, _ := strings.Cut(strings.TrimPrefix(text, "oci://"), "?")
	q, err := url.ParseQuery(query)
	if err != nil || strings.ContainsAny(base, "@#") || strings.Count(base, "/") == 0 {
		return nil, fmt.Errorf("an OCI source has the form oci://HOST/REPOSITORY, with a tag or a digest after a question mark")
	}
	tag, digest := q.Get("tag"), q.Get("digest")
	q.Del("tag")
	q.Del("digest")
	if len(q) > 0 || tag != "" && digest != "" {
		return nil, fmt.Errorf("an OCI source takes only a tag or a digest after the question mark")
	}
	return &moduleSource{text: text, image: &imageSource{base, cmp.Or(tag, digest)}}, nil
}

func archived(text string) (*moduleSource, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("it is not the address of an archive")
	}
	return &moduleSource{text: text, archive: u}, nil
}

// recorded returns the address, with its subdirectory, as .terraform/modules/modules.json records it.
func (s *moduleSource) recorded() string {
	if s.sub == "" {
		return s.text
	}
	base, query, ok := strings.Cut(s.text, "?")
	if !ok {
		return base + "//" + s.sub
	}
	return base + "//" + s.sub + "?" + query
}

// withoutPassword removes the credentials from an address. It keeps a user name for SSH, which is part of the address.
func withoutPassword(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	name := u.User.Username()
	u.User = nil
	if u.Scheme == "ssh" {
		u.User = url.User(name)
	}
	return u.String()
}

// secretNames are the parameters of addresses that contain credentials.
const secretNames = `aws_access_key_id|aws_access_key_secret|aws_access_token|aws_profile|x-amz-[a-z-]*|x-goog-[a-z-]*|token|access_token|private_token|sig|signature|password|sshkey|se|st`

var (
	secretParameters = pattern(`(?i)^(?:` + secretNames + `)$`)
	secretValues     = pattern(`(?i)([?&](?:` + secretNames + `)=)[^&\s"]*`)
)

// SecretsIn returns the secrets in the source of a module: passwords, and parameters with credentials.
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

// passwords matches the password in an address, or the user name of an http address without a password, which may be a
// token.
var passwords = pattern(`(?i)[a-z]+://[^/@:\s]*:([^/@\s]+)@|https?://([^/@:\s]+)@`)

// Display returns the source address of a module without credentials, for messages.
func Display(source string) string { return display(source) }

// display returns an address without credentials.
func display(text string) string {
	return secretValues().ReplaceAllString(withoutUsers(text), "$1…")
}

// userInfo matches the user name and password in addresses.
var userInfo = pattern(`([a-zA-Z]*)://[^/@\s]*@`)

// withoutUsers removes user names and passwords from the addresses in a text. It keeps names without a password for
// SSH, because they are part of the address. For other schemes such a name may be a token.
func withoutUsers(text string) string {
	return userInfo().ReplaceAllStringFunc(text, func(found string) string {
		scheme, user, _ := strings.Cut(found, "://")
		if strings.EqualFold(scheme, "ssh") && !strings.Contains(user, ":") {
			return found
		}
		return scheme + "://"
	})
}
