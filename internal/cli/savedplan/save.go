package savedplan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/loader"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/plan/file"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/workspace"
)

// Save writes a plan to a file. It encrypts the plan if the configuration requires encryption, and seals the plan with
// the user's plan key: the file then has a digest which only an owner of the key can make. ok is false if the
// encryption settings are invalid; that error is already reported. err is the error of writing the file, or of a file
// that has the state.
func (p *Plans) Save(ctx context.Context, name string, made *plan.Plan) (ok bool, err error) {
	s, locked := p.session, p.session.Locked
	if path := s.Dir.Call.Path(name); locked.State.Place() == workspace.FilePlace(workdir.Workspaces(s.Dir.Call), path) {
		return true, &fs.PathError{Op: "write", Path: path, Err: errors.New("the state is in this file")}
	}
	made.Ephemeral, made.Place, made.Settings = s.Loader.Vars.GivenEphemeral(), locked.Place, locked.Settings
	e, ok := s.States.Backend.Encryption()
	if !ok {
		return false, nil
	}
	stored := made.Omitted(func(o addr.Object, entry *state.Entry) bool { return s.Engine.Forgets(s.Program, o, entry) })
	contents := &file.Contents{Plan: stored, Config: p.configuration(), Lock: s.Dir.Lock.Bytes(), Version: base.Version, Schemas: p.described(made)}
	key := s.Dir.PlanKey.Make()
	err = disk.ReplaceBy(s.Dir.Call.FS(), s.Dir.Call.Path(name), func(w io.Writer) error {
		if !e.Plan.Encrypts() {
			return file.Write(w, contents, key)
		}
		var b bytes.Buffer // e.Plan.Seal needs the whole plan in memory
		if err := file.Write(&b, contents, key); err != nil {
			return err
		}
		sealed, err := e.Plan.Seal(ctx, b.Bytes())
		if err == nil {
			_, err = w.Write(sealed)
		}
		return err
	})
	return true, err
}

// configuration returns the configuration for the plan file. It replaces the secrets in all backend blocks, including
// blocks that override files replace, by null.
func (p *Plans) configuration() []file.ConfigModule {
	var out []file.ConfigModule
	p.session.Loader.Tree.Root.Walk(func(n *config.Node) {
		var secrets []config.Constant
		for _, b := range append(n.Module.Overridden, n.Module.Stored()) {
			if b != nil {
				secrets = append(secrets, p.session.States.Backend.SecretsOf(b)...)
			}
		}
		m := file.ConfigModule{Key: loader.ModuleKey(n.Path), Source: n.Source, Version: n.Version, Dir: p.session.Dir.Display(n.Module.Dir), Led: n.Led, Files: map[string][]byte{}}
		for _, f := range n.Module.Files {
			m.Files[filepath.Base(f.Name)] = f.Bytes
			for _, s := range secrets {
				if at := s.Range; at.Filename == f.Name {
					m.Files[filepath.Base(f.Name)] = nulled(m.Files[filepath.Base(f.Name)], at.Start.Byte, at.End.Byte)
				}
			}
		}
		out = append(out, m)
	})
	return out
}

// nulled replaces text[from:to] by null and spaces, so that the positions of the rest do not change. If text[from:to]
// is shorter than "null", nulled returns text unchanged.
func nulled(text []byte, from, to int) []byte {
	const null = "null"
	if to-from < len(null) || to > len(text) {
		return text
	}
	text = bytes.Clone(text)
	for i := from + copy(text[from:], null); i < to; i++ {
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return text
}

// described returns the encoded schemas that a saved plan needs, by provider: the schemas of the types in the
// configuration, and of the objects in the previous and the refreshed state. It omits providers whose schemas cannot be
// reduced to these types.
func (p *Plans) described(made *plan.Plan) map[addr.Provider][]byte {
	type name struct {
		mode addr.Mode
		typ  string
	}
	used := map[name]bool{}
	for _, d := range p.session.Program.Decls() {
		used[name{d.Resource.Mode, d.Resource.Type}] = true
	}
	for _, s := range []*state.Snapshot{made.Previous, made.Refreshed} {
		for o := range s.Objects() {
			used[name{o.Mode, o.Type}] = true
		}
	}
	out := map[addr.Provider][]byte{}
	for a, s := range p.session.Pool.Known() {
		if s.Part != nil {
			out[a] = s.Part(func(m addr.Mode, typ string) bool { return used[name{m, typ}] })
		}
	}
	return out
}
