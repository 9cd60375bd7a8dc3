package fetch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/archive"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// repositories are bare copies of git repositories, below a directory that is kept from one command to the next.
type repositories struct {
	dir     string
	environ []string
	offline bool                   // only what is there already
	asked   map[string]bool        // copies that this command has brought up to date
	found   map[gitSource]revision // what this command has looked up
	waiting func(address string)   // is called when another process works on a repository for more than a moment
}

func newRepositories(dir string, environ []string, offline bool) *repositories {
	return &repositories{dir: dir, environ: environ, offline: offline, asked: map[string]bool{}, found: map[gitSource]revision{}, waiting: func(string) {}}
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

// of returns the copy of the repository of a source, and makes an empty one if there is none. The name of the directory
// says which repository it is, and a copy without history is another one.
func (r *repositories) of(g gitSource) *repository {
	kind := ".git"
	if g.depth > 0 {
		kind = ".shallow.git"
	}
	return &repository{r, filepath.Join(r.dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(g.url)), kind))}
}

// ready makes an empty copy if there is none, and removes what processes left in it that were killed. The caller holds
// the lock of the copy, and git itself works in it only while a caller does.
func (r *repository) ready(ctx context.Context) error {
	if _, err := os.Stat(r.attributes()); err == nil {
		return r.sweep()
	}
	return r.make(ctx, "sha1")
}

// attributes is the file that is written last when a copy is made.
func (r *repository) attributes() string { return filepath.Join(r.dir, "info", "attributes") }

// make makes an empty copy for commits of one hash function.
func (r *repository) make(ctx context.Context, format string) error {
	if err := os.RemoveAll(r.dir); err != nil {
		return err
	}
	if _, err := r.run(ctx, noTransport, "init", "--quiet", "--bare", "--object-format="+format, r.dir); err != nil {
		return err
	}
	// An archive has all files of a commit, as they are: a module is not a release.
	return errors.Join(os.MkdirAll(filepath.Dir(r.attributes()), 0o700), os.WriteFile(r.attributes(), []byte("* -export-ignore -export-subst\n"), 0o600))
}

// sweep removes the lock files and archives that killed processes left.
func (r *repository) sweep() error {
	return filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "objects":
			return filepath.SkipDir
		case !d.IsDir() && (strings.HasSuffix(path, ".lock") || abandoned(path, d)):
			return os.Remove(path)
		}
		return nil
	})
}

// abandoned reports whether a file is an archive that nobody reads any more.
func abandoned(path string, d fs.DirEntry) bool {
	is, _ := filepath.Match("archive-*.tar", d.Name())
	info, err := d.Info()
	return is && err == nil && time.Since(info.ModTime()) > 24*time.Hour
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
	one := r.of(g)
	got, err := one.pack(ctx, g, locked)
	if err != nil {
		return "", err
	}
	defer os.Remove(got.path)
	if err := archive.Unpack(got.path, dir, moduleLimits); err != nil {
		return "", err
	}
	for path, sub := range got.submodules {
		at, problem := inside(dir, path)
		if problem == nil {
			_, problem = r.checkout(ctx, sub, "", at, nested+1)
		}
		if problem != nil {
			return "", fmt.Errorf("the submodule %q: %w", path, problem)
		}
	}
	return got.commit, nil
}

// packed is a revision as git delivers it.
type packed struct {
	commit     string
	path       string               // an archive of its files, which the caller removes
	submodules map[string]gitSource // by their directory
}

// pack fetches a revision if it is not there, and makes an archive of it. Other processes may work with other copies
// meanwhile, and with this one as soon as it is made.
func (r *repository) pack(ctx context.Context, g gitSource, locked string) (got packed, err error) {
	err = lockedAfter(ctx, r.repositories.dir, filepath.Base(r.dir)+".lock", func() { r.waiting(g.url) }, func() error {
		if err := r.ready(ctx); err != nil {
			return err
		}
		got, err = r.revision(ctx, g, locked)
		if err != nil && strings.Contains(err.Error(), isSHA256) {
			if err = r.make(ctx, "sha256"); err == nil {
				got, err = r.revision(ctx, g, locked)
			}
		}
		return err
	})
	return got, err
}

// isSHA256 is part of git's message about a repository with another hash function than the copy has.
const isSHA256 = "server sha256"

// revision does the work of pack under the lock.
func (r *repository) revision(ctx context.Context, g gitSource, locked string) (got packed, err error) {
	if got.commit, err = r.commit(ctx, g, locked); err != nil {
		return got, err
	}
	if got.submodules, err = r.submodules(ctx, g.url, got.commit); err != nil {
		return got, err
	}
	got.path, err = r.tar(ctx, got.commit)
	return got, err
}

// tar makes an archive of a commit.
func (r *repository) tar(ctx context.Context, commit string) (string, error) {
	tmp, err := os.CreateTemp(r.dir, "archive-*.tar")
	if err != nil {
		return "", err
	}
	_, err = r.git(ctx, "archive", "--format=tar", "--output="+tmp.Name(), commit)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", errors.Join(err, os.Remove(tmp.Name()))
	}
	return tmp.Name(), nil
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
		var options []string
		if g.depth > 0 {
			options = []string{"--depth=1"}
		}
		_ = r.fetch(ctx, g, options, locked) // which the server may not hand out by name
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
		if strings.HasPrefix(sub.url, "-") || isLocal(sub.url) && !(isLocal(address) && r.permitsLocalSubmodules(ctx)) {
			return nil, fmt.Errorf("the submodule %q is at %q, and a repository must not name others on this machine. If both are yours, let git allow it: git config --global protocol.file.allow always", path, display(sub.url))
		}
		out[path] = sub
	}
	return out, nil
}

// isLocal reports whether git looks for a repository on this machine. It has the rule of git: an address without a
// scheme is the path of a directory unless a colon stands before the first slash, which makes it a host and a path.
func isLocal(address string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	if ok && !strings.ContainsAny(scheme, "/:") {
		return strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(address, ":")
	return !ok || strings.Contains(host, "/") || strings.EqualFold(host, "file") || filepath.VolumeName(address) != ""
}

// permitsLocalSubmodules reports whether the user's own settings of git allow a repository on this machine to name
// others on it. git does not without such a setting.
func (r *repository) permitsLocalSubmodules(ctx context.Context) bool {
	out, err := r.git(ctx, "config", "--get", "protocol.file.allow")
	return err == nil && strings.TrimSpace(string(out)) == "always"
}

// The transports that git may use. A repository on this machine must be named by the user: in the configuration, or in
// git's own settings, where url.….insteadOf may have it stand for another one.
const (
	noTransport = "none"
	byNetwork   = "https:ssh:http:git"
	locally     = byNetwork + ":file"
)

// transports returns those that a source may be fetched by.
func (r *repository) transports(ctx context.Context, g gitSource) string {
	if isLocal(g.url) { // it is the user who named it: those of servers and submodules are refused before
		return locally
	}
	out, err := r.run(ctx, noTransport, "ls-remote", "--get-url", "--", g.url)
	if err == nil && isLocal(strings.TrimSpace(string(out))) {
		return locally
	}
	return byNetwork
}

// fetch fetches references of the repository of a source into the copy.
func (r *repository) fetch(ctx context.Context, g gitSource, options []string, references ...string) error {
	args := append([]string{"--git-dir=" + r.dir, "fetch", "--quiet", "--force", "--no-tags", "--recurse-submodules=no"}, options...)
	_, err := r.run(ctx, r.transports(ctx, g), append(append(args, "--", g.url), references...)...)
	return err
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
	err := r.fetch(ctx, g, nil, "+"+g.ref+":"+keptRef(g.ref))
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
	if branch, ok := strings.CutPrefix(ref, "origin/"); ok { // as a clone calls it
		names = append(names, "refs/heads/"+branch)
	}
	if ref != "" && r.isDefault(ctx, ref) {
		names = names[1:] // as git finds it in a clone
	}
	for _, name := range names {
		if commit, ok := r.parse(ctx, name); ok {
			return revision{commit, name == "refs/tags/"+ref || name == ref || fullCommit().MatchString(ref)}, true
		}
	}
	return revision{}, false
}

// parse returns the commit of a reference.
func (r *repository) parse(ctx context.Context, name string) (string, bool) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err == nil
}

// isDefault reports whether a name is that of a tag, and of a branch that is where HEAD is: a clone has that branch only.
func (r *repository) isDefault(ctx context.Context, ref string) bool {
	if _, tagged := r.parse(ctx, "refs/tags/"+ref); !tagged {
		return false
	}
	branch, ok := r.parse(ctx, "refs/heads/"+ref)
	head, is := r.parse(ctx, keptRef("HEAD"))
	return ok && is && branch == head
}

// noRef is what git says where a repository has no revision of a name.
const noRef = "couldn't find remote ref"

// ask brings a copy up to date, once in a command: all branches and tags at once, since the next module is often of
// the same repository. Without history it is asked for one revision.
func (r *repository) ask(ctx context.Context, g gitSource) error {
	if g.depth > 0 {
		names := []string{"refs/tags/" + g.ref, "refs/heads/" + g.ref}
		if g.ref == "" || fullCommit().MatchString(g.ref) {
			names = nil
		}
		ref := cmp.Or(g.ref, "HEAD")
		depth := []string{fmt.Sprintf("--depth=%d", g.depth)}
		for _, name := range names {
			if err := r.fetch(ctx, g, depth, "+"+name+":"+name); err == nil || !strings.Contains(err.Error(), noRef) {
				return err
			}
		}
		err := r.fetch(ctx, g, depth, "+"+ref+":"+keptRef(ref))
		if err == nil || !someCommit().MatchString(g.ref) {
			return err
		}
		return r.fetch(ctx, g, nil, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*") // a commit that it does not hand out by name
	}
	if r.asked[r.dir] {
		return nil
	}
	prune, all := []string{"--prune"}, []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:" + keptRef("HEAD")}
	err := r.fetch(ctx, g, prune, all...)
	if err != nil && strings.Contains(err.Error(), noRef+" HEAD") { // which points to a branch that there is not
		err = r.fetch(ctx, g, prune, all[:len(all)-1]...)
	}
	r.asked[r.dir] = err == nil
	return err
}

// git runs git in the copy. It has no way to a repository.
func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, noTransport, append([]string{"--git-dir=" + r.dir}, args...)...)
}

// run runs git, which may use some transports, and asks nothing of the user that its own helpers do not. When the
// context ends, git gets the time to remove its lock files.
func (r *repositories) run(ctx context.Context, transports string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("the program git, which fetches such modules, is not installed")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never",
		"-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", // git works in a copy only under our lock
		"-c", "core.autocrlf=false", "-c", "core.eol=lf", // a package is the same on every system
	}, args...)...)
	cmd.Env = append(withoutGit(r.environ), "GIT_ALLOW_PROTOCOL="+transports, "LC_ALL=C")
	cmd.SysProcAttr, cmd.WaitDelay = subprocess.OnTerminal(syscall.SIGTERM), 5*time.Second
	cmd.Cancel = func() error { return subprocess.Ask(cmd.Process) }
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err = subprocess.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
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
