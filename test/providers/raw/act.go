package raw

import (
	"context"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// actBlock is the schema of the action rogue_act. The argument stream has the fault of the stream.
func actBlock() *block {
	return &block{Attributes: []*attribute{
		optional("name", text), optional("misbehave", text), optional("stream", text),
		{Name: "token", Type: text, Optional: true, Sensitive: true}, {Name: "secret_wo", Type: text, Optional: true, WriteOnly: true},
	}}
}

func (r *rogue) ValidateActionConfig(ctx context.Context, q *tfprotov6.ValidateActionConfigRequest) (*tfprotov6.ValidateActionConfigResponse, error) {
	sc := r.scene(r.schemas.actions[q.ActionType].Schema, q.Config, "ValidateActionConfig", "ValidateAction")
	return play(ctx, r, sc, func() (*tfprotov6.ValidateActionConfigResponse, error) {
		a := &tfprotov6.ValidateActionConfigResponse{}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

func (r *rogue) PlanAction(ctx context.Context, q *tfprotov6.PlanActionRequest) (*tfprotov6.PlanActionResponse, error) {
	sc := r.scene(r.schemas.actions[q.ActionType].Schema, q.Config, "PlanAction")
	return play(ctx, r, sc, func() (*tfprotov6.PlanActionResponse, error) {
		a := &tfprotov6.PlanActionResponse{}
		if str(look(sc.config), "stream") == "defer" {
			a.Deferred = &tfprotov6.Deferred{Reason: tfprotov6.DeferredReasonAbsentPrereq}
		}
		sc.diags = &a.Diagnostics
		return a, nil
	})
}

// InvokeAction reports progress, and commits the fault in the argument stream. The README lists these faults.
func (r *rogue) InvokeAction(ctx context.Context, q *tfprotov6.InvokeActionRequest) (*tfprotov6.InvokeActionServerStream, error) {
	sc := r.scene(r.schemas.actions[q.ActionType].Schema, q.Config, "InvokeAction", "Invoke")
	return play(ctx, r, sc, func() (*tfprotov6.InvokeActionServerStream, error) {
		fault := str(look(sc.config), "stream")
		return &tfprotov6.InvokeActionServerStream{Events: func(push func(tfprotov6.InvokeActionEvent) bool) {
			report := func(text string) bool {
				return push(tfprotov6.InvokeActionEvent{Type: tfprotov6.ProgressInvokeActionEventType{Message: text}})
			}
			end := func(ds ...*tfprotov6.Diagnostic) {
				push(tfprotov6.InvokeActionEvent{Type: tfprotov6.CompletedInvokeActionEventType{Diagnostics: ds}})
			}
			report("begins")
			fault, number, _ := strings.Cut(fault, ":")
			switch fault {
			case "early":
				return
			case "exit":
				os.Exit(3)
			case "hang":
				<-ctx.Done()
				return
			case "deaf":
				select {}
			case "secret":
				report("the secret is " + sc.secret + ".")
			case "control":
				report("a\x1b[2Jb\x07c\u202ed\r\n\x00e")
			case "long":
				report(strings.Repeat("long ", 1<<20))
			case "megabytes":
				size, _ := strconv.Atoi(number)
				for big, i := strings.Repeat("x", 1<<20), 0; i < size && report(big); i++ {
				}
			case "many":
				for i := 0; i < 100_000 && report("again"); i++ {
				}
			case "twice":
				end()
			case "error":
				end(&tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: "the action failed", Detail: "Because of " + sc.secret})
				return
			case "warning":
				end(&tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityWarning, Summary: "the action is careful"})
				return
			}
			report("ends")
			end()
			if fault == "after" {
				report("after the end")
			}
		}}, nil
	})
}
