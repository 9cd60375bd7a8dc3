package framework

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/lethe-iac/lethe/test/providers/calls"
	"github.com/lethe-iac/lethe/test/providers/cloud"
	"github.com/lethe-iac/lethe/test/providers/trouble"
)

// EnvCanary names the variable with the canary, which is the beginning of every secret of the playground, so that a
// test can search for it.
const EnvCanary = "PLAYGROUND_CANARY"

// token returns a secret that begins with the canary and the kind. It is random if seed is empty, and otherwise derived
// from the kind and the seed.
func token(kind, seed string) string {
	tail := cloud.Random(24)
	if seed != "" {
		sum := sha256.Sum256([]byte(kind + seed))
		tail = hex.EncodeToString(sum[:12])
	}
	return os.Getenv(EnvCanary) + kind + "-" + tail
}

// common is the part that all ephemeral resources share: the label of their provider.
type common struct{ session *session }

func (c *common) Configure(_ context.Context, req ephemeral.ConfigureRequest, _ *ephemeral.ConfigureResponse) {
	c.session, _ = req.ProviderData.(*session)
}

func (c *common) label() string {
	if c.session == nil {
		return ""
	}
	return c.session.label
}

// begin runs the steps that are common to every Open: it waits, fails or warns if the configuration or the environment
// requests it. It reports whether Open may continue.
func begin(ctx context.Context, config view, diags *diag.Diagnostics) bool {
	err := trouble.Wait(ctx, config.str("delay"), "open", config.key())
	if err == nil {
		err = trouble.Fail(config.str("fail_on"), "open", config.key())
	}
	if err != nil {
		diags.AddError("Opening failed", err.Error())
		return false
	}
	warn(diags, config)
	return true
}

// validate fails if the configuration or the environment requests it.
func validate(config view, diags *diag.Diagnostics) {
	if err := trouble.Fail(config.str("fail_on"), "validate", config.key()); err != nil {
		diags.AddAttributeError(path.Root("fail_on"), "Invalid configuration", err.Error())
	}
}

// ephemeralKnobs adds the attributes of every ephemeral resource that cause failures, delays and warnings to attrs, and
// returns attrs.
func ephemeralKnobs(attrs map[string]schema.Attribute) map[string]schema.Attribute {
	attrs["fail_on"] = schema.StringAttribute{Optional: true, Description: "Where to fail: validate, open, open-after, renew, close, close-after."}
	attrs["delay"] = schema.StringAttribute{Optional: true, Description: "How long opening takes."}
	attrs["warn"] = schema.StringAttribute{Optional: true, Description: "A warning to emit."}
	return attrs
}

// leaseKind is an ephemeral resource that can be opened, renewed and closed. While it is open, it has a file in the
// cloud.
type leaseKind struct {
	common
	provider string
}

// lease is the private data of a lease. It contains no secret.
type lease struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	Generation int    `json:"generation"` // 0 after Open; each Renew adds 1
	RenewAfter string `json:"renew_after"`
	TTL        string `json:"ttl"`
	RenewDelay string `json:"renew_delay"`
	CloseDelay string `json:"close_delay"`
	FailOn     string `json:"fail_on"`
	Warn       string `json:"warn"`
}

var (
	_ ephemeral.EphemeralResourceWithRenew          = (*leaseKind)(nil)
	_ ephemeral.EphemeralResourceWithClose          = (*leaseKind)(nil)
	_ ephemeral.EphemeralResourceWithConfigure      = (*leaseKind)(nil)
	_ ephemeral.EphemeralResourceWithValidateConfig = (*leaseKind)(nil)
)

func (k *leaseKind) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = k.provider + "_lease"
}

func (k *leaseKind) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		Description: "A lease that must be renewed and closed.",
		Attributes: ephemeralKnobs(map[string]schema.Attribute{
			"name":        schema.StringAttribute{Required: true},
			"parent":      schema.StringAttribute{Optional: true, Description: "Anything, to hang this lease on another."},
			"ttl":         schema.StringAttribute{Optional: true, Description: "How long the lease lives after opening or renewal; only noted."},
			"renew_after": schema.StringAttribute{Optional: true, Description: "When to ask for renewal, after opening and each renewal; may be negative."},
			"renew_delay": schema.StringAttribute{Optional: true, Description: "How long renewal takes."},
			"close_delay": schema.StringAttribute{Optional: true, Description: "How long closing takes."},
			"warn_on":     schema.StringAttribute{Optional: true, Description: "Where to warn: renew, close."},
			"id":          schema.StringAttribute{Computed: true},
			"address":     schema.StringAttribute{Computed: true, Description: "Something computed that is not secret."},
			"token":       schema.StringAttribute{Computed: true, Sensitive: true},
		}),
	}
}

func (k *leaseKind) ValidateConfig(_ context.Context, req ephemeral.ValidateConfigRequest, resp *ephemeral.ValidateConfigResponse) {
	validate(look(req.Config.Raw), &resp.Diagnostics)
}

func (k *leaseKind) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	config := look(req.Config.Raw)
	if !begin(ctx, config, &resp.Diagnostics) {
		return
	}
	l := lease{
		Name: config.str("name"), ID: config.str("name") + "-" + cloud.Random(8),
		RenewAfter: config.str("renew_after"), TTL: config.str("ttl"), RenewDelay: config.str("renew_delay"),
		CloseDelay: config.str("close_delay"), FailOn: config.str("fail_on"), Warn: config.str("warn_on"),
	}
	err := cloud.Here().OpenLease(&cloud.Lease{
		Type: k.provider + "_lease", ID: l.ID, Name: l.Name, By: k.label(), Expires: after(l.TTL),
	})
	if err != nil {
		resp.Diagnostics.AddError("Opening failed", err.Error())
		return
	}
	secret := token("tok", "")
	calls.Note(ctx, "id", l.ID)
	calls.Note(ctx, "token", calls.Hash(secret))
	calls.Note(ctx, "generation", 0)
	if parent := config.str("parent"); parent != "" {
		calls.Note(ctx, "parent", calls.Hash(parent))
	}
	resp.RenewAt = after(l.RenewAfter)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "lease", l.json())...)
	resp.Result.Raw = with(req.Config.Raw, map[string]any{"id": l.ID, "address": l.Name + ".local:4444", "token": secret})
	if err := trouble.Fail(l.FailOn, "open-after", l.Name); err != nil {
		resp.Diagnostics.AddError("Opening failed half-way", err.Error())
	}
}

func (k *leaseKind) Renew(ctx context.Context, req ephemeral.RenewRequest, resp *ephemeral.RenewResponse) {
	data, diags := req.Private.GetKey(ctx, "lease")
	l := k.recall(ctx, data, diags, &resp.Diagnostics)
	if l == nil {
		return
	}
	err := trouble.Wait(ctx, l.RenewDelay, "renew", l.Name)
	if err == nil {
		err = trouble.Fail(l.FailOn, "renew", l.Name)
	}
	if err == nil {
		l.Generation++
		err = cloud.Here().RenewLease(l.ID, l.Generation, after(l.TTL))
	}
	if err != nil {
		resp.Diagnostics.AddError("Renewal failed", err.Error())
		return
	}
	warnOn(l, "renew", &resp.Diagnostics)
	resp.RenewAt = after(l.RenewAfter)
	resp.Diagnostics.Append(resp.Private.SetKey(ctx, "lease", l.json())...)
}

func (k *leaseKind) Close(ctx context.Context, req ephemeral.CloseRequest, resp *ephemeral.CloseResponse) {
	data, diags := req.Private.GetKey(ctx, "lease")
	l := k.recall(ctx, data, diags, &resp.Diagnostics)
	if l == nil {
		return
	}
	err := trouble.Wait(ctx, l.CloseDelay, "close", l.Name)
	if err == nil {
		err = trouble.Fail(l.FailOn, "close", l.Name)
	}
	if err == nil {
		err = cloud.Here().CloseLease(l.ID)
	}
	if err == nil {
		err = trouble.Fail(l.FailOn, "close-after", l.Name)
	}
	if err != nil {
		resp.Diagnostics.AddError("Closing failed", err.Error())
		return
	}
	warnOn(l, "close", &resp.Diagnostics)
}

// recall returns the lease in private data and logs its generation, which identifies the answer that returned the data.
// It adds got to diags. If the data cannot be decoded, it adds an error and returns nil.
func (k *leaseKind) recall(ctx context.Context, data []byte, got diag.Diagnostics, diags *diag.Diagnostics) *lease {
	diags.Append(got...)
	l := new(lease)
	if err := json.Unmarshal(data, l); err != nil {
		diags.AddError("Private data lost", "The private data of the lease did not come back: "+err.Error())
		return nil
	}
	calls.Key(ctx, l.Name)
	calls.Note(ctx, "id", l.ID)
	calls.Note(ctx, "generation", l.Generation)
	return l
}

func (l *lease) json() []byte {
	data, _ := json.Marshal(l)
	return data
}

func warnOn(l *lease, point string, diags *diag.Diagnostics) {
	if l.Warn == point {
		diags.AddWarning("A warning was asked for", "warn_on is "+point)
	}
}

// after returns the time after a duration, or the zero time if the duration is empty or invalid.
func after(duration string) time.Time {
	d, err := time.ParseDuration(duration)
	if err != nil {
		return time.Time{}
	}
	return time.Now().Add(d)
}

// randomKind is an ephemeral resource. Its value is the canary (the text that tests search for), followed by a random
// text. A lease of it has no renewal and no closing.
type randomKind struct {
	common
	provider string
}

func (k *randomKind) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = k.provider + "_random"
}

func (k *randomKind) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: ephemeralKnobs(map[string]schema.Attribute{
		"length": schema.Int64Attribute{Required: true, Description: "Length of the random part."},
		"name":   schema.StringAttribute{Optional: true, Description: "How the log calls it."},
		"value":  schema.StringAttribute{Computed: true},
	})}
}

func (k *randomKind) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	config := look(req.Config.Raw)
	if !begin(ctx, config, &resp.Diagnostics) {
		return
	}
	secret := os.Getenv(EnvCanary) + cloud.Random(int(config.num("length")))
	calls.Note(ctx, "value", calls.Hash(secret))
	resp.Result.Raw = with(req.Config.Raw, map[string]any{"value": secret})
}

// nullKind is an ephemeral resource that copies its inputs to its outputs, like the data source of that name.
type nullKind struct {
	common
	provider string
}

func (k *nullKind) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = k.provider + "_null"
}

func (k *nullKind) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{
		Attributes: ephemeralKnobs(map[string]schema.Attribute{
			"name":                 schema.StringAttribute{Optional: true, Description: "How the log calls it."},
			"inputs":               schema.MapAttribute{Optional: true, ElementType: stringType},
			"outputs":              schema.MapAttribute{Computed: true, ElementType: stringType},
			"rand":                 schema.StringAttribute{Computed: true},
			"has_computed_default": schema.StringAttribute{Optional: true, Computed: true},
		}),
		Blocks: map[string]schema.Block{
			"option": schema.ListNestedBlock{NestedObject: schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
				"name":  schema.StringAttribute{Required: true},
				"value": schema.StringAttribute{Optional: true},
			}}},
		},
	}
}

func (k *nullKind) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	config := look(req.Config.Raw)
	if !begin(ctx, config, &resp.Diagnostics) {
		return
	}
	inputs := map[string]tftypes.Value{}
	if config.has("inputs") {
		_ = config["inputs"].As(&inputs)
	}
	resp.Result.Raw = with(req.Config.Raw, map[string]any{
		"outputs": inputs, "rand": token("rand", ""), "has_computed_default": "default",
	})
}

// versionKind is an ephemeral resource that reads a secret from the cloud, with the schema of the AWS resource. Without
// a cloud it makes up a secret.
type versionKind struct {
	common
	provider string
}

func (k *versionKind) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = k.provider + "_secretsmanager_secret_version"
}

func (k *versionKind) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: ephemeralKnobs(map[string]schema.Attribute{
		"secret_id":     schema.StringAttribute{Required: true},
		"arn":           schema.StringAttribute{Computed: true},
		"secret_string": schema.StringAttribute{Computed: true, Sensitive: true},
	})}
}

func (k *versionKind) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	config := look(req.Config.Raw)
	if !begin(ctx, config, &resp.Diagnostics) {
		return
	}
	id := config.str("secret_id")
	text := madeUpSecret(id)
	if cloud.Here() != nil {
		stored, ok, err := storedSecret(id)
		if err != nil || !ok {
			resp.Diagnostics.AddAttributeError(path.Root("secret_id"), "Secret not found", "There is no secret with a value under "+id+".")
			return
		}
		text = stored
	}
	calls.Note(ctx, "secret_string", calls.Hash(text))
	resp.Result.Raw = with(req.Config.Raw, map[string]any{"arn": id, "secret_string": text})
}

// Close does nothing. It exists so that the log shows the call.
func (k *versionKind) Close(context.Context, ephemeral.CloseRequest, *ephemeral.CloseResponse) {}

// secretKind is an ephemeral resource whose type has the name of a managed type.
type secretKind struct {
	common
	provider string
}

func (k *secretKind) Metadata(_ context.Context, _ ephemeral.MetadataRequest, resp *ephemeral.MetadataResponse) {
	resp.TypeName = k.provider + "_secret"
}

func (k *secretKind) Schema(_ context.Context, _ ephemeral.SchemaRequest, resp *ephemeral.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: ephemeralKnobs(map[string]schema.Attribute{
		"name":   schema.StringAttribute{Required: true},
		"secret": schema.StringAttribute{Computed: true, Description: "The same for the same name."},
		"parts": schema.SingleNestedAttribute{Computed: true, Attributes: map[string]schema.Attribute{
			"user":     schema.StringAttribute{Computed: true},
			"password": schema.StringAttribute{Computed: true, Sensitive: true},
		}},
	})}
}

func (k *secretKind) Open(ctx context.Context, req ephemeral.OpenRequest, resp *ephemeral.OpenResponse) {
	config := look(req.Config.Raw)
	if !begin(ctx, config, &resp.Diagnostics) {
		return
	}
	name := config.str("name")
	resp.Result.Raw = with(req.Config.Raw, map[string]any{
		"secret": token("secret", name),
		"parts": map[string]tftypes.Value{
			"user":     tftypes.NewValue(tftypes.String, "user-of-"+name),
			"password": tftypes.NewValue(tftypes.String, token("password", name)),
		},
	})
}
