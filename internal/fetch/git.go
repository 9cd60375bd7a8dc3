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
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/subprocess"
)

// repositories holds bare copies of git repositories, below a directory that persists between commands.
type repositories struct {
	dir     string
	environ []string
	offline bool                   // use only commits that the copies contain already
	asked   map[string]bool        // by directory: copies that this command has updated from the server
	found   map[gitSource]revision // revisions that this command has looked up
	waiting func(address string)   // called if another process uses a repository for longer than patience
	note    func(text string)      // called with messages about a package for the user
}

func newRepositories(dir string, environ []string, offline bool) *repositories {
	return &repositories{dir: dir, environ: environ, offline: offline, asked: map[string]bool{}, found: map[gitSource]revision{}, waiting: func(string) {}, note: func(string) {}}
}

// repository is a local copy of one git repository, in the directory dir.
type repository struct {
	*repositories
	dir string
}

// revision is the commit to which a name in a repository refers.
type revision struct {
	commit string
	fixed  bool // the name is not expected to move: it is a tag, or the hash of the commit
}

// of returns the copy of the repository of a source, without creating it. The name of the copy's directory depends on
// the address; a copy without history has another directory.
func (r *repositories) of(g gitSource) *repository {
	kind := ".git"
	if g.depth > 0 {
		kind = ".shallow.git"
	}
	return &repository{r, filepath.Join(r.dir, fmt.Sprintf("%x%s", sha256.Sum256([]byte(g.url)), kind))}
}

// ready creates an empty copy if none exists, and removes files that killed processes left in it. The caller holds the
// lock of the copy. Git uses the copy only while a caller holds the lock.
func (r *repository) ready(ctx context.Context) error {
	if _, err := os.Stat(r.attributes()); err == nil {
		return r.sweep()
	}
	return r.make(ctx, "sha1")
}

// attributes returns the path of the file that is written last when a copy is created.
func (r *repository) attributes() string { return filepath.Join(r.dir, "info", "attributes") }

// make creates an empty copy for commits with one hash function, and removes a previous copy.
func (r *repository) make(ctx context.Context, format string) error {
	if err := disk.OS.RemoveAll(r.dir); err != nil {
		return err
	}
	if _, err := r.run(ctx, noTransport, "init", "--quiet", "--bare", "--object-format="+format, r.dir); err != nil {
		return err
	}
	// Use all files of a commit unchanged: attributes that leave files out of release archives have no effect on modules.
	return errors.Join(os.MkdirAll(filepath.Dir(r.attributes()), 0o700), os.WriteFile(r.attributes(), []byte("* -export-ignore -export-subst\n"), 0o600))
}

// sweep removes the lock files that killed processes left in a copy, and their archives after a day.
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

// abandoned reports whether a file is an archive that no process reads any more.
func abandoned(path string, d fs.DirEntry) bool {
	is, _ := filepath.Match("archive-*.tar", d.Name())
	info, err := d.Info()
	return is && err == nil && time.Since(info.ModTime()) > 24*time.Hour
}

// maxNested is the maximum nesting depth of submodules.
const maxNested = 8

// checkout extracts a revision with its submodules into dir, and returns its commit. If locked is not "", it must be
// the locked commit. The program git fetches the files, so that its credentials, proxies and ssh settings apply. Its
// output is unpacked like an archive. nested is the number of repositories that contain the revision as a submodule.
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
	if err := unpackModule(got.path, dir, r.note); err != nil {
		return "", err
	}
	for path, sub := range got.submodules {
		sub.key = g.key
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

// revisionPack is a revision in the form that git delivers.
type revisionPack struct {
	commit     string
	path       string               // the path of an archive of the commit's files, which the caller removes
	submodules map[string]gitSource // the repositories of the submodules, by directory of the submodule
}

// pack fetches a revision if the copy does not have it, and creates an archive of it. It holds the lock of this copy
// until the archive exists, so that other processes can use other copies at the same time.
func (r *repository) pack(ctx context.Context, g gitSource, locked string) (got revisionPack, err error) {
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

// isSHA256 is a part of git's message about a repository with another hash function than the copy.
const isSHA256 = "server sha256"

// revision fetches a revision if the copy does not have it, and creates an archive of it, for pack. The caller holds
// the lock of the copy.
func (r *repository) revision(ctx context.Context, g gitSource, locked string) (got revisionPack, err error) {
	if got.commit, err = r.commit(ctx, g, locked); err != nil {
		return got, err
	}
	if got.submodules, err = r.submodules(ctx, g.url, got.commit); err != nil {
		return got, err
	}
	got.path, err = r.tar(ctx, got.commit)
	return got, err
}

// tar creates an archive of a commit.
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

// commit returns the commit of a source, and ensures that the copy has it. A branch may move after its commit was
// locked. If a tag has moved, the error is a *ChangedError.
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
			Keep: fmt.Sprintf(" To keep the locked revision, add ?ref=%s to the source.", locked),
		}
	case !r.has(ctx, locked) && !r.offline:
		var options []string
		if g.depth > 0 {
			options = []string{"--depth=1"}
		}
		_ = r.fetch(ctx, g, options, locked) // ignore the error: the server may refuse to send a commit by its hash
	}
	if !r.has(ctx, locked) {
		return "", fmt.Errorf("the locked commit %s is no longer in %s, where %q is now the commit %s. To use that commit, run \"lethe init -upgrade\"", locked, display(g.url), cmp.Or(g.ref, "HEAD"), now.commit)
	}
	return locked, r.keep(ctx, locked)
}

func (r *repository) has(ctx context.Context, commit string) bool {
	_, err := r.git(ctx, "cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// keep adds a reference to a commit, so that it remains in the copy even if its branch moves.
func (r *repository) keep(ctx context.Context, commit string) error {
	_, err := r.git(ctx, "update-ref", "refs/lethe/commits/"+commit, commit)
	return err
}

// submodules returns the sources of the submodules of a commit, by their directory. It omits a submodule whose address
// .gitmodules does not contain. A submodule at a local path is an error if git does not permit it.
func (r *repository) submodules(ctx context.Context, address, commit string) (map[string]gitSource, error) {
	list, err := r.git(ctx, "ls-tree", "-r", "-z", "--full-tree", commit)
	if err != nil || !bytes.Contains(list, []byte("\x00160000 ")) && !bytes.HasPrefix(list, []byte("160000 ")) {
		return nil, err
	}
	settings, err := r.git(ctx, "config", "-z", "--blob", commit+":.gitmodules", "--get-regexp", `^submodule\..*\.(path|url)$`)
	if err != nil {
		return nil, nil // the directory is a submodule, but no file contains its address
	}
	addresses, paths := map[string]string{}, map[string]string{} // addresses by name, names by path
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
			return nil, fmt.Errorf("the submodule %q is at %q on this machine, which git does not allow by default. If you trust both repositories, run: git config --global protocol.file.allow always", path, display(sub.url))
		}
		out[path] = sub
	}
	return out, nil
}

// isLocal reports whether git looks for a repository on this machine. It follows the rule of git: an address without a
// scheme is the path of a directory. If a colon precedes the first slash, it is a host and a path instead.
func isLocal(address string) bool {
	scheme, _, ok := strings.Cut(address, "://")
	if ok && !strings.ContainsAny(scheme, "/:") {
		return strings.EqualFold(scheme, "file")
	}
	host, _, ok := strings.Cut(address, ":")
	return !ok || strings.Contains(host, "/") || strings.EqualFold(host, "file") || filepath.VolumeName(address) != ""
}

// permitsLocalSubmodules reports whether the user's settings of git allow a repository on this machine to have
// submodules on this machine. By default git does not allow that.
func (r *repository) permitsLocalSubmodules(ctx context.Context) bool {
	out, err := r.git(ctx, "config", "--get", "protocol.file.allow")
	return err == nil && strings.TrimSpace(string(out)) == "always"
}

// The constants are the transports that git may use. The user must name a repository on this machine explicitly: in the
// configuration, or in git's settings, where url.….insteadOf may replace a remote repository by a local one.
const (
	noTransport = "none"
	byNetwork   = "https:ssh:http:git"
	locally     = byNetwork + ":file"
)

// transports returns the transports that git may use for a source.
func (r *repository) transports(ctx context.Context, g gitSource) string {
	if isLocal(g.url) { // the user has named the address, because local addresses from servers and submodules were refused before
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
	by := *r.repositories
	if g.key != "" {
		file, err := writeKey(g.key)
		if err != nil {
			return err
		}
		defer os.Remove(file)
		by.environ = append(slices.Clone(r.environ), "GIT_SSH_COMMAND="+withKey(subprocess.Getenv(r.environ, "GIT_SSH_COMMAND"), file))
	}
	_, err := by.run(ctx, r.transports(ctx, g), append(append(args, "--", g.url), references...)...)
	return err
}

// writeKey writes a private key into a temporary file, which the caller removes. Only the user can read the file.
func writeKey(key string) (string, error) {
	f, err := os.CreateTemp("", "git-key-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(key)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// withKey returns the command with which git starts ssh, with a private key. command is the user's command, or "". Git
// passes the result to a shell.
func withKey(command, file string) string {
	return cmp.Or(command, "ssh") + " -i " + subprocess.Quote(filepath.ToSlash(file))
}

// beside returns the address of a submodule. A relative address is relative to base, the address of its repository.
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

// look returns the current commit of the revision of a source. It does not contact the server if the revision is a full
// commit hash and the copy has that commit.
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
		return revision{}, fmt.Errorf("the revision %q is not on this machine, and -offline forbids fetching it", cmp.Or(g.ref, "HEAD"))
	}
	if g.ref == "" {
		return revision{}, errors.New("the repository has no HEAD: name a revision with ?ref=")
	}
	// The revision is neither a branch nor a tag: for example, a proposed change or a commit without a branch.
	err := r.fetch(ctx, g, nil, "+"+g.ref+":"+keptRef(g.ref))
	if err == nil {
		found, _ = r.named(ctx, g.ref)
	}
	return found, err
}

// keptRef returns the reference in the copy for a revision that is neither a branch nor a tag.
func keptRef(ref string) string { return fmt.Sprintf("refs/lethe/%x", ref) }

// named finds a revision in the copy: as a tag, as a branch, as another kept reference, or as a commit. It returns
// false if the copy does not have it.
func (r *repository) named(ctx context.Context, ref string) (revision, bool) {
	names := []string{"refs/tags/" + ref, "refs/heads/" + ref, keptRef(ref)}
	if ref == "" {
		names = []string{keptRef("HEAD")}
	}
	if someCommit().MatchString(ref) {
		names = append(names, ref)
	}
	if branch, ok := strings.CutPrefix(ref, "origin/"); ok { // origin/NAME is the name of a branch in a clone
		names = append(names, "refs/heads/"+branch)
	}
	if ref != "" && r.isDefault(ctx, ref) {
		names = names[1:] // try the branch first, as git does in a clone
	}
	for _, name := range names {
		if commit, ok := r.parse(ctx, name); ok {
			return revision{commit, name == "refs/tags/"+ref || name == ref || fullCommit().MatchString(ref)}, true
		}
	}
	return revision{}, false
}

// parse returns the commit of a reference, and false if the copy does not have it.
func (r *repository) parse(ctx context.Context, name string) (string, bool) {
	out, err := r.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	return strings.TrimSpace(string(out)), err == nil
}

// isDefault reports whether a name is both a tag and a branch, and the branch is at the same commit as HEAD, so that it
// is probably the default branch. In a clone, git then resolves the name to the branch.
func (r *repository) isDefault(ctx context.Context, ref string) bool {
	if _, tagged := r.parse(ctx, "refs/tags/"+ref); !tagged {
		return false
	}
	branch, ok := r.parse(ctx, "refs/heads/"+ref)
	head, is := r.parse(ctx, keptRef("HEAD"))
	return ok && is && branch == head
}

// noRef is git's message if a repository has no revision of a name.
const noRef = "couldn't find remote ref"

// ask updates a copy, once in a command. It fetches all branches and tags at once, because the next module is often in
// the same repository. For a copy without history it fetches one revision.
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
		return r.fetch(ctx, g, nil, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*") // the server does not send this commit by its hash, so fetch all branches and tags
	}
	if r.asked[r.dir] {
		return nil
	}
	prune, all := []string{"--prune"}, []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", "+HEAD:" + keptRef("HEAD")}
	err := r.fetch(ctx, g, prune, all...)
	if err != nil && strings.Contains(err.Error(), noRef+" HEAD") { // HEAD names a branch that does not exist, so the repository is empty
		err = r.fetch(ctx, g, prune, all[:len(all)-1]...)
	}
	r.asked[r.dir] = err == nil
	return err
}

// git runs git in the copy. It permits no transport to another repository.
func (r *repository) git(ctx context.Context, args ...string) ([]byte, error) {
	return r.run(ctx, noTransport, append([]string{"--git-dir=" + r.dir}, args...)...)
}

// run runs git with the permitted transports, and returns its output. Only git's own credential helpers may ask the
// user. When the context ends, git has time to remove its lock files.
func (r *repositories) run(ctx context.Context, transports string, args ...string) ([]byte, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("the program git is not installed")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never",
		"-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", // git uses a copy only while Lethe holds the lock
		"-c", "core.autocrlf=false", "-c", "core.eol=lf", // no conversion of line ends, so that the package is the same on every system
	}, args...)...)
	cmd.Env = append(withoutGit(r.environ), "GIT_ALLOW_PROTOCOL="+transports, "LC_ALL=C")
	cmd.SysProcAttr, cmd.WaitDelay = subprocess.OnTerminal(syscall.SIGTERM), 5*time.Second
	cmd.Cancel = func() error { return subprocess.Ask(cmd.Process) }
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err = subprocess.Start(cmd); err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text := strings.TrimSpace(withoutUsers(stderr.String()))
		return nil, fmt.Errorf("git could not fetch it: %s", strings.TrimPrefix(text, "fatal: "))
	}
	return out.Bytes(), nil
}

// withoutGit returns an environment without the variables that select another repository for git.
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
