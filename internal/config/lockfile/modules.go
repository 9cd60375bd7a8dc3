package lockfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// Module is the entry of a module package in the dependency lock file. Source and Constraints together identify the
// entry: two calls with the same Source and Constraints use the same package.
type Module struct {
	Source      string // address of the package, without subdirectory and secrets
	Constraints string // for a registry module: the version argument, in the form that the function Constraint returns
	Version     string // the version of a registry module
	Revision    string // commit of a git repository, or digest of a manifest in an OCI registry; otherwise ""
	Directory   string // directory of the module in the package, from the registry; "" is the root of the package
	Hash        string // "h1:…", of all files in the package
}

// Entries of modules are comments, because Terraform refuses unknown blocks, and warns about a block named module at
// every command (ADR 27). Each entry is a block with "# " before every line.
const (
	moduleHead = "# module "
	moduleTail = "# }"
)

// ParseModules reads the entries of modules in a dependency lock file. filename names the file in messages. The boolean
// is false if an error was reported. A file without such entries is no error.
func ParseModules(src []byte, filename string, l limits.Limits, bag *diag.Bag) ([]Module, bool) {
	if !bytes.Contains(src, []byte(moduleHead)) {
		return nil, true
	}
	body, ok := config.ParseBody(filename, uncommented(src), l, bag)
	if !ok {
		return nil, false
	}
	content, ds := body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"source"}}}})
	if !bag.HCL(ds) {
		return nil, false
	}
	var locks []Module
	for _, b := range content.Blocks {
		lock := Module{Source: b.Labels[0]}
		content, ds := b.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
			{Name: "version"}, {Name: "constraints"}, {Name: "revision"}, {Name: "directory"}, {Name: "hash", Required: true},
		}})
		if !bag.HCL(ds) {
			return nil, false
		}
		for name, to := range map[string]*string{"version": &lock.Version, "constraints": &lock.Constraints, "revision": &lock.Revision, "directory": &lock.Directory, "hash": &lock.Hash} {
			ok = stringArgument(content, name, to, bag) && ok
		}
		if ok && (lock.Source == "" || !strings.HasPrefix(lock.Hash, "h1:")) {
			bag.Add(diag.Errorf("Invalid lock file", "The entry of a module must have an address, and a hash that begins with \"h1:\".").At(b.DefRange))
			ok = false
		}
		same := func(l Module) bool { return l.Source == lock.Source && l.Constraints == lock.Constraints }
		if slices.ContainsFunc(locks, same) {
			bag.Add(diag.Errorf("Invalid lock file", "The module package %s is locked twice. Remove one of the blocks.", lock.Source).At(b.DefRange))
			ok = false
		}
		locks = append(locks, lock)
	}
	return locks, ok
}

// uncommented returns a copy of the lock file in which the entries of modules are blocks, not comments. Spaces replace
// all other text, so that all positions remain the same.
func uncommented(src []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(src))
	at, inside := 0, false
	for line := range bytes.Lines(src) {
		text := bytes.TrimRight(line, " \r\n")
		inside = inside || bytes.HasPrefix(text, []byte(moduleHead)) && bytes.HasSuffix(text, []byte("{"))
		if inside && len(text) > 0 && text[0] == '#' {
			copy(out[at+1:], text[1:])
		}
		inside = inside && string(text) != moduleTail
		at += len(line)
		if line[len(line)-1] == '\n' {
			out[at-1] = '\n'
		}
	}
	return out
}

// FormatModules returns the entries of modules as text for the end of a dependency lock file, sorted. It returns nil if
// locks is empty.
func FormatModules(locks []Module) []byte {
	if len(locks) == 0 {
		return nil
	}
	locks = slices.SortedFunc(slices.Values(locks), func(a, b Module) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Constraints, b.Constraints))
	})
	var b bytes.Buffer
	b.WriteString("\n# What follows is for \"lethe init\" alone. Other programs leave it out when they write this file.\n")
	for _, l := range locks {
		fmt.Fprintf(&b, "#\n%s%s {\n", moduleHead, config.Quoted(l.Source))
		width := 0
		attributes := [][2]string{{"version", l.Version}, {"constraints", l.Constraints}, {"revision", l.Revision}, {"directory", l.Directory}, {"hash", l.Hash}}
		attributes = slices.DeleteFunc(attributes, func(a [2]string) bool { return a[1] == "" })
		for _, a := range attributes {
			width = max(width, len(a[0]))
		}
		for _, a := range attributes {
			fmt.Fprintf(&b, "#   %-*s = %s\n", width, a[0], config.Quoted(a[1]))
		}
		b.WriteString(moduleTail + "\n")
	}
	return b.Bytes()
}
