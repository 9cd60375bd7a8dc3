//go:build unix

package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/provider/wire/wiretest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// TestStart checks processes of both protocols, with and without the certificates of the handshake.
func TestStart(t *testing.T) {
	for _, part := range []string{"protocol 5", "protocol 6"} {
		for _, tls := range []string{"", "1"} {
			t.Run(part+" without TLS: "+tls, func(t *testing.T) {
				p := start1(t, processes(t, part, "TF_DISABLE_PLUGIN_TLS="+tls))
				env := "\n" + ask(t, p, "environment")
				if strings.Contains(env, "\nPLUGIN_CLIENT_CERT=") == (tls != "") {
					t.Errorf("TLS is not as it should be: %s", env)
				}
				if err := p.Shutdown(); err != nil {
					t.Error(err)
				}
				if err := p.Shutdown(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestComplete checks that the complete gRPC library works like package rpc.
func TestComplete(t *testing.T) {
	var j journal
	ps := processes(t, "protocol 6")
	ps.Complete, ps.Log = true, j.log
	p := start1(t, ps)
	ask(t, p, "writes")
	j.await(t, "debug to standard output")
	if err := p.Shutdown(); err != nil {
		t.Error(err)
	}
	j.await(t, "debug the process ended: exit status 0")
}

// TestEnvironment checks which environment variables a provider inherits.
func TestEnvironment(t *testing.T) {
	env := ask(t, start1(t, processes(t, "protocol 6",
		"TF_VAR_password=canary", "TF_VAR_=canary", "TF_TOKEN_example_com=token", "TF_LOG=debug", "AWS_PROFILE=x",
		"PLUGIN_CLIENT_CERT=canary", "PLUGIN_OWN=mine")), "environment")
	if strings.Contains(env, "canary") {
		t.Errorf("there is what should not be there: %s", env)
	}
	for _, want := range []string{"TF_TOKEN_example_com=token", "TF_LOG=debug", "AWS_PROFILE=x", "PLUGIN_OWN=mine"} {
		if !strings.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestQuiet checks that a provider writes no log if Lethe does not read it, unless the environment requests a log.
func TestQuiet(t *testing.T) {
	ps := processes(t, "protocol 6", "TF_LOG_SDK_PROTO=trace")
	ps.Silent = true
	env := "\n" + ask(t, start1(t, ps), "environment") + "\n"
	for _, want := range []string{"TF_LOG_SDK=off", "TF_LOG_SDK_FRAMEWORK=off", "TF_LOG_PROVIDER_PLAYGROUND=off", "TF_LOG_SDK_PROTO=trace"} {
		if !strings.Contains(env, "\n"+want+"\n") {
			t.Errorf("%s is missing: %s", want, env)
		}
	}
	if strings.Contains(env, "TF_LOG_SDK_PROTO=off") {
		t.Error("what the environment asks for does not count")
	}
	if env := ask(t, start1(t, processes(t, "protocol 6")), "environment"); strings.Contains(env, "=off") {
		t.Errorf("a log that is read is switched off: %s", env)
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	if got := ask(t, start1(t, processes(t, "protocol 6")), "standard input"); got != "0 bytes, <nil>" {
		t.Error(got)
	}
}

// TestDoesNotStart checks the message about a program that does not start as a plugin.
func TestDoesNotStart(t *testing.T) {
	for part, want := range map[string]string{
		"exits":           "it exited (exit status 3) before it printed its address",
		"exits well":      "it exited (exit status 0) before it printed its address",
		"exits later":     "it exited (exit status 3) after it printed its address",
		"panics later":    "it exited (exit status 2) before it answered. Its output:\n\npanic: out of my depth\n",
		"sleeps":          "it did not print its address in time",
		"says hello":      `its first line is not a plugin handshake: "Usage: not a plugin"`,
		"says nothing":    `its first line is not a plugin handshake: ""`,
		"makes noise":     `its first line is not a plugin handshake: "noise noise`,
		"handshake 2":     "it uses version 2 of the handshake",
		"protocol 4":      "it uses version 4 of the provider protocol, and Lethe supports only versions 5 and 6",
		"net/rpc":         "it does not support gRPC",
		"old":             "it does not support gRPC",
		"no address":      "unknown address type",
		"bad certificate": "error parsing server cert",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			ps := processes(t, part)
			if part == "sleeps" {
				ps.Deadlines.Start = 200 * time.Millisecond
			}
			if why := refused(t, context.Background(), ps); !strings.Contains(why, want) {
				t.Errorf("not %q:\n%s", want, why)
			}
		})
	}
}

// TestNoProgram checks files that are not programs.
func TestNoProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "missing"):         "the file or its interpreter does not exist",
		dir:                                   "it is not executable",
		write("data", "not a program", 0o600): "it is not executable",
		write("text", "not a program", 0o700): "it is not a program for this system",
		write("script", "#!/nowhere/interpreter", 0o700): "the file or its interpreter does not exist",
	} {
		ps := processes(t, "protocol 6")
		ps.Find = func(addr.Provider) (string, error) { return path, nil }
		if why := refused(t, context.Background(), ps); !strings.Contains(why, want) || !strings.Contains(why, path) {
			t.Errorf("%s: not %q:\n%s", path, want, why)
		}
	}
}

// TestNotFound checks that Start returns the error of Find unchanged.
func TestNotFound(t *testing.T) {
	missing := errors.New("not installed")
	ps := &Processes{Find: func(addr.Provider) (string, error) { return "", missing }}
	if _, err := ps.Start(context.Background(), playground); err != missing {
		t.Error(err)
	}
}

// TestCancelledStart checks that a cancelled start returns and ends the process.
func TestCancelledStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(100*time.Millisecond, cancel)
	began := time.Now()
	if why := refused(t, ctx, processes(t, "sleeps")); !strings.Contains(why, "cancelled") {
		t.Error(why)
	}
	if why := refused(t, ctx, processes(t, "protocol 6")); !strings.Contains(why, "cancelled") {
		t.Error(why)
	}
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("it took %s", d)
	}
}

// TestContextOfStart checks that the end of the context passed to Start does not end the process.
func TestContextOfStart(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p, err := processes(t, "protocol 6").Start(ctx, playground)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Shutdown()
	cancel()
	time.Sleep(50 * time.Millisecond) // a process that the context ends would end in this time
	ask(t, p, "process")
}

// TestCrash checks that a crash becomes a diagnostic, with the trace if the process wrote one.
func TestCrash(t *testing.T) {
	for act, how := range map[string]string{"panics": "exit status 2", "exits": "exit status 7"} {
		t.Run(act, func(t *testing.T) {
			var j journal
			ps := processes(t, "protocol 6")
			ps.Log = j.log
			p := start1(t, ps)
			ds := p.Validate(context.Background(), addr.Managed, act, provider.Dynamic{})
			if len(ds) != 1 || ds[0].Summary != "Plugin did not respond" {
				t.Fatalf("got %v", ds)
			}
			for _, want := range []string{"registry.opentofu.org/acme/playground (version 2.0.1)", "ValidateResourceConfig", how} {
				if !strings.Contains(ds[0].Detail, want) {
					t.Errorf("%q is not in: %s", want, ds[0].Detail)
				}
			}
			if traced := strings.Contains(ds[0].Detail, "Its output:\n\npanic: out of my depth\n"); traced != (act == "panics") {
				t.Errorf("a trace: %v, in: %s", traced, ds[0].Detail)
			}
			if act == "panics" {
				j.await(t, "error panic: out of my depth")
			}
			j.await(t, "warn the process ended: "+how)
		})
	}
}

// TestShutdownOfTheStuck checks that Shutdown ends a process that does not react.
func TestShutdownOfTheStuck(t *testing.T) {
	old := endTime
	endTime = 300 * time.Millisecond
	defer func() { endTime = old }()
	p := start1(t, processes(t, "protocol 6"))
	pid := ask(t, p, "process")
	freeze(t, pid)
	began := time.Now()
	p.Shutdown()
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("it took %s", d)
	}
	if alive(pid) {
		t.Error("it lives")
	}
}

// TestShutdownDuringCall checks that a hanging call does not keep the process alive.
func TestShutdownDuringCall(t *testing.T) {
	var j journal
	ps := processes(t, "protocol 6")
	ps.Log = j.log
	p := start1(t, ps)
	pid := ask(t, p, "process")
	done := make(chan provider.Diags)
	go func() {
		done <- p.Validate(context.Background(), addr.Managed, "sleeps", provider.Dynamic{})
	}()
	waittest.Until(t, "the call is in progress", func() bool { return strings.Contains(j.text(), "sleeping") })
	p.Shutdown()
	if ds := <-done; len(ds) != 1 || !ds.HasErrors() {
		t.Errorf("got %v", ds)
	}
	if alive(pid) {
		t.Error("it lives")
	}
}

// TestNothingStays checks that Shutdown leaves neither the process nor the directory of its socket.
func TestNothingStays(t *testing.T) {
	dir, err := os.MkdirTemp("", "launch") // a short name, because the length of a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	t.Setenv("TMPDIR", dir)
	p := start1(t, processes(t, "protocol 6"))
	pid := ask(t, p, "process")
	refused(t, context.Background(), processes(t, "exits"))
	p.Shutdown()
	if alive(pid) {
		t.Error("the process lives")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestVersionInName(t *testing.T) {
	for name, want := range map[string]string{
		"/x/terraform-provider-time_v0.14.2_x5":     "0.14.2",
		"/x_v9/terraform-provider-time_v0.14.2.exe": "0.14.2",
		"/x/terraform-provider-time_v1.0.0-beta1":   "1.0.0-beta1",
		"/x/terraform-provider-time":                "",
		"C/terraform-provider-time_v2.0.0_x6.exe":   "2.0.0",
	} {
		if got := versionIn(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	ps := processes(t, "exits")
	ps.VersionOf = nil
	ps.Find = func(addr.Provider) (string, error) { return "/nowhere/terraform-provider-x_v3.1.4", nil }
	if _, err := ps.Start(context.Background(), playground); !strings.Contains(err.Error(), "acme/playground (version 3.1.4)") {
		t.Error(err)
	}
}

func TestParseReattach(t *testing.T) {
	unix := `"Addr":{"Network":"unix","String":"/tmp/a"}`
	entry := func(key, rest string) string {
		return fmt.Sprintf(`{%q:{"Protocol":"grpc","Pid":1,"Test":true,%s}}`, key, rest)
	}
	hashicorp := addr.Provider{Host: addr.DefaultHost, Namespace: "hashicorp", Type: "x"}
	for text, want := range map[string]Reattach{
		entry("registry.terraform.io/hashicorp/x", `"ProtocolVersion":6,`+unix): {Major: 6, Addr: &net.UnixAddr{Name: "/tmp/a", Net: "unix"}},
		entry("registry.terraform.io/-/x", `"ProtocolVersion":5,`+unix):         {Major: 5, Addr: &net.UnixAddr{Name: "/tmp/a", Net: "unix"}},
		entry("hashicorp/x", unix): {Major: 5, Addr: &net.UnixAddr{Name: "/tmp/a", Net: "unix"}},
		entry("x", `"ProtocolVersion":6,"Addr":{"Network":"tcp","String":"127.0.0.1:99"}`): {Major: 6, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 99}},
	} {
		got, err := ParseReattach(text)
		r := got[hashicorp]
		if err != nil || len(got) != 1 || r.Major != want.Major || r.Addr.String() != want.Addr.String() || r.Addr.Network() != want.Addr.Network() {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	both := `{"registry.terraform.io/-/x":{"Protocol":"grpc","ProtocolVersion":5,` + unix + `},"registry.terraform.io/hashicorp/x":{"Protocol":"grpc","ProtocolVersion":6,` + unix + `}}`
	if got, err := ParseReattach(both); err != nil || len(got) != 1 || got[hashicorp].Major != 6 {
		t.Errorf("a legacy key hides the real one: %v, %v", got, err)
	}
	if got, err := ParseReattach(""); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{
		"x", "[]", `{"a/b/c/d":{}}`,
		`{"x":{"Protocol":"netrpc",` + unix + `}}`,
		entry("x", `"ProtocolVersion":4,`+unix),
		entry("x", `"ProtocolVersion":6,"Addr":{"Network":"pigeon","String":"here"}`),
		entry("x", `"ProtocolVersion":6,"Addr":{"Network":"tcp","String":"here"}`),
	} {
		if _, err := ParseReattach(bad); err == nil || !strings.Contains(err.Error(), "TF_REATTACH_PROVIDERS") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestReattach checks a process that another program has started. The names of both registries refer to it. Shutdown
// does not end it.
func TestReattach(t *testing.T) {
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	far := &providertest.Fake{}
	server := &wiretest.Server{Major: 5, Provider: far}
	server.Start(l)
	reattach, err := ParseReattach(fmt.Sprintf(`{"registry.terraform.io/acme/playground":{"Protocol":"grpc","ProtocolVersion":5,"Pid":1,"Test":true,"Addr":{"Network":"unix","String":%q}}}`, socket))
	if err != nil {
		t.Fatal(err)
	}
	ps := &Processes{Reattach: reattach}
	for range 2 {
		p, err := ps.Start(context.Background(), playground)
		if err != nil {
			t.Fatal(err)
		}
		if ds := p.Configure(context.Background(), providertest.Msgpack("\x80"), provider.Allow{}); ds != nil {
			t.Fatal(ds)
		}
		if err := p.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
	if far.Count("Configure") != 2 || far.Count("Shutdown")+far.Count("Stop") != 0 {
		t.Errorf("the process saw %v", far.Calls())
	}
	server.Kill()
	if _, err := ps.Start(context.Background(), playground); err == nil || !strings.Contains(err.Error(), "TF_REATTACH_PROVIDERS") || !strings.Contains(err.Error(), "acme/playground") {
		t.Error(err)
	}
}

// BenchmarkStart starts a provider, reads its schemas, and ends it.
func BenchmarkStart(b *testing.B) {
	for name, tls := range map[string]string{"TLS": "", "no TLS": "1"} {
		b.Run(name, func(b *testing.B) {
			ps := processes(b, "protocol 6", "TF_DISABLE_PLUGIN_TLS="+tls)
			for b.Loop() {
				p, err := ps.Start(context.Background(), playground)
				if err != nil {
					b.Fatal(err)
				}
				if _, ds := p.Schemas(context.Background()); ds != nil {
					b.Fatal(ds)
				}
				p.Shutdown()
			}
		})
	}
}

// TestLongTemporaryDirectory checks that sockets are placed elsewhere if the path of the temporary directory is too
// long.
func TestLongTemporaryDirectory(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := socketDir(long); got == long {
		t.Errorf("sockets go to %s", got)
	}
	if got := socketDir("/short"); got != "/short" {
		t.Errorf("sockets go to %s", got)
	}
}
