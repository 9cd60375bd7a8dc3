package object

import (
	"context"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/program"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/object/guard"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// ListArguments are the arguments of a list block.
type ListArguments struct {
	Config  mark.Value // the config block, in the list schema of the provider; the argument empty of ListArgumentsOf if the block is missing
	Objects cty.Value  // include_resource: a boolean, null if the block omits it
	Limit   cty.Value  // a number, null if the block omits it
}

// ListArgumentsOf divides the evaluated body of a list block into the arguments of the search. empty is the
// configuration for a list block without a config block. A null or unknown body counts as a list block without
// arguments.
func ListArgumentsOf(body mark.Value, empty cty.Value) ListArguments {
	out := ListArguments{Config: mark.Plain(empty), Objects: cty.NullVal(cty.Bool), Limit: cty.NullVal(cty.Number)}
	if body.Raw.IsNull() || !body.Raw.IsKnown() {
		return out
	}
	out.Objects, out.Limit = body.Raw.GetAttr(program.ListObjects), body.Raw.GetAttr(program.ListLimit)
	if config := body.Raw.GetAttr(program.ListConfig); !config.IsNull() {
		out.Config.Raw = config
		for _, m := range body.Marks {
			if len(m.Path) > 0 && m.Path[0] == (cty.GetAttrStep{Name: program.ListConfig}) {
				m.Path = m.Path[1:]
				out.Config.Marks = append(out.Config.Marks, m)
			}
		}
	}
	return out
}

// Search holds the inputs of List.
type Search struct {
	Config  *ListConfig
	Objects bool  // the provider is asked to send whole objects, not only identities
	Limit   int64 // maximum number of results, after which List stops
}

// ListConfig is the encoded configuration of a search.
type ListConfig struct{ wire []byte }

// Listed is one object that List found.
type Listed struct {
	Identity cty.Value // in the identity schema of the type; known and not null
	Name     string    // the name of the object that the provider returns for users; contains no secret
	Object   cty.Value // the object that was found; null if the provider did not send the object
}

// mostReports is the maximum number of diagnostics about one search that are reported. The number is limited because a
// search may have 100,000 results, each with a warning.
const mostReports = 20

// ListConfig encodes the configuration of a search for List. The schema of t must be the list schema of the type. If
// the configuration cannot be encoded, ListConfig reports an error and returns false.
func (t *Tools) ListConfig(config cty.Value) (*ListConfig, bool) {
	wire, ok := encode(t, config)
	return &ListConfig{wire}, ok
}

// List searches for objects and calls visit for each result, until visit returns false or the limit is reached. Here
// the schema of t must be the schema of the objects, not the list schema. A result that breaks a rule of the protocol
// is not visited, and the search continues. List returns false if the search fails, if a result broke a rule, or if ctx
// ends.
func (t *Tools) List(ctx context.Context, s Search, visit func(Listed) bool) bool {
	ok, n := true, int64(0)
	reports := &limited{t: t}
	defer reports.summary()
	of := t.subject()
	of.To = reports
	for answer := range t.Provider.List(ctx, provider.ListRequest{Type: t.Type.Name, Config: guard.Send(s.Config.wire), Objects: s.Objects, Limit: s.Limit}) {
		if ctx.Err() != nil {
			return false // the answer would only be the error of the cancelled call
		}
		a, good := t.Walk.Guard.Admit(of, &answer, guard.Terms{})
		ok = ok && good
		if a.Object != guard.Present {
			continue
		}
		if n++; !visit(Listed{a.Identity, a.Name, a.Value}) || n >= s.Limit {
			break
		}
	}
	return ok && ctx.Err() == nil
}

// limited passes the first mostReports diagnostics on, and counts the others.
type limited struct {
	t    *Tools
	n    int
	errs int // number of errors that were not passed on
}

// Add passes d to Tools.Add if it is one of the first mostReports diagnostics, and counts it otherwise.
func (l *limited) Add(d diag.Diagnostic) {
	if l.n++; l.n <= mostReports {
		l.t.Add(d)
	} else if d.Severity == diag.Error {
		l.errs++
	}
}

// summary reports the number of diagnostics that were not passed on.
func (l *limited) summary() {
	const title = "More messages about list results"
	switch more := l.n - mostReports; {
	case more <= 0:
	case l.errs > 0:
		l.t.Add(diag.Errorf(title, "%s returned %d more messages about %s, of which %d are errors. Only the first %d are shown.", l.t.who(), more, l.t.Object, l.errs, mostReports))
	default:
		l.t.Add(diag.Warningf(title, "%s returned %d more messages about %s. Only the first %d are shown.", l.t.who(), more, l.t.Object, mostReports))
	}
}
