package calls

import "context"

// A value is a named wire value of a request: config, prior, proposed or planned.
type value struct {
	which string
	wire  []byte
}

// facts are the properties of a request that a decorator knows before it passes the request on.
type facts struct {
	call, typ, key string
	values         []value
	notes          map[string]any
}

// logged passes a request to next, returns the answer, and writes the line of the call into the log. tally returns the
// numbers of errors and warnings in the answer. If nothing is logged, logged calls neither f nor tally.
func logged[Q, A any](ctx context.Context, b *Book, f func() facts, q *Q,
	next func(context.Context, *Q) (*A, error), tally func(*A) (errors, warnings int),
) (*A, error) {
	if !b.on() {
		return next(ctx, q)
	}
	c := b.describe(f())
	if b.begin {
		b.write(c.beginning())
	}
	a, err := next(context.WithValue(ctx, inContext{}, c), q)
	c.over(b)
	switch {
	case err != nil:
		c.Errors = 1
	case a != nil:
		c.Errors, c.Warnings = tally(a)
	}
	b.write(c)
	return a, err
}

// describe returns the line for the facts of a request. If the request configures the provider, describe also stores
// the provider's label in b.
func (b *Book) describe(f facts) *Call {
	c := b.call(f.call)
	c.Type, c.Key, c.Notes = f.typ, f.key, f.notes
	trees := map[string]any{}
	secrets := map[string]string{}
	for _, v := range f.values {
		tree := peek(v.wire)
		trees[v.which] = tree
		secretsIn(secrets, v.which, tree, "", false)
		if c.Key == "" {
			c.Key = keyOf(tree)
		}
	}
	c.Unknown = unknownIn(trees["config"])
	if len(secrets) > 0 {
		c.Secrets = secrets
	}
	c.Action = action(c.Call, trees)
	if c.Call == "ConfigureProvider" {
		b.setLabel(trees["config"])
	}
	return c
}

// over sets the end time of a call. It also sets the label, which may be known only after the call.
func (c *Call) over(b *Book) {
	done := b.call(c.Call)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.End, c.Label = done.Start, done.Label
}

// beginning returns the line that is written when the call starts.
func (c *Call) beginning() *Call {
	return &Call{
		Provider: c.Provider, Protocol: c.Protocol, Pid: c.Pid, Label: c.Label, Call: c.Call, Type: c.Type,
		Key: c.Key, Action: c.Action, Phase: "begin", Start: c.Start,
		Unknown: c.Unknown, Secrets: c.Secrets,
	}
}

// action returns the kind of change of a plan or apply: create without a prior state, delete without a proposed or
// planned state, and otherwise update. It returns "" for any other call.
func action(call string, trees map[string]any) string {
	after := ""
	switch call {
	case "PlanResourceChange":
		after = "proposed"
	case "ApplyResourceChange":
		after = "planned"
	default:
		return ""
	}
	switch {
	case trees["prior"] == nil:
		return "create"
	case trees[after] == nil:
		return "delete"
	}
	return "update"
}

// setLabel stores the label of the provider configuration. An unknown label becomes "(unknown)". Without a label it
// keeps the old one.
func (b *Book) setLabel(config any) {
	m, _ := config.(map[string]any)
	switch l := m["label"].(type) {
	case string:
		b.label.Store(&l)
	case unknown:
		s := "(unknown)"
		b.label.Store(&s)
	}
}

// capabilities returns a note with the capability if the client has it, and nil otherwise.
func capabilities(name string, allowed bool) map[string]any {
	if !allowed {
		return nil
	}
	return map[string]any{name: true}
}
