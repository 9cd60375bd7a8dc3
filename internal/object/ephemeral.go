package object

import (
	"context"
	"time"

	"github.com/lethe-iac/lethe/internal/event"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
)

// Opened is what a provider may hold open from now on: it must be closed, whether or not the answer
// can be used.
type Opened struct {
	Private []byte
	RenewAt time.Time
}

// Open opens an ephemeral resource and holds the answer against the configuration (RFC, "Open
// method details"): what was configured is unchanged, everything is known, and there is an object.
// The value is ephemeral as a whole. held is called before anything else happens that could go
// wrong.
func (t *Tools) Open(ctx context.Context, config mark.Value, why *mark.Origin, held func(Opened)) (mark.Value, bool) {
	wire, ok := encode(t, config.Raw)
	if !ok {
		return mark.Value{}, false
	}
	learned := t.Walk.Secrets.Learning()
	defer func() {
		c, ok := t.Provider.(provider.Crasher)
		learned(!t.Unanswered || !ok || !c.Lost())
	}()
	began := time.Now()
	t.tell(event.Started{Object: t.Object, Op: event.Open, At: began})
	var resp provider.OpenResponse
	var ds provider.Diags
	called := t.token(ctx, func() {
		resp, ds = t.Provider.Open(ctx, provider.OpenRequest{Type: t.Type.Name, Config: send(wire), Allow: t.allow(), Note: t.Note})
	})
	if !called {
		return mark.Value{}, false
	}
	t.Unanswered = resp.Unanswered
	if !ds.HasErrors() || resp.Private != nil {
		held(Opened{Private: resp.Private, RenewAt: resp.RenewAt})
	}
	var v mark.Value
	ok = t.Report(ds) && !t.deferred(resp.Deferred)
	if ok {
		v, ok = checkOpened(t, config, resp, why)
	} else if v, err := decodeAny(resp.Result, t.Type.Type()); err == nil {
		guardResult(t, v, config.Raw) // of which the provider may have reported in its errors
	}
	if !ok {
		t.tell(event.Failed{Object: t.Object, Op: event.Open, Took: time.Since(began)})
		return mark.Value{}, false
	}
	t.tell(event.Done{Object: t.Object, Op: event.Open, Took: time.Since(began)})
	return v, true
}

func checkOpened(t *Tools, config mark.Value, resp provider.OpenResponse, why *mark.Origin) (mark.Value, bool) {
	const title = "Provider produced invalid ephemeral resource instance"
	wire, ok := msgpackOf(t, resp.Result, title)
	if !ok {
		return mark.Value{}, false
	}
	v, ok := decode(t, wire, title)
	if !ok {
		return mark.Value{}, false
	}
	guardResult(t, v, config.Raw)
	if v.IsNull() {
		t.breach(title, "%s opened %s and answered with no object at all. This is a bug in the provider, to be reported there.", t.who(), t.Object)
		return mark.Value{}, false
	}
	if !whollyKnown(t, v, title, "after opening") || !asConfigured(t, config.Raw, v, title) {
		return mark.Value{}, false
	}
	return markEphemeral(t, v, config, why), true
}

// asConfigured reports configured arguments that came back changed, without their values.
func asConfigured(t *Tools, config, v cty.Value, title string) bool {
	good := true
	for _, b := range t.Type.PlanBreaches(t.Type.Null(), config, v) {
		good = false
		t.breach(title, "%s changed the configured argument %s while opening it. This is a bug in the provider, to be reported there.", t.who(), placeText(t, b.Path))
	}
	return good
}

// markEphemeral marks a result: ephemeral as a whole, sensitive where configuration and schema say so.
func markEphemeral(t *Tools, v cty.Value, config mark.Value, why *mark.Origin) mark.Value {
	out := markResult(t, v, config)
	out.Marks = append([]mark.At{{Tag: mark.Ephemeral, Why: why}}, out.Marks...)
	return out
}

// Closed is the value of an ephemeral resource that is not opened: what is configured, everything
// else unknown, and all of it ephemeral.
func (t *Tools) Closed(config mark.Value, why *mark.Origin) mark.Value {
	return markEphemeral(t, t.Type.Placeholder(config.Raw), config, why)
}
