package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
)

// Found is the declaration that an address names.
type Found struct {
	*program.Declaration
	Path     []string // the names and constant keys after the declaration or its instance; nil for the whole declaration
	Instance string   // the address as far as it names an instance, such as module.m["a"].aws_instance.web[0]
}

// has reports whether the instance i belongs to the resource, and has all keys that the address has. It returns false
// if the declaration is not a resource.
func (f Found) has(i addr.Instance) bool {
	if f.Kind != program.Resource || i.Resource() != f.Resource {
		return false
	}
	asked, of := words(f.Instance), words(i.String())
	for n, w := range asked {
		if w.keys != "" && w.keys != of[n].keys {
			return false
		}
	}
	return true
}

// word is a name in an address, with the keys after it.
type word struct {
	name, keys string
	end        int // the offset in the address after the keys
}

// words splits an address into its names. It returns nil if the text is not an address.
func words(text string) []word {
	var out []word
	for at := 0; at < len(text); {
		end := at
		for end < len(text) && text[end] != '.' && text[end] != '[' {
			end++
		}
		if end == at {
			return nil
		}
		w := word{name: text[at:end], end: end}
		for w.end < len(text) && text[w.end] == '[' {
			if w.end = afterKey(text, w.end); w.end < 0 {
				return nil
			}
		}
		w.keys = text[end:w.end]
		out = append(out, w)
		if at = w.end; at < len(text) {
			if at++; text[at-1] != '.' || at == len(text) {
				return nil
			}
		}
	}
	return out
}

// afterKey returns the offset after the key whose opening bracket is at an offset. It returns -1 if the key has no end.
func afterKey(text string, at int) int {
	quoted := false
	for i := at + 1; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == ']' && !quoted:
			return i + 1
		}
	}
	return -1
}

var named = map[string]program.Kind{"var": program.Variable, "local": program.Local, "output": program.Output}

var moded = map[string]addr.Mode{"resource": addr.Managed, "data": addr.Data, "ephemeral": addr.Ephemeral, "list": addr.List}

// Find returns the declaration that an address names. It returns false if the program does not declare it.
func Find(p *program.Program, text string) (Found, bool) {
	list := words(text)
	at := addr.Module{}
	last := "" // the name of the last module call so far; the variable at does not contain its module yet
	for len(list) > 1 && list[0].name == "module" {
		if last != "" {
			at = at.Child(last)
		}
		last, list = list[1].name, list[2:]
	}
	if last != "" && len(list) == 0 {
		d, ok := p.Lookup(at, program.Call, last)
		return Found{d, nil, text}, ok
	}
	if last != "" {
		at = at.Child(last)
	}
	if len(list) == 0 {
		return Found{}, false
	}
	mode, rest := addr.Managed, list
	if m, ok := moded[list[0].name]; ok {
		mode, rest = m, list[1:]
	}
	if len(rest) > 1 {
		d, ok := p.Resource(addr.Resource{Module: at, Mode: mode, Type: rest[0].name, Name: rest[1].name})
		if ok {
			instance := text[:rest[1].end]
			if list[0].name == "resource" {
				instance = text[:list[0].end-len("resource")] + text[list[0].end+1:rest[1].end]
			}
			return Found{d, names(rest[2:]), instance}, true
		}
	}
	if kind, ok := named[list[0].name]; ok && len(list) > 1 {
		d, ok := p.Lookup(at, kind, list[1].name)
		return Found{d, inside(list[1:]), text[:list[1].end]}, ok
	}
	if last == "" {
		return Found{}, false
	}
	d, ok := p.Lookup(at, program.Output, list[0].name)
	return Found{d, inside(list), text[:list[0].end]}, ok
}

// inside returns the path below the first word: its keys, and the other words.
func inside(list []word) []string {
	if len(list) == 0 {
		return nil
	}
	return append(keys(list[0].keys), names(list[1:])...)
}

// names returns the names and the keys of words as a path. The path ends at a key that is not constant.
func names(list []word) []string {
	var out []string
	for _, w := range list {
		below := keys(w.keys)
		out = append(append(out, w.name), below...)
		if len(below) < strings.Count(w.keys, "[") {
			break
		}
	}
	return out
}

// keys returns constant keys in brackets, up to the first key that is not constant.
func keys(text string) []string {
	var out []string
	for text != "" {
		end := afterKey(text, 0)
		key := text[1 : end-1]
		if text = text[end:]; !program.IsIndex(key) {
			var err error
			if key, err = strconv.Unquote(key); err != nil {
				break
			}
		}
		out = append(out, key)
	}
	return out
}

var identifier = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\p{L}_][\p{L}\p{N}_-]*$`) })

// Written returns a path as users write it below an address, such as ".tags.Name" or ".list[0]".
func Written(path []string) string {
	var b strings.Builder
	for _, name := range path {
		switch {
		case program.IsIndex(name):
			b.WriteString("[" + name + "]")
		case identifier().MatchString(name):
			b.WriteString("." + name)
		default:
			b.WriteString("[" + addr.StringKey(name).String() + "]")
		}
	}
	return b.String()
}

// Missing returns the first name on the path below a resource that its type does not have, and the names that the type
// has in its place. It returns "" if no name is missing.
func (f Found) Missing(p *program.Program) (name string, near []string) {
	if s := p.Schema(f.ID); f.Kind == program.Resource && s != nil {
		_, name, near = along(s.Block, f.Path)
	}
	return name, near
}

// Suggest returns a declared address for a text that is not one: an address that consists of more names and the text,
// such as the same address in a module, or else the most similar address. It returns "" if no address is similar.
func Suggest(p *program.Program, text string) string {
	var all []string
	for _, d := range p.Decls() {
		name := Name(d)
		if _, ok := Find(p, name); ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	for _, name := range all {
		if strings.HasSuffix(name, "."+text) {
			return name
		}
	}
	return diag.Suggest(text, all)
}

// Name returns the address of a declaration as references use it. It returns "" for a declaration without an address.
func Name(d *program.Declaration) string {
	switch d.Kind {
	case program.Output:
		if !d.Module.IsRoot() {
			return d.Module.String() + "." + d.Name
		}
		return d.String()
	case program.Variable, program.Local, program.Resource, program.Provider, program.Call, program.Check:
		return d.String()
	}
	return ""
}

// LooksLikeAddress reports whether a text can only be an address, and not the name of a type or of a part of it: it
// begins with var, local, output or module, or contains a key in brackets. It returns false for aws_instance.web, which
// may also be the attribute web of a type.
func LooksLikeAddress(text string) bool {
	list := words(text)
	if len(list) == 0 {
		return false
	}
	_, name := named[list[0].name]
	return name || list[0].name == "module" || strings.ContainsAny(text, "[")
}

// place returns a place in the form file:line, or "" if it names no file.
func place(at diag.Range) string {
	if at.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", at.Filename, at.Start.Line)
}
