package lockfile

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/config"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/zclconf/go-cty/cty"
)

// Provider is one provider's entry in the dependency lock file.
type Provider struct {
	Provider    addr.Provider
	Version     string   // the locked version, with all three numbers
	Constraints string   // the constraints of the configuration, in the form that the function Constraint returns; "" if there are no constraints
	Hashes      []string // "h1:…", "zh:…", sorted
	Others      []string // hashes of other kinds, which newer programs may compare; they are only kept
}

// ParseProviders reads the entries of providers in a dependency lock file. filename names the file in messages. The
// boolean is false if an error was reported; the entries must not be used then.
func ParseProviders(src []byte, filename string, l limits.Limits, bag *diag.Bag) ([]Provider, bool) {
	body, ok := config.ParseBody(filename, src, l, bag)
	if !ok {
		return nil, false
	}
	content, ds := body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "provider", LabelNames: []string{"source_addr"}}}})
	ok = bag.HCL(ds)
	var locks []Provider
	seen := map[addr.Provider]bool{}
	for _, b := range content.Blocks {
		l, good := parseProvider(b, bag)
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

func parseProvider(b *hcl.Block, bag *diag.Bag) (Provider, bool) {
	var l Provider
	p, err := addr.ParseProvider(b.Labels[0])
	if err != nil {
		bag.Add(diag.Errorf("Invalid provider source address", "The source address of a locked provider cannot be read: %s.", err).At(b.LabelRanges[0]))
		return l, false
	}
	l.Provider = p
	content, ds := b.Body.Content(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "version", Required: true}, {Name: "constraints"}, {Name: "hashes"},
	}})
	ok := bag.HCL(ds)
	ok = stringArgument(content, "version", &l.Version, bag) && ok
	ok = stringArgument(content, "constraints", &l.Constraints, bag) && ok
	if a := content.Attributes["hashes"]; a != nil {
		ok = l.hashes(a, bag) && ok
	}
	refuse := func(name, text string) {
		bag.Add(diag.Errorf("Invalid lock file", "%s", text).At(content.Attributes[name].Expr.Range()))
		ok = false
	}
	if !ok {
		return l, false
	}
	switch v, err := versions.ParseVersion(l.Version); {
	case err != nil:
		refuse("version", fmt.Sprintf("%q is not a version: %s.", l.Version, err))
	case v.String() != l.Version:
		refuse("version", fmt.Sprintf("A locked version must be written out in full: %q.", v))
	}
	if _, err := constraints.ParseRubyStyleMulti(l.Constraints); err != nil {
		refuse("constraints", fmt.Sprintf("%q is not a version constraint: %s.", l.Constraints, err))
	}
	return l, ok
}

// hashes reads the checksums of a package, such as "h1:…" or "zh:…", into l.Hashes and l.Others. At the first mistake it
// reports an error and returns false.
func (l *Provider) hashes(a *hcl.Attribute, bag *diag.Bag) bool {
	list, ds := hcl.ExprList(a.Expr)
	if ds.HasErrors() {
		bag.Add(diag.Errorf("Invalid provider hash", "The hashes must be a list, such as [\"h1:…\", \"zh:…\"].").At(a.Expr.Range()))
		return false
	}
	for _, e := range list {
		v, ds := e.Value(nil)
		if !bag.HCL(ds) {
			return false
		}
		if v.IsNull() || v.Type() != cty.String || strings.Index(v.AsString(), ":") < 1 {
			bag.Add(diag.Errorf("Invalid provider hash", "Each hash must be a string that begins with its kind and a colon, such as \"h1:…\".").At(e.Range()))
			return false
		}
		if h := v.AsString(); strings.HasPrefix(h, "h1:") || strings.HasPrefix(h, "zh:") {
			l.Hashes = append(l.Hashes, h)
		} else {
			l.Others = append(l.Others, h)
		}
	}
	return true
}

func stringArgument(c *hcl.BodyContent, name string, to *string, bag *diag.Bag) bool {
	a := c.Attributes[name]
	if a == nil {
		return true
	}
	v, ds := a.Expr.Value(nil)
	if !bag.HCL(ds) {
		return false
	}
	if v.IsNull() || v.Type() != cty.String {
		bag.Add(diag.Errorf("Invalid lock file", "The argument %q must be a string.", name).At(a.Expr.Range()))
		return false
	}
	*to = v.AsString()
	return true
}

// FormatProviders writes a dependency lock file, sorted by provider.
func FormatProviders(locks []Provider) []byte {
	var b bytes.Buffer
	b.WriteString("# This file is maintained automatically by \"lethe init\".\n# Manual edits may be lost in future updates.\n")
	locks = slices.Clone(locks)
	slices.SortFunc(locks, func(a, b Provider) int { return a.Provider.Compare(b.Provider) })
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

func writeHashes(b *bytes.Buffer, l Provider) {
	all := slices.Sorted(slices.Values(slices.Concat(l.Hashes, l.Others)))
	if len(all) == 0 {
		return
	}
	b.WriteString("  hashes = [\n")
	for _, h := range slices.Compact(all) {
		fmt.Fprintf(b, "    %q,\n", h)
	}
	b.WriteString("  ]\n")
}

// Constraint joins constraints in the form of the lock file: sorted by version, without duplicates, with all three
// numbers of each version. A ~> with two numbers keeps two, because a third number would change its meaning. Terraform
// refuses a lock file with any other form. Constraints that cannot be parsed are omitted; they are reported when the
// constraint is resolved.
func Constraint(cs []config.VersionConstraint) string {
	var all []constraints.SelectionSpec
	for _, c := range cs {
		specs, _ := constraints.ParseRubyStyleMulti(c.Text)
		all = append(all, specs...)
	}
	slices.SortStableFunc(all, func(a, b constraints.SelectionSpec) int {
		switch v, w := boundary(a), boundary(b); {
		case v.LessThan(w):
			return -1
		case w.LessThan(v):
			return 1
		}
		return cmp.Compare(rank(a.Operator), rank(b.Operator))
	})
	var parts []string
	for _, s := range all {
		v := boundary(s)
		text := operators[rank(s.Operator)].text + v.String()
		if s.Operator == constraints.OpGreaterThanOrEqualMinorOnly {
			text = "~> " + strings.Replace(v.String(), fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch), fmt.Sprintf("%d.%d", v.Major, v.Minor), 1)
		}
		parts = append(parts, text)
	}
	return strings.Join(slices.Compact(parts), ", ")
}

// boundary returns the version of a constraint, with zeros for missing numbers.
func boundary(s constraints.SelectionSpec) versions.Version {
	b := s.Boundary.ConstrainToZero()
	return versions.Version{
		Major: b.Major.Num, Minor: b.Minor.Num, Patch: b.Patch.Num,
		Prerelease: versions.VersionExtra(b.Prerelease), Metadata: versions.VersionExtra(b.Metadata),
	}
}

// operators holds the operators of constraints. Constraints with the same version are written in this order.
var operators = []struct {
	op   constraints.SelectionOp
	text string
}{
	{constraints.OpGreaterThan, "> "},
	{constraints.OpGreaterThanOrEqual, ">= "},
	{constraints.OpEqual, ""},
	{constraints.OpMatch, ""},
	{constraints.OpGreaterThanOrEqualPatchOnly, "~> "},
	{constraints.OpGreaterThanOrEqualMinorOnly, "~> "},
	{constraints.OpLessThanOrEqual, "<= "},
	{constraints.OpLessThan, "< "},
	{constraints.OpNotEqual, "!= "},
}

func rank(op constraints.SelectionOp) int {
	for i, o := range operators {
		if o.op == op {
			return i
		}
	}
	panic("no operator of a version constraint: " + string(op)) // ParseRubyStyleMulti returns no other operators
}
