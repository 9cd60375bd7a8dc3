// Package providertest contains helpers for tests of code that uses or transports providers.
//
// Fake is a provider in the process of the test. Its answers are results of functions. Run tests the contract of
// provider.Provider: each transport between a caller and a provider (the two versions of the protocol, a relay, a pool)
// must pass every request and every answer on unchanged. Run uses a Fake as the provider.
package providertest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
)

// Fake is a provider that answers with its functions. If a function is nil, the answer is a default: all configurations
// are valid, Read returns the object unchanged, Plan returns the proposed object, and Apply returns the planned object.
// The zero value has no types. The fields must be set before the first call.
type Fake struct {
	Address  addr.Provider
	Describe func() (*provider.Schemas, provider.Diags)

	OnValidateConfig  func(context.Context, provider.Dynamic) (provider.Dynamic, provider.Diags)
	OnConfigure       func(context.Context, provider.Dynamic, provider.Allow) provider.Diags
	OnValidate        func(context.Context, addr.Mode, string, provider.Dynamic) provider.Diags
	OnUpgrade         func(context.Context, provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags)
	OnRead            func(context.Context, provider.ReadRequest) (provider.ReadResponse, provider.Diags)
	OnPlan            func(context.Context, provider.PlanRequest) (provider.PlanResponse, provider.Diags)
	OnApply           func(context.Context, provider.ApplyRequest) (provider.ApplyResponse, provider.Diags)
	OnImport          func(context.Context, provider.ImportRequest) (provider.ImportResponse, provider.Diags)
	OnMove            func(context.Context, provider.MoveRequest) (provider.MoveResponse, provider.Diags)
	OnReadData        func(context.Context, provider.DataRequest) (provider.DataResponse, provider.Diags)
	OnList            func(context.Context, provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags]
	OnOpen            func(context.Context, provider.OpenRequest) (provider.OpenResponse, provider.Diags)
	OnRenew           func(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags)
	OnCloseLease      func(ctx context.Context, typ string, private []byte) provider.Diags
	OnUpgradeIdentity func(ctx context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags)
	Functions
	Ends

	kept kept
}

// kept has the recorded calls of a Fake, and the result of Describe.
type kept struct {
	log       callLog
	described described
}

// Functions has the functions of a Fake for provider functions and actions.
type Functions struct {
	OnPlanAction func(context.Context, provider.ActionRequest) (provider.Deferred, provider.Diags)
	OnInvoke     func(context.Context, provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags]

	OnFunctions func(context.Context) (map[string]*provider.Function, provider.Diags)
	OnCall      func(ctx context.Context, function string, args []provider.Dynamic) (provider.Dynamic, error)
}

// Ends has the functions of a Fake for Stop and Shutdown.
type Ends struct {
	OnStop     func(context.Context) error
	OnShutdown func() error
}

// callLog records the calls.
type callLog struct {
	mu    sync.Mutex
	calls []string
}

// described is the result of Describe.
type described struct {
	once    sync.Once
	schemas *provider.Schemas
	diags   provider.Diags
}

// Calls returns the calls so far, in order. A call is the method, followed by the type or the function if the call has
// one, such as "Read playground_thing".
func (f *Fake) Calls() []string {
	f.kept.log.mu.Lock()
	defer f.kept.log.mu.Unlock()
	return slices.Clone(f.kept.log.calls)
}

// Count returns the number of calls whose text in the result of Calls is equal to call.
func (f *Fake) Count(call string) int {
	n := 0
	for _, c := range f.Calls() {
		if c == call {
			n++
		}
	}
	return n
}

func (f *Fake) note(call ...any) {
	line := fmt.Sprintln(call...)
	f.kept.log.mu.Lock()
	defer f.kept.log.mu.Unlock()
	f.kept.log.calls = append(f.kept.log.calls, line[:len(line)-1])
}

// Addr returns f.Address.
func (f *Fake) Addr() addr.Provider { return f.Address }

// Schemas returns the result of Describe, which it calls once. If Describe is nil, it returns settings without
// attributes and no types.
func (f *Fake) Schemas(context.Context) (*provider.Schemas, provider.Diags) {
	f.note("Schemas")
	f.kept.described.once.Do(func() {
		if f.Describe != nil {
			f.kept.described.schemas, f.kept.described.diags = f.Describe()
		} else {
			f.kept.described.schemas = provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
		}
	})
	return f.kept.described.schemas, f.kept.described.diags
}

// ValidateConfig calls OnValidateConfig. If OnValidateConfig is nil, it returns the settings unchanged.
func (f *Fake) ValidateConfig(ctx context.Context, config provider.Dynamic) (provider.Dynamic, provider.Diags) {
	f.note("ValidateConfig")
	if f.OnValidateConfig == nil {
		return config, nil
	}
	return f.OnValidateConfig(ctx, config)
}

// Configure calls OnConfigure. If OnConfigure is nil, it accepts the settings.
func (f *Fake) Configure(ctx context.Context, config provider.Dynamic, allow provider.Allow) provider.Diags {
	f.note("Configure")
	if f.OnConfigure == nil {
		return nil
	}
	return f.OnConfigure(ctx, config, allow)
}

// Validate calls OnValidate. If OnValidate is nil, it accepts the configuration.
func (f *Fake) Validate(ctx context.Context, mode addr.Mode, typ string, config provider.Dynamic) provider.Diags {
	f.note("Validate", mode, typ)
	if f.OnValidate == nil {
		return nil
	}
	return f.OnValidate(ctx, mode, typ, config)
}

// Upgrade calls OnUpgrade. If OnUpgrade is nil, it returns the stored object unchanged.
func (f *Fake) Upgrade(ctx context.Context, r provider.UpgradeRequest) (provider.UpgradeResponse, provider.Diags) {
	f.note("Upgrade", r.Type)
	if f.OnUpgrade == nil {
		return provider.UpgradeResponse{State: provider.Dynamic{JSON: r.JSON}}, nil
	}
	return f.OnUpgrade(ctx, r)
}

// Read calls OnRead. If OnRead is nil, it returns the object unchanged.
func (f *Fake) Read(ctx context.Context, r provider.ReadRequest) (provider.ReadResponse, provider.Diags) {
	f.note("Read", r.Type)
	if f.OnRead == nil {
		return provider.ReadResponse{State: r.State, Private: r.Private, Identity: r.Identity}, nil
	}
	return f.OnRead(ctx, r)
}

// Plan calls OnPlan. If OnPlan is nil, it returns the proposed object.
func (f *Fake) Plan(ctx context.Context, r provider.PlanRequest) (provider.PlanResponse, provider.Diags) {
	f.note("Plan", r.Type)
	if f.OnPlan == nil {
		return provider.PlanResponse{Planned: r.Proposed, Private: r.Private, Identity: r.Identity}, nil
	}
	return f.OnPlan(ctx, r)
}

// Apply calls OnApply. If OnApply is nil, it returns the planned object.
func (f *Fake) Apply(ctx context.Context, r provider.ApplyRequest) (provider.ApplyResponse, provider.Diags) {
	f.note("Apply", r.Type)
	if f.OnApply == nil {
		return provider.ApplyResponse{State: r.Planned, Private: r.Private, Identity: r.Identity}, nil
	}
	return f.OnApply(ctx, r)
}

// Import calls OnImport. If OnImport is nil, it returns no object.
func (f *Fake) Import(ctx context.Context, r provider.ImportRequest) (provider.ImportResponse, provider.Diags) {
	f.note("Import", r.Type)
	if f.OnImport == nil {
		return provider.ImportResponse{}, nil
	}
	return f.OnImport(ctx, r)
}

// Move calls OnMove. If OnMove is nil, it returns the stored object unchanged.
func (f *Fake) Move(ctx context.Context, r provider.MoveRequest) (provider.MoveResponse, provider.Diags) {
	f.note("Move", r.Type)
	if f.OnMove == nil {
		return provider.MoveResponse{State: provider.Dynamic{JSON: r.SourceJSON}, Private: r.SourcePrivate}, nil
	}
	return f.OnMove(ctx, r)
}

// ReadData calls OnReadData. If OnReadData is nil, it returns the configuration.
func (f *Fake) ReadData(ctx context.Context, r provider.DataRequest) (provider.DataResponse, provider.Diags) {
	f.note("ReadData", r.Type)
	if f.OnReadData == nil {
		return provider.DataResponse{State: r.Config}, nil
	}
	return f.OnReadData(ctx, r)
}

// PlanAction calls OnPlanAction. If OnPlanAction is nil, it accepts the invocation.
func (f *Fake) PlanAction(ctx context.Context, r provider.ActionRequest) (provider.Deferred, provider.Diags) {
	f.note("PlanAction", r.Type)
	if f.OnPlanAction == nil {
		return "", nil
	}
	return f.OnPlanAction(ctx, r)
}

// Invoke calls OnInvoke. If OnInvoke is nil, the sequence ends the action without an error.
func (f *Fake) Invoke(ctx context.Context, r provider.ActionRequest) iter.Seq2[provider.Invoked, provider.Diags] {
	f.note("Invoke", r.Type)
	if f.OnInvoke == nil {
		return func(yield func(provider.Invoked, provider.Diags) bool) { yield(provider.Invoked{Ended: true}, nil) }
	}
	return f.OnInvoke(ctx, r)
}

// List calls OnList. If OnList is nil, it returns no results.
func (f *Fake) List(ctx context.Context, r provider.ListRequest) iter.Seq2[provider.Listed, provider.Diags] {
	f.note("List", r.Type)
	if f.OnList == nil {
		return func(func(provider.Listed, provider.Diags) bool) {}
	}
	return f.OnList(ctx, r)
}

// Open calls OnOpen. If OnOpen is nil, it returns the configuration.
func (f *Fake) Open(ctx context.Context, r provider.OpenRequest) (provider.OpenResponse, provider.Diags) {
	f.note("Open", r.Type)
	if f.OnOpen == nil {
		return provider.OpenResponse{Result: r.Config}, nil
	}
	return f.OnOpen(ctx, r)
}

// Renew calls OnRenew. If OnRenew is nil, it returns the private data unchanged.
func (f *Fake) Renew(ctx context.Context, typ string, private []byte) (provider.RenewResponse, provider.Diags) {
	f.note("Renew", typ)
	if f.OnRenew == nil {
		return provider.RenewResponse{Private: private}, nil
	}
	return f.OnRenew(ctx, typ, private)
}

// CloseLease calls OnCloseLease. If OnCloseLease is nil, it succeeds.
func (f *Fake) CloseLease(ctx context.Context, typ string, private []byte) provider.Diags {
	f.note("CloseLease", typ)
	if f.OnCloseLease == nil {
		return nil
	}
	return f.OnCloseLease(ctx, typ, private)
}

// ConfiguredFunctions calls OnFunctions. If OnFunctions is nil, it returns no functions.
func (f *Fake) ConfiguredFunctions(ctx context.Context) (map[string]*provider.Function, provider.Diags) {
	f.note("ConfiguredFunctions", "")
	if f.OnFunctions == nil {
		return nil, nil
	}
	return f.OnFunctions(ctx)
}

// Call calls OnCall. If OnCall is nil, it returns the first argument, or a *provider.CallError for a call without
// arguments.
func (f *Fake) Call(ctx context.Context, function string, args []provider.Dynamic) (provider.Dynamic, error) {
	f.note("Call", function)
	switch {
	case f.OnCall != nil:
		return f.OnCall(ctx, function, args)
	case len(args) > 0:
		return args[0], nil
	}
	return provider.Dynamic{}, &provider.CallError{Text: "there is no argument to give back", Arg: -1}
}

// UpgradeIdentity calls OnUpgradeIdentity. If OnUpgradeIdentity is nil, it returns the stored identity json unchanged.
func (f *Fake) UpgradeIdentity(ctx context.Context, typ string, version int64, json []byte) (provider.Dynamic, provider.Diags) {
	f.note("UpgradeIdentity", typ)
	if f.OnUpgradeIdentity == nil {
		return provider.Dynamic{JSON: json}, nil
	}
	return f.OnUpgradeIdentity(ctx, typ, version, json)
}

// Stop calls OnStop. If OnStop is nil, it does nothing.
func (f *Fake) Stop(ctx context.Context) error {
	f.note("Stop")
	if f.OnStop == nil {
		return nil
	}
	return f.OnStop(ctx)
}

// Shutdown calls OnShutdown. If OnShutdown is nil, it does nothing.
func (f *Fake) Shutdown() error {
	f.note("Shutdown")
	if f.OnShutdown == nil {
		return nil
	}
	return f.OnShutdown()
}

// Types returns a function for Fake.Describe. It describes a provider that has these types of one mode, settings
// without attributes, and no functions.
func Types(mode addr.Mode, types map[string]*schema.Block) func() (*provider.Schemas, provider.Diags) {
	return func() (*provider.Schemas, provider.Diags) {
		s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
		for name, b := range types {
			s.Add(mode, name, func() (*schema.Schema, error) { return &schema.Schema{Block: b}, nil })
		}
		return s, nil
	}
}

// Msgpack returns a value with these bytes.
func Msgpack(s string) provider.Dynamic { return provider.Dynamic{Msgpack: []byte(s)} }

// path returns a path for diagnostics. A string that begins with a dot is an attribute. Other strings and integers are
// keys.
func path(steps ...any) cty.Path {
	var p cty.Path
	for _, s := range steps {
		switch s := s.(type) {
		case int:
			p = p.IndexInt(s)
		case string:
			if s[0] == '.' {
				p = p.GetAttr(s[1:])
			} else {
				p = p.IndexString(s)
			}
		}
	}
	return p
}
