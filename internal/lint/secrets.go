package lint

import (
	"regexp"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// secretName matches names of arguments and variables whose values are secrets.
var secretName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(password|passwd|passphrase|secret|secret_key|private_key|api_?key|access_key|auth_token|token|credentials?)(_wo)?$`)
})

// secretText matches the forms of credentials of well-known services.
var secretText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{35}|\bsk_live_\w{16,}|\bhvs\.[\w-]{20,}|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.`)
})

// leastSecret is the length of the shortest literal that counts as a secret because of its name.
const leastSecret = 8

// literals reports literals that look like secrets: by their form, or by the name of the argument or variable.
func (c *checker) literals(m *module) {
	for _, b := range m.blocks {
		if b.Type == "variable" && len(b.Labels) == 1 {
			c.variableDefault(b)
		}
		b.each(func(n hclsyntax.Node) {
			switch n := n.(type) {
			case *hclsyntax.Attribute:
				if b.Type != "variable" && b.Type != "output" && secretName().MatchString(n.Name) {
					c.literal(n.Expr, n.Name)
				}
			case *hclsyntax.ObjectConsExpr:
				for _, item := range n.Items {
					if key := hcl.ExprAsKeyword(item.KeyExpr); secretName().MatchString(key) {
						c.literal(item.ValueExpr, key)
					}
				}
			case *hclsyntax.TemplateExpr:
				for _, part := range n.Parts {
					if text, ok := textOf(part); ok && secretText().MatchString(text) {
						c.secret(n.Range(), text, "its form is that of a credential")
					}
				}
			}
		})
	}
}

// variableDefault reports the literal default of a variable that is sensitive or has the name of a secret.
func (c *checker) variableDefault(b *block) {
	value := b.Body.Attributes["default"]
	if value == nil {
		return
	}
	sensitive := false
	if a := b.Body.Attributes["sensitive"]; a != nil {
		v, _ := a.Expr.Value(nil)
		sensitive = v.Type() == cty.Bool && v.IsKnown() && !v.IsNull() && v.True()
	}
	if sensitive || secretName().MatchString(b.Labels[0]) {
		c.literal(value.Expr, b.Labels[0])
	}
}

// literal reports an expression that is a literal of at least leastSecret bytes. name is the name of its argument or
// variable, which looks like the name of a secret.
func (c *checker) literal(e hclsyntax.Expression, name string) {
	if text, ok := textOf(e); ok && len(text) >= leastSecret && !secretText().MatchString(text) {
		c.secret(e.Range(), text, "it is the value of "+name)
	}
}

func (c *checker) secret(at hcl.Range, text, why string) {
	c.secrets = append(c.secrets, text)
	c.add(secretLike, at, "This text looks like a secret, because %s. Everybody who can read the configuration can read it. Use an ephemeral variable or an ephemeral resource, and replace the secret where it is valid.", why)
}

// kept reports arguments that store a sensitive value in the state, although the resource type has a write-only
// argument for this value. It does not examine resources in JSON syntax.
func (c *checker) kept() {
	for _, d := range c.p.Decls() {
		if d.Kind != program.Resource || d.Resource.Mode != addr.Managed || !c.own(d) {
			continue
		}
		s := c.p.Schema(d.ID)
		if body, ok := d.Res.Body.(*hclsyntax.Body); ok && s != nil {
			c.keptIn(c.p.NodeOf(d.ID).Config.Module, body, s.Block)
		}
	}
}

func (c *checker) keptIn(m *config.Module, body *hclsyntax.Body, b *schema.Block) {
	attrs := map[string]*schema.Attr{}
	for _, a := range b.Attrs {
		attrs[a.Name] = a
	}
	for name, a := range body.Attributes {
		here, only := attrs[name], attrs[name+"_wo"]
		if here == nil || only == nil || !only.WriteOnly || here.WriteOnly || isNull(a.Expr) {
			continue
		}
		if here.Sensitive || sensitiveIn(m, a.Expr) {
			c.add(stored, a.NameRange, "The state will keep the value of %s. Use the write-only argument %s_wo, whose value no state and no plan contains.", name, name)
		}
	}
	for _, n := range b.Blocks {
		for _, inner := range body.Blocks {
			if inner.Type == n.Name {
				c.keptIn(m, inner.Body, n.Block)
			}
		}
	}
}

func isNull(e hclsyntax.Expression) bool {
	l, ok := e.(*hclsyntax.LiteralValueExpr)
	return ok && l.Val.IsNull()
}

// sensitiveIn reports whether an expression names a sensitive variable.
func sensitiveIn(m *config.Module, e hclsyntax.Expression) bool {
	for _, t := range e.Variables() {
		if name, ok := strings.CutPrefix(address(t), "var."); ok && m.Variables[name] != nil && m.Variables[name].Sensitive {
			return true
		}
	}
	return false
}
