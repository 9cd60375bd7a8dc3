package fetch

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"
)

// ChangedError says that there is something else now than what the lock file has of a module.
type ChangedError struct {
	What    string // what is changed, as the beginning of a sentence
	Was, Is string // what it was when it was locked, and is now
	Keep    string // what lets the user stay with what it was, a sentence; "": nothing does
}

func (e *ChangedError) Error() string {
	return fmt.Sprintf("%s.\n  locked: %s\n  now:    %s\n\nIf its owners have not done that on purpose, it may be an attack. To take what it is now, run \"lethe init -upgrade\".%s", e.What, e.Was, e.Is, e.Keep)
}

// changed says that a package hashes to something else.
func (c *moduleCall) changed(got delivery) error {
	with := func(hash, revision string) string {
		if revision != "" {
			hash += " (" + revision + ")"
		}
		return hash
	}
	return &ChangedError{
		What: fmt.Sprintf("the package of %s is another one than was locked", strings.TrimSpace(c.lock.Source+" "+c.lock.Version)),
		Was:  with(c.lock.Hash, c.lock.Revision), Is: with(got.hash, got.revision),
	}
}

// secretNames are the parameters of addresses that let a user in, and do not say what is asked for.
const secretNames = `aws_access_key_id|aws_access_key_secret|aws_access_token|aws_profile|x-amz-[a-z-]*|x-goog-[a-z-]*|token|access_token|private_token|sig|signature|password|sshkey|se|st`

var (
	secretParameters = pattern(`(?i)^(?:` + secretNames + `)$`)
	secretValues     = pattern(`(?i)([?&](?:` + secretNames + `)=)[^&\s"]*`)
)

// name is what the lock file calls a package: its address without a subdirectory, and without what may be secret or
// says only how it is fetched. It is "" for a directory of this machine, which is not locked.
func (s *moduleSource) name() string {
	switch {
	case s.registry != nil:
		return s.registry.String()
	case s.git != nil:
		text := "git::" + withoutPassword(s.git.url)
		if s.git.ref != "" {
			text += "?ref=" + url.QueryEscape(s.git.ref)
		}
		return text
	case s.image != nil:
		return s.text
	case s.local != "":
		return ""
	}
	u := *s.archive
	u.User = nil
	q := u.Query()
	maps.DeleteFunc(q, func(name string, _ []string) bool { return secretParameters().MatchString(name) })
	u.RawQuery = q.Encode()
	if s.bucket != "" {
		return s.bucket + "::" + u.String()
	}
	return u.String()
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

// name finds out what is recorded of the package of a call, by this command or, but for an upgrade, in the lock file.
func (m *Installer) name(c *moduleCall) {
	c.lock.Source = c.source.name()
	if c.constraint != "" {
		c.lock.Constraints = cmp.Or(config.Constraint([]config.VersionConstraint{{Text: c.constraint}}), c.constraint)
	}
	lock, ok := m.named[nameOf(c.lock)]
	if !ok && !m.Upgrade {
		lock, ok = m.Lock.Module(c.lock.Source, c.lock.Constraints)
	}
	if ok {
		c.lock, c.locked = lock, true
	}
}

// enter notes what a call is to be locked to, and gives the directory of its module in the package that is at base.
func (m *Installer) enter(c *moduleCall, base string) (dir string, err error) {
	dir = base
	for _, sub := range []string{c.lock.Directory, c.source.sub} {
		if dir, err = inside(dir, sub); err != nil {
			return "", err
		}
	}
	m.record(c, c.source.recorded(), base, dir)
	return dir, nil
}

// record notes where the package and the module of a call are, and what it is to be locked to.
func (m *Installer) record(c *moduleCall, from, base, dir string) {
	rel, err := filepath.Rel(m.WorkDir, dir)
	if err != nil {
		rel = dir
	}
	e := manifestEntry{Key: c.key, Source: from, Version: c.lock.Version, Dir: filepath.ToSlash(rel)}
	if c.lock.Source != "" {
		e.Hash = c.lock.Hash
		if m.named == nil {
			m.named, m.bases = map[moduleName]config.ModuleLock{}, map[string]string{}
		}
		m.bases[c.lock.Hash] = base
		m.named[nameOf(c.lock)] = c.lock
	}
	m.done = append(m.done, e)
}

// Locks are the module packages that were found to be needed.
func (m *Installer) Locks() []config.ModuleLock { return slices.Collect(maps.Values(m.named)) }

// there finds a module that is installed. One that is locked is as it is locked; another one, which Terraform or
// OpenTofu may have installed, is locked as it is.
func (m *Installer) there(c *moduleCall, source string) (dir, from, version string, ok bool) {
	dir, from, version, err := m.installed().Find(m.WorkDir, c.key, source, c.constraint)
	switch {
	case err != nil || dir == "":
		return "", "", "", false
	case c.source == nil || c.lock.Source == "":
		return dir, from, version, true
	case c.locked && version != c.lock.Version:
		return "", "", "", false
	}
	base := filepath.Join(m.DataDir, "modules", c.key)
	if rel, err := filepath.Rel(base, dir); err != nil || !filepath.IsLocal(rel) {
		base = dir
	}
	e := m.installed()[c.key]
	hash, err := m.unchanged(base, cmp.Or(c.lock.Hash, e.Hash))
	if err != nil {
		return "", "", "", false
	}
	if !c.locked {
		c.lock.Version, c.lock.Hash = version, hash
		c.lock.Revision, _ = m.recall(hash)
		if s, err := parseSource(from, m.Host); err == nil {
			c.lock.Source = s.name()
		}
		if rel, err := filepath.Rel(base, dir); err == nil && rel != "." {
			c.lock.Directory = strings.Trim(strings.TrimSuffix(filepath.ToSlash(rel), c.source.sub), "/")
		}
	}
	m.record(c, from, base, dir)
	return dir, from, version, true
}

// installed are the modules that were installed before.
func (m *Installer) installed() Modules {
	if m.known == nil {
		m.known = ReadModules(m.DataDir)
	}
	return m.known
}

// Find finds an installed module for a command that does not install, of a call as Install has it. One that is locked
// and on this machine is put into place if it is not, or not as it is locked. The directory is "" where nothing of
// that name was installed, and the error says what is wrong with what was.
func (m *Installer) Find(key, source, constraint string) (dir, from, version string, err error) {
	dir, from, version, err = m.installed().Find(m.WorkDir, key, source, constraint)
	s, problem := parseSource(source, m.Host)
	if problem != nil {
		return dir, from, version, err
	}
	c := &moduleCall{key: key, constraint: constraint, source: s}
	if m.name(c); !c.locked {
		return dir, from, version, err
	}
	e := m.installed()[key]
	switch {
	case err != nil || dir == "":
	case version != c.lock.Version:
		err = fmt.Errorf("the version %q was installed, and %s has %q", version, LockName, c.lock.Version)
	case e.Hash != "" && e.Hash != c.lock.Hash:
		err = fmt.Errorf("another package was installed than %s has", LockName)
	default:
		return dir, from, version, nil
	}
	base := filepath.Join(m.DataDir, "modules", key)
	if m.Store.find(c.lock.Hash) == "" || m.fromStore(c, base) != nil {
		return "", "", "", err
	}
	at, problem := m.enter(c, base)
	if problem != nil {
		return "", "", "", err
	}
	m.linked = append(m.linked, key)
	return at, s.recorded(), c.lock.Version, nil
}

// Linked are the calls whose modules Find put into place.
func (m *Installer) Linked() []string { return m.linked }

// commitIn is the commit of a directory that Terraform or OpenTofu fetched with git; "" where there is none.
func (m *Installer) commitIn(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return ""
	}
	cmd := exec.Command("git", "-C", dir, "rev-parse", "--verify", "HEAD")
	cmd.Env = withoutGit(m.Environ)
	out, _ := cmd.Output()
	if text := strings.TrimSpace(string(out)); fullCommit().MatchString(text) {
		return text
	}
	return ""
}

// summary lists the files of a package as "h1:" hashes are made of them: a line "HASH  NAME" for each, by name. A
// symbolic link is what it leads to. Repositories of git in it are no part of it.
func summary(dir string) (string, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" && path != dir {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if strings.Contains(name, "\n") {
			return fmt.Errorf("the file name %q has a line break", name)
		}
		h := sha256.New()
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			h.Write([]byte(filepath.ToSlash(to)))
			name += " ->"
		} else if err := readInto(h, path); err != nil {
			return err
		}
		lines = append(lines, name+"\n"+hex.EncodeToString(h.Sum(nil)))
		return nil
	})
	slices.Sort(lines)
	for i, line := range lines {
		name, hash, _ := strings.Cut(line, "\n")
		lines[i] = hash + "  " + name + "\n"
	}
	return strings.Join(lines, ""), err
}

func readInto(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// hashOf is the "h1:" hash of what a summary lists.
func hashOf(summary string) string {
	sum := sha256.Sum256([]byte(summary))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

// fileName is a hash as the name of a file or a directory.
func fileName(hash string) string {
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(hash, "h1:"))
	if err != nil || len(sum) != sha256.Size {
		return "none"
	}
	return hex.EncodeToString(sum)
}

// aboutPath is where it is kept what a package is that was installed in the working directory: the line
// "revision REVISION" where it has one, and its summary, which says what files are not the package's.
func (m *Installer) aboutPath(hash string) string {
	return filepath.Join(m.DataDir, "lethe-modules", fileName(hash))
}

// remember keeps that. Without it, a package is installed again if files were written beside its own.
func (m *Installer) remember(hash, revision, list string) {
	path := m.aboutPath(hash)
	if revision != "" {
		list = "revision " + revision + "\n" + list
	}
	if _, err := os.Stat(path); err != nil && os.MkdirAll(filepath.Dir(path), 0o755) == nil {
		_ = replace(path, []byte(list))
	}
}

// recall gives what is kept, "" where nothing is, or what is not of this package.
func (m *Installer) recall(hash string) (revision, list string) {
	text, _ := os.ReadFile(m.aboutPath(hash))
	list = string(text)
	if first, rest, _ := strings.Cut(list, "\n"); strings.HasPrefix(first, "revision ") {
		revision, list = strings.TrimPrefix(first, "revision "), rest
	}
	if hashOf(list) != hash {
		return "", ""
	}
	return revision, list
}

// unchanged gives the hash of an installed package, which is the one that is wanted, if any is. Files that a run has
// written beside those of the package are of no account, unless they are configuration.
func (m *Installer) unchanged(dir, want string) (string, error) {
	list, err := summary(dir)
	hash := hashOf(list)
	if err != nil {
		return "", err
	}
	if want == "" || hash == want {
		if _, kept := m.recall(hash); kept == "" {
			m.remember(hash, m.commitIn(dir), list)
		}
		return hash, nil
	}
	_, known := m.recall(want)
	if known == "" {
		return "", errChanged
	}
	left := map[string]bool{}
	for line := range strings.Lines(list) {
		left[line] = true
	}
	for line := range strings.Lines(known) {
		if !left[line] {
			return "", errChanged
		}
		delete(left, line)
	}
	for line := range left {
		if isConfiguration().MatchString(line) {
			return "", errChanged
		}
	}
	return want, nil
}

var (
	errChanged      = errors.New("it was changed since it was installed")
	isConfiguration = pattern(`\.(tf|tofu)(\.json)?( ->)?\n$`)
)
