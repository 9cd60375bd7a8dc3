package secretscmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/audit"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/config/rewrite"
	"github.com/lethe-iac/lethe/internal/diag"
	statemoves "github.com/lethe-iac/lethe/internal/engine/moving"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/schema/published"
	"github.com/lethe-iac/lethe/internal/state"
)

// way is the kind of a move: the edit after which the state does not store a secret.
type way uint8

const (
	toArgument  way = iota // a stored argument becomes a write-only argument
	toEphemeral            // a data source becomes an ephemeral resource
	toVariable             // a variable becomes ephemeral
	toManager              // a generated value is read from a secret manager
)

// target is a secret that the command moves. It names a declaration, so the move concerns all instances of the
// declaration.
type target struct {
	name     string // the name in messages
	way      way
	resource addr.Resource // if way is toVariable, only Name is set: the name of the variable
	stored   []string      // the path of the attribute that stores the secret: names of attributes and blocks, without keys
	to       []string      // if way is toArgument: the path of the write-only argument that replaces the stored attribute
}

type moveFlags struct {
	workdir.Options
	all, dryRun bool
	replaceOK   base.List
}

// block identifies the edit for a target by a module's source in place of its calls, because one edit concerns all
// calls of the module.
type block struct {
	way    way
	module *config.Module // the module whose source declares the secret; nil if the configuration has no such module
	local  addr.Resource  // the declaration of the secret, with its module address only if module is nil
	stored string         // target.stored, joined by dots; "" for toEphemeral
}

// notMoved returns the error for a move that changed nothing.
func notMoved(format string, a ...any) diag.Diagnostic {
	return diag.Errorf("Secret not moved", "%s", fmt.Sprintf(format, a...))
}

// moving is one run of the command secrets move.
type moving struct {
	session   *session.Session
	flags     *moveFlags
	permitted []addr.Target   // the addresses in -replace-ok
	snapshot  *state.Snapshot // the state
	report    *audit.Report   // the audit of the state: the secrets in it
	targets   []target
	skipped   map[string]string // the reason why a target is not moved, by the name of the target
	order     []string          // the keys of skipped, in the order in which they were skipped
	numbers   map[string]bool   // the names of the targets whose moves set a number as the version argument, not an expression
	known     map[block]bool    // the edits of the targets that were found so far
	tree      *config.Tree      // the configuration before the edits
	texts     *rewrite.Texts    // the texts of the files of tree
	tests     []rewrite.Test    // the test files of the modules of tree
	places    map[string]int    // the number of modules in tree that contain a file, by its path without symbolic links
	warnings  []diag.Diagnostic // warnings about known defects of providers of the targets
}

// skip records the reason why the target with a name is not moved. A later reason replaces an earlier reason.
func (x *moving) skip(name, why string) {
	if x.skipped[name] == "" {
		x.order = append(x.order, name)
	}
	x.skipped[name] = why
}

// defectWarning returns the warning about a known defect of a provider that affects the target t.
func defectWarning(t target, d *published.Defect) diag.Diagnostic {
	return diag.Warningf("Known defect of a provider", "%s: %s. The provider's issue is %s. Verify the result before you rely on it.", t.name, d.Effect, d.Issue)
}

// find determines the targets of the command: the secrets that the operand names, or with -all every secret that can be
// moved. If the operand names no secret that can be moved, or if the state cannot be examined, find reports an error
// and returns false. With -all, it also returns true if it finds no target; method nothing then reports that.
func (x *moving) find(ctx context.Context) bool {
	c := &collection{session: x.session}
	c.begin(ctx)
	place := c.auditor.Place(audit.Place{Kind: audit.State})
	c.auditor.State(place, statemoves.Make(x.session.Program, x.snapshot).State)
	r, ok := c.report(ctx)
	if !ok {
		return false
	}
	x.report = r
	if !x.flags.all {
		return x.findOne(ctx, x.session.Dir.Call.Operands[0])
	}
	for _, f := range r.Findings {
		t, why := x.targetOf(f)
		if why == "" && t.way == toArgument {
			p, _ := rewrite.ProviderOf(x.session.Loader.Tree, t.resource)
			if d := published.DefectOf(p, t.resource.Type, strings.Join(t.stored, ".")); d != nil {
				why = fmt.Sprintf("A known defect of the provider: %s (%s). To move it nevertheless, name it.", d.Effect, d.Issue)
			}
		}
		x.add(t, why)
	}
	return true
}

// add adds a target to x.targets, unless x.targets has a target with the same edit already: the calls of a module share
// its source. If why is not "", add does not add the target, and records why as the reason for skipping it.
func (x *moving) add(t target, why string) {
	if why != "" {
		x.skip(t.name, why)
		return
	}
	at := block{t.way, rewrite.ModuleAt(x.tree, t.resource.Module), t.resource, strings.Join(t.stored, ".")}
	if at.module != nil {
		at.local.Module = addr.Module{}
	}
	if t.way == toEphemeral {
		at.stored = ""
	}
	if !x.known[at] {
		x.known[at] = true
		x.targets = append(x.targets, t)
	}
}

// targetOf returns the target for a finding, and the reason why it cannot be moved. The reason is "" if it can be
// moved.
func (x *moving) targetOf(f *audit.Finding) (target, string) {
	name := f.Address
	if f.Path != "" {
		name += "." + f.Path
	}
	t := target{name: name}
	switch {
	case f.Reason == audit.Output:
		return t, "A root output is stored. Remove the output, or encrypt the state."
	case f.Reason == audit.Contained || f.Reason == audit.Private:
		return t, "The value contains a secret of another attribute. Move the secret of that attribute, or encrypt the state."
	}
	i, err := addr.ParseInstance(f.Address)
	if err != nil {
		return t, "It is a former object that was not destroyed yet. Apply the configuration, which destroys it."
	}
	t.resource, t.stored = i.Resource(), audit.NamesOf(f.Path)
	t.name = t.resource.String() + "." + strings.Join(t.stored, ".")
	switch f.Remedy.Kind {
	case audit.WriteOnly:
		t.way, t.to = toArgument, strings.Split(f.Remedy.Argument, ".")
		t.stored = t.stored[:min(len(t.stored), len(t.to))]
		t.name = t.resource.String() + "." + strings.Join(t.stored, ".")
		return t, ""
	case audit.Ephemeral:
		t.way, t.name = toEphemeral, t.resource.String()
		return t, ""
	}
	return x.generated(t)
}

// generated completes the target for an attribute that has no write-only argument, and whose data source has no
// ephemeral resource. Such an attribute can be moved only if it is the value of a generator, such as random_password.
// Otherwise generated returns the reason why the attribute cannot be moved.
func (x *moving) generated(t target) (target, string) {
	p, declared := rewrite.ProviderOf(x.session.Loader.Tree, t.resource)
	switch {
	case !declared:
		return t, "It is not in the configuration. If its object is no longer needed, apply the configuration, which destroys it."
	case t.resource.Mode == addr.Managed && len(t.stored) == 1 && published.IsGenerator(p, t.resource.Type, t.stored[0]):
		t.way = toManager
		return t, ""
	case t.resource.Mode == addr.Data:
		return t, "The provider has no ephemeral resource of this type. Do not store results of data sources (forget_data), or encrypt the state."
	}
	return t, "The type has no write-only argument for it. Encrypt the state."
}

// findOne determines the targets that the operand ADDRESS.ATTRIBUTE names. It reports an error and returns false if no
// target can be moved.
func (x *moving) findOne(ctx context.Context, operand string) bool {
	bag := &x.session.Dir.Call.Bag
	if name, is := strings.CutPrefix(operand, "var."); is {
		x.targets = []target{{name: operand, way: toVariable, resource: addr.Resource{Name: name}}}
		return true
	}
	if strings.HasPrefix(operand, "output.") {
		bag.Add(notMoved("%s: a root output is stored. Remove the output, or encrypt the state. No file was changed.", operand))
		return false
	}
	at, names, err := parseOperand(operand)
	if err != nil {
		bag.Add(notMoved("%s. Give the address of a resource and the name of an attribute, such as aws_ssm_parameter.db.value.", err))
		return false
	}
	why := ""
	for _, f := range x.report.Findings {
		i, err := addr.ParseInstance(f.Address)
		if found := audit.NamesOf(f.Path); err != nil || i.Resource() != at || len(found) < len(names) || !slices.Equal(found[:len(names)], names) {
			continue
		}
		t, reason := x.targetOf(f)
		if reason != "" {
			why = reason
			continue
		}
		x.add(t, "")
	}
	if len(x.targets) == 0 && why == "" {
		t, reason := x.unstored(ctx, at, names)
		if why = reason; why == "" {
			x.targets = []target{t}
		}
	}
	if len(x.targets) == 0 {
		bag.Add(notMoved("%s: %s No file was changed.", operand, why))
		return false
	}
	for _, t := range x.targets {
		p, _ := rewrite.ProviderOf(x.session.Loader.Tree, t.resource)
		if d := published.DefectOf(p, t.resource.Type, strings.Join(t.stored, ".")); d != nil && t.way == toArgument {
			x.warnings = append(x.warnings, defectWarning(t, d))
		}
	}
	return true
}

// unstored returns the target for an attribute for which the state stores no secret. An example is an argument that was
// not applied yet. If the attribute cannot be moved, unstored also returns the reason; otherwise the reason is "".
func (x *moving) unstored(ctx context.Context, at addr.Resource, names []string) (target, string) {
	t := target{name: at.String() + "." + strings.Join(names, "."), resource: at, stored: names}
	p, declared := rewrite.ProviderOf(x.session.Loader.Tree, at)
	switch {
	case !declared:
		return t, "Neither the state nor the configuration has it."
	case at.Mode == addr.Data:
		t.way, t.name = toEphemeral, at.String()
		return t, ""
	case len(names) == 0:
		return t, "The state stores no secret of this resource. Add the name of an attribute."
	}
	b := x.block(ctx)(p, at.Mode, at.Type)
	for n := len(names); b != nil && n > 0; n-- {
		to := append(slices.Clone(names[:n-1]), names[n-1]+"_wo")
		if rewrite.HasWriteOnly(b, to) {
			t.way, t.stored, t.to = toArgument, names[:n], to
			return t, ""
		}
	}
	return x.generated(t)
}

// block returns a function that returns the schema of a type of a provider. The function returns nil if the provider
// has no such type, or if its schemas are not available.
func (x *moving) block(ctx context.Context) func(addr.Provider, addr.Mode, string) *schema.Block {
	return func(p addr.Provider, mode addr.Mode, typ string) *schema.Block {
		schemas, err := x.session.SchemasOf(ctx, p)
		if err != nil {
			return nil
		}
		s, err := schemas.Type(mode, typ)
		if err != nil || s == nil {
			return nil
		}
		return s.Block
	}
}

// parseOperand splits an operand into the address of a resource and the names on the path of an attribute. It drops
// instance keys. The names are nil if the operand is only an address. parseOperand returns an error if no beginning of
// the operand is an address.
func parseOperand(operand string) (addr.Resource, []string, error) {
	_, err := addr.ParseInstance(operand)
	for end := len(operand); end > 0; end = strings.LastIndexAny(operand[:end], ".[") {
		if i, err := addr.ParseInstance(operand[:end]); err == nil {
			return i.Resource(), audit.NamesOf(strings.TrimPrefix(operand[end:], ".")), nil
		}
	}
	return addr.Resource{}, nil, err
}

// exists returns a function that reports whether the state has an object of a resource.
func (x *moving) exists() func(addr.Resource) bool {
	stored := map[addr.Resource]bool{}
	for o := range x.snapshot.Objects() {
		stored[o.Resource()] = true
	}
	return func(r addr.Resource) bool { return stored[r] }
}
