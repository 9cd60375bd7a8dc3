// Package querycmd defines the command query: it searches for existing objects with list blocks, compares them with
// states, and generates configuration for them.
//
//	query.go      the command
//	ignore.go     the rules of -ignore
//	importing.go  -import: files with references between objects
//	write.go      -generate-config-out
package querycmd

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/cli/base"
	"github.com/lethe-iac/lethe/internal/cli/session"
	"github.com/lethe-iac/lethe/internal/cli/workdir"
	"github.com/lethe-iac/lethe/internal/config/queryfile"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/engine"
	"github.com/lethe-iac/lethe/internal/engine/querying"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/lang/vet"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/view"
)

// Query is the command `query`.
var Query = &base.Command{
	Name: "query", Stream: true, Short: "Search for existing objects",
	Long: `Searches for existing objects with the list blocks in the query files
(.tfquery.hcl) of the working directory, and prints them.

The command changes nothing. It can write configuration that imports
the objects, for you to review and apply.`,
	Examples: [][2]string{
		{"lethe query", "Print all results"},
		{"lethe query -json", "Print one JSON object for each result"},
		{"lethe query -var=env=prod", "Set a variable of a query file"},
		{"lethe query -unmanaged", "Print only objects that are not in the state"},
		{"lethe query -unmanaged -ignore=ignore.txt -import", "Write configuration for these objects, and show the plan"},
		{"lethe query -generate-config-out=generated.tf", "Write import and resource blocks"},
	},
	Setup: base.Flags(func(c *base.Call, f *queryFlags) {
		f.Runs = true
		f.VarFlags(c)
		f.LockFlags(c)
		f.StateFlag(c)
		f.WarningFlags(c)
		c.StreamFlags()
		c.Flags.StringVar(&f.generate, "generate-config-out", "", "Write import and resource blocks for the results to this new `file`.")
		c.Flags.BoolFunc("unmanaged", "Print only objects that are not in the state. -unmanaged=FILE also compares with the state in a file. May be given many times.", f.addState)
		c.Flags.StringVar(&f.ignore, "ignore", "", "Leave out the objects that the rules in this `file` match.")
		c.Flags.BoolVar(&f.imports, "import", false, "Write import and resource blocks to files, one for each type, and show the plan. Nothing is applied.")
		c.Flags.IntVar(&f.Parallelism, "parallelism", 10, "How `many` provider calls may run at once.")
		c.Flags.DurationVar(&f.CloseTimeout, "close-timeout", 0, "How `long` closing one lease may take: 1m, unless the CLI configuration changes it.")
		c.Flags.BoolVar(&c.View.Compact, "compact-warnings", false, "Show warnings without their details unless there are errors.")
	}, runQuery),
}

type queryFlags struct {
	workdir.Options
	generate  string   // name of the file of -generate-config-out
	ignore    string   // name of the file of -ignore
	imports   bool     // -import
	unmanaged bool     // -unmanaged
	states    []string // names of files with states to compare with
}

// run is one run of the command query.
type run struct {
	c       *base.Call
	f       *queryFlags
	s       *session.Session
	req     engine.QueryRequest
	file    *generated // nil without -generate-config-out
	imports *imports   // nil without -import
}

func runQuery(ctx context.Context, c *base.Call, f *queryFlags) int {
	base.Streams()
	if f.imports && f.generate != "" {
		c.Bag.Add(diag.Errorf("Invalid combination of arguments", "The options -import and -generate-config-out both write configuration. Use one of them."))
		return c.UI.Fail()
	}
	if !mayWrite(c, f.generate) {
		return c.UI.Fail()
	}
	r, ok := begin(ctx, c, f)
	if !ok {
		return c.UI.Fail()
	}
	counts, ok := r.s.Engine.Query(ctx, r.req, &c.Bag)
	if ctx.Err() != nil {
		c.Interrupted()
	}
	if r.file != nil {
		ok = r.file.close(c) && ok
		if r.file.n > 0 {
			c.UI.Line(fmt.Sprintf("\nWrote blocks for %s to %s. Review them before you apply.", results(r.file.n), f.generate))
		}
	}
	if f.unmanaged && ok {
		c.UI.Line(fmt.Sprintf("\n%s not managed, %d managed.%s", results(counts.Reported), counts.Managed, unsure(counts.Unsure)))
	}
	if n := counts.Limited; n > 0 && ok && (f.unmanaged || r.req.Generate) {
		c.UI.Line(fmt.Sprintf("\nThere may be more objects: %s reached the limit.", diag.Counted(n, "list block", "list blocks")))
	}
	if !ok || r.imports != nil && !r.planImports(ctx) {
		return c.UI.Fail()
	}
	return c.UI.Done(base.ExitOK)
}

// results returns a number of results, such as "2 objects".
func results(n int) string { return diag.Counted(n, "object", "objects") }

func unsure(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" For %s of these, the states do not tell: they have objects without an identity and without an id.", results(n))
}

// begin compiles the configuration with its query files (.tfquery.hcl), and reads the states that the query needs. It
// returns false after an error.
func begin(ctx context.Context, c *base.Call, f *queryFlags) (*run, bool) {
	s, ok := session.Open(c, &f.Options, operation.Query)
	if !ok {
		return nil, false
	}
	s.Loader.Queries = true
	if !s.Prepare(ctx, "", vet.CheckOptions{}) {
		return nil, false
	}
	if len(queryfile.Lists(s.Loader.Tree.Root.Module)) == 0 {
		c.Bag.Add(diag.Errorf("No resources to query", "The configuration does not contain any resources that can be queried. Add a list block to a query file, such as main.tfquery.hcl."))
		return nil, false
	}
	r := &run{c: c, f: f, s: s, req: engine.QueryRequest{Program: s.Program, Options: s.FrameOptions(), Generate: f.generate != "" || f.imports}}
	stored, leases := needs(s.Program)
	if stored || leases || f.unmanaged || r.req.Generate {
		ws, ok := s.Lock(ctx, nil)
		if !ok {
			return nil, false
		}
		r.req.State = ws.Snapshot()
	}
	if f.unmanaged && !r.compare(ctx) {
		return nil, false
	}
	if f.ignore != "" {
		rules, ok := readRules(c, f.ignore)
		if !ok {
			return nil, false
		}
		r.req.Ignore = func(x *querying.Result) bool { return ignores(rules, x) }
		r.req.Objects = func(typ string) bool { return needsObject(rules, typ) }
	}
	if f.imports {
		r.imports = &imports{}
		r.req.Take = r.imports.add
	}
	if f.generate != "" {
		r.file = &generated{path: c.Path(f.generate)}
		r.req.Take = r.file.add
	}
	return r, true
}

// needs reports whether the list blocks of a program refer, directly or indirectly, to objects that a state may have
// (stored), and to ephemeral resources (leases).
func needs(p *program.Program) (stored, leases bool) {
	seen := map[program.Decl]bool{}
	var visit func(program.Decl)
	visit = func(id program.Decl) {
		if seen[id] {
			return
		}
		seen[id] = true
		d := p.Decls()[id]
		if d.Kind == program.Resource {
			stored = stored || d.Resource.Mode == addr.Managed || d.Resource.Mode == addr.Data
			leases = leases || d.Resource.Mode == addr.Ephemeral
		}
		for _, ref := range p.Refs(id) {
			visit(ref.To)
		}
	}
	for _, d := range p.Decls() {
		if d.Kind == program.Resource && d.Resource.Mode == addr.List {
			visit(d.ID)
		}
	}
	return stored, leases
}

// addState parses a value of -unmanaged: true, false, or the name of a file with a state. The value false removes the
// files of earlier values.
func (f *queryFlags) addState(s string) error {
	given, err := strconv.ParseBool(s)
	switch {
	case err != nil:
		f.unmanaged, f.states = true, append(f.states, s)
	case given:
		f.unmanaged = true
	default:
		f.unmanaged, f.states = false, nil
	}
	return nil
}

// compare reads the states with which results are compared: the state of the working directory, and the files of
// -unmanaged. It returns false after an error.
func (r *run) compare(ctx context.Context) bool {
	all := []*state.Snapshot{r.req.State}
	for _, name := range r.f.states {
		text, err := os.ReadFile(r.c.Path(name))
		if err != nil {
			r.c.Bag.Add(diag.Errorf("Failed to read file", "The file %s of -unmanaged cannot be read: %s.", name, disk.Reason(err)))
			return false
		}
		s, ok := r.s.States.OpenState(ctx, text, "The file is "+name+".", &r.c.Bag)
		if !ok {
			return false
		}
		all = append(all, s)
	}
	r.req.Managed = all
	return true
}

// planImports writes the files of -import, and shows the plan of the configuration with these files. It applies
// nothing. It returns false after an error.
func (r *run) planImports(ctx context.Context) bool {
	if len(r.imports.list) == 0 {
		r.c.UI.Line("\nThere is nothing to import.")
		return true
	}
	names, ok := r.imports.write(r.c)
	if !ok {
		return false
	}
	r.c.UI.Line(fmt.Sprintf("\nWrote blocks for %s to %s.", results(len(r.imports.list)), strings.Join(names, ", ")))
	s := r.s
	s.Loader.Queries, s.Operation = false, operation.Plan
	if !s.Loader.Load() || !s.Loader.Vars.Collect() || !s.Compile(ctx, vet.CheckOptions{}) {
		return false
	}
	req, ok := s.PlanRequest(r.req.State)
	if !ok {
		return false
	}
	result, ok := s.Engine.Plan(ctx, req, &r.c.Bag)
	if result == nil {
		return false
	}
	r.c.UI.Plan(result.Plan, view.PlanOptions{Applying: true, Schemas: s.Schemas()})
	if ok {
		r.c.UI.Line("\nNothing was applied. Review the files, and run `lethe apply`.")
	}
	return ok
}
