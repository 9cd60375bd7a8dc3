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
	"regexp"
	"strings"

	"github.com/lethe-iac/lethe/internal/archive"
)

// repository is a bare copy of a git repository, fetched from when a revision is not in it.
type repository struct {
	dir     string
	environ []string
}

// checkout puts a revision into dir and gives its commit. The program git does the work, so that its
// credentials, proxies and ssh settings count; what it delivers is unpacked as an archive is.
func (r *repository) checkout(ctx context.Context, g *gitSource, dir string) (commit string, err error) {
	if _, err := os.Stat(filepath.Join(r.dir, "HEAD")); err != nil {
		if _, err := r.run(ctx, "init", "--quiet", "--bare", r.dir); err != nil {
			return "", err
		}
	}
	if commit, err = r.fetch(ctx, g); err != nil {
		return "", err
	}
	if list, err := r.git(ctx, "ls-tree", commit, ".gitmodules"); err == nil && len(list) > 0 {
		return commit, errors.New("the repository has submodules, which are not installed")
	}
	tmp, err := os.CreateTemp(r.dir, "archive-*.tar")
	if err != nil {
		return "", err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := r.git(ctx, "archive", "--format=tar", "--output="+tmp.Name(), commit); err != nil {
		return "", err
	}
	return commit, archive.Unpack(tmp.Name(), dir, moduleLimits)
}

var (
	fullCommit = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	someCommit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// fetch makes sure that a revision is there and gives its commit. One that is named by its whole hash is not
// asked for again.
func (r *repository) fetch(ctx context.Context, g *gitSource) (string, error) {
	if fullCommit.MatchString(g.ref) {
		if _, err := r.git(ctx, "cat-file", "-e", g.ref+"^{commit}"); err == nil {
			return g.ref, nil
		}
	}
	ref := g.ref
	if ref == "" {
		ref = "HEAD"
	}
	args := []string{"fetch", "--quiet", "--no-tags", "--force"}
	if g.depth > 0 {
		args = append(args, fmt.Sprintf("--depth=%d", g.depth))
	}
	_, err := r.git(ctx, append(args, "--", g.url, ref)...)
	if err == nil {
		out, err := r.git(ctx, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
		return strings.TrimSpace(string(out)), err
	}
	// A commit, in full or cut short, that the server does not hand out by name: it is looked for in all branches and tags.
	if !someCommit.MatchString(g.ref) {
		return "", err
	}
	if _, all := r.git(ctx, "fetch", "--quiet", "--force", "--", g.url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"); all != nil {
		return "", all
	}
	out, lost := r.git(ctx, "rev-parse", "--verify", "--end-of-options", g.ref+"^{commit}")
	if lost != nil {
		return "", fmt.Errorf("there is no revision %q in the repository", g.ref)
	}
	return strings.TrimSpace(string(out)), nil
}

func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, append([]string{"--git-dir=" + r.dir}, args...)...)
}

// run runs git, which asks nothing of the user that its own helpers do not.
func (r *repository) run(ctx context.Context, args ...string) ([]byte, error) {
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
		text := strings.TrimSpace(withoutUser.ReplaceAllString(said.String(), "://"))
		return nil, fmt.Errorf("git could not fetch it: %s", strings.TrimPrefix(text, "fatal: "))
	}
	return out.Bytes(), nil
}

// withoutUser finds the user name and password in addresses.
var withoutUser = regexp.MustCompile(`://[^/@\s]*@`)

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

// repositoryFor is the copy of a repository below a directory.
func repositoryFor(dir, url string, environ []string) *repository {
	return &repository{filepath.Join(dir, fmt.Sprintf("%x.git", sha256.Sum256([]byte(url)))), environ}
}
