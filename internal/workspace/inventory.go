package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/state/journal"
	"github.com/lethe-iac/lethe/internal/store"
)

// TextKind tells which file or row a Text comes from, such as a former state.
type TextKind uint8

// The kinds.
const (
	CurrentText TextKind = iota + 1 // the state
	FormerText                      // a former state in the store, or an earlier version of the state that the service of the store keeps
	BackupText                      // a copy of a state in a file
	ErroredText                     // a state that could not be stored
	JournalText                     // a journal
	PieceText                       // a part of a journal, in an earlier version that the service of the store keeps
)

// Text is a text that contains objects of a state: the state, a copy of it, or a journal.
type Text struct {
	Kind   TextKind
	Where  string    // the place for messages: a path, or the name of the former state
	Path   string    // the path of the file; "" if the text is in the store
	Serial uint64    // the serial, if the text is a former state
	Time   time.Time // when the text was written; zero if unknown

	Version *store.ServiceVersion // set only for an earlier version that the service of the store keeps

	data func(context.Context) ([]byte, error)
}

// Stored returns the stored text, which may be encrypted. It returns nil if the text no longer exists.
func (t *Text) Stored(ctx context.Context) ([]byte, error) { return t.data(ctx) }

// Inventory lists all texts of a state that Lethe can find, beginning with the state. It does not read the texts. If a
// list of texts cannot be read, Inventory returns an error that names that list, together with the other texts.
func Inventory(ctx context.Context, env *Env, st store.Store, name string) ([]Text, error) {
	out := []Text{{Kind: CurrentText, Where: place(env, st, name), data: func(ctx context.Context) ([]byte, error) {
		if s := st.Capabilities().Sealer; s != nil {
			data, _, err := s.Stored(ctx, name)
			return data, err
		}
		data, _, err := st.Get(ctx, name)
		return data, err
	}}}
	var problems error
	files, err := remains(env, st, name)
	out, problems = append(out, files...), err
	if h := st.Capabilities().History; h != nil {
		former, err := h.History(ctx, name)
		if err != nil {
			problems = errors.Join(problems, err)
		}
		for _, p := range former[min(1, len(former)):] {
			out = append(out, Text{Kind: FormerText, Where: fmt.Sprintf("the former state with the serial %d", p.Serial), Serial: p.Serial, Time: p.Time,
				data: func(ctx context.Context) ([]byte, error) { return h.Former(ctx, name, p) }})
		}
	}
	stored, err := store.OrphanedJournals(ctx, st, name)
	if err != nil {
		problems = errors.Join(problems, err)
	}
	for _, j := range stored {
		out = append(out, Text{Kind: JournalText, Where: "a journal in the backend", data: func(context.Context) ([]byte, error) { return j.Data, nil }})
	}
	return out, problems
}

// Versions lists the earlier versions of a state and of its journals that the service of the store keeps, such as
// object versions of a bucket. It returns nil if the store has no such service. If the service fails, it returns the
// error with the versions that the service has listed.
func Versions(ctx context.Context, st store.Store, name string) ([]Text, error) {
	service := st.Capabilities().Service
	if service == nil {
		return nil, nil
	}
	list, err := service.EarlierVersions(ctx, name)
	var out []Text
	for _, v := range list {
		t := Text{
			Kind: FormerText, Where: "the version " + v.ID + " of " + v.Name, Time: v.Time, Version: &v,
			data: func(ctx context.Context) ([]byte, error) { return service.ReadVersion(ctx, name, v) },
		}
		if v.Journal {
			t.Kind = PieceText
		}
		out = append(out, t)
	}
	return out, err
}

// remains lists the files beside a state: backups, states that were renamed or could not be stored, and journals. If
// the backend does not store the state in the file that the working directory uses without a backend, remains also lists
// this file, its backup and its former states, because init may have moved the state.
func remains(env *Env, st store.Store, name string) ([]Text, error) {
	var out []Text
	var problems error
	var own, backup string
	find := func(dir string, kind func(name string) TextKind) {
		entries, err := env.FS.ReadDir(dir)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				problems = errors.Join(problems, err)
			}
			return
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			k := kind(e.Name())
			if path == backup {
				k = BackupText
			}
			info, err := env.FS.Stat(path)
			if k == 0 || path == own || err == nil && info.IsDir() || slices.ContainsFunc(out, func(t Text) bool { return t.Path == path }) {
				continue
			}
			t := Text{Kind: k, Where: relative(env, path), Path: path, data: func(context.Context) ([]byte, error) { return disk.Read(env.FS, path) }}
			if err == nil {
				t.Time = info.ModTime().UTC()
			}
			out = append(out, t)
		}
	}
	journals := journalFile(env, st, name)
	dir, base := "", ""
	if f := st.Capabilities().Files; f != nil {
		own, backup = f.File(name), f.BackupFile(name)
		dir, base = filepath.Split(own)
		find(filepath.Clean(dir), func(name string) TextKind { return besides(name, base) })
	}
	former := store.NewLocal(store.LocalOptions{Dir: env.Dir})
	p, file := st.Capabilities().Place, former.File(name)
	if (p == nil || p.Place(name) != former.Place(name)) && (own == "" || disk.Real(env.FS, file) != disk.Real(env.FS, own)) {
		at, base := filepath.Split(file)
		find(filepath.Clean(at), func(name string) TextKind {
			if name == base {
				return BackupText
			}
			return besides(name, base)
		})
		find(store.HistoryDir(file), func(name string) TextKind {
			if strings.HasSuffix(name, ".tfstate") {
				return BackupText
			}
			return 0
		})
	}
	if backup != "" && filepath.Dir(backup) != filepath.Clean(dir) {
		find(filepath.Dir(backup), func(string) TextKind { return 0 })
	}
	find(filepath.Dir(journals), func(name string) TextKind {
		return besides(name, strings.TrimSuffix(filepath.Base(journals), ".journal"))
	})
	find(env.Dir, func(name string) TextKind { return errored(name) })
	return out, problems
}

// besides returns the kind of the file with the given name beside a state file whose name is base. It returns 0 if the
// file does not belong to that state. A state that could not be stored has a fixed file name, which does not contain
// base.
func besides(name, base string) TextKind {
	rest, ok := strings.CutPrefix(name, base+".")
	switch {
	case errored(name) != 0:
		return errored(name)
	case !ok || strings.HasSuffix(name, ".lock.info"):
		return 0
	case rest == "journal", strings.HasPrefix(rest, "journal.aside-"):
		return JournalText
	case rest == "backup", strings.HasSuffix(rest, ".backup"), strings.HasPrefix(rest, "unreadable"), rest == "writing":
		return BackupText
	}
	return 0
}

func errored(name string) TextKind {
	if name == store.EmergencyName || strings.HasPrefix(name, store.EmergencyName+".") {
		return ErroredText
	}
	return 0
}

// Open returns the decrypted text of a state. It returns an error if the text cannot be decrypted.
func Open(ctx context.Context, st store.Store, data []byte) ([]byte, error) {
	return opened(ctx, st, data)
}

// Sealing returns the encryption with which a store encrypts journals, or nil if the store encrypts nothing.
func Sealing(st store.Store) journal.Sealing { return sealing(st) }
