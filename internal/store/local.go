package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/paths"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// LocalDriver is the driver of the local store.
var LocalDriver = Driver{
	Name: "local",
	Schema: &schema.Block{Attrs: []*schema.Attr{
		{Name: "path", Type: cty.String, Optional: true, Description: "The state file of the default workspace."},
		{Name: "workspace_dir", Type: cty.String, Optional: true, Description: "The directory of the other workspaces' states."},
	}},
	Open: func(_ context.Context, s Settings) (Store, error) {
		path, set := s.Text("path")
		if set && path == "" {
			return nil, s.Bad("path", `the "path" attribute value must not be empty`)
		}
		workspaces, set := s.Text("workspace_dir")
		if set && workspaces == "" {
			return nil, s.Bad("workspace_dir", `the "workspace_dir" attribute value must not be empty`)
		}
		return NewLocal(LocalOptions{Dir: s.Dir, FS: s.FS, Path: path, WorkspaceDir: workspaces}), nil
	},
}

// LocalOptions are the paths of a local store. All are optional.
type LocalOptions struct {
	Dir          string // the base of relative paths, such as the working directory
	Path         string // the state of the default workspace; "" means "terraform.tfstate"
	WorkspaceDir string // the directory of the states of other workspaces; "" means "terraform.tfstate.d"

	// In is the file that Get reads before the first Put; "" means the state of the workspace. Out is the file that Put
	// writes, and that Get reads after a Put; "" means In, or the state of the workspace if In is "", too. Backup is the
	// file for the content before the first Put; "" means the written file with ".backup" appended, and NoBackup disables
	// backups.
	In, Out, Backup string

	FS disk.FS // the file system; nil means disk.OS
}

// NoBackup as LocalOptions.Backup disables the backup and the former states.
const NoBackup = "-"

// Local stores states in local files. It replaces a state file as a whole, so that a crash leaves the old or the new
// state. A state file has the mode 0600. The first Put of a workspace copies the old state to a backup beside the
// state. Each Put also keeps a copy of the state that it replaces, as a former state. If Backup is NoBackup, Put does
// neither.
//
// The lock is on the state file itself, as in Terraform and OpenTofu, so that these programs and Lethe exclude each
// other. This has two consequences for replacing a locked file. First, the new file is locked before it takes its
// place, so that the file with the name of the state is always locked. Second, another program may wait for the lock
// with the old file open. It would get the lock of the old file, and read and write a state that no other process sees.
// So the old file is overwritten with a text that these programs refuse to read (see retire).
//
// To lock a state that does not exist, Local creates a placeholder file: an empty state. Get treats it as missing, and
// unlock removes it.
type Local struct {
	opts LocalOptions
	fs   disk.FS
	seal func([]byte) ([]byte, error) // encrypts backups and former states; nil: they are not encrypted

	mu      sync.Mutex
	held    map[string]*holding // the locks that this Local holds, by workspace
	backups map[string]bool     // workspaces whose backup was made
	hurry   bool                // another program held a directory lock for longestGuard, so later writes do not wait for directory locks
	written map[string]bool     // workspaces that were written; Get then reads Out instead of In
	known   map[string]bool     // workspaces whose directories have these names exactly
}

// NewLocal returns a local store. It replaces empty options by the defaults that LocalOptions describes.
func NewLocal(o LocalOptions) *Local {
	if o.Path == "" {
		o.Path = "terraform.tfstate"
	}
	if o.WorkspaceDir == "" {
		o.WorkspaceDir = "terraform.tfstate.d"
	}
	if o.FS == nil {
		o.FS = disk.OS
	}
	return &Local{opts: o, fs: o.FS, held: map[string]*holding{}, backups: map[string]bool{}, written: map[string]bool{}, known: map[string]bool{}}
}

// Override returns a new local store with other options In, Out and Backup. An argument "" keeps the option.
func (l *Local) Override(in, out, backup string) Store {
	o := l.opts
	for to, with := range map[*string]string{&o.In: in, &o.Out: out, &o.Backup: backup} {
		if with != "" {
			*to = with
		}
	}
	return NewLocal(o)
}

// SealBackups makes the store encrypt backups and former states with the function seal. So if a state is encrypted for
// the first time, its backup is encrypted, too. SealBackups must be called before the store is used.
func (l *Local) SealBackups(seal func([]byte) ([]byte, error)) { l.seal = seal }

// home returns the configured path of a workspace's state, without the options In and Out.
func (l *Local) home(workspace string) string {
	if workspace == Default {
		return l.opts.Path
	}
	return filepath.Join(l.opts.WorkspaceDir, workspace, "terraform.tfstate")
}

func (l *Local) in(workspace string) string {
	if l.opts.In != "" {
		return l.opts.In
	}
	return l.home(workspace)
}

func (l *Local) out(workspace string) string {
	if l.opts.Out != "" {
		return l.opts.Out
	}
	return l.in(workspace)
}

// at returns path as an absolute path, relative to the directory of the store.
func (l *Local) at(path string) string { return paths.In(l.opts.Dir, path) }

// checkLocalName returns an error for a name that CheckName rejects, and for a name that the file system takes for
// another name. Many file systems ignore the case of names. Windows ignores dots at the end of names, and has devices
// with names such as "con".
func checkLocalName(l *Local, workspace string) error {
	if err := CheckName(workspace); err != nil || workspace == Default {
		return err
	}
	if !filepath.IsLocal(workspace) || runtime.GOOS == "windows" && strings.HasSuffix(workspace, ".") {
		return fmt.Errorf("the workspace name %q is not allowed, because Windows cannot use it as the name of a directory", workspace)
	}
	dir := l.at(l.opts.WorkspaceDir)
	is, err := l.fs.Lstat(filepath.Join(dir, workspace))
	if err != nil {
		return nil // a new workspace, or a workspace directory without a readable state
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[workspace] {
		return nil
	}
	entries, _ := l.fs.ReadDir(dir)
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == workspace }) {
		l.known[workspace] = true
		return nil
	}
	for _, e := range entries {
		if other, err := l.fs.Lstat(filepath.Join(dir, e.Name())); err == nil && os.SameFile(other, is) {
			return fmt.Errorf("the workspace name %q is not allowed, because the file system takes it for the workspace %q", workspace, e.Name())
		}
	}
	return nil
}

// Capabilities returns the optional abilities of the store. A nil member means that the store lacks the ability.
func (l *Local) Capabilities() Capabilities {
	return Capabilities{Breaker: l, Files: l, Place: l, History: l, Rewriter: l}
}

// Place returns a text that identifies the place of a state, for comparison with places of other stores. The result
// does not depend on In and Out. If the path is in the directory of the store, the result does not depend on the
// location of that directory, because a configuration may be checked out in many directories.
func (l *Local) Place(workspace string) string {
	path := filepath.Clean(l.home(workspace))
	if inside, err := filepath.Rel(l.opts.Dir, path); filepath.IsAbs(path) && err == nil && filepath.IsLocal(inside) {
		path = inside
	}
	return "local:" + filepath.ToSlash(path)
}

// File returns the path of the file that the next Put of a workspace writes.
func (l *Local) File(workspace string) string { return l.at(l.out(workspace)) }

// Apart reports whether the next Put of a workspace writes another file than Get reads. It compares the files and not
// their paths, because In and Out may be two names of one file.
func (l *Local) Apart(workspace string) bool {
	return disk.Real(l.fs, l.readPath(workspace)) != disk.Real(l.fs, l.File(workspace))
}

// BackupFile returns the path of the backup, or "" if backups are disabled. The backup has the content before the first
// Put.
func (l *Local) BackupFile(workspace string) string {
	switch l.opts.Backup {
	case NoBackup:
		return ""
	case "":
		return l.File(workspace) + ".backup"
	}
	return l.at(l.opts.Backup)
}

// readPath returns the path of the file that Get reads.
func (l *Local) readPath(workspace string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written[workspace] {
		return l.File(workspace)
	}
	return l.at(l.in(workspace))
}

// Get returns the state of a workspace and its version, or nil and "" if no state exists.
func (l *Local) Get(_ context.Context, workspace string) ([]byte, Version, error) {
	if err := checkLocalName(l, workspace); err != nil {
		return nil, "", err
	}
	data, err := l.read(l.readPath(workspace))
	if err != nil {
		return nil, "", fmt.Errorf("the state cannot be read: %w", err)
	}
	return data, versionOf(data), nil
}

// read reads a state file. It returns nil if the file is missing or a placeholder. It returns an error if other
// programs replace the file during each of ten attempts.
func (l *Local) read(path string) ([]byte, error) {
	for range 10 {
		data, err := disk.Read(l.fs, path)
		switch {
		case err != nil:
			return nil, err
		case bytes.Equal(data, retired): // the content means that another program replaced the file after read opened it
			continue
		}
		if data, err = l.whole(path, data); isPlaceholder(data) {
			return nil, err
		}
		return data, err
	}
	return nil, errors.New("other programs keep replacing the file while it is read; try again when they are done")
}

// whole returns the complete content of the state file at path. data is the content that was read. If a process ended
// while it overwrote the file in place, data is not valid JSON, and the complete content is in a copy beside the file.
func (l *Local) whole(path string, data []byte) ([]byte, error) {
	target, err := disk.Resolve(l.fs, path)
	if err != nil {
		return data, nil // a link cannot be followed: data is the best available content
	}
	pending, err := disk.Read(l.fs, disk.Pending(target))
	if err != nil || pending == nil || json.Valid(data) {
		return data, err
	}
	return pending, nil
}

// versionOf returns a checksum of a state, or "" for nil. It combines two CRCs of 32 bits, because one is too short.
// The checksum detects accidental changes, not forgeries.
func versionOf(data []byte) Version {
	if data == nil {
		return ""
	}
	return Version(fmt.Sprintf("%d-%08x%08x", len(data), crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)), crc32.ChecksumIEEE(data)))
}

// List returns the names of the workspaces, the default workspace first. Each directory in the workspace directory is a
// workspace, even without a state, unless CheckName rejects its name. A state that is only a placeholder for a lock
// does not count.
func (l *Local) List(context.Context) ([]string, error) {
	entries, err := l.fs.ReadDir(l.at(l.opts.WorkspaceDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the workspaces cannot be listed: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && CheckName(e.Name()) == nil && !l.onlyLocked(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return sortWorkspaces(names), nil
}

// onlyLocked reports whether the state of a workspace is only a placeholder for the lock.
func (l *Local) onlyLocked(workspace string) bool {
	data, err := disk.Read(l.fs, l.at(l.home(workspace)))
	return err == nil && isPlaceholder(data)
}

// lockMode is exclusive, or shared for a lock that several commands may hold at once.
type lockMode uint8

const (
	exclusive lockMode = iota
	shared
)

// holding describes a lock that this Local holds.
type holding struct {
	id          string
	who         string // user@host, for the list of the writers of states
	operation   string
	path        string    // path of the state, with symbolic links resolved
	info        string    // path of the file about the holder of the lock
	file        disk.File // the locked state file; nil after letGo has closed it
	mode        lockMode
	placeholder bool     // the state file was created only for the lock
	madeDirs    []string // directories that were created for the placeholder, the innermost first
}

// A placeholder is an empty state that Lethe, Terraform and OpenTofu can read. It has a lineage, because another
// program may continue from this state if Lethe is killed.
const (
	placeholderHead = `{"version":4,"terraform_version":"1.12.0","serial":0,"lineage":"`
	placeholderTail = `","outputs":{},"resources":[],"check_results":null}` + "\n"
	placeholderSize = len(placeholderHead) + 36 + len(placeholderTail)
)

func isPlaceholder(data []byte) bool {
	return len(data) == placeholderSize &&
		bytes.HasPrefix(data, []byte(placeholderHead)) && bytes.HasSuffix(data, []byte(placeholderTail))
}

// retired is the content that Local writes into a replaced state file that another program may still have open.
// Terraform and OpenTofu refuse to read version 99, and name the version in their error.
var retired = []byte(`{"version":99,"note":"this state was replaced while it was locked; run the command again"}` + "\n")
