package calls

import "context"

// A value is a named wire value of a request: config, prior, proposed or planned.
type value struct {
	which string
	wire  []byte
}

// facts is what a decorator knows of a request before it is passed on.
type facts struct {
	call, typ, key string
	values         []value
	notes          map[string]any
}

// logged passes a request on and writes its line. tally counts the error and
// warning diagnostics of the answer.
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

// describe turns the facts of a request into the line it will be.
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

// over stamps the end of a call. The label may have become known while it ran.
func (c *Call) over(b *Book) {
	done := b.call(c.Call)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.End, c.Label = done.Start, done.Label
}

// beginning is the line that is written when the call starts.
func (c *Call) beginning() *Call {
	return &Call{
		Provider: c.Provider, Protocol: c.Protocol, Pid: c.Pid, Label: c.Label, Call: c.Call, Type: c.Type,
		Key: c.Key, Action: c.Action, Phase: "begin", Start: c.Start,
		Unknown: c.Unknown, Secrets: c.Secrets,
	}
}

// action is what a plan or an apply is about: an object that was and will not
// be is deleted, and so on.
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

// setLabel remembers the label that this process was configured with; an unknown one is "(unknown)".
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

// capabilities notes what the client said it can do; what it cannot do is not noted.
func capabilities(name string, allowed bool) map[string]any {
	if !allowed {
		return nil
	}
	return map[string]any{name: true}
}
