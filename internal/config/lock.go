package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/zclconf/go-cty/cty"
)

// Lock is one provider's entry in the dependency lock file.
type Lock struct {
	Provider    addr.Provider
	Version     string
	Constraints string
	Hashes      []string // "h1:…", "zh:…", sorted
}

// ParseLocks reads a dependency lock file.
func ParseLocks(src []byte, filename string, bag *diag.Bag) ([]Lock, bool) {
	f, ds := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if !bag.HCL(ds) {
		return nil, false
	}
	content, ds := f.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"source_addr"}}}})
	if !bag.HCL(ds) {
		return nil, false
	}
	var locks []Lock
	seen := map[addr.Provider]bool{}
	ok := true
	for _, b := range content.Blocks {
		l, good := parseLock(b, bag)
		if good && seen[l.Provider] {
			bag.Add(diag.Errorf("Duplicate provider lock", "The provider %s is locked twice. Remove one of the blocks.", l.Provider).At(b.DefRange))
			good = false
		}
		seen[l.Provider] = true
		ok = ok && good
		locks = append(locks, l)
	}
	return locks, ok
}

func parseLock(b *hcl.Block, bag *diag.Bag) (Lock, bool) {
	var l Lock
	p, err := addr.ParseProvider(b.Labels[0])
	if err != nil {
		bag.Add(diag.Errorf("Invalid provider source address", "The source address of a locked provider cannot be read: %s.", err).At(b.LabelRanges[0]))
		return l, false
	}
	l.Provider = p
	content, ds := b.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "version", Required: true}, {Name: "constraints"}, {Name: "hashes"},
	}})
	if !bag.HCL(ds) {
		return l, false
	}
	ok := lockString(content, "version", &l.Version, bag) && lockString(content, "constraints", &l.Constraints, bag)
	if a := content.Attributes["hashes"]; a != nil {
		v, ds := a.Expr.Value(nil)
		if !bag.HCL(ds) {
			return l, false
		}
		for _, h := range v.AsValueSlice() {
			if h.IsNull() || h.Type() != cty.String {
				bag.Add(diag.Errorf("Invalid provider hash", "Each hash must be a string.").At(a.Range))
				return l, false
			}
			l.Hashes = append(l.Hashes, h.AsString())
		}
	}
	return l, ok
}

func lockString(c *hcl.BodyContent, name string, to *string, bag *diag.Bag) bool {
	a := c.Attributes[name]
	if a == nil {
		return true
	}
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) {
		return false
	}
	if v.IsNull() || v.Type() != cty.String {
		bag.Add(diag.Errorf("Invalid lock file", "The argument %q must be a string.", name).At(a.Range))
		return false
	}
	*to = v.AsString()
	return true
}

// FormatLocks writes a dependency lock file, sorted by provider.
func FormatLocks(locks []Lock) []byte {
	var b bytes.Buffer
	b.WriteString("# This file is maintained automatically by \"lethe init\".\n# Manual edits may be lost in future updates.\n")
	locks = slices.Clone(locks)
	slices.SortFunc(locks, func(a, b Lock) int { return a.Provider.Compare(b.Provider) })
	for _, l := range locks {
		fmt.Fprintf(&b, "\nprovider %q {\n", l.Provider)
		if l.Constraints == "" {
			fmt.Fprintf(&b, "  version = %q\n", l.Version)
		} else {
			fmt.Fprintf(&b, "  version     = %q\n  constraints = %q\n", l.Version, l.Constraints)
		}
		writeHashes(&b, l)
		b.WriteString("}\n")
	}
	return b.Bytes()
}

func writeHashes(b *bytes.Buffer, l Lock) {
	if len(l.Hashes) == 0 {
		return
	}
	b.WriteString("  hashes = [\n")
	for _, h := range slices.Compact(slices.Sorted(slices.Values(l.Hashes))) {
		fmt.Fprintf(b, "    %q,\n", h)
	}
	b.WriteString("  ]\n")
}

// Constraint joins the texts of constraints as the lock file writes them.
func Constraint(cs []VersionConstraint) string {
	var parts []string
	for _, c := range cs {
		for _, one := range strings.Split(c.Text, ",") {
			parts = append(parts, strings.TrimSpace(one))
		}
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), ", ")
}
