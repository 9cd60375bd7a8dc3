package fetch

import (
	"bytes"
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
	offline bool                 // only what is there already
	commits map[gitSource]string // what was fetched by this command
}

// repository is one of them.
type repository struct {
	*repositories
	dir string
}

// of is the copy of a repository. The first time it is made, empty.
func (r *repositories) of(ctx context.Context, address string) (*repository, error) {
	one := &repository{r, filepath.Join(r.dir, fmt.Sprintf("%x.git", sha256.Sum256([]byte(address))))}
	if _, err := os.Stat(filepath.Join(one.dir, "HEAD")); err != nil {
		if _, err := r.run(ctx, "init", "--quiet", "--bare", one.dir); err != nil {
			return nil, err
		}
	}
	return one, nil
}

// maxNested is how deep submodules may stand in one another.
const maxNested = 8

// checkout puts a revision into dir, with its submodules. The program git does the work, so that its credentials,
// proxies and ssh settings count; what it delivers is unpacked as an archive is.
func (r *repositories) checkout(ctx context.Context, g gitSource, dir string, nested int) error {
	if nested > maxNested {
		return fmt.Errorf("its submodules are nested deeper than %d", maxNested)
	}
	one, err := r.of(ctx, g.url)
	if err != nil {
		return err
	}
	commit, ok := r.commits[g]
	if !ok {
		if commit, err = one.fetch(ctx, g); err != nil {
			return err
		}
		r.commits[g] = commit
	}
	tmp, err := os.CreateTemp(one.dir, "archive-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := one.git(ctx, "archive", "--format=tar", "--output="+tmp.Name(), commit); err != nil {
		return err
	}
	if err := archive.Unpack(tmp.Name(), dir, moduleLimits); err != nil {
		return err
	}
	subs, err := one.submodules(ctx, g.url, commit)
	for path, sub := range subs {
		at, problem := inside(dir, path)
		if problem == nil {
			problem = r.checkout(ctx, sub, at, nested+1)
		}
		if problem != nil {
			return fmt.Errorf("the submodule %q: %w", path, problem)
		}
	}
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
			return nil, fmt.Errorf("the submodule %q is at %q, and a repository from elsewhere does not say what is taken from this machine", path, display(sub.url))
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

// fetch makes sure that a revision is there and gives its commit. One that is named by its whole hash is not
// asked for again.
func (r *repository) fetch(ctx context.Context, g gitSource) (string, error) {
	if fullCommit().MatchString(g.ref) {
		if _, err := r.git(ctx, "cat-file", "-e", g.ref+"^{commit}"); err == nil {
			return g.ref, nil
		}
	}
	ref := g.ref
	if ref == "" {
		ref = "HEAD"
	}
	// What was fetched is kept by the name that it was asked for by, for -offline.
	kept := fmt.Sprintf("refs/lethe/%x", ref)
	var err error
	if !r.offline {
		args := []string{"fetch", "--quiet", "--no-tags", "--force"}
		if g.depth > 0 {
			args = append(args, fmt.Sprintf("--depth=%d", g.depth))
		}
		_, err = r.git(ctx, append(args, "--", g.url, "+"+ref+":"+kept)...)
	}
	if err == nil {
		out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", kept+"^{commit}")
		if err != nil && r.offline {
			err = fmt.Errorf("the revision %q is not on this machine, and -offline forbids asking for it", ref)
		}
		return strings.TrimSpace(string(out)), err
	}
	// A commit, in full or cut short, that the server does not hand out by name: it is looked for in all branches and tags.
	if !someCommit().MatchString(g.ref) {
		return "", err
	}
	if _, all := r.git(ctx, "fetch", "--quiet", "--force", "--", g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); all != nil {
		return "", all
	}
	out, lost := r.git(ctx, "rev-parse", "--verify", "--end-of-options", g.ref+"^{commit}")
	if lost != nil {
		return "", fmt.Errorf("there is no revision %q in the repository", g.ref)
	}
	commit := strings.TrimSpace(string(out))
	_, err = r.git(ctx, "update-ref", kept, commit)
	return commit, err
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
	cmd := exec.CommandContext(ctx, program, append([]string{"-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never"}, args...)...)
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

// withoutUser finds the user name and password in addresses.
var withoutUser = pattern(`://[^/@\s]*@`)

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
