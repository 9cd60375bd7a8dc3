package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/jsontext"
)

// A Local keeps former states as separate copies, not as hard links to its backups, because Terraform and editors
// overwrite backups in place. Each write keeps the state that it replaces, unless backups are disabled.
const keptStates = 20 // the maximum number of former states

// keptBytes is the maximum size of all former states of a workspace together, in bytes. Tests reduce it.
var keptBytes int64 = 256 << 20

// historyDir returns the directory of former states.
func (l *Local) historyDir(workspace string) string { return HistoryDir(l.File(workspace)) }

// HistoryDir returns the directory of the former states of a state file. The directory is beside the file, and its name
// begins with a dot. The pattern *.tfstate.*, by which users exclude states and backups from version control, matches
// the directory. The pattern terraform.tfstate*, by which users delete files, does not.
func HistoryDir(file string) string {
	dir, base := filepath.Split(file)
	return filepath.Join(dir, "."+base+".history")
}

// kept describes the file of a former state. The file's name contains the time of the write in milliseconds since 1970,
// the serial, and whether the state is encrypted: 1700000000000-12.tfstate, or 1700000000000-12.sealed.tfstate.
type kept struct {
	name   string
	serial uint64
	time   time.Time
	sealed bool
	size   int64
}

const keptPlain, keptSealed = ".tfstate", ".sealed.tfstate"

func keptName(serial uint64, written time.Time, sealed bool) string {
	end := keptPlain
	if sealed {
		end = keptSealed
	}
	return fmt.Sprintf("%d-%d%s", written.UnixMilli(), serial, end)
}

// listKept lists the files of former states, the latest first. It skips files with other names. It returns an empty
// list if the directory does not exist.
func (l *Local) listKept(workspace string) ([]kept, error) {
	entries, err := l.fs.ReadDir(l.historyDir(workspace))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []kept
	for _, e := range entries {
		k := kept{name: e.Name(), sealed: strings.HasSuffix(e.Name(), keptSealed)}
		base := strings.TrimSuffix(strings.TrimSuffix(k.name, keptPlain), ".sealed")
		written, serial, _ := strings.Cut(base, "-")
		ms, err1 := strconv.ParseInt(written, 10, 64)
		var err2 error
		k.serial, err2 = strconv.ParseUint(serial, 10, 64)
		info, err3 := e.Info()
		if base == k.name || errors.Join(err1, err2, err3) != nil {
			continue
		}
		k.time, k.size = time.UnixMilli(ms).UTC(), info.Size()
		out = append(out, k)
	}
	slices.SortFunc(out, func(a, b kept) int { return cmp.Or(b.time.Compare(a.time), cmp.Compare(b.serial, a.serial)) })
	return out, nil
}

// keep stores old, the state that a write replaces, as a former state. written is the time at which old was written.
// keep does nothing if old has no serial or no lineage. It deletes the oldest former states above the limits keptStates
// and keptBytes, but never the latest. If the store encrypts backups, keep also encrypts plain former states. It
// ignores errors, because an error must not prevent the write of the new state.
func (l *Local) keep(workspace string, old []byte, written time.Time) {
	serial, _, ok := identity(old)
	dir := l.historyDir(workspace)
	if !ok || l.fs.MkdirAll(dir, disk.DirMode) != nil {
		return
	}
	_ = disk.Replace(l.fs, filepath.Join(dir, keptName(serial, written, l.seal != nil)), old)
	all, _ := l.listKept(workspace)
	bytes := int64(0)
	for n, k := range all {
		bytes += k.size
		path := filepath.Join(dir, k.name)
		switch {
		case n >= keptStates || n > 0 && bytes > keptBytes:
			_ = l.fs.Remove(path)
		case !k.sealed:
			l.sealKept(dir, k)
		}
	}
}

// sealAll encrypts the former states that are plain or encrypted with a former key, if the store encrypts backups. It
// ignores errors.
func (l *Local) sealAll(workspace string) {
	all, _ := l.listKept(workspace)
	for _, k := range all {
		l.sealKept(l.historyDir(workspace), k)
	}
}

// sealKept encrypts one former state that is plain or encrypted with a former key, if the store encrypts backups. It
// ignores errors.
func (l *Local) sealKept(dir string, k kept) {
	if l.seal == nil {
		return
	}
	path, to := filepath.Join(dir, k.name), filepath.Join(dir, keptName(k.serial, k.time, true))
	was, err := l.fs.ReadFile(path)
	if err != nil {
		return
	}
	data, err := l.seal(was)
	if err == nil && (to != path || !bytes.Equal(data, was)) {
		err = disk.Replace(l.fs, to, data)
	}
	if err == nil && to != path {
		_ = l.fs.Remove(path)
	}
}

// identity returns the serial and the lineage of a state. An encrypted state contains both as plain text. ok is false
// if one of them is missing, or if the JSON is invalid before them.
func identity(data []byte) (serial uint64, lineage string, ok bool) {
	s := jsontext.Scanner{In: data}
	seen := 0
	s.Object(func(key []byte) {
		switch string(key) {
		case "serial":
			serial = s.Uint()
			seen++
		case "lineage":
			lineage = string(s.Text())
			seen++
		default:
			s.Skip()
		}
		if seen == 2 && s.Err == nil {
			ok = true
			s.Pos = len(s.In) // skip the rest, which may be long
		}
	})
	return serial, lineage, ok
}

// History lists the present state and the former states of a workspace, the latest first. It omits the present state if
// its serial and lineage cannot be read, and lists an unreadable former state without a lineage.
func (l *Local) History(_ context.Context, workspace string) ([]Past, error) {
	if err := checkLocalName(l, workspace); err != nil {
		return nil, err
	}
	var out []Past
	writers := writersOf(l, workspace)
	path := l.readPath(workspace)
	data, err := l.read(path)
	if err != nil {
		return nil, fmt.Errorf("the state cannot be read: %w", err)
	}
	if serial, lineage, ok := identity(data); ok {
		p := Past{Serial: serial, Lineage: lineage}
		if info, err := l.fs.Stat(path); err == nil {
			p.Time = info.ModTime().UTC()
		}
		out = append(out, signed(p, writers))
	}
	all, err := l.listKept(workspace)
	if err != nil {
		return nil, fmt.Errorf("the former states cannot be listed: %w", err)
	}
	for _, k := range all {
		data, err := l.readKept(workspace, k)
		if err == nil && data == nil {
			continue // another command has removed it, or another program has changed it
		}
		_, lineage, _ := identity(data) // "" if it cannot be read
		out = append(out, signed(Past{Serial: k.serial, Lineage: lineage, Time: k.time}, writers))
	}
	return out, nil
}

// Former returns a former state from the list of History, in its stored form. It returns nil if the store no longer
// keeps the state, and an error if the state cannot be read.
func (l *Local) Former(_ context.Context, workspace string, p Past) ([]byte, error) {
	if err := checkLocalName(l, workspace); err != nil {
		return nil, err
	}
	all, err := l.listKept(workspace)
	for _, k := range all {
		if k.serial == p.Serial && (p.Time.IsZero() || k.time.Equal(p.Time)) {
			if data, err := l.readKept(workspace, k); err != nil || data != nil {
				return data, err
			}
		}
	}
	return nil, err
}

// readKept reads a former state. It returns nil if the file is missing, or if the state in it does not have the serial
// in the file name. In directories of older versions of Lethe, the file is a link to a backup, which another program
// may have overwritten.
func (l *Local) readKept(workspace string, k kept) ([]byte, error) {
	data, err := disk.Read(l.fs, filepath.Join(l.historyDir(workspace), k.name))
	if serial, _, ok := identity(data); err != nil || !ok || serial != k.serial {
		return nil, err
	}
	return data, nil
}

// RewriteFormer calls rewrite for each former state of a workspace, and replaces the state by the result; nil keeps it.
// It returns the number of changed states.
func (l *Local) RewriteFormer(ctx context.Context, workspace string, rewrite func(uint64, []byte) ([]byte, error)) (changed int, err error) {
	if err := checkLocalName(l, workspace); err != nil {
		return 0, err
	}
	all, err := l.listKept(workspace)
	if err != nil {
		return 0, err
	}
	var problems error
	for _, k := range all {
		path := filepath.Join(l.historyDir(workspace), k.name)
		data, err := disk.Read(l.fs, path)
		if err == nil && data != nil {
			data, err = rewrite(k.serial, data)
		}
		if ctx.Err() != nil {
			return changed, ctx.Err()
		}
		if err == nil && data != nil {
			if err = disk.Replace(l.fs, path, data); err == nil {
				changed++
			}
		}
		if err != nil {
			problems = errors.Join(problems, fmt.Errorf("the former state with the serial %d: %w", k.serial, disk.Reason(err)))
		}
	}
	return changed, problems
}

// writer tells who wrote a state. Time is the modification time of the file. It is needed because another program may
// later write a state with the same serial.
type writer struct {
	Serial    uint64 `json:"serial"`
	Lineage   string `json:"lineage"`
	Time      int64  `json:"time"` // the Unix time in milliseconds
	Who       string `json:"who"`
	Operation string `json:"operation"`
}

// writersFile returns the path of the file that lists the writers of the present state and of former states.
func writersFile(l *Local, workspace string) string {
	return filepath.Join(l.historyDir(workspace), "writers.json")
}

// writersOf returns the known writers, the latest first.
func writersOf(l *Local, workspace string) []writer {
	var out []writer
	if data, err := disk.Read(l.fs, writersFile(l, workspace)); err == nil {
		_ = json.Unmarshal(data, &out) // after a crash the file may be incomplete; then the writers are unknown
	}
	return out
}

// sign records the holder of the lock as the writer of the state data. A command without a lock, or without backups,
// records nothing, and errors are ignored. The file need not be durable, because it only names the writers.
func (l *Local) sign(workspace string, data []byte) {
	l.mu.Lock()
	h := l.held[workspace]
	l.mu.Unlock()
	serial, lineage, ok := identity(data)
	info, err := l.fs.Stat(l.File(workspace))
	if h == nil || !ok || err != nil || l.BackupFile(workspace) == "" || l.fs.MkdirAll(l.historyDir(workspace), disk.DirMode) != nil {
		return
	}
	all := append([]writer{{serial, lineage, info.ModTime().UnixMilli(), h.who, h.operation}}, writersOf(l, workspace)...)
	text, err := json.Marshal(all[:min(len(all), keptStates+1)])
	if err != nil {
		return
	}
	f, err := l.fs.OpenFile(writersFile(l, workspace), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	_, _ = bytes.NewReader(text).WriteTo(f)
	_ = f.Close()
}

// signed returns the state p with its writer, if all has a writer with the same serial, lineage and time. Otherwise it
// returns p unchanged.
func signed(p Past, all []writer) Past {
	for _, w := range all {
		if w.Serial == p.Serial && w.Lineage == p.Lineage && w.Time == p.Time.Truncate(time.Millisecond).UnixMilli() {
			p.Who, p.Operation = w.Who, w.Operation
			break
		}
	}
	return p
}
