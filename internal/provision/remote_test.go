//go:build unix

package provision

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/sshconn/sshdtest"
	"github.com/lethe-iac/lethe/internal/subprocess/waittest"
)

// try runs a provisioner and returns its output and its diagnostics. It checks that neither contains a secret.
func try(t testing.TB, typ string, config, connection map[string]any) (lines []string, ds []diag.Diagnostic) {
	t.Helper()
	return tryWith(t, t.Context(), Request{
		Type: typ, Config: mark.Plain(args(Schema(typ), config)), Connection: mark.Plain(args(ConnectionSchema(), connection)),
	}, connection)
}

// hopeless is the timeout of connections that cannot succeed.
const hopeless = "1s"

// tryWith runs the provisioner and checks that no secret of the connection is in its output. On a slow machine the
// timeout hopeless can end the first attempt before the host answers. Then the provisioner runs again with more time.
func tryWith(t testing.TB, ctx context.Context, req Request, connection map[string]any) (lines []string, ds []diag.Diagnostic) {
	t.Helper()
	var s screen
	if req.Output == nil {
		req.Output = s.line
	}
	if req.Env == nil {
		req.Env = []string{"PATH=" + os.Getenv("PATH")}
	}
	ds = Run(ctx, req)
	if connection["timeout"] == hopeless && strings.Contains(show(ds), "deadline exceeded") {
		obj := req.Connection.Raw.AsValueMap()
		obj["timeout"] = cty.StringVal("20s")
		req.Connection.Raw = cty.ObjectVal(obj)
		ds = Run(ctx, req)
	}
	all := s.text() + fmt.Sprintf("%+v", ds)
	for name, v := range connection {
		if text, ok := v.(string); ok && slices.Contains([]string{"private_key", "password", "certificate", "bastion_private_key", "bastion_password", "proxy_user_password", "bastion_certificate"}, name) {
			if text != "" && strings.Contains(all, strings.TrimSpace(text)) {
				t.Errorf("%s got out: %s", name, all)
			}
		}
	}
	if strings.Contains(all, canary) {
		t.Errorf("the canary got out: %s", all)
	}
	return s.lines, ds
}

// outputOf returns the output of the program, without the lines about the connection.
func outputOf(lines []string) []string {
	if i := slices.Index(lines, "Connected!"); i >= 0 {
		return lines[i+1:]
	}
	return lines
}

func TestRemoteExec(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	local := t.TempDir()
	for name, content := range map[string]string{"a.sh": "echo a: $0", "b.sh": "#!/bin/cat\nwhole"} {
		if err := os.WriteFile(filepath.Join(local, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		args  map[string]any
		lines []string
		diag  string
	}{
		{"inline", map[string]any{"inline": []string{"x=1", "echo out $x", "echo err >&2", "printf last"}}, []string{"out 1", "err", "last"}, ""},
		{"mode", map[string]any{"inline": []string{"stat -c %a:%U $0", "cat $0"}}, []string{"700:" + sshdtest.Whoami(t), "#!/bin/sh", "stat -c %a:%U $0", "cat $0"}, ""},
		{"shebang", map[string]any{"inline": []string{"#!/bin/cat", "x"}}, []string{"#!/bin/cat", "x"}, ""},
		{"terminal", map[string]any{"inline": []string{"tty >/dev/null && echo yes", "echo $SSH_AUTH_SOCK"}}, []string{"yes", ""}, ""},
		{"script", map[string]any{"script": "a.sh"}, []string{"a: SCRIPT"}, ""},
		{"scripts", map[string]any{"scripts": []string{filepath.Join(local, "b.sh"), "a.sh"}}, []string{"#!/bin/cat", "whole", "a: SCRIPT"}, ""},
		{"fails", map[string]any{"inline": []string{"echo a", "exit 3"}}, []string{"a"}, `error remote-exec provisioner error; error executing "SCRIPT": Process exited with status 3`},
		{"killed", map[string]any{"inline": []string{"kill -9 $$"}}, []string{}, `error remote-exec provisioner error; error executing "SCRIPT": Process exited with status 137 from signal "KILL"`},
		{"no script", map[string]any{"script": "nope"}, nil, "error remote-exec provisioner error; Failed to open script 'nope': stat LOCAL/nope: no such file or directory"},
		{"no file", map[string]any{"script": "."}, nil, "error remote-exec provisioner error; Failed to open script '.': open LOCAL: it is neither a file nor a directory"},
		{"the rest is not run", map[string]any{"scripts": []string{"a.sh", "nope"}}, nil, "error remote-exec provisioner error; Failed to open script 'nope': stat LOCAL/nope: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got screen
			connection := s.connection(t, nil)
			_, ds := tryWith(t, t.Context(), Request{
				Type: RemoteExec, Dir: local, Output: got.line,
				Config: mark.Plain(args(Schema(RemoteExec), c.args)), Connection: mark.Plain(args(ConnectionSchema(), connection)),
			}, connection)
			clean := func(s string) string {
				s = regexp.MustCompile(`/\S*/script_\d+\.sh`).ReplaceAllString(s, "SCRIPT")
				return strings.ReplaceAll(s, local, "LOCAL")
			}
			lines := outputOf(got.lines)
			for i := range lines {
				lines[i] = clean(lines[i])
			}
			if diff := cmp.Diff(c.lines, lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.diag, clean(show(ds))); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
			if left := s.leftScripts(t); left != nil {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestAnnouncement(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	connection := s.connection(t, nil)
	lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, connection)
	want := []string{
		"Connecting to remote host via SSH...", "  Host: 127.0.0.1", "  User: " + sshdtest.Whoami(t), "  Password: false", "  Private key: true",
		"  Certificate: false", "  SSH Agent: false", "  Checking Host Key: false", "  Target Platform: unix", "Connected!",
	}
	if diff := cmp.Diff(want, lines); diff != "" || ds != nil {
		t.Errorf("%s\n%s", diff, show(ds))
	}
	var got screen
	tryWith(t, t.Context(), Request{Type: RemoteExec, Output: got.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"true"}})), Connection: marked(args(ConnectionSchema(), connection), mark.Sensitive, "host")}, connection)
	if text := got.text(); strings.Contains(text, "127.0.0.1") || !strings.Contains(text, "  Host: (sensitive value)") {
		t.Errorf("a sensitive host is shown:\n%s", text)
	}
}

func TestScriptPath(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	odd := filepath.Join(s.Dir, "it's $(touch oops) a; dir")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pattern, want string }{
		{odd + "/-x %RAND%", `^` + regexp.QuoteMeta(odd) + `/-x \d{5,}$`},
		{"lethe_test_%RAND%.sh", `^\./lethe_test_\d{5,}\.sh$`},
		{"-lethe_test_%RAND%.sh", `^\./-lethe_test_\d{5,}\.sh$`},
		{"~/lethe_test_%RAND%.sh", `^\./lethe_test_\d{5,}\.sh$`},
		{"", `^/tmp/terraform_\d{5,}\.sh$`},
	} {
		lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"echo $0"}}, s.connection(t, map[string]any{"script_path": c.pattern}))
		got := outputOf(lines)
		if ds != nil || len(got) != 1 || !regexp.MustCompile(c.want).MatchString(got[0]) {
			t.Errorf("%s: %q %s", c.pattern, got, show(ds))
			continue
		}
		path := got[0]
		if !filepath.IsAbs(path) {
			path = filepath.Join(home, path)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is left", path)
		}
	}
	for _, dir := range []string{home, s.Dir} {
		if oops, _ := filepath.Glob(filepath.Join(dir, "oops")); oops != nil {
			t.Errorf("a path was run as a command: %v", oops)
		}
	}
	_, ds := try(t, RemoteExec, map[string]any{"inline": []string{"true"}}, s.connection(t, map[string]any{"script_path": "/nope/x"}))
	if got := show(ds); got != "error remote-exec provisioner error; Failed to upload script: scp: /nope/x: No such file or directory" {
		t.Error(got)
	}
}

// TestFixedScriptPath checks that an existing file or link at the path affects neither the mode nor the location of the
// script.
func TestFixedScriptPath(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	path, elsewhere := filepath.Join(s.Dir, "script_fixed"), filepath.Join(s.Dir, "elsewhere")
	for _, prepare := range []func() error{
		func() error { return os.WriteFile(path, []byte("old"), 0o777) },
		func() error { return os.Symlink(elsewhere, path) },
	} {
		if err := prepare(); err != nil {
			t.Fatal(err)
		}
		lines, ds := try(t, RemoteExec, map[string]any{"inline": []string{"stat -c '%a %F' $0"}}, s.connection(t, map[string]any{"script_path": path}))
		if got := outputOf(lines); ds != nil || !slices.Equal(got, []string{"700 regular file"}) {
			t.Errorf("%q %s", got, show(ds))
		}
	}
	if left := s.leftScripts(t); left != nil {
		t.Errorf("left: %v", left)
	}
	if _, err := os.Lstat(elsewhere); err == nil {
		t.Error("a link was followed")
	}
}

// until runs remote-exec and cancels the context when the script prints "ready". If the argument then is not nil, it is
// called instead of cancelling the context.
func until(t *testing.T, s *server, inline []string, then func()) (out *screen, ds []diag.Diagnostic, took time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked time.Time
	out = &screen{on: map[string]func(){"ready": func() {
		asked = time.Now()
		if left := s.leftScripts(t); len(left) != 1 {
			t.Errorf("scripts while one runs: %v", left)
		}
		if then != nil {
			then()
		} else {
			cancel()
		}
	}}}
	connection := s.connection(t, nil)
	_, ds = tryWith(t, ctx, Request{Type: RemoteExec, Output: out.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": inline})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
	return out, ds, time.Since(asked)
}

// gone waits for a process to end.
func gone(t *testing.T, out *screen) {
	t.Helper()
	var pid int
	for _, l := range out.lines {
		_, _ = fmt.Sscanf(l, "pid %d", &pid)
	}
	if pid == 0 {
		t.Fatalf("no pid in %q", out.lines)
	}
	waittest.Until(t, fmt.Sprintf("process %d has ended", pid), func() bool { return syscall.Kill(pid, 0) != nil })
}

func TestInterruptRemovesTheScript(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	out, ds, took := until(t, s, []string{"echo pid $$", "echo ready", "sleep 1000"}, nil)
	if left := s.leftScripts(t); left != nil {
		t.Errorf("left: %v", left)
	}
	if took > farewell {
		t.Errorf("took %s", took)
	}
	if got := show(ds); !strings.Contains(got, "error remote-exec provisioner error; error executing ") || !strings.HasSuffix(got, ": interrupted") {
		t.Error(got)
	}
	gone(t, out)
}

func TestInterruptOfADeafScript(t *testing.T) {
	setGrace(t, &farewell, 300*time.Millisecond)
	s := startServer(t)
	out, ds, took := until(t, s, []string{"trap '' TERM INT", "echo pid $$", "echo ready", "while :; do sleep 0.1; done"}, nil)
	if left := s.leftScripts(t); left != nil {
		t.Errorf("left: %v", left)
	}
	if took < farewell || took > 10*time.Second || !strings.Contains(show(ds), "interrupted") {
		t.Errorf("took %s: %s", took, show(ds))
	}
	gone(t, out) // the end of the terminal has ended the process
}

// TestLostConnection checks that the script is removed through a new connection.
func TestLostConnection(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	_, ds, _ := until(t, s, []string{"echo ready", "sleep 0.3; kill -9 $(ps -o ppid= -p $$)", "sleep 1000"}, func() {})
	if left := s.leftScripts(t); left != nil {
		t.Errorf("left: %v", left)
	}
	if len(ds) != 1 || !strings.Contains(show(ds), "without exit status") {
		t.Error(show(ds))
	}
}

func TestScriptThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	out := &screen{}
	out.on = map[string]func(){"ready": func() {
		// Without the server, no new connection is possible.
		_ = s.Cmd.Process.Kill()
	}}
	connection := s.connection(t, nil)
	_, ds := tryWith(t, t.Context(), Request{Type: RemoteExec, Output: out.line,
		Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"echo ready; sleep 0.3; kill -9 $(ps -o ppid= -p $$)", "sleep 1000"}})), Connection: mark.Plain(args(ConnectionSchema(), connection))}, connection)
	if len(ds) != 2 || ds[0].Severity != diag.Warning || ds[0].Summary != "Remote script not removed" || !strings.Contains(ds[0].Detail, s.leftScripts(t)[0]) {
		t.Error(show(ds))
	}
}

func TestRemoteSuppressed(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, c := range []struct {
		name         string
		config, conn []string
		tag          mark.Tag
		inline       []string
		line, diag   string
		more         map[string]any
	}{
		{"inline", []string{"inline"}, nil, mark.Ephemeral, []string{"echo " + canary, "exit 3"},
			"(output suppressed due to ephemeral value in config)", "error executing the script: exit status 3", nil},
		{"connection", nil, []string{"user"}, mark.Ephemeral, []string{"echo $USER", "exit 3"},
			"(output suppressed due to ephemeral value in config)", "error executing the script: exit status 3", nil},
		{"upload", []string{"inline"}, []string{"script_path"}, mark.Ephemeral, []string{"true"},
			"(output suppressed due to ephemeral value in config)", "Failed to upload script: exit status 1", map[string]any{"script_path": "/nope/" + canary}},
		{"login", []string{"inline"}, nil, mark.Sensitive, []string{"true"},
			"(output suppressed due to sensitive value in config)", "timeout - last error: SSH authentication failed", map[string]any{"user": canary, "timeout": hopeless}},
		{"host", nil, []string{"host"}, mark.Ephemeral, []string{"true"},
			"(output suppressed due to ephemeral value in config)", "timeout - last error: the host's name cannot be resolved", map[string]any{"host": canary + ".invalid", "timeout": hopeless}},
		{"port", nil, []string{"host"}, mark.Ephemeral, []string{"true"},
			"(output suppressed due to ephemeral value in config)", "timeout - last error: connection refused", map[string]any{"port": sshdtest.FreePort(t), "timeout": hopeless}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out screen
			connection := s.connection(t, c.more)
			_, ds := tryWith(t, t.Context(), Request{Type: RemoteExec, Output: out.line,
				Config:     marked(args(Schema(RemoteExec), map[string]any{"inline": c.inline}), c.tag, c.config...),
				Connection: marked(args(ConnectionSchema(), connection), c.tag, c.conn...)}, connection)
			if strings.Contains(out.text(), canary) {
				t.Error("the secret got out")
			}
			for _, l := range out.lines {
				if l != c.line {
					t.Errorf("line %q", l)
				}
			}
			if len(ds) != 1 || ds[0].Detail != c.diag {
				t.Error(show(ds))
			}
		})
	}
}

// TestSensitiveScriptPath checks that no message shows a sensitive path of a script, if no other argument is sensitive.
func TestSensitiveScriptPath(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, c := range []struct{ path, want string }{
		{"/nope/" + canary, "Failed to upload script: exit status 1"},
		{s.Dir + "/" + canary + "_%RAND%", "error executing the script: exit status 3"},
	} {
		connection := s.connection(t, map[string]any{"script_path": c.path})
		lines, ds := tryWith(t, t.Context(), Request{Type: RemoteExec, Config: mark.Plain(args(Schema(RemoteExec), map[string]any{"inline": []string{"echo shown", "exit 3"}})),
			Connection: marked(args(ConnectionSchema(), connection), mark.Sensitive, "script_path")}, connection)
		if len(ds) != 1 || ds[0].Detail != c.want {
			t.Errorf("%q %s", lines, show(ds))
		}
	}
}
