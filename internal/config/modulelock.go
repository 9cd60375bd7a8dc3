package config

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
)

// ModuleLock is the entry of a module package in the dependency lock file. Source and Constraints together are
// its name: two calls with the same ones get the same package.
type ModuleLock struct {
	Source      string // the address of the package, without a subdirectory and without what may be secret in it
	Constraints string // of a registry module: what the version argument says, as Constraint writes it
	Version     string // of a registry module
	Revision    string // commit of a git repository, or digest of a manifest in an OCI registry; "": it is neither
	Directory   string // in the package, where the registry says that the module is; "": its root
	Hash        string // "h1:…", of all files in the package
}

// Entries of modules are comments, because Terraform refuses a block that it does not know, and warns of one that is
// called module at every command (ADR 27). They are a block each, with "# " before every line.
const (
	moduleHead = "# module "
	moduleTail = "# }"
)

// ParseModuleLocks reads the entries of modules in a dependency lock file.
func ParseModuleLocks(src []byte, filename string, l limits.Limits, bag *diag.Bag) ([]ModuleLock, bool) {
	if !bytes.Contains(src, []byte(moduleHead)) {
		return nil, true
	}
	body, ok := ParseBody(filename, uncommented(src), l, bag)
	if !ok {
		return nil, false
	}
	content, ds := body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "module", LabelNames: []string{"source"}}}})
	if !bag.HCL(ds) {
		return nil, false
	}
	var locks []ModuleLock
	for _, b := range content.Blocks {
		lock := ModuleLock{Source: b.Labels[0]}
		content, ds := b.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
			{Name: "version"}, {Name: "constraints"}, {Name: "revision"}, {Name: "directory"}, {Name: "hash", Required: true},
		}})
		if !bag.HCL(ds) {
			return nil, false
		}
		for name, to := range map[string]*string{"version": &lock.Version, "constraints": &lock.Constraints, "revision": &lock.Revision, "directory": &lock.Directory, "hash": &lock.Hash} {
			ok = lockString(content, name, to, bag) && ok
		}
		if ok && (lock.Source == "" || !strings.HasPrefix(lock.Hash, "h1:")) {
			bag.Add(diag.Errorf("Invalid lock file", "The entry of a module must have an address, and a hash that begins with \"h1:\".").At(b.DefRange))
			ok = false
		}
		same := func(l ModuleLock) bool { return l.Source == lock.Source && l.Constraints == lock.Constraints }
		if slices.ContainsFunc(locks, same) {
			bag.Add(diag.Errorf("Invalid lock file", "The module package %s is locked twice. Remove one of the blocks.", lock.Source).At(b.DefRange))
			ok = false
		}
		locks = append(locks, lock)
	}
	return locks, ok
}

// uncommented is a lock file in which the entries of modules are blocks and all else is blank, so that every place
// in it stays where it is.
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

// FormatModuleLocks writes the entries of modules, sorted, as they stand at the end of a dependency lock file.
func FormatModuleLocks(locks []ModuleLock) []byte {
	if len(locks) == 0 {
		return nil
	}
	locks = slices.SortedFunc(slices.Values(locks), func(a, b ModuleLock) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Constraints, b.Constraints))
	})
	var b bytes.Buffer
	b.WriteString("\n# What follows is for \"lethe init\" alone. Other programs leave it out when they write this file.\n")
	for _, l := range locks {
		fmt.Fprintf(&b, "#\n%s%s {\n", moduleHead, Quoted(l.Source))
		width := 0
		attributes := [][2]string{{"version", l.Version}, {"constraints", l.Constraints}, {"revision", l.Revision}, {"directory", l.Directory}, {"hash", l.Hash}}
		attributes = slices.DeleteFunc(attributes, func(a [2]string) bool { return a[1] == "" })
		for _, a := range attributes {
			width = max(width, len(a[0]))
		}
		for _, a := range attributes {
			fmt.Fprintf(&b, "#   %-*s = %s\n", width, a[0], Quoted(a[1]))
		}
		b.WriteString(moduleTail + "\n")
	}
	return b.Bytes()
}
