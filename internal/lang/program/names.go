package program

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
)

// The titles of errors in this file equal the titles of Terraform and OpenTofu, because users search for them, and
// tests of providers match them.

func (c *compiler) undeclared(k Kind, name string, at diag.Range) {
	if c.u.Module.Unreadable() {
		c.failed = true
		return
	}
	hint := ""
	if c.mayGuess(len(c.u.ByName[k])) {
		hint = diag.DidYouMean(name, slices.Collect(maps.Keys(c.u.ByName[k])))
	}
	switch k {
	case Variable:
		if hint == "" {
			hint = fmt.Sprintf(" This variable can be declared with a variable %q {} block.", name)
		}
		c.error("Reference to undeclared input variable", fmt.Sprintf("An input variable with the name %q has not been declared.%s", name, hint), at)
	case Local:
		c.error("Reference to undeclared local value", fmt.Sprintf("A local value with the name %q has not been declared.%s", name, hint), at)
	case Call:
		c.error("Reference to undeclared module", fmt.Sprintf("No module call named %q is declared %s.%s", name, moduleOf(c.n), hint), at)
	}
}

// mostGuessed is the maximum number of comparisons with undeclared names, to suggest similar names, in one module.
// Without a limit, a thousand mistakes in a module of thousands of names would take millions of comparisons.
const mostGuessed = 1_000_000

// mayGuess counts n comparisons, and reports whether the total is at most mostGuessed.
func (c *compiler) mayGuess(n int) bool {
	c.u.guessed += n
	return c.u.guessed <= mostGuessed
}

var modeNouns = map[addr.Mode]string{addr.Managed: "A managed resource", addr.Data: "A data resource", addr.Ephemeral: "An ephemeral resource", addr.List: "A list block", addr.Action: "An action"}

func (c *compiler) undeclaredResource(n config.Name, at diag.Range) {
	if c.u.Module.Unreadable() {
		c.failed = true
		return
	}
	detail := fmt.Sprintf("%s %q %q has not been declared %s.", modeNouns[n.Mode], n.Type, n.Name, moduleOf(c.n))
	hint := c.nearResource(n)
	if hint == "" && n.Mode == addr.Managed {
		hint = cmp.Or(c.maybeVariable(n.Type), maybeRoot(n))
	}
	c.error("Reference to undeclared resource", detail+hint, at)
}

// nearResource returns a suggestion for the message about an undeclared resource: a resource of the same name in
// another mode, or a resource with a similar name. It returns "" if it finds no such resource.
func (c *compiler) nearResource(n config.Name) string {
	for _, m := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		if _, ok := c.u.resources[config.Name{Mode: m, Type: n.Type, Name: n.Name}]; ok {
			return fmt.Sprintf("\n\nDid you mean the %s resource %s?", m, localName(config.Name{Mode: m, Type: n.Type, Name: n.Name}))
		}
	}
	if !c.mayGuess(len(c.u.resources)) {
		return ""
	}
	var all []string
	for r := range c.u.resources {
		if r.Mode == n.Mode {
			all = append(all, localName(r))
		}
	}
	slices.Sort(all)
	if s := diag.Suggest(localName(n), all); s != "" {
		return fmt.Sprintf(" Did you mean %s?", s)
	}
	return ""
}

func localName(n config.Name) string { return n.In(addr.Module{}).Local() }

func (c *compiler) invalidResourceReference(t hcl.Traversal) {
	switch t.RootName() {
	case "data":
		c.error("Invalid reference", `The "data" object must be followed by two attribute names: the data source type and the resource name.`, t.SourceRange())
	case "ephemeral", "list", "resource":
		c.error("Invalid reference", fmt.Sprintf("The %q object must be followed by two attribute names: the resource type and the resource name.", t.RootName()), t.SourceRange())
	default:
		c.error("Invalid reference", "A reference to a resource type must be followed by at least one attribute access, specifying the resource name."+c.maybeVariable(t.RootName()), t.SourceRange())
	}
}

// roots has the first names of references to anything other than a managed resource. rootsAlike maps common mistakes to
// them.
var (
	roots      = []string{"count", "data", "each", "ephemeral", "local", "module", "path", "self", "terraform", "var"}
	rootsAlike = map[string]string{"variable": "var", "variables": "var", "vars": "var", "locals": "local", "modules": "module", "datasource": "data"}
)

// maybeRoot returns a suggestion if the first name of a reference is probably a misspelling of one of the roots, as in
// locals.x or modul.x. Otherwise it returns "".
func maybeRoot(n config.Name) string {
	root := rootsAlike[n.Type]
	if root == "" {
		root = diag.Suggest(n.Type, roots)
	}
	if root == "" {
		return ""
	}
	return fmt.Sprintf(" Did you mean %s.%s?", root, n.Name)
}

// maybeVariable returns a suggestion if a variable or a local with the name exists, so that "var." or "local." is
// probably missing. Otherwise it returns "".
func (c *compiler) maybeVariable(name string) string {
	if _, ok := c.u.ByName[Variable][name]; ok {
		return fmt.Sprintf(" Did you mean the input variable var.%s?", name)
	}
	if _, ok := c.u.ByName[Local][name]; ok {
		return fmt.Sprintf(" Did you mean the local value local.%s?", name)
	}
	return ""
}

func (c *compiler) unexpectedKey(e *expr.Ref, at diag.Range) {
	c.error("Unexpected resource instance key", noKeyOf(localName(c.u.Defs[e.Local].Src.Res.Name)), at)
}

// noKeyOf returns the message that a resource without repetition has no instance keys.
func noKeyOf(resource string) string {
	return fmt.Sprintf(`Because %s does not have "count" or "for_each" set, references to it must not include an index key. Remove the bracketed index to refer to the single instance of this resource.`, resource)
}

// missingKey reports that a reference to an attribute or output of a repeated block has no instance key. It always
// returns false, so that callers can return its result.
func (r *rewriter) missingKey(e *expr.Ref) bool {
	d := r.c.u.Defs[e.Local]
	what, index, noun, all := "count", "count.index", "resource", "%s[*]"
	if d.Repeat.ForEach != nil {
		what, index, all = "for_each", "each.key", "values(%s)[*]"
	}
	if r.why == ByTrigger {
		all = "%s"
	}
	name := "module." + d.Name
	if e.Root == expr.RootResource {
		name = localName(d.Src.Res.Name)
	} else {
		noun = "module"
	}
	r.c.error(fmt.Sprintf("Missing %s instance key", noun), fmt.Sprintf("Because %s has %q set, its attributes must be accessed on specific instances.\n\nTo use the same key as this block, use:\n    %s[%s]\n\nTo use all instances, use:\n    %s", name, what, name, index, fmt.Sprintf(all, name)), e.Traversal[:len(e.Traversal)-e.After()].SourceRange())
	return false
}

// visible reports whether the declaration that is being compiled may refer to a resource. A resource inside a check
// block is visible only inside that block. If the resource is not visible, visible reports an error and returns false.
func (c *compiler) visible(d *Def, at diag.Range) bool {
	if d.Src.Res.Check == "" || d.Src.Res.Check == c.check {
		return true
	}
	c.bag.Add(diag.Diagnostic{Severity: diag.Error, Summary: "Reference to scoped resource",
		Detail: fmt.Sprintf("%s belongs to the check %q and is not available outside it. Move the reference into the check, or the data block out of it.", localName(d.Src.Res.Name), d.Src.Res.Check)}.At(at).See("declared here", d.Src.Res.Range))
	c.failed = true
	return false
}

// fields has the attributes of the built-in objects: path, terraform (also named tofu), count and each.
var fields = map[string][]string{
	"path":      {"cwd", "module", "root"},
	"terraform": {"applying", "workspace"},
	"tofu":      {"applying", "workspace"},
	"count":     {"index"},
	"each":      {"key", "value"},
}

func (c *compiler) knownField(symbol, name string, at diag.Range) bool {
	if slices.Contains(fields[symbol], name) {
		return true
	}
	detail := fmt.Sprintf("The %q object does not have an attribute named %q.", symbol, name)
	switch {
	case symbol == "terraform" && name == "env":
		detail = `The attribute terraform.env is no longer supported. Use terraform.workspace.`
	case symbol == "count":
		detail += ` The only supported attribute is count.index, which is the index of each instance of a resource block that has the "count" argument set.`
	case symbol == "each":
		detail += ` The supported attributes are each.key and each.value, the current key and value pair of the "for_each" attribute set.`
	case symbol == "path":
		detail += diag.DidYouMean(name, slices.Clone(fields[symbol]))
	default:
		detail += fmt.Sprintf(" The only supported attributes are %s.workspace, the name of the currently-selected workspace, and %s.applying, a boolean which is true only during apply.", symbol, symbol)
	}
	c.error(fmt.Sprintf("Invalid %q attribute", symbol), detail, at)
	return false
}
