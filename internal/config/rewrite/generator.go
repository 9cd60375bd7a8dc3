package rewrite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/schema/published"
)

// manager is a resource of a secret manager that stores a value, such as aws_secretsmanager_secret_version. The
// provider must also have an ephemeral resource of the same type, which reads the value.
type manager struct {
	f         *part
	block     *hclsyntax.Block
	argument  string   // the name of the present argument that stores the value
	attribute string   // the attribute that the ephemeral resource returns; it is also the stored argument
	required  []string // the names of the required arguments of the ephemeral resource
}

// Generator moves a value that a managed resource without remote object has generated, such as random_password.result.
// A resource of a secret manager must store the value already. After the move, all other uses read the value from the
// secret manager, and the generator is removed.
func (d *Draft) Generator(of addr.Resource, attribute string) *Result {
	m := d.module(of.Module)
	if m == nil {
		return refused(undeclared(of))
	}
	r := &Result{}
	return d.attempt(r, func() string { return d.moveGenerator(m, of, attribute, r) })
}

func (d *Draft) moveGenerator(m *module, of addr.Resource, attribute string, r *Result) string {
	s := symbol{"resource", of.Type, of.Name}
	var generator *hclsyntax.Block
	var in *part
	m.blocks("resource", []string{of.Type, of.Name}, func(f *part, b *hclsyntax.Block) { in, generator = f, b })
	switch {
	case generator == nil:
		return undeclared(of)
	case generator.Body.Attributes["count"] != nil || generator.Body.Attributes["for_each"] != nil:
		return fmt.Sprintf("%s has several instances, and Lethe moves only single generators. Move the values by hand.", of)
	}
	if name := m.inJSON(s); name != "" {
		return fmt.Sprintf("%s uses %s, and is JSON.", name, of)
	}
	uses := m.uses(s)
	var from *manager
	for _, u := range uses {
		names := u.steps(s)
		if !slices.Equal(names, []string{attribute}) {
			return fmt.Sprintf("%s uses another part of %s, so the generator must stay.", describe(u), of)
		}
		if from == nil && hclsyntax.Variables(u.whole) != nil && whole(u) {
			from = d.managerAt(m, u)
		}
	}
	if from != nil && ignores(from.block, from.argument) {
		return fmt.Sprintf("ignore_changes of %s contains %s, so the secret manager may have another value than %s.%s. Decide which value counts, remove the entry, and apply, before the value moves.", m.resource(from.block), from.argument, of, attribute)
	}
	if from == nil {
		return fmt.Sprintf("The value would be nowhere afterwards: an ephemeral generator returns another value at each opening, which nobody knows. Assign %s.%s to an argument of a secret manager whose provider has an ephemeral resource for it, such as aws_secretsmanager_secret_version, and apply. Then move it.", of, attribute)
	}
	stored := m.resource(from.block)
	if !d.in.Exists(stored) {
		return fmt.Sprintf("%s does not exist yet, so the secret manager does not have the value. Apply first.", stored)
	}
	return d.readBack(m, of, attribute, in, generator, from, uses, r)
}

// whole reports whether a reference is the whole expression of its argument or value.
func whole(u use) bool {
	t, ok := u.whole.(*hclsyntax.ScopeTraversalExpr)
	return ok && len(t.Traversal) == len(u.traversal)
}

// managerAt returns the secret manager to whose argument a reference belongs. It returns nil if the argument is not a
// secret that the provider can write as a write-only argument and read back as an ephemeral resource, or if the block
// is repeated.
func (d *Draft) managerAt(m *module, u use) *manager {
	if u.kind != argument || u.block.Type != "resource" || len(u.path) != 1 {
		return nil
	}
	provider := m.nodes[0].Provider(localProvider(u.block))
	reader := d.in.Block(provider, addr.Ephemeral, u.block.Labels[0])
	own := d.in.Block(provider, addr.Managed, u.block.Labels[0])
	if reader == nil || own == nil || u.block.Body.Attributes["count"] != nil || u.block.Body.Attributes["for_each"] != nil {
		return nil
	}
	x := &manager{f: u.f, block: u.block, argument: u.path[0], attribute: strings.TrimSuffix(u.path[0], "_wo")}
	if a := reader.Attr(x.attribute); a == nil || !a.Computed {
		return nil
	}
	if w := own.Attr(x.attribute + "_wo"); w == nil || !w.WriteOnly {
		return nil
	}
	for _, a := range reader.Attrs {
		if a.Required {
			if u.block.Body.Attributes[a.Name] == nil {
				return nil // the object itself computes the value, so its write-only argument cannot depend on it
			}
			x.required = append(x.required, a.Name)
		}
	}
	return x
}

// readBack replaces the references to a generator by references to an ephemeral resource that reads the secret manager.
// It returns the reason if this is not possible, or "".
func (d *Draft) readBack(m *module, of addr.Resource, attribute string, in *part, generator *hclsyntax.Block, from *manager, uses []use, r *Result) string {
	typ := from.block.Labels[0]
	name := m.freeIn("ephemeral", typ, from.block.Labels[1])
	reference := fmt.Sprintf("ephemeral.%s.%s.%s", typ, name, from.attribute)
	var text strings.Builder
	fmt.Fprintf(&text, "# The secret manager keeps the value. It is written again only if its version changes.\nephemeral %q %q {\n", typ, name)
	for _, arg := range append([]string{"provider"}, from.required...) {
		if a := from.block.Body.Attributes[arg]; a != nil {
			fmt.Fprintf(&text, "%s = %s\n", arg, from.f.source(a.Expr.Range()))
		}
	}
	text.WriteString(published.ReaderArguments(m.nodes[0].Provider(localProvider(from.block)), typ) + "}\n")
	edits := []edit{remove(in, generator), below(from.f, from.block, text.String())}
	for _, u := range uses {
		edits = append(edits, replace(u.f, u.traversal.SourceRange(), reference))
		a := from.block.Body.Attributes[from.argument]
		if u.block != from.block || from.argument != from.attribute {
			continue
		}
		edits = append(edits, replace(u.f, a.NameRange, from.attribute+"_wo"))
		s := d.schema(m, from.block)
		if v := schema.VersionOf(s.Attrs, from.attribute+"_wo"); v != nil && from.block.Body.Attributes[v.Name] == nil {
			edits = append(edits, insert(from.f, from.block, a, v.Name+" = "+number(v))...)
		}
	}
	for _, e := range edits { // skip an edit inside the generator's block, which is removed
		if e.f == in && e.from > edits[0].from && e.from < edits[0].to {
			return fmt.Sprintf("%s uses itself.", of)
		}
	}
	if !d.apply(unique(edits)) {
		return fmt.Sprintf("%s cannot be edited.", of)
	}
	p, why := d.permits(declaration{m, symbol{"ephemeral", typ, name}})
	switch {
	case why != "":
		return fmt.Sprintf("%s.%s cannot be replaced by an ephemeral value: %s. Move that argument first.", of, attribute, why)
	case !d.declare(p.flips):
		return fmt.Sprintf("The users of %s cannot be edited.", of)
	}
	d.note(declaration{m, symbol{"resource", of.Type, of.Name}}, "", "is not in the configuration afterwards.")
	if from.argument == from.attribute {
		d.note(declaration{m, symbol{"resource", typ, from.block.Labels[1]}}, from.argument, becomesNull([]string{from.argument}))
	}
	r.ReadsBack = m.resource(from.block)
	r.Resources = append(r.Resources, r.ReadsBack)
	r.Arguments = append(r.Arguments, from.argument, from.attribute+"_wo", from.attribute+"_wo_version")
	r.lives(fmt.Sprintf("in the secret manager: %s.%s writes it through a write-only argument, and ephemeral.%s.%s reads it", typ, from.block.Labels[1], typ, name))
	r.Notes = append(r.Notes, fmt.Sprintf("The next apply removes %s from the state. To rotate the secret, change it in the secret manager.", of))
	return ""
}
