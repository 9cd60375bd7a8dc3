package calls

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const canary = "canary-4711-do-not-log"

var objectType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
	"name": tftypes.String, "label": tftypes.String, "token": tftypes.String, "secret_wo": tftypes.String,
	"nest": tftypes.List{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"pin_wo": tftypes.String}}},
}}

// wireObject encodes an object whose missing attributes are null.
func wireObject(t *testing.T, attrs map[string]any) *tfprotov6.DynamicValue {
	t.Helper()
	values := map[string]tftypes.Value{}
	for name, typ := range objectType.AttributeTypes {
		values[name] = tftypes.NewValue(typ, attrs[name])
	}
	d, err := tfprotov6.NewDynamicValue(objectType, tftypes.NewValue(objectType, values))
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

func nullObject(t *testing.T) *tfprotov6.DynamicValue {
	t.Helper()
	d, err := tfprotov6.NewDynamicValue(objectType, tftypes.NewValue(objectType, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &d
}

// stub answers the calls that the tests make.
type stub struct{ tfprotov6.ProviderServer }

func (stub) ConfigureProvider(context.Context, *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	return &tfprotov6.ConfigureProviderResponse{}, nil
}

func (stub) PlanResourceChange(ctx context.Context, _ *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	Note(ctx, "seen", Hash(canary))
	return &tfprotov6.PlanResourceChangeResponse{Diagnostics: []*tfprotov6.Diagnostic{
		{Severity: tfprotov6.DiagnosticSeverityWarning}, {Severity: tfprotov6.DiagnosticSeverityError},
	}}, nil
}

func (stub) CloseEphemeralResource(ctx context.Context, _ *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	Key(ctx, "lease")
	return nil, errors.New("gone")
}

func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	t.Setenv(EnvLog, path)
	t.Setenv(EnvBegin, "")
	book := Open("test", 6)
	s := Server6(book, stub{})
	ctx := context.Background()
	book.Event("start")
	if _, err := s.ConfigureProvider(ctx, &tfprotov6.ConfigureProviderRequest{
		Config: wireObject(t, map[string]any{"label": "l", "token": canary}),
	}); err != nil {
		t.Fatal(err)
	}
	pin := tftypes.NewValue(objectType.AttributeTypes["nest"].(tftypes.List).ElementType, map[string]tftypes.Value{
		"pin_wo": tftypes.NewValue(tftypes.String, canary),
	})
	if _, err := s.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName:   "test_thing",
		PriorState: nullObject(t),
		Config: wireObject(t, map[string]any{
			"name": "n", "label": tftypes.UnknownValue, "secret_wo": canary, "nest": []tftypes.Value{pin},
		}),
		ProposedNewState: wireObject(t, map[string]any{"name": "n"}),
		ClientCapabilities: &tfprotov6.PlanResourceChangeClientCapabilities{
			DeferralAllowed: true,
		},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.CloseEphemeralResource(ctx, &tfprotov6.CloseEphemeralResourceRequest{TypeName: "test_lease"}); err == nil {
		t.Fatal("the error was lost")
	}

	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte(canary)) {
		t.Errorf("the log holds a secret:\n%s", data)
	}
	list, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range list {
		names = append(names, c.Call)
		if c.Start == 0 || c.End < c.Start || c.Pid != os.Getpid() {
			t.Errorf("%s: start %d, end %d, pid %d", c.Call, c.Start, c.End, c.Pid)
		}
	}
	if want := "start ConfigureProvider PlanResourceChange CloseEphemeralResource"; strings.Join(names, " ") != want {
		t.Fatalf("calls are %v, want %s", names, want)
	}
	plan := list[2]
	h := Hash(canary)
	if plan.Label != "l" || plan.Key != "n" || plan.Action != "create" || plan.Errors != 1 || plan.Warnings != 1 {
		t.Errorf("plan is %+v", plan)
	}
	if want := []string{"label"}; !reflect.DeepEqual(plan.Unknown, want) {
		t.Errorf("unknown: %v, want %v", plan.Unknown, want)
	}
	if want := map[string]string{"config:secret_wo": h, "config:nest[0].pin_wo": h}; !reflect.DeepEqual(plan.Secrets, want) {
		t.Errorf("secrets: %v, want %v", plan.Secrets, want)
	}
	if plan.Notes["seen"] != h || plan.Notes["deferral_allowed"] != true {
		t.Errorf("notes: %v", plan.Notes)
	}
	if c := list[3]; c.Key != "lease" || c.Errors != 1 {
		t.Errorf("close is %+v", c)
	}
}

// TestTogether writes from many goroutines and checks that lines do not mix.
func TestTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	t.Setenv(EnvLog, path)
	book := Open("test", 6)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() { book.Event("start") })
	}
	wg.Wait()
	list, err := Read(path)
	if err != nil || len(list) != 50 {
		t.Fatalf("%d lines, %v", len(list), err)
	}
}

func TestBegin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	t.Setenv(EnvLog, path)
	t.Setenv(EnvBegin, "1")
	s := Server6(Open("test", 6), stub{})
	if _, err := s.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{Config: nullObject(t)}); err != nil {
		t.Fatal(err)
	}
	list, err := Read(path)
	if err != nil || len(list) != 2 || list[0].Phase != "begin" || list[1].Phase != "" {
		t.Fatalf("%+v, %v", list, err)
	}
}

// TestSilence checks that without a log nothing is decoded, and invalid values pass through.
func TestSilence(t *testing.T) {
	t.Setenv(EnvLog, "")
	s := Server6(Open("test", 6), stub{})
	if _, err := s.ConfigureProvider(context.Background(), &tfprotov6.ConfigureProviderRequest{
		Config: &tfprotov6.DynamicValue{MsgPack: []byte{0xc1}},
	}); err != nil {
		t.Fatal(err)
	}
}

func FuzzPeek(f *testing.F) {
	f.Add([]byte{0xc0})
	f.Add([]byte{0x81, 0xa1, 'a', 0xd4, 0x00, 0x00})
	f.Add([]byte{0xdf, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, wire []byte) {
		tree := peek(wire)
		_, _ = keyOf(tree), unknownIn(tree)
		secretsIn(map[string]string{}, "config", tree, "", false)
	})
}
