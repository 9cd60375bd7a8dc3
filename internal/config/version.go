package config

import (
	"fmt"
	"strings"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/diag"
)

// What versions a module wants to be run by is read before anything else, and from what the
// parser could make of broken files, too: a module for newer software may use what this one does not
// understand, and then the version is the news.

// products are the names in compatible_with that speak of this program: its own, and the one
// whose language it speaks. The own name wins where both are given.
var products = []string{"lethe", "opentofu"}

// wantedVersions lists the version constraints of a module. Each override file replaces those before it.
func wantedVersions(rd *reader, base, over []*parsed) []VersionConstraint {
	var out []VersionConstraint
	for _, p := range base {
		out = append(out, sniffVersions(rd, p)...)
	}
	for _, p := range over {
		if vs := sniffVersions(rd, p); len(vs) > 0 {
			out = vs
		}
	}
	return out
}

var sniffSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"}, {Type: "language"}}}

// sniffVersions finds the version constraints in one file.
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

// compatible finds the entry of compatible_with that speaks of this program.
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

// constraint reads a version constraint.
func (rd *reader) constraint(e hcl.Expression, what string) (VersionConstraint, bool) {
	text, ok := rd.string(e, "Invalid version constraint", "A string value is required for %s, such as \">= 1.6, < 2.0\".", what)
	if !ok {
		return VersionConstraint{}, false
	}
	if _, err := version.NewConstraint(text); err != nil {
		rd.error(e.Range(), "Invalid version constraint", "This string does not use correct version constraint syntax. A constraint is an operator and a version, such as \">= 1.6\" or \"~> 2.1\"; several are divided by commas.")
		return VersionConstraint{}, false
	}
	return VersionConstraint{Text: text, Range: e.Range()}, true
}

// versions reports the constraints that this program does not meet. If there are any, that is all
// there is to say about the module.
func (l *loader) versions(base, over []*parsed, n *Node) bool {
	l.mod.Version = wantedVersions(l.rd, base, over)
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
				l.rd.bag.Add(diag.Warningf("Claimed language version", "%s asks for version %q, and this is version %s. It is accepted because %s or language_version in the CLI configuration claims version %s. The configuration has the meaning that version %s gives it.",
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

// LanguageVersion is the environment variable with the version that required_version is compared with.
const LanguageVersion = "LETHE_LANGUAGE_VERSION"

// permits reports whether a version meets the constraint. One that cannot be read counts as met.
func (v VersionConstraint) permits(text string) bool {
	have, err := version.NewVersion(text)
	want, err2 := version.NewConstraint(v.Text)
	return err != nil || err2 != nil || want.Check(have)
}

// asker names the module in messages about its versions.
func asker(n *Node) string {
	if n.Call != nil {
		return fmt.Sprintf("Module %s (from %s)", n.Path, n.Source)
	}
	return "This configuration"
}

func unsupported(v VersionConstraint, n *Node, have string) diag.Diagnostic {
	if !v.Required {
		return diag.Errorf("Incompatible version of Lethe", "%s says in its compatible_with block that it is for version %q, and this is version %s. Use a version that it is for, or change the entry if it is stricter than the module needs.",
			asker(n), strings.TrimSpace(v.Text), have).At(v.Range)
	}
	hint := ""
	if !v.permits("9999.0.0") { // it has an upper bound
		hint = "\n\nTo try Lethe without a change of the configuration, set " + LanguageVersion + " to a version that the constraint permits."
	}
	return diag.Errorf("Unsupported Terraform Core version", "%s asks for version %q, and this is version %s. Use a version that it supports, or change the constraint if it is stricter than the module needs. Version constraints are normally set for good reason, so changing one may lead to other errors or unexpected behavior.%s",
		asker(n), strings.TrimSpace(v.Text), have, hint).At(v.Range)
}
