package framework

import (
	"context"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/action"
	actionschema "github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// act is an action that reports messages and appends a line to a file. It can fail or wait on demand.
type act struct{}

var _ action.ActionWithValidateConfig = (*act)(nil)
var _ action.ActionWithModifyPlan = (*act)(nil)

func (a *act) Metadata(_ context.Context, req action.MetadataRequest, resp *action.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_act"
}

func (a *act) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = actionschema.Schema{
		Description: "Reports messages and appends a line to a file.",
		Attributes: map[string]actionschema.Attribute{
			"text":      actionschema.StringAttribute{Required: true, Description: "The line to append."},
			"file":      actionschema.StringAttribute{Optional: true, Description: "The file."},
			"reads":     actionschema.StringAttribute{Optional: true, Description: "A file that must exist when the action is invoked."},
			"anything":  actionschema.DynamicAttribute{Optional: true, Description: "Its text is appended in place of text."},
			"messages":  actionschema.ListAttribute{Optional: true, ElementType: stringType, Description: "Reports of progress."},
			"secret_wo": actionschema.StringAttribute{Optional: true, WriteOnly: true},
			"fail_on":   actionschema.StringAttribute{Optional: true, Description: "Where to fail: validate, plan, invoke."},
			"delay":     actionschema.StringAttribute{Optional: true, Description: "How long the action takes."},
		},
	}
}

func (a *act) ValidateConfig(_ context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	config := look(req.Config.Raw)
	if err := trouble.Fail(config.str("fail_on"), "validate", config.str("text")); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("fail_on"), "Invalid action configuration", err.Error())
	}
}

func (a *act) ModifyPlan(_ context.Context, req action.ModifyPlanRequest, resp *action.ModifyPlanResponse) {
	config := look(req.Config.Raw)
	if err := trouble.Fail(config.str("fail_on"), "plan", config.str("text")); err != nil {
		resp.Diagnostics.AddError("Planning the action failed", err.Error())
	}
}

// Invoke reports the messages, waits, fails if that is demanded, checks that the file in reads exists, and appends the
// line.
func (a *act) Invoke(ctx context.Context, req action.InvokeRequest, resp *action.InvokeResponse) {
	config := look(req.Config.Raw)
	calls.Key(ctx, config.str("text"))
	for _, m := range texts(config["messages"]) {
		resp.SendProgress(action.InvokeProgressEvent{Message: m})
	}
	err := trouble.Wait(ctx, config.str("delay"), "invoke", config.str("text"))
	if err == nil {
		err = trouble.Fail(config.str("fail_on"), "invoke", config.str("text"))
	}
	if reads := config.str("reads"); err == nil && reads != "" {
		_, err = os.Stat(reads)
	}
	if name := config.str("file"); err == nil && name != "" {
		line := config.str("text")
		if config.has("anything") {
			line = config["anything"].String()
		}
		err = appendLine(name, line)
	}
	if err != nil {
		resp.Diagnostics.AddError("The action failed", err.Error())
	}
}

func appendLine(name, text string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text + "\n")
	return err
}
