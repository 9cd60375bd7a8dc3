package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/lethe-iac/lethe/internal/archive"
)

// repositories are bare copies of git repositories, below a directory that is kept from one command to the next.
type repositories struct {
	dir     string
	environ []string
	offline bool                   // only what is there already
	asked   map[string]bool        // copies that this command has brought up to date
	found   map[gitSource]revision // what this command has looked up
}

func newRepositories(dir string, environ []string, offline bool) *repositories {
	return &repositories{dir: dir, environ: environ, offline: offline, asked: map[string]bool{}, found: map[gitSource]revision{}}
}

// repository is one of them.
type repository struct {
	*repositories
	dir string
}

// revision is what a name in a repository stands for.
type revision struct {
	commit string
	fixed  bool // the name is one that is not to move: a tag, or the commit itself
}

// of is the copy of the repository of a source. The first time it is made, empty. What has no history has a copy of its own.
func (r *repositories) of(ctx context.Context, g gitSource) (*repository, error) {
	kind := ".git"
	if g.depth > 0 {
		kind = ".shallow.git"
	}
	one := &repository{r, filepath.Join(r.dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(g.url)), kind))}
	attributes := filepath.Join(one.dir, "info", "attributes")
	if _, err := os.Stat(attributes); err == nil {
		return one, nil
	}
	if _, err := r.run(ctx, "init", "--quiet", "--bare", one.dir); err != nil {
		return nil, err
	}
	// An archive has all files of a commit, as they are: a module is not a release.
	return one, errors.Join(os.MkdirAll(filepath.Dir(attributes), 0o700), os.WriteFile(attributes, []byte("* -export-ignore -export-subst\n"), 0o600))
}

// maxNested is how deep submodules may stand in one another.
const maxNested = 8

// checkout puts a revision into dir, with its submodules, and gives its commit: the one that is locked, unless that
// is "". The program git does the work, so that its credentials, proxies and ssh settings count; what it delivers
// is unpacked as an archive is.
func (r *repositories) checkout(ctx context.Context, g gitSource, locked, dir string, nested int) (string, error) {
	if nested > maxNested {
		return "", fmt.Errorf("its submodules are nested deeper than %d", maxNested)
	}
	one, err := r.of(ctx, g)
	if err != nil {
		return "", err
	}
	commit, err := one.commit(ctx, g, locked)
	if err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(one.dir, "archive-*.tar")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := one.git(ctx, "archive", "--format=tar", "--output="+tmp.Name(), commit); err != nil {
		return "", err
	}
	if err := archive.Unpack(tmp.Name(), dir, moduleLimits); err != nil {
		return "", err
	}
	subs, err := one.submodules(ctx, g.url, commit)
	for path, sub := range subs {
		at, problem := inside(dir, path)
		if problem == nil {
			_, problem = r.checkout(ctx, sub, "", at, nested+1)
		}
		if problem != nil {
			return "", fmt.Errorf("the submodule %q: %w", path, problem)
		}
	}
	return commit, err
}

// commit gives the commit of a source, and makes sure that it is there. A branch may have moved since it was locked; a
// tag may not.
func (r *repository) commit(ctx context.Context, g gitSource, locked string) (string, error) {
	if locked != "" && r.offline && r.has(ctx, locked) {
		return locked, nil
	}
	now, ok := r.found[g]
	if !ok {
		var err error
		if now, err = r.look(ctx, g); err != nil {
			return "", err
		}
		r.found[g] = now
	}
	switch {
	case locked == "" || locked == now.commit:
		return now.commit, r.keep(ctx, now.commit)
	case now.fixed:
		return "", &ChangedError{
			Was: "commit " + locked, Is: "commit " + now.commit,
			What: fmt.Sprintf("the revision %q of %s was moved to another commit", g.ref, display(g.url)),
			Keep: fmt.Sprintf(" To stay with what was locked, name it: ?ref=%s.", locked),
		}
	case !r.has(ctx, locked) && !r.offline:
		args := []string{"fetch", "--quiet", "--no-tags"}
		if g.depth > 0 {
			args = append(args, "--depth=1")
		}
		_, _ = r.git(ctx, append(args, "--", g.url, locked)...) // which the server may not hand out by name
	}
	if !r.has(ctx, locked) {
		return "", fmt.Errorf("the commit %s, which is locked, is not in %s any more, where %q is the commit %s now. Run \"lethe init -upgrade\" to take that", locked, display(g.url), cmp.Or(g.ref, "HEAD"), now.commit)
	}
	return locked, r.keep(ctx, locked)
}

func (r *repository) has(ctx context.Context, commit string) bool {
	_, err := r.git(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// keep lets a commit stay in the copy also when its branch leaves it.
func (r *repository) keep(ctx context.Context, commit string) error {
	_, err := r.git(ctx, "update-ref", "refs/lethe/commits/"+commit, commit)
	return err
}

// submodules are the repositories that a commit has in it, by their directory.
func (r *repository) submodules(ctx context.Context, address, commit string) (map[string]gitSource, error) {
	list, err := r.git(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil || !bytes.Contains(list, []byte("\x00160000 ")) && !bytes.HasPrefix(list, []byte("160000 ")) {
		return nil, err
	}
	settings, err := r.git(ctx, "config", "-z", "--blob", commit+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		return nil, nil // a directory that is a repository, and nothing says which
	}
	addresses, paths := map[string]string{}, map[string]string{} // by name, and the name by path
	for entry := range strings.SplitSeq(string(settings), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if name, ok := strings.CutSuffix(key, ".url"); ok {
			addresses[name] = value
		} else if name, ok := strings.CutSuffix(key, ".path"); ok {
			paths[value] = name
		}
	}
	out := map[string]gitSource{}
	for line := range strings.SplitSeq(string(list), "\x00") {
		about, path, _ := strings.Cut(line, "\t")
		fields := strings.Fields(about) // mode, type, hash
		if len(fields) != 3 || fields[0] != "160000" || addresses[paths[path]] == "" {
			continue
		}
		sub := gitSource{url: beside(address, addresses[paths[path]]), ref: fields[2]}
		if isLocal(sub.url) && !isLocal(address) || strings.HasPrefix(sub.url, "-") {
			return nil, fmt.Errorf("the submodule %q is at %q, and a repository that was downloaded must not name what is on this machine", path, display(sub.url))
		}
		out[path] = sub
	}
	return out, nil
}

// isLocal reports whether a repository is on this machine.
func isLocal(address string) bool {
	return strings.HasPrefix(address, "file:") || !strings.Contains(address, ":")
}

// beside is the address of a submodule, seen from that of the repository that it is in.
func beside(base, address string) string {
	if !strings.HasPrefix(address, "./") && !strings.HasPrefix(address, "../") {
		return address
	}
	base = strings.TrimSuffix(base, "/")
	for {
		switch {
		case strings.HasPrefix(address, "./"):
			address = address[2:]
		case strings.HasPrefix(address, "../"):
			address = address[3:]
			base = base[:max(0, strings.LastIndexAny(base, "/:"))]
		default:
			return base + "/" + address
		}
	}
}

var (
	fullCommit = pattern(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	someCommit = pattern(`^[0-9a-f]{7,64}$`)
)

// look finds out what the revision of a source is now. One that is named by its whole hash, and is there, is not asked for.
func (r *repository) look(ctx context.Context, g gitSource) (revision, error) {
	if fullCommit().MatchString(g.ref) && r.has(ctx, g.ref) {
		return revision{g.ref, true}, nil
	}
	if !r.offline {
		if err := r.ask(ctx, g); err != nil {
			return revision{}, err
		}
	}
	found, ok := r.named(ctx, g.ref)
	switch {
	case ok:
		return found, nil
	case r.offline:
		return revision{}, fmt.Errorf("the revision %q is not on this machine, and -offline forbids asking for it", cmp.Or(g.ref, "HEAD"))
	}
	if g.ref == "" {
		return revision{}, errors.New("the repository has no HEAD: name a revision with ?ref=")
	}
	// What is neither a branch nor a tag, such as a change that was proposed, or a commit of none.
	_, err := r.git(ctx, "fetch", "--quiet", "--no-tags", "--force", "--", g.url, "+"+g.ref+":"+keptRef(g.ref))
	if err == nil {
		found, _ = r.named(ctx, g.ref)
	}
	return found, err
}

// keptRef is the name under which a copy has what is neither a branch nor a tag.
func keptRef(ref string) string { return fmt.Sprintf("refs/lethe/%x", ref) }

// named looks a revision up in the copy.
func (r *repository) named(ctx context.Context, ref string) (revision, bool) {
	names := []string{"refs/tags/" + ref, "refs/heads/" + ref, keptRef(ref)}
	if ref == "" {
		names = []string{keptRef("HEAD")}
	}
	if someCommit().MatchString(ref) {
		names = append(names, ref)
	}
	for i, name := range names {
		out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
		if err == nil {
			return revision{strings.TrimSpace(string(out)), i == 0 && ref != "" || i == 3 || fullCommit().MatchString(ref)}, true
		}
	}
	return revision{}, false
}

// noRef is what git says where a repository has no revision of a name.
const noRef = "couldn't find remote ref"

// ask brings a copy up to date, once in a command: all branches and tags at once, since the next module is often of
// the same repository. Without history it is asked for one revision.
func (r *repository) ask(ctx context.Context, g gitSource) error {
	fetch := func(args ...string) error {
		_, err := r.git(ctx, append([]string{"fetch", "--quiet", "--force", "--no-tags"}, args...)...)
		return err
	}
	if g.depth > 0 {
		names := []string{"refs/tags/" + g.ref, "refs/heads/" + g.ref}
		if g.ref == "" || fullCommit().MatchString(g.ref) {
			names = nil
		}
		ref := cmp.Or(g.ref, "HEAD")
		depth := fmt.Sprintf("--depth=%d", g.depth)
		for _, name := range names {
			if err := fetch(depth, "--", g.url, "+"+name+":"+name); err == nil || !strings.Contains(err.Error(), noRef) {
				return err
			}
		}
		err := fetch(depth, "--", g.url, "+"+ref+":"+keptRef(ref))
		if err == nil || !someCommit().MatchString(g.ref) {
			return err
		}
		return fetch("--", g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*") // a commit that it does not hand out by name
	}
	if r.asked[r.dir] {
		return nil
	}
	all := []string{"--prune", "--", g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:" + keptRef("HEAD")}
	err := fetch(all...)
	if err != nil && strings.Contains(err.Error(), noRef+" HEAD") { // which points to a branch that there is not
		err = fetch(all[:len(all)-1]...)
	}
	r.asked[r.dir] = err == nil
	return err
}

func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, append([]string{"--git-dir=" + r.dir}, args...)...)
}

// run runs git, which asks nothing of the user that its own helpers do not.
func (r *repositories) run(ctx context.Context, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("the program git, which fetches such modules, is not installed")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never",
		"-c", "core.autocrlf=false", "-c", "core.eol=lf", // a package is the same on every system
	}, args...)...)
	cmd.Env = append(withoutGit(r.environ), "GIT_ALLOW_PROTOCOL=https:ssh:http:git:file", "LC_ALL=C")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text := strings.TrimSpace(withoutUser().ReplaceAllString(said.String(), "://"))
		return nil, fmt.Errorf("git could not fetch it: %s", strings.TrimPrefix(text, "fatal: "))
	}
	return out.Bytes(), nil
}

// withoutGit is an environment without what points git to another repository.
func withoutGit(environ []string) []string {
	var out []string
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR":
		default:
			out = append(out, v)
		}
	}
	return out
}
