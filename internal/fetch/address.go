package fetch

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/registry"
)

// moduleSource is where a module comes from, as read from its source address. One of registry, git, archive and
// local is set.
type moduleSource struct {
	text     string // as it is recorded, without the subdirectory
	registry *registry.Module
	git      *gitSource
	archive  *url.URL
	bucket   string // the cloud whose object archive is, "s3" or "gcs"; "": it is none
	image    *imageSource
	local    string // absolute path
	sub      string // directory inside the package, with slashes; "": its root
}

// gitSource is a revision of a repository.
type gitSource struct {
	url   string
	ref   string // branch, tag or commit; "": the remote's HEAD
	depth int    // 0: the whole history
}

// imageSource is a package in an OCI registry.
type imageSource struct {
	repository string // host and path
	reference  string // tag or digest; "": none is named
}

// pattern compiles an expression when it is used first: most commands install nothing.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	registryName = pattern(`^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$`)
	scpForm      = pattern(`^(?:([A-Za-z0-9_.-]+)@)?([A-Za-z0-9.-]+):([^/:].*)$`)
	bucketHost   = pattern(`^(?:[a-z0-9.-]+\.)?s3[a-z0-9.-]*\.amazonaws\.com(?:\.cn)?$`)
	forcedForm   = pattern(`^([A-Za-z0-9]+)::(.+)$`)
)

// parseSource reads the source address of a module that is not local, as Terraform and OpenTofu do: registry addresses,
// addresses of git repositories and archives, and the short forms of some hosts. host is the registry of
// addresses that name none.
func parseSource(text, host string) (*moduleSource, error) {
	if m, sub, ok := registrySource(text, host); ok {
		return &moduleSource{text: m.String(), registry: &m, sub: sub}, nil
	}
	bare, sub, err := splitSub(text)
	if err != nil {
		return nil, err
	}
	s, err := packageSource(bare)
	if err != nil {
		return nil, err
	}
	s.sub = sub
	return s, nil
}

// IsSource reports whether a text is the source address of a module that is not local, also of a kind that cannot be
// installed.
func IsSource(text string) bool {
	_, err := parseSource(text, "registry")
	return err == nil || forcedForm().MatchString(text) || strings.Contains(text, "://")
}

// registrySource reads "namespace/name/system" and "host/namespace/name/system", with a subdirectory.
func registrySource(text, host string) (registry.Module, string, bool) {
	bare, sub, _ := strings.Cut(text, "//")
	parts := strings.Split(bare, "/")
	if len(parts) == 4 {
		host, parts = strings.ToLower(parts[0]), parts[1:]
		if !strings.Contains(host, ".") && !strings.HasPrefix(host, "localhost:") || host == "github.com" || host == "bitbucket.org" {
			return registry.Module{}, "", false
		}
	} else if len(parts) == 3 && strings.Contains(parts[0], ".") {
		return registry.Module{}, "", false // a host, of a short form
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

// splitSub takes the subdirectory out of an address: what follows "//", but for that of the scheme, up to
// the query.
func splitSub(text string) (bare, sub string, err error) {
	from := 0
	if i := strings.Index(text, "://"); i >= 0 {
		from = i + 3
	}
	rest, query, _ := strings.Cut(text[from:], "?")
	bare = text[:from] + rest
	if i := strings.Index(rest, "//"); i >= 0 {
		bare, sub = text[:from]+rest[:i], strings.Trim(rest[i+2:], "/")
	}
	if query != "" {
		bare += "?" + query
	}
	if !clean(sub) {
		return "", "", fmt.Errorf("the subdirectory %q leads out of the package", sub)
	}
	return bare, sub, nil
}

// clean reports whether a subdirectory stays inside.
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
			return nil, fmt.Errorf("modules in Mercurial repositories cannot be installed, because Lethe does not run the program hg: have the repository offer an archive over https, or keep the module in git")
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
	case host == "github.com", host == "bitbucket.org":
		repo, query, _ := strings.Cut(rest, "?")
		if strings.Count(repo, "/") != 1 {
			return nil, fmt.Errorf("an address on %s has the form %s/OWNER/REPOSITORY, with a subdirectory after //", host, host)
		}
		if query != "" {
			query = "?" + query
		}
		return git("https://" + host + "/" + strings.TrimSuffix(repo, ".git") + ".git" + query)
	case bucketHost().MatchString(host) && rest != "":
		return packageSource("s3::https://" + text)
	case host == "www.googleapis.com" && strings.HasPrefix(rest, "storage/v1/"):
		return packageSource("gcs::https://" + text)
	case filepath.IsAbs(text):
		return &moduleSource{text: "file://" + filepath.ToSlash(text), local: text}, nil
	case strings.HasPrefix(text, "file://"):
		return &moduleSource{text: text, local: filepath.FromSlash(strings.TrimPrefix(text, "file://"))}, nil
	case scpForm().MatchString(text) && !strings.Contains(text, "://"):
		return git(text)
	case strings.HasPrefix(text, "https://"), strings.HasPrefix(text, "http://"):
		return archived(text)
	case strings.HasPrefix(text, "oci://"):
		return image(text)
	}
	return nil, fmt.Errorf("it is not the address of a module: local paths begin with ./ or ../, those in registries are NAMESPACE/NAME/SYSTEM, and others have a scheme such as git::https:// or https://")
}

// git reads the address of a repository, whose query has the revision.
func git(text string) (*moduleSource, error) {
	bare, query, _ := strings.Cut(text, "?")
	if m := scpForm().FindStringSubmatch(bare); m != nil && !strings.Contains(bare, "://") {
		user := m[1]
		if user != "" {
			user += "@"
		}
		bare = "ssh://" + user + m[2] + "/" + m[3]
	}
	u, err := url.Parse(bare)
	if err != nil || u.Scheme == "" {
		return nil, fmt.Errorf("it names no repository that git could fetch from")
	}
	switch u.Scheme {
	case "https", "http", "ssh", "git", "file":
	default:
		return nil, fmt.Errorf("git repositories are fetched over https, ssh, http, git and from files, not over %s", u.Scheme)
	}
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("the part after the question mark cannot be read")
	}
	out := &gitSource{url: bare, ref: q.Get("ref")}
	if strings.HasPrefix(out.ref, "-") {
		return nil, fmt.Errorf("%q is not the name of a revision", out.ref)
	}
	if text := q.Get("depth"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &out.depth); err != nil || out.depth < 1 {
			return nil, fmt.Errorf("the depth must be a number of commits, and not %q", text)
		}
	}
	for _, name := range []string{"ref", "depth", "archive"} { // the last has no meaning for a repository
		q.Del(name)
	}
	for name := range q {
		return nil, fmt.Errorf("a git source takes only ref and depth after the question mark, and not %q", name)
	}
	recorded := "git::" + bare
	if query != "" {
		recorded += "?" + query
	}
	return &moduleSource{text: recorded, git: out}, nil
}

// image reads the address of a repository in an OCI registry, whose query has a tag or a digest.
func image(text string) (*moduleSource, error) {
	bare, query, _ := strings.Cut(strings.TrimPrefix(text, "oci://"), "?")
	q, err := url.ParseQuery(query)
	if err != nil || strings.ContainsAny(bare, "@#") || strings.Count(bare, "/") == 0 {
		return nil, fmt.Errorf("an OCI source has the form oci://HOST/REPOSITORY, with a tag or a digest after a question mark")
	}
	tag, digest := q.Get("tag"), q.Get("digest")
	q.Del("tag")
	q.Del("digest")
	if len(q) > 0 || tag != "" && digest != "" {
		return nil, fmt.Errorf("an OCI source takes only a tag or a digest after the question mark")
	}
	return &moduleSource{text: text, image: &imageSource{bare, cmp.Or(tag, digest)}}, nil
}

func archived(text string) (*moduleSource, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("it is not the address of an archive")
	}
	return &moduleSource{text: text, archive: u}, nil
}

// recorded is the source as the list of installed modules has it.
func (s *moduleSource) recorded() string {
	if s.sub == "" {
		return s.text
	}
	bare, query, ok := strings.Cut(s.text, "?")
	if !ok {
		return bare + "//" + s.sub
	}
	return bare + "//" + s.sub + "?" + query
}

// withoutPassword drops what lets a user in, but for the user name of SSH, which is part of the address.
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

// secretNames are the parameters of addresses that let a user in, and do not say what is asked for.
const secretNames = `aws_access_key_id|aws_access_key_secret|aws_access_token|aws_profile|x-amz-[a-z-]*|x-goog-[a-z-]*|token|access_token|private_token|sig|signature|password|sshkey|se|st`

var (
	secretParameters = pattern(`(?i)^(?:` + secretNames + `)$`)
	secretValues     = pattern(`(?i)([?&](?:` + secretNames + `)=)[^&\s"]*`)
)

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

// Display returns the source of a module as messages show it: without passwords and the like.
func Display(source string) string { return display(source) }

// display is an address as users see it: without passwords and the like.
func display(text string) string {
	return secretValues().ReplaceAllString(withoutUser().ReplaceAllString(text, "://"), "$1…")
}

// withoutUser finds the user name and password in addresses.
var withoutUser = pattern(`://[^/@\s]*@`)
