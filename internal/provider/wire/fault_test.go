package wire_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
)

// read makes a call that must fail, and returns its only diagnostic.
func read(t *testing.T, p provider.Provider) diag.Diagnostic {
	t.Helper()
	resp, ds := p.Read(context.Background(), provider.ReadRequest{Type: "a_thing", State: providertest.Msgpack("state")})
	if len(ds) != 1 || ds[0].Severity != diag.Error || resp.State.Msgpack != nil {
		t.Fatalf("want one error and no answer, got %v, %v", resp, ds)
	}
	return ds[0]
}

func checkDiagnostic(t *testing.T, d diag.Diagnostic, title string, parts ...string) {
	t.Helper()
	if d.Summary != title {
		t.Errorf("the title is %q, not %q", d.Summary, title)
	}
	for _, p := range parts {
		if !strings.Contains(d.Detail, p) {
			t.Errorf("%q is not in: %s", p, d.Detail)
		}
	}
}

// TestFaults checks the message for each kind of failure. It names the provider, its version and the call.
func TestFaults(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		who := "provider registry.opentofu.org/acme/playground (version 2.0.1)"
		for name, c := range map[string]struct {
			handler wiretest.Handler
			title   string
			parts   []string
		}{
			"does not know the call": {wiretest.Fail(codes.Unimplemented, "unknown method"),
				"Unsupported plugin method", []string{who, "ReadResource"}},
			"answers garbage": {func(context.Context, []byte) ([]byte, error) { return []byte("\xff\xff\xff"), nil },
				"Plugin error", []string{who, "ReadResource", "malformed"}},
			"answers text that is no text": {func(context.Context, []byte) ([]byte, error) { return []byte("\x12\x03\x12\x01\xff"), nil },
				"Plugin error", []string{who, "ReadResource", "malformed"}},
			"answers too much": {func(context.Context, []byte) ([]byte, error) { return bytes.Repeat([]byte{0}, 2000), nil },
				"Plugin error", []string{who, "ReadResource", "larger", "256 MiB"}},
			"fails": {wiretest.Fail(codes.Internal, "kaputt"),
				"Plugin error", []string{who, "ReadResource", "kaputt", "Internal"}},
			"fails in its own words": {func(context.Context, []byte) ([]byte, error) { return nil, fmt.Errorf("no idea") },
				"Plugin error", []string{who, "ReadResource", "no idea"}},
			"says it was cancelled": {wiretest.Fail(codes.Canceled, "stop"),
				"Request cancelled", []string{who, "ReadResource"}},
			"has no time": {wiretest.Fail(codes.DeadlineExceeded, "late"),
				"Request cancelled", []string{who, "ReadResource"}},
			"is not there": {wiretest.Fail(codes.Unavailable, "going away"),
				"Plugin did not respond", []string{who, "ReadResource", "going away", "log"}},
		} {
			for _, major := range []int{5, 6} {
				t.Run(fmt.Sprintf("%s %d", name, major), func(t *testing.T) {
					s := &wiretest.Server{Major: major, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{"ReadResource": c.handler}}
					p := wire.Client(dial(t, s, 1000), major, playground, wire.Options{Version: "2.0.1"})
					checkDiagnostic(t, read(t, p), c.title, c.parts...)
				})
			}
		}
	})
}

// TestLimit checks the limit of an answer's size. A larger answer is not decoded, and most of it is never in memory.
func TestLimit(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		p := wire.Client(dial(t, &wiretest.Server{Major: 6, Handlers: map[string]wiretest.Handler{
			"ReadResource":   func(context.Context, []byte) ([]byte, error) { return make([]byte, wire.MaxMessage+1), nil },
			"ReadDataSource": func(context.Context, []byte) ([]byte, error) { return make([]byte, 70<<20), nil },
		}}, wire.MaxMessage), 6, playground, wire.Options{})
		checkDiagnostic(t, read(t, p), "Plugin error", "The answer to the call ReadResource", "larger", "256 MiB")
		_, ds := p.ReadData(context.Background(), provider.DataRequest{Type: "x"})
		checkDiagnostic(t, ds[0], "Plugin error", "malformed") // the answer is below the limit, so it was read and found malformed
	})
}

// TestRequestTooLarge checks that a request above the limit is not sent.
func TestRequestTooLarge(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		far := &providertest.Fake{}
		s := &wiretest.Server{Major: 6, Provider: far}
		p := wire.Client(dial(t, s, 1000), 6, playground, wire.Options{})
		_, ds := p.Read(context.Background(), provider.ReadRequest{Type: "x", Private: make([]byte, 2000)})
		checkDiagnostic(t, ds[0], "Plugin error", "ReadResource", "larger", "not sent")
		if len(far.Calls()) != 0 {
			t.Errorf("the provider was called: %v", far.Calls())
		}
	})
}

// TestCrash checks a provider that crashes during a call.
func TestCrash(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		for ended, shown := range map[string]string{"": "log", "exit status 2": "(exit status 2)", "exit status 2\npanic: everything": "Its output:\n\npanic: everything"} {
			s := &wiretest.Server{Major: 6, Provider: &providertest.Fake{}}
			s.Handlers = map[string]wiretest.Handler{"ReadResource": func(ctx context.Context, _ []byte) ([]byte, error) {
				go s.Kill()
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			p := wire.Client(dial(t, s, wire.MaxMessage), 6, playground, wire.Options{Ended: func() string { return ended }})
			d := read(t, p)
			checkDiagnostic(t, d, "Plugin did not respond", "provider registry.opentofu.org/acme/playground", "ReadResource", shown)
			if strings.Contains(d.Detail, "The provider crashed") != (ended != "") {
				t.Errorf("wrong about the process: %s", d.Detail)
			}
			checkDiagnostic(t, read(t, p), "Plugin did not respond") // calls after the crash fail, too
		}
	})
}

// TestOddDiagnostics checks diagnostics that break the protocol. An unknown severity becomes an error, a missing title
// is replaced, and a path ends before its first invalid step.
func TestOddDiagnostics(t *testing.T) {
	attr := func(n string) *wirepb.AttributePath_Step {
		return &wirepb.AttributePath_Step{Selector: &wirepb.AttributePath_Step_AttributeName{AttributeName: n}}
	}
	p := open(t, &wiretest.Server{Major: 6, Handlers: map[string]wiretest.Handler{
		"ValidateResourceConfig": wiretest.Answer(&wirepb.ValidateResourceConfig_Response{Diagnostics: []*wirepb.Diagnostic{
			{Severity: 77, Summary: "odd"},
			{Severity: wirepb.Diagnostic_INVALID, Detail: "no title"},
			{Severity: wirepb.Diagnostic_WARNING, Summary: "path", Attribute: &wirepb.AttributePath{
				Steps: []*wirepb.AttributePath_Step{attr("a"), {}, attr("b")},
			}},
			{Severity: wirepb.Diagnostic_WARNING, Summary: "no path", Attribute: &wirepb.AttributePath{}},
		}}),
	}}, wire.Options{})
	ds := p.Validate(context.Background(), addr.Managed, "x", provider.Dynamic{})
	if len(ds) != 4 || ds[0].Severity != diag.Error || ds[1].Severity != diag.Error || ds[2].Severity != diag.Warning {
		t.Fatalf("got %v", ds)
	}
	checkDiagnostic(t, ds[1], "Message without a title from provider registry.opentofu.org/acme/playground", "no title")
	if len(ds[2].Path) != 1 || ds[3].Path != nil {
		t.Errorf("paths: %#v, %#v", ds[2].Path, ds[3].Path)
	}
}

// TestBadRenewal checks that an invalid time is an error next to the answer, so that the lease can be closed.
func TestBadRenewal(t *testing.T) {
	never := &timestamppb.Timestamp{Seconds: 1 << 50}
	p := open(t, &wiretest.Server{Major: 6, Handlers: map[string]wiretest.Handler{
		"OpenEphemeralResource":  wiretest.Answer(&wirepb.OpenEphemeralResource_Response{RenewAt: never, Private: []byte("key")}),
		"RenewEphemeralResource": wiretest.Answer(&wirepb.RenewEphemeralResource_Response{RenewAt: never, Private: []byte("key")}),
	}}, wire.Options{})
	opened, ds := p.Open(context.Background(), provider.OpenRequest{Type: "a_lease"})
	checkDiagnostic(t, ds[0], "Plugin error", "OpenEphemeralResource", "a_lease")
	if !opened.RenewAt.IsZero() || string(opened.Private) != "key" {
		t.Errorf("got %v", opened)
	}
	renewed, ds := p.Renew(context.Background(), "a_lease", nil)
	checkDiagnostic(t, ds[0], "Plugin error", "RenewEphemeralResource", "a_lease")
	if !renewed.RenewAt.IsZero() || string(renewed.Private) != "key" {
		t.Errorf("got %v", renewed)
	}
}

// TestArgumentOfFunctionError checks that the error of a function names only an argument of the call.
func TestArgumentOfFunctionError(t *testing.T) {
	for given, want := range map[int64]int{-1: -1, 0: 0, 1: 1, 2: -1, 1 << 40: -1} {
		p := open(t, &wiretest.Server{Major: 6, Handlers: map[string]wiretest.Handler{
			"CallFunction": wiretest.Answer(&wirepb.CallFunction_Response{Error: &wirepb.FunctionError{Text: "no", FunctionArgument: &given}}),
		}}, wire.Options{})
		_, err := p.Call(context.Background(), "f", make([]provider.Dynamic, 2))
		if e, ok := err.(*provider.CallError); !ok || e.Arg != want {
			t.Errorf("%d: %#v", given, err)
		}
	}
}

// TestCallFault checks that a failed call is not reported as an error of the function.
func TestCallFault(t *testing.T) {
	p := open(t, &wiretest.Server{Major: 5, Handlers: map[string]wiretest.Handler{"CallFunction": wiretest.Fail(codes.Unimplemented, "")}}, wire.Options{})
	_, err := p.Call(context.Background(), "f", nil)
	d, ok := err.(diag.Diagnostic)
	if !ok {
		t.Fatalf("got %#v", err)
	}
	checkDiagnostic(t, d, "Unsupported plugin method", "CallFunction")
}

// TestStopWithoutProvider checks that Stop returns an error if the provider has exited.
func TestStopWithoutProvider(t *testing.T) {
	each(t, func(t *testing.T, dial dial) {
		s := &wiretest.Server{Major: 6, Provider: &providertest.Fake{}}
		p := wire.Client(dial(t, s, wire.MaxMessage), 6, playground, wire.Options{})
		s.Kill()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Stop(ctx); err == nil {
			t.Error("no error")
		}
	})
}

// TestShutdownOnce checks that Close is called once, and that every Shutdown returns its error.
func TestShutdownOnce(t *testing.T) {
	n := 0
	p := open(t, &wiretest.Server{Major: 6}, wire.Options{Close: func() error { n++; return fmt.Errorf("stays") }})
	if a, b := p.Shutdown(), p.Shutdown(); n != 1 || a == nil || b != a {
		t.Errorf("%d times: %v, %v", n, a, b)
	}
}

func TestNoSuchProtocol(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wire.Client(nil, 4, playground, wire.Options{})
}

// TestBug checks that a panic inside Lethe while it reads an answer is reported as a bug in Lethe.
func TestBug(t *testing.T) {
	s := &wiretest.Server{Major: 6, Provider: &providertest.Fake{}, Handlers: map[string]wiretest.Handler{
		"ReadResource": func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
	}}
	conn := s.Connect(t, 1000)
	conn.Go(func() error { panic("canary-51c7-0123456789") })
	d := read(t, wire.Client(conn, 6, playground, wire.Options{}))
	checkDiagnostic(t, d, "Internal error", "playground", "ReadResource", "a bug in Lethe")
	if strings.Contains(d.Detail, "canary-51c7") {
		t.Errorf("the secret is shown: %s", d.Detail)
	}
}
