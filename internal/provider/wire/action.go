package wire

import (
	"context"
	"io"
	"iter"

	"google.golang.org/grpc"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

// PlanAction checks an invocation of an action. It returns the provider's reason if the provider defers the decision,
// and "" otherwise.
func (c *client) PlanAction(ctx context.Context, r provider.ActionRequest) (provider.Deferred, provider.Diags) {
	resp, ds := ask[wirepb.PlanAction_Response](ctx, c, planAction, &wirepb.PlanAction_Request{
		ActionType: r.Type, Config: toDynamic(r.Config), ClientCapabilities: capabilities(r.Allow),
	})
	return fromDeferred(resp.GetDeferred()), ds
}

// Invoke invokes an action. It reads the next answer only after the caller has taken the previous one. It reads no
// answer after the end of the action.
func (c *client) Invoke(ctx context.Context, r provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
	return func(yield func(provider.Invoked, provider.Diags) bool) {
		ctx, cancel := c.within(ctx, invokeAction)
		defer cancel()
		s, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.methods[invokeAction], Noted{Note: r.Note})
		if err != nil {
			yield(provider.Invoked{}, provider.Diags{c.fault(ctx, invokeAction, err)})
			return
		}
		if err = s.SendMsg(&wirepb.InvokeAction_Request{ActionType: r.Type, Config: toDynamic(r.Config), ClientCapabilities: capabilities(r.Allow)}); err == nil {
			err = s.CloseSend()
		}
		for err == nil {
			var e wirepb.InvokeAction_Event
			if err = s.RecvMsg(&e); err != nil {
				break
			}
			if end := e.GetCompleted(); end != nil {
				yield(provider.Invoked{Ended: true}, c.diags(end.Diagnostics))
				return
			}
			if !yield(provider.Invoked{Progress: e.GetProgress().GetMessage()}, nil) {
				return
			}
		}
		if err == io.EOF {
			why := "This is a bug in the provider. Report it to its developers."
			if c.stopped.Load() {
				why = "The interrupt has asked the provider to give up the call."
			}
			yield(provider.Invoked{Unanswered: true}, provider.Diags{diag.Errorf("Plugin did not respond",
				"The %s ended the call %s for %s without a report of its end. %s", c, c.methods.short(invokeAction), r.Type, why)})
			return
		}
		yield(provider.Invoked{Unanswered: silent(err)}, provider.Diags{c.fault(ctx, invokeAction, err)})
	}
}
