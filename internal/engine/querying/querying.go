package querying

import (
	"context"
	"sync"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/config/style"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/declared"
	"github.com/lethe-iac/lethe/internal/engine/filling"
	"github.com/lethe-iac/lethe/internal/engine/run"
	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/lang/frame"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object"
	"github.com/lethe-iac/lethe/internal/operation"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/lethe-iac/lethe/internal/walk"
	"github.com/zclconf/go-cty/cty"
)

// Request holds the inputs of a query.
type Request struct {
	Program *program.Program
	Options frame.Options
	State   *state.Snapshot // the state with the objects to which blocks may refer; nil: the values of all objects are unknown

	Objects  func(typ string) bool // reports whether whole objects of the type are needed; nil: include_resource in the list blocks decides
	Ignore   func(*Result) bool    // reports whether to omit a result; nil: no result is omitted
	Managed  []*state.Snapshot     // report only objects that are not in these states; nil: report all
	Generate bool                  // generate a resource block and an import block for each result
	// Take receives each result before it is reported. If Take returns an error, the search ends. Calls are not
	// concurrent.
	Take func(*Result) error
}

// Result is a found object that the query reports.
type Result struct {
	object.Listed
	List     addr.Instance // the instance of the list block whose search found the object
	Type     *object.Type  // the type of the object
	Managed  Management
	Block    *style.Generation // generated configuration; nil without Request.Generate, and if another result has it
	Resource string            // the text of the resource block in Block
	Import   string            // the text of the import block
}

// Counts are the numbers of results of all searches. Reported counts the reported results. Unsure counts the reported
// results that could not be compared with the states. Managed counts the results that were omitted because a state has
// the object, and Ignored the results that Request.Ignore omitted.
type Counts struct {
	Reported, Managed, Unsure, Ignored int
	Limited                            int // number of searches with as many results as their limit, which may have missed objects
}

// querier is one query.
type querier struct {
	req  *Request
	run  *run.Run
	refs map[program.Decl]bool // list blocks to which other declarations refer
	was  *managed              // the objects in Request.Managed; nil without Request.Managed
	names

	mu     sync.Mutex // held during calls of Take; guards the following field
	counts Counts
}

// Query runs the searches of all list blocks of the program. It returns the numbers of results, and false if a search
// failed or did not run.
func Query(ctx context.Context, env run.Env, req Request, bag *diag.Bag) (Counts, bool) {
	q := &querier{req: &req, refs: map[program.Decl]bool{}}
	var ok bool
	q.run, ok = run.New(ctx, env, run.Request{Program: req.Program, Options: req.Options, Kind: run.Kind{Operation: operation.Query}}, bag)
	if !ok {
		return Counts{}, false
	}
	defer q.run.End()
	q.names.init(req.Program, req.State)
	if req.Managed != nil {
		q.was = newManaged(q.run, req.Managed)
	}
	fill(q.run, req.State)
	result := q.run.WalkGraph(ctx, q.graph(), run.Names{Title: "query", Of: func(n walk.Node) string { return req.Program.Decls()[n].String() }}, walk.RunOptions{Workers: env.Settings.Workers(), Run: func(ctx context.Context, n walk.Node, f *walk.Fan) bool {
		return q.visit(ctx, req.Program.Decls()[n], f)
	}})
	return q.counts, !bag.HasErrors() && ctx.Err() == nil && !result.Interrupted && !q.run.Budget.Interrupted()
}

// fill sets the values of the objects in the state s. All other objects have unknown values. If s is nil, all objects
// have unknown values.
func fill(r *run.Run, s *state.Snapshot) {
	if s == nil {
		return
	}
	for _, res := range s.Resources() {
		d, ok := r.Program.Resource(res.Addr.Resource())
		if !ok {
			continue
		}
		frames, _ := r.Frame.Expand(d.Module, frame.After, &diag.Bag{})
		for _, f := range frames {
			if f.Addr() != res.Addr.Module {
				continue
			}
			for o, e := range res.Objects() {
				if !o.IsDeposed() {
					f.PutLazy(d.ID, o.Key, frame.After, func() mark.Value { return filling.StoredValue(r.Program, d, e) })
				}
			}
		}
	}
}

// graph returns a graph with a node for each declaration. The node has the number of the declaration. A node runs even
// if a node on which it depends has failed. It fails only if it evaluates the missing value.
func (q *querier) graph() *walk.Graph {
	g, decls := &walk.Graph{}, q.req.Program.Decls()
	for range decls {
		g.Add(walk.Options{})
	}
	for _, d := range decls {
		for _, ref := range q.req.Program.Refs(d.ID) {
			g.Waits(walk.Node(d.ID), walk.Node(ref.To))
			if isList(decls[ref.To]) {
				q.refs[ref.To] = true
			}
		}
	}
	return g
}

func isList(d *program.Declaration) bool {
	return d.Kind == program.Resource && d.Resource.Mode == addr.List
}

// visit starts the searches of a list block, one for each instance. For other declarations it does nothing and returns
// true. It returns false if the instance keys are unknown or cannot be evaluated.
func (q *querier) visit(_ context.Context, d *program.Declaration, f *walk.Fan) bool {
	if !isList(d) {
		return true
	}
	root := q.run.Frame
	keys := root.Keys(d.ID, frame.After, q.run.Bag)
	f.Jobs(len(keys.List), func(ctx context.Context, i int) bool {
		s := &search{q: q, d: d, f: root, key: keys.List[i], inst: d.Resource.In(root.Addr()).Instance(keys.List[i])}
		ok := s.run(ctx)
		if !ok {
			root.Fail(d.ID, s.key, frame.After)
		}
		return ok
	})
	return keys.Status == frame.Known
}

// defaultLimit is the maximum number of results of a list block without the argument limit, as in Terraform.
const defaultLimit = 100

// mostFailures is the number of objects that cannot be read after which a search ends.
const mostFailures = 5

// search is one search for existing objects: an instance of a list block.
type search struct {
	q    *querier
	d    *program.Declaration
	f    *frame.Frame
	key  addr.Key
	inst addr.Instance

	use      declared.Use
	label    string         // begins the names of generated resources
	n        int            // number of results with a generated name
	failures int            // number of objects that could not be read
	kept     *values        // the results, for other blocks; nil if no declaration refers to the list block
	done     event.ListDone // the numbers of results so far
	err      error          // the error that Request.Take returned; nil: none
}

// run evaluates the list block, searches, and reports the results. It returns false after an error.
func (s *search) run(ctx context.Context) bool {
	r := s.q.run
	r.Receive(ctx, s.d.ID, s.f.Addr(), s.key)
	body, out := s.f.Config(s.d.ID, s.key, frame.After, r.Bag)
	if out != frame.OK {
		return false
	}
	asks, use, ok := r.ToolsAfter(ctx, s.d, s.f, s.key, s.inst)
	if !ok {
		return false
	}
	s.use = use
	where := asks.Where
	asks.Where = func(p cty.Path) diag.Range { return where(append(cty.GetAttrPath(program.ListConfig), p...)) }
	args := object.ListArgumentsOf(body, asks.Type.Empty())
	if !s.known(args) || !asks.Validate(ctx, args.Config) {
		return false
	}
	objects, limit, ok := s.settings(args)
	if !ok {
		return false
	}
	finds, ok := s.finds(ctx, asks)
	if !ok {
		return false
	}
	config, ok := asks.ListConfig(args.Config.Raw)
	return ok && s.find(ctx, finds, object.Search{Config: config, Objects: objects, Limit: limit}, jsonOf(args.Config))
}

// known reports whether the configurations of the search and of its provider are known. If they are not known, it
// reports an error.
func (s *search) known(args object.ListArguments) bool {
	const end = "A query does not plan: only objects in the state have values. Use variables or literal values, or apply the objects first."
	switch {
	case !args.Config.Raw.IsWhollyKnown() || !args.Objects.IsKnown() || !args.Limit.IsKnown():
		s.error("Invalid list block", "The arguments of %s depend on values that are not known. "+end, s.inst)
	case s.q.run.Sessions.Unknown(s.use):
		s.error("Invalid list block", "The settings of the provider of %s depend on values that are not known. "+end, s.inst)
	default:
		return true
	}
	return false
}

// settings returns whether the provider must send whole objects (objects), and the maximum number of results (limit).
// Without a limit in the block, the maximum is defaultLimit. If the limit is invalid, settings reports an error, and ok
// is false.
func (s *search) settings(args object.ListArguments) (objects bool, limit int64, ok bool) {
	objects = !args.Objects.IsNull() && args.Objects.True() || s.q.req.Generate || s.q.req.Objects != nil && s.q.req.Objects(s.d.Res.Type)
	if args.Limit.IsNull() {
		return objects, defaultLimit, true
	}
	limit, exact := args.Limit.AsBigFloat().Int64()
	if exact != 0 || limit < 1 {
		s.q.run.Bag.Add(diag.Errorf("Invalid list block", "The limit of %s must be a whole number of 1 or more.", s.inst).At(s.f.Where(s.d.ID, cty.GetAttrPath(program.ListLimit))).About(s.inst))
		return false, 0, false
	}
	return objects, limit, true
}

// finds returns the tools for the found objects, which have the managed resource type. asks are the tools for the
// configuration of the search. finds reports an error and returns false if the provider lacks the resource type.
func (s *search) finds(ctx context.Context, asks *object.Tools) (*object.Tools, bool) {
	r, p := s.q.run, s.use.Instance.Provider
	schemas, _ := r.Settings.Pool.Schemas(ctx, p)
	if t, err := schemas.Type(addr.Managed, s.d.Res.Type); t == nil && err == nil {
		s.error("Invalid list resource", "Provider %s has a list resource %q, and no resource type of this name. This is a bug in the provider. Report it to its developers.", p.ForDisplay(), s.d.Res.Type)
		return nil, false
	}
	typ := r.Types.Of(ctx, r.Bag, p, addr.Resource{Mode: addr.Managed, Type: s.d.Res.Type, Name: s.d.Res.Name.Name}, s.inst)
	if typ == nil {
		return nil, false
	}
	out := *asks
	out.Type = typ
	return &out, true
}

// find calls the provider and handles all results. If all results were read, it sends event.ListDone and returns true.
func (s *search) find(ctx context.Context, t *object.Tools, what object.Search, config []byte) bool {
	q := s.q
	if q.was != nil && !q.was.read(ctx, s.use.Instance.Provider, t) {
		return false
	}
	s.done.List, s.label = s.inst, q.names.label(s.inst)
	if q.refs[s.d.ID] {
		s.kept = &values{}
	}
	send := q.run.Settings.Send
	send(event.ListStarted{List: s.inst, Config: config})
	ok, read := false, int64(0)
	stop := q.run.Budget.Stop()
	called := t.Walk.Token(ctx, func() {
		ok = t.List(stop, what, func(found object.Listed) bool {
			read++
			return s.take(ctx, t, found) && stop.Err() == nil
		})
	})
	q.mu.Lock()
	c := &q.counts
	if read >= what.Limit {
		c.Limited++
	}
	c.Reported, c.Managed, c.Unsure, c.Ignored = c.Reported+s.done.Total, c.Managed+s.done.Managed, c.Unsure+s.done.Unsure, c.Ignored+s.done.Ignored
	q.mu.Unlock()
	if s.err != nil {
		s.error("Failed to write generated configuration", "%s.", s.err)
		return false
	}
	if !called || !ok || s.failures > 0 {
		return false
	}
	if s.kept != nil {
		s.f.Put(s.d.ID, s.key, frame.After, s.kept.value())
	}
	send(s.done)
	return true
}

// take handles one result. It returns false if the search must end, because Request.Take returned an error, or because
// mostFailures objects could not be read.
func (s *search) take(ctx context.Context, t *object.Tools, found object.Listed) bool {
	q := s.q
	if s.kept != nil {
		s.kept.add(t.Type, found)
	}
	r := &Result{Listed: found, List: s.inst, Type: t.Type}
	switch {
	case q.req.Ignore != nil && q.req.Ignore(r):
		s.done.Ignored++
		return true
	case q.was != nil:
		if r.Managed = q.was.of(t.Type, s.use, found); r.Managed == IsManaged {
			s.done.Managed++
			return true
		}
	}
	if q.req.Generate && !s.generate(ctx, t, r) {
		return s.failures < mostFailures
	}
	if q.req.Take != nil {
		q.mu.Lock()
		s.err = q.req.Take(r)
		q.mu.Unlock()
		if s.err != nil {
			return false
		}
	}
	if s.done.Total++; r.Managed == Unsure {
		s.done.Unsure++
	}
	q.run.Settings.Send(event.ListFound{
		List: s.inst, Name: found.Name, Identity: plainJSON(found.Identity), IdentityVersion: t.Type.Identity.Version,
		Object: objectJSON(t.Type, found.Object), Config: r.Resource, Import: r.Import, Managed: r.Managed.String(),
	})
	return true
}

func (s *search) error(title, format string, a ...any) {
	s.q.run.Bag.Add(diag.Errorf(title, format, a...).At(s.d.Range).About(s.inst))
}

// generate writes the configuration of a result. If the provider did not send the object, generate imports and reads
// it, and returns false if the import or the read fails. If two searches find the same object, only the first gets a
// block.
func (s *search) generate(ctx context.Context, t *object.Tools, r *Result) bool {
	if s.q.names.generated(r.Type.Name, plainJSON(r.Identity)) {
		return true
	}
	name := s.q.names.free(r.Type.Name, s.label, s.n)
	s.n++
	res := addr.Resource{Mode: addr.Managed, Type: r.Type.Name, Name: name}
	quiet := *t // calls of quiet need no token (the permission for one provider call), because the search holds its token
	quiet.Object, quiet.Walk, quiet.Where = res.In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(), &object.Walk{Guard: t.Walk.Guard}, nil
	v := r.Object
	if v.IsNull() {
		var ok bool
		if v, ok = quiet.Existing(ctx, "", r.Identity, object.Stored{Provider: s.use.Instance}); !ok {
			s.failures++
			return false
		}
	}
	g := &style.Generation{Type: r.Type.Name, Name: name, Provider: style.ProviderOf(r.Type.Name, s.d.Res.LocalProvider(), s.use.Instance.Key), Schema: r.Type.Block, Value: v, Exact: true}
	g.Settle(func(config cty.Value) []cty.Path { return quiet.Objections(ctx, config) })
	r.Block, r.Resource, r.Import = g, style.Generate(*g), style.Import(res, g.Provider, r.Identity)
	return true
}
