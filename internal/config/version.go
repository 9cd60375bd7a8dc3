package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
)

// The version constraints of a module are checked before anything else is reported, even if files could not be parsed
// completely. A module for newer software may use unknown features, and then the unmet constraint is the important
// message.

// products holds the names in compatible_with that apply to this program: the name of this program, and the name of the
// product whose language it implements. If both names are present, only the first counts.
var products = []string{"lethe", "opentofu"}

// wantedVersions returns the version constraints of a module. The constraints of an override file replace the previous
// constraints.
func wantedVersions(rd *reader, base, overriding []*parsed) []VersionConstraint {
	var out []VersionConstraint
	for _, p := range base {
		out = append(out, sniffVersions(rd, p)...)
	}
	for _, p := range overriding {
		if vs := sniffVersions(rd, p); len(vs) > 0 {
			out = vs
		}
	}
	return out
}

var sniffSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}, {Type: "language"}}}

// sniffVersions returns the version constraints in one file. It reports an error for an invalid constraint, and leaves
// it out.
func sniffVersions(rd *reader, p *parsed) []VersionConstraint {
	var out []VersionConstraint
	c, _, _ := p.body.PartialContent(sniffSchema)
	for _, b := range c.Blocks {
		var a *hcl.Attribute
		required := b.Type == "terraform"
		if required {
			inner, _, _ := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "required_version"}}})
			a = inner.Attributes["required_version"]
		} else {
			a = compatible(b)
		}
		if a == nil {
			continue
		}
		if v, ok := rd.constraint(a.Expr, "required_version"); ok {
			v.Required = required
			out = append(out, v)
		}
	}
	return out
}

// compatible returns the entry of compatible_with that applies to this program, or nil if none does.
func compatible(b *hcl.Block) *hcl.Attribute {
	c, _, _ := b.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "compatible_with"}}})
	for _, name := range products {
		for _, inner := range c.Blocks {
			attrs, _ := inner.Body.JustAttributes()
			if a := attrs[name]; a != nil {
				return a
			}
		}
	}
	return nil
}

// versions reports the constraints that this program does not meet. If one is unmet, versions discards all other
// messages about the module and returns false. If the user claims a language version (Options.Claimed),
// required_version is compared with that version, and a constraint that only the claim meets is a warning. Without
// Options.Version, versions checks nothing and returns true.
func (l *loader) versions(base, overriding []*parsed, n *Node) bool {
	l.mod.Version = wantedVersions(l.rd, base, overriding)
	own, claimed := l.rd.opts.Version, l.rd.opts.Claimed
	if own == "" {
		return true
	}
	var unmet []diag.Diagnostic
	for _, v := range l.mod.Version {
		switch {
		case v.Required && claimed != "":
			if !v.permits(claimed) {
				unmet = append(unmet, unsupported(v, n, claimed+", as "+LanguageVersion+" or language_version in the CLI configuration claims"))
			} else if !v.permits(own) {
				l.rd.bag.Add(diag.Warningf("Claimed language version", "%s requires version %q, and this is version %s. It is accepted because %s or language_version in the CLI configuration claims version %s. The configuration has the meaning that version %s gives it.",
					asker(n), strings.TrimSpace(v.Text), own, LanguageVersion, claimed, own).At(v.Range))
			}
		case !v.permits(own):
			unmet = append(unmet, unsupported(v, n, own))
		}
	}
	if len(unmet) > 0 {
		l.rd.bag = diag.Bag{}
		l.rd.bag.Add(unmet...)
	}
	return len(unmet) == 0
}

// LanguageVersion is the name of the environment variable that sets the version to compare with required_version.
const LanguageVersion = "LETHE_LANGUAGE_VERSION"

// permits reports whether a version meets the constraint. If the version or the constraint cannot be parsed, it returns
// true.
func (v VersionConstraint) permits(text string) bool {
	have, err := version.NewVersion(text)
	want, err2 := version.NewConstraint(v.Text)
	return err != nil || err2 != nil || want.Check(have)
}

// asker returns the name of the module that has a version constraint, for messages.
func asker(n *Node) string {
	if n.Call != nil {
		return fmt.Sprintf("Module %s (from %s)", n.Path, n.Source)
	}
	return "This configuration"
}

// unsupported returns the error for a constraint of the module n that the version in use does not meet. The parameter
// have is this version.
func unsupported(v VersionConstraint, n *Node, have string) diag.Diagnostic {
	if !v.Required {
		return diag.Errorf("Incompatible version of Lethe", "%s requires version %q in its compatible_with block, and this is version %s. Use a version that matches, or change the entry if it is too strict.",
			asker(n), strings.TrimSpace(v.Text), have).At(v.Range)
	}
	hint := ""
	// A constraint that excludes newer versions may be stricter than the module needs. Without an upper bound, the
	// module needs a newer version, so there is no hint.
	if !v.permits("9999.0.0") {
		hint = "\n\nTo try Lethe without changing the configuration, set " + LanguageVersion + " to a version that the constraint permits."
	}
	return diag.Errorf("Unsupported Terraform Core version", "%s requires version %q, and this is version %s. Use a version that matches, or change the constraint if it is too strict.%s",
		asker(n), strings.TrimSpace(v.Text), have, hint).At(v.Range)
}
