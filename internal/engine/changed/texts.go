package changed

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/funcs"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/syntax"
)

// texts has the source text of each definition, by unit. A unit is a module that is compiled once for all its calls. A
// definition is a block or one name of a locals block. The text of a block is the block. For a local value, it is the
// text up to the start of the next definition. In JSON files, whose definitions have no order, each text is the whole
// file. The text of each definition ends with the text of all override files of the module.
type texts map[*program.Unit]map[*program.Def]textOf

type textOf struct {
	text   string
	varies bool
}

func (t texts) of(u *program.Unit, d *program.Def) textOf {
	of, ok := t[u]
	if !ok {
		of = read(u)
		t[u] = of
	}
	return of[d]
}

// read returns the texts of a unit.
func read(u *program.Unit) map[*program.Def]textOf {
	out, in := map[*program.Def]textOf{}, map[string][]*program.Def{}
	for _, d := range u.Defs {
		in[d.At.Filename] = append(in[d.At.Filename], d)
	}
	override, overrideVaries := "", false
	for _, f := range u.Module.Files {
		if overrides(f.Name) {
			override += string(f.Bytes)
			overrideVaries = overrideVaries || varies(f, string(f.Bytes))
		}
	}
	for _, f := range u.Module.Files {
		for d, text := range split(f, in[f.Name]) {
			out[d] = textOf{text + override, overrideVaries || varies(f, text)}
		}
	}
	for _, d := range u.Defs {
		if _, found := out[d]; !found {
			out[d] = textOf{varies: true} // the file of the definition is not known
		}
	}
	return out
}

func overrides(name string) bool {
	base := strings.TrimSuffix(filepath.Base(name), ".json")
	base = strings.TrimSuffix(base, filepath.Ext(base))
	return base == "override" || strings.HasSuffix(base, "_override")
}

// split divides a file into the texts of its definitions. The text of a block ends with the block, so it lacks later
// comments. The text of a local value ends where the next definition begins. In a JSON file, the text of each
// definition is the whole file.
func split(f config.File, defs []*program.Def) map[*program.Def]string {
	out := map[*program.Def]string{}
	slices.SortFunc(defs, func(a, b *program.Def) int { return cmp.Compare(a.At.Start.Byte, b.At.Start.Byte) })
	for i, d := range defs {
		from, to := d.At.Start.Byte, len(f.Bytes)
		for _, next := range defs[i+1:] {
			if next.At.Start.Byte > from {
				to = next.At.Start.Byte
				break
			}
		}
		if filepath.Ext(f.Name) == ".json" || from > to {
			from, to = 0, len(f.Bytes)
		}
		text := string(f.Bytes[from:to])
		if end := strings.LastIndexByte(text, '}'); end >= 0 && d.Kind != program.Local {
			text = text[:end+1]
		}
		out[d] = strings.TrimSpace(text)
	}
	return out
}

var known = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, name := range funcs.Names() {
		out[name] = true
	}
	return out
})

// varies reports whether the value of a text may differ in each run: the text calls a function that is not pure, refers
// to the current directory, or cannot be read.
func varies(f config.File, text string) bool {
	uses := syntax.UsesOf(f.Name, text)
	return !uses.Known || uses.Cwd || slices.ContainsFunc(uses.Functions, func(name string) bool {
		name = strings.TrimPrefix(name, "core::")
		return known()[name] && !funcs.Pure(name)
	})
}
