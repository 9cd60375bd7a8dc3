package plugin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin/lethe"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/plugin"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/provider/wire/serve"
	"github.com/lethe-iac/lethe/internal/provider/wire/wirepb"
)

const canary = "canary-5ec8-secret"

// TestMain makes the test binary the plugin if a host has started it.
func TestMain(m *testing.M) {
	if plugin.Hosted(os.Args) {
		os.Exit(plugin.Serve(lethe.New(lethe.Options{Address: addr.Published(), Dir: os.TempDir()})))
	}
	os.Exit(m.Run())
}

func own() *lethe.Provider { return lethe.New(lethe.Options{Address: addr.Published()}) }

// start starts the test binary as a plugin. The returned function returns the lines of its log.
func start(t *testing.T, env ...string) (provider.Provider, func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex // the process may write lines until its end was noticed
	var all strings.Builder
	running, err := launch.Start(t.Context(), launch.Program{Provider: addr.Published(), Path: self, Env: append(os.Environ(), env...), Timeout: time.Minute},
		func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			all.WriteString(line + "\n")
		})
	if err != nil {
		t.Fatal(err)
	}
	p := wire.Client(running.Conn, running.Protocol, addr.Published(), wire.Options{Close: func() error { running.Close(); return nil }})
	t.Cleanup(func() { p.Shutdown() })
	return p, func() string {
		p.Shutdown()
		mu.Lock()
		defer mu.Unlock()
		return all.String()
	}
}

// TestServedTypes checks that the plugin has the types of the built-in provider.
func TestServedTypes(t *testing.T) {
	p, _ := start(t)
	got, ds := p.Schemas(t.Context())
	if ds != nil {
		t.Fatal(ds)
	}
	want, _ := own().Schemas(t.Context())
	for _, mode := range []addr.Mode{addr.Managed, addr.Data, addr.Ephemeral} {
		if a, b := strings.Join(got.Types(mode), " "), strings.Join(want.Types(mode), " "); a != b {
			t.Errorf("%s types %s, want %s", mode, a, b)
		}
		for _, name := range want.Types(mode) {
			a, err := got.Type(mode, name)
			b, _ := want.Type(mode, name)
			if err != nil || !a.Block.Type().Equals(b.Block.Type()) || a.HasWriteOnly() != b.HasWriteOnly() {
				t.Errorf("%s %s is served as %#v (%v)", mode, name, a, err)
			}
		}
	}
}

// TestServedSecret plans and applies a lethe_secret_version, and opens a lethe_file. No secret is in an answer or a
// log.
func TestServedSecret(t *testing.T) {
	p, log := start(t)
	ctx := t.Context()
	schemas, _ := p.Schemas(ctx)
	encode := func(mode addr.Mode, name string, given map[string]string) provider.Dynamic {
		s := schemas.Config
		if name != "" {
			s, _ = schemas.Type(mode, name)
		}
		attrs := s.Empty().AsValueMap()
		for k, v := range given {
			attrs[k] = cty.StringVal(v)
		}
		b, err := s.Encode(cty.ObjectVal(attrs))
		if err != nil {
			t.Fatal(err)
		}
		return provider.Dynamic{Msgpack: b}
	}
	if ds := p.Configure(ctx, encode(0, "", map[string]string{"version_key": canary + "-key"}), provider.Allow{}); ds != nil {
		t.Fatal(ds)
	}
	typ, null := "lethe_secret_version", provider.Dynamic{Msgpack: []byte{0xc0}}
	config := encode(addr.Managed, typ, map[string]string{"value_wo": canary})
	if ds := p.Validate(ctx, addr.Managed, typ, config); ds != nil {
		t.Fatal(ds)
	}
	planned, ds := p.Plan(ctx, provider.PlanRequest{Type: typ, Prior: null, Proposed: config, Config: config})
	if ds != nil {
		t.Fatal(ds)
	}
	made, ds := p.Apply(ctx, provider.ApplyRequest{Type: typ, Prior: null, Planned: planned.Planned, Config: config, Private: planned.Private})
	if ds != nil {
		t.Fatal(ds)
	}
	s, _ := schemas.Type(addr.Managed, typ)
	if v, err := made.State.Decode(s); err != nil || v.GetAttr("version").AsBigFloat().String() != "1" {
		t.Errorf("made %#v (%v)", v, err)
	}
	if !strings.Contains(string(made.Private), "hmac-sha256") {
		t.Errorf("the private data is %s", made.Private)
	}
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(canary), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, ds := p.Open(ctx, provider.OpenRequest{Type: "lethe_file", Config: encode(addr.Ephemeral, "lethe_file", map[string]string{"path": file})})
	if ds != nil || !strings.Contains(string(opened.Result.Msgpack), canary) {
		t.Errorf("opened %v, %v", opened.Result, ds)
	}
	if ds := p.CloseLease(ctx, "lethe_file", opened.Private); ds != nil {
		t.Error(ds)
	}
	for _, text := range []string{string(planned.Planned.Msgpack), string(planned.Private), string(made.State.Msgpack), string(made.Private), log()} {
		if strings.Contains(text, canary) {
			t.Errorf("a secret is in %q", text)
		}
	}
}

// TestHosted checks that only a start without arguments and with the cookie makes the program a plugin.
func TestHosted(t *testing.T) {
	cookie := launch.Handshake
	for _, c := range []struct {
		value string
		args  []string
		want  bool
	}{{cookie.MagicCookieValue, []string{"lethe"}, true}, {cookie.MagicCookieValue, []string{"lethe", "plan"}, false}, {"x", []string{"lethe"}, false}, {"", []string{"lethe"}, false}} {
		t.Setenv(cookie.MagicCookieKey, c.value)
		if got := plugin.Hosted(c.args); got != c.want {
			t.Errorf("%q with %q: %v", c.args, c.value, got)
		}
	}
}

// TestOldHost checks that a host cannot pass values to write-only attributes if it does not know such attributes,
// because such a host would store the values.
func TestOldHost(t *testing.T) {
	s := &serve.Server{Major: 6, Provider: own()}
	schemas, _ := s.Provider.Schemas(t.Context())
	typ, _ := schemas.Type(addr.Managed, "lethe_secret_version")
	attrs := typ.Empty().AsValueMap()
	attrs["value_wo"] = cty.StringVal(canary)
	config, err := typ.Encode(cty.ObjectVal(attrs))
	if err != nil {
		t.Fatal(err)
	}
	for _, allowed := range []bool{false, true} {
		request, _ := proto.Marshal(&wirepb.ValidateResourceConfig_Request{
			TypeName: "lethe_secret_version", Config: &wirepb.DynamicValue{Msgpack: config},
			ClientCapabilities: &wirepb.ClientCapabilities{WriteOnlyAttributesAllowed: allowed},
		})
		b, err := s.Answer(context.Background(), "ValidateResourceConfig", request)
		var answer wirepb.ValidateResourceConfig_Response
		if err := errors.Join(err, proto.Unmarshal(b, &answer)); err != nil {
			t.Fatal(err)
		}
		switch ds := answer.Diagnostics; {
		case allowed && len(ds) == 0:
		case !allowed && len(ds) == 1 && ds[0].Summary == "Write-only attribute not supported" && !strings.Contains(ds[0].String(), canary):
		default:
			t.Errorf("allowed %v: %v", allowed, ds)
		}
	}
}
