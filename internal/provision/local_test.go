package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/sshconn"
)

const canary = "canary-9b1d4c"

// args returns an object with the attributes of a block. Missing attributes are null.
func args(b *schema.Block, given map[string]any) cty.Value {
	obj := map[string]cty.Value{}
	for _, a := range b.Attrs {
		obj[a.Name] = cty.NullVal(a.Type)
	}
	for name, v := range given {
		switch v := v.(type) {
		case string:
			obj[name] = cty.StringVal(v)
		case bool:
			obj[name] = cty.BoolVal(v)
		case int:
			obj[name] = cty.NumberIntVal(int64(v))
		case []string:
			obj[name] = cty.ListValEmpty(cty.String)
			var list []cty.Value
			for _, s := range v {
				list = append(list, cty.StringVal(s))
			}
			if list != nil {
				obj[name] = cty.ListVal(list)
			}
		case map[string]string:
			m := map[string]cty.Value{}
			for k, s := range v {
				m[k] = cty.StringVal(s)
			}
			obj[name] = cty.MapVal(m)
		case cty.Value:
			obj[name] = v
		}
	}
	return cty.ObjectVal(obj)
}

func merge(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for _, m := range []map[string]any{a, b} {
		for k, v := range m {
			out[k] = v
		}
	}
	return out
}

// marked returns a value with a mark on each named argument.
func marked(v cty.Value, tag mark.Tag, names ...string) mark.Value {
	out := mark.Plain(v)
	for _, n := range names {
		out.Marks = append(out.Marks, mark.At{Path: cty.GetAttrPath(n), Tag: tag})
	}
	return out
}

// screen collects the output of a run.
type screen struct {
	mu    sync.Mutex
	lines []string
	on    map[string]func() // functions to call when the run prints a line, by line
}

func (s *screen) line(l string) {
	s.mu.Lock()
	s.lines = append(s.lines, l)
	f := s.on[l]
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

func show(ds []diag.Diagnostic) string {
	var all []string
	for _, d := range ds {
		all = append(all, d.Severity.String()+" "+d.Error())
	}
	return strings.Join(all, "\n")
}

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no /bin/sh")
	}
}

func TestLocalExec(t *testing.T) {
	needShell(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		args  map[string]any
		lines []string
		diag  string
	}{
		{"streams", map[string]any{"command": "echo out; echo err >&2; printf last"},
			[]string{`Executing: ["/bin/sh" "-c" "echo out; echo err >&2; printf last"]`, "out", "err", "last"}, ""},
		{"quiet", map[string]any{"command": "echo out", "quiet": true},
			[]string{"local-exec: Executing: Suppressed by quiet=true", "out"}, ""},
		{"environment", map[string]any{"command": "echo $A/$B/$TF_VAR_x$TF_VAR_y", "quiet": true, "environment": map[string]string{"B": "new", "TF_VAR_y": "meant"}},
			[]string{"local-exec: Executing: Suppressed by quiet=true", "a/new/meant"}, ""},
		{"working directory", map[string]any{"command": "basename $(pwd); pwd | xargs dirname | xargs test " + dir + " =", "quiet": true, "working_dir": "sub"},
			[]string{"local-exec: Executing: Suppressed by quiet=true", "sub"}, ""},
		{"base directory", map[string]any{"command": "pwd", "quiet": true},
			[]string{"local-exec: Executing: Suppressed by quiet=true", dir}, ""},
		{"interpreter", map[string]any{"command": "a b", "interpreter": []string{"/bin/echo", "-n", "x"}},
			[]string{`Executing: ["/bin/echo" "-n" "x" "a b"]`, "x a b"}, ""},
		{"fails", map[string]any{"command": "echo a; exit 7"},
			[]string{`Executing: ["/bin/sh" "-c" "echo a; exit 7"]`, "a"},
			"error local-exec provisioner error; Error running command 'echo a; exit 7': exit status 7. Output: a\n"},
		{"fails quietly", map[string]any{"command": "echo a; exit 7", "quiet": true},
			[]string{"local-exec: Executing: Suppressed by quiet=true", "a"},
			"error local-exec provisioner error; Error running command: exit status 7. Output: a\n"},
		{"killed", map[string]any{"command": "kill -9 $$"},
			[]string{`Executing: ["/bin/sh" "-c" "kill -9 $$"]`},
			"error local-exec provisioner error; Error running command 'kill -9 $$': signal: killed. Output: "},
		{"no interpreter", map[string]any{"command": "x", "interpreter": []string{"/nope"}},
			[]string{`Executing: ["/nope" "x"]`},
			"error local-exec provisioner error; Error running command 'x': fork/exec /nope: no such file or directory. Output: "},
		{"no directory", map[string]any{"command": "x", "working_dir": "/nope"},
			[]string{`Executing: ["/bin/sh" "-c" "x"]`},
			"error local-exec provisioner error; Error running command 'x': chdir /nope: no such file or directory. Output: "},
		{"no command", map[string]any{"command": ""}, nil,
			"error Invalid local-exec provisioner command; The command must be a non-empty string."},
		{"what stays behind is waited for", map[string]any{"command": "(sleep 0.2; echo late) & echo soon", "quiet": true},
			[]string{"local-exec: Executing: Suppressed by quiet=true", "soon", "late"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s screen
			ds := Run(t.Context(), Request{
				Type: LocalExec, Config: mark.Plain(args(Schema(LocalExec), c.args)), Output: s.line, Dir: dir,
				Env: append(os.Environ(), "A=a", "B=b", "TF_VAR_x="+canary),
			})
			if diff := cmp.Diff(c.lines, s.lines); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.diag, show(ds)); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSuppressed(t *testing.T) {
	needShell(t)
	dir := filepath.Join(t.TempDir(), canary)
	for _, c := range []struct {
		name   string
		args   map[string]any
		tag    mark.Tag
		marked []string
		line   string
		diag   string
	}{
		{"command", map[string]any{"command": "echo " + canary + "; echo; exit 3"}, mark.Ephemeral, []string{"command"},
			"(output suppressed due to ephemeral value in config)", "Error running command: exit status 3"},
		{"environment", map[string]any{"command": "echo $X >&2; exit 3", "environment": map[string]string{"X": canary}}, mark.Sensitive, []string{"environment"},
			"(output suppressed due to sensitive value in config)", "Error running command: exit status 3"},
		{"quiet", map[string]any{"command": "echo $X; exit 3", "quiet": true, "environment": map[string]string{"X": canary}}, mark.Ephemeral, []string{"environment"},
			"(output suppressed due to ephemeral value in config)", "Error running command: exit status 3"},
		{"interpreter", map[string]any{"command": "x", "interpreter": []string{"/" + canary}}, mark.Ephemeral, []string{"interpreter"},
			"(output suppressed due to ephemeral value in config)", "Error running command: no such file or directory"},
		{"interpreter on the path", map[string]any{"command": "x", "interpreter": []string{canary}}, mark.Ephemeral, []string{"interpreter"},
			"(output suppressed due to ephemeral value in config)", "Error running command: the interpreter was not found"},
		{"directory", map[string]any{"command": "x", "working_dir": dir}, mark.Ephemeral, []string{"working_dir"},
			"(output suppressed due to ephemeral value in config)", "Error running command: no such file or directory"},
		{"signal", map[string]any{"command": "kill -9 $$ #" + canary}, mark.Ephemeral, []string{"command"},
			"(output suppressed due to ephemeral value in config)", "Error running command: signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s screen
			ds := Run(t.Context(), Request{Type: LocalExec, Config: marked(args(Schema(LocalExec), c.args), c.tag, c.marked...), Output: s.line})
			if len(s.lines) == 0 {
				t.Error("not one line")
			}
			for _, l := range s.lines {
				if l != c.line {
					t.Errorf("line %q", l)
				}
			}
			if len(ds) != 1 || ds[0].Detail != c.diag {
				t.Errorf("diagnostics %s", show(ds))
			}
			if all := s.text() + fmt.Sprintf("%+v", ds); strings.Contains(all, canary) {
				t.Errorf("the secret got out: %s", all)
			}
		})
	}
}

func TestSuppressedBecause(t *testing.T) {
	config := args(Schema(RemoteExec), nil)
	conn := args(ConnectionSchema(), nil)
	for _, c := range []struct {
		config, conn mark.Value
		want         redaction
	}{
		{mark.Plain(config), mark.Plain(conn), redaction{}},
		{marked(config, mark.Sensitive, "inline"), mark.Plain(conn), redaction{why: "sensitive", names: true}},
		{marked(config, mark.Ephemeral, "inline"), mark.Plain(conn), redaction{why: "ephemeral", names: true}},
		{marked(config, mark.Sensitive, "inline"), marked(conn, mark.Ephemeral, "password"), redaction{why: "ephemeral", names: true}},
		{mark.Plain(config), marked(conn, mark.Ephemeral, "password"), redaction{why: "ephemeral", names: true}},
		{mark.Plain(config), marked(conn, mark.Sensitive, "password", "private_key", "bastion_private_key"), redaction{}},
		{mark.Plain(config), marked(conn, mark.Sensitive, "user"), redaction{names: true}},
		{mark.Plain(config), mark.Value{Raw: conn, Marks: []mark.At{{Tag: mark.Sensitive}}}, redaction{names: true, script: true}},
		{mark.Plain(config), marked(conn, mark.Sensitive, "script_path"), redaction{names: true, script: true}},
	} {
		if got := newRedaction(c.config, c.conn); got != c.want {
			t.Errorf("%v %v: %+v, want %+v", c.config.Marks, c.conn.Marks, got, c.want)
		}
	}
}

// TestReasons checks the messages for causes whose text must not be shown.
func TestReasons(t *testing.T) {
	h := redaction{why: "ephemeral", names: true}
	dial := func(err error) error {
		return &net.OpError{Op: "dial", Net: canary, Err: os.NewSyscallError("connect", err)}
	}
	const leftOut = "the reason is not shown, because the configuration contains secret values"
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New(canary), leftOut},
		{&remoteError{text: canary}, leftOut},
		{fmt.Errorf("%s: %w", canary, dial(syscall.ECONNREFUSED)), "connection refused"},
		{&net.DNSError{Err: canary, Name: canary}, "the host's name cannot be resolved"},
		{fmt.Errorf("%s: %w", canary, context.DeadlineExceeded), "it took too long"},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "it took too long"},
		{&proxyError{407, canary}, "the proxy answered with status 407"},
		{&sshconn.HostKeyError{Why: "no"}, "host key verification failed: no"},
		{fmt.Errorf("%s: %w", canary, &ssh.ExitMissingError{}), "the connection ended before the exit status came"},
		{&fs.PathError{Op: "open", Path: canary, Err: syscall.ENOENT}, syscall.ENOENT.Error()},
		{&fs.PathError{Op: "open", Path: canary, Err: errIrregular}, string(errIrregular)},
	} {
		if got := h.reason(c.err); got != c.want {
			t.Errorf("%v: %s", c.err, got)
		}
		outer := &fault{full: canary, safe: "It", cause: c.err, remote: true}
		if got := h.text(outer); got != "It: "+c.want {
			t.Errorf("%v: %s", outer, got)
		}
		if got := (redaction{names: true}).text(outer); got != "It: "+c.want {
			t.Errorf("names only: %s", got)
		}
		if got := (redaction{}).text(outer); !strings.Contains(got, canary) {
			t.Errorf("nothing hidden: %s", got)
		}
		outer.remote = false
		if got := (redaction{names: true}).text(outer); !strings.Contains(got, canary) {
			t.Errorf("nothing about the connection: %s", got)
		}
	}
}

func TestFailureShowsTheEnd(t *testing.T) {
	needShell(t)
	var s screen
	ds := Run(t.Context(), Request{Type: LocalExec, Output: s.line, Config: mark.Plain(args(Schema(LocalExec), map[string]any{
		"command": "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; exit 1",
	}))})
	if len(s.lines) != 3001 || s.lines[3000] != "line 2999" {
		t.Errorf("%d lines", len(s.lines))
	}
	d := ds[0].Detail
	if _, out, _ := strings.Cut(d, "Output: "); len(out) != kept || !strings.HasSuffix(out, "\nline 2999\n") {
		t.Errorf("the message has %d bytes of output", len(out))
	}
}

// interrupted runs a command and cancels the context when the command prints "ready".
func interrupted(t *testing.T, command string) (ds []diag.Diagnostic, took time.Duration, s *screen) {
	t.Helper()
	needShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var asked time.Time
	s = &screen{on: map[string]func(){"ready": func() { asked = time.Now(); cancel() }}}
	ds = Run(ctx, Request{Type: LocalExec, Output: s.line, Config: mark.Plain(args(Schema(LocalExec), map[string]any{"command": command, "quiet": true}))})
	return ds, time.Since(asked), s
}

// setGrace changes a duration for one test.
func setGrace(t *testing.T, v *time.Duration, d time.Duration) {
	old := *v
	*v = d
	t.Cleanup(func() { *v = old })
}

func TestInterruptAsksFirst(t *testing.T) {
	ds, took, s := interrupted(t, "trap 'echo bye; exit 9' TERM; echo ready; while :; do sleep 0.01; done")
	if !strings.Contains(s.text(), "bye") {
		t.Errorf("the command was not asked: %s", s.text())
	}
	if took > grace/2 {
		t.Errorf("took %s", took)
	}
	if got := show(ds); !strings.Contains(got, "Error running command: interrupted. Output: ready\n") {
		t.Error(got)
	}
}

func TestInterruptEndsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	alive := filepath.Join(dir, "alive")
	_, took, _ := interrupted(t, "(while :; do : > "+alive+"; sleep 0.05; done) & echo ready; sleep 1000")
	if took > grace/2 {
		t.Errorf("took %s", took)
	}
	_ = os.Remove(alive)
	time.Sleep(200 * time.Millisecond) // a child process that is still running would write the file several times in this time
	if _, err := os.Stat(alive); err == nil {
		t.Error("a child lives on")
	}
}

func TestInterruptKillsInTheEnd(t *testing.T) {
	setGrace(t, &grace, 200*time.Millisecond)
	ds, took, _ := interrupted(t, "trap '' TERM; echo ready; while :; do sleep 0.01; done")
	if took < grace || took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if !strings.Contains(show(ds), "interrupted") {
		t.Error(show(ds))
	}
}

func TestInterruptLeavesWhatLeft(t *testing.T) {
	setGrace(t, &grace, 200*time.Millisecond)
	if _, err := os.Stat("/usr/bin/setsid"); err != nil {
		t.Skip("there is no setsid")
	}
	_, took, _ := interrupted(t, "setsid sleep 4 & echo ready; wait")
	if took > 3500*time.Millisecond {
		t.Errorf("waited %s for a process that holds our output", took)
	}
}

func TestInterruptedBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "ran")
	ds := Run(ctx, Request{Type: LocalExec, Config: mark.Plain(args(Schema(LocalExec), map[string]any{"command": "touch " + file}))})
	if _, err := os.Stat(file); err == nil || !hasErrors(ds) {
		t.Errorf("it ran: %s", show(ds))
	}
}

func TestLines(t *testing.T) {
	var got []string
	same := func(s string) string { return s }
	l := &lines{emit: func(s string) { got = append(got, s) }, scrub: same}
	for _, s := range []string{"a", "b\nc\r", "\n", "\n\nd\re\n", "f", "\r10%\r", "20%\r\r\n", "g"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%d %v", n, err)
		}
	}
	l.end()
	if diff := cmp.Diff([]string{"ab", "c", "", "", "d", "e", "f", "10%", "20%", "", "g"}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	if _, _ = l.Write([]byte("late\n")); got != nil {
		t.Errorf("after the end: %q", got)
	}
	l = &lines{emit: l.emit, scrub: same}
	long := strings.Repeat("x", 2*longest+5)
	_, _ = l.Write([]byte(long + "\n"))
	l.end()
	if len(got) != 3 || strings.Join(got, "") != long {
		t.Errorf("a long line became %d", len(got))
	}
	if l.last() != long[:kept-1]+"\n" || cap(l.tail) > 4*kept {
		t.Errorf("%d bytes kept of room for %d", len(l.last()), cap(l.tail))
	}
}

// TestLinesOfOneSecret writes a secret that is encoded on several lines.
func TestLinesOfOneSecret(t *testing.T) {
	const width, other = 76, "a line of words that is long enough, and not encoded, because it contains spaces"
	text := strings.Repeat("A", 2*width) + "QUFB"
	secret := text[:width] + "\n" + text[width:2*width] + "\n" + text[2*width:]
	for all, want := range map[string][]string{
		secret:                               {"***"},
		secret + "\n":                        {"***"},
		other + "\n" + secret + "\n" + other: {other, "***", other},
		text[:width] + "\n" + other + "\n":   {text[:width], other},
		text[:width] + "\n":                  {text[:width]},
	} {
		var got []string
		l := &lines{emit: func(s string) { got = append(got, s) }, scrub: func(s string) string { return strings.ReplaceAll(s, secret, "***") }}
		_, _ = l.Write([]byte(all))
		l.end()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.100q: %s", all, diff)
		}
	}
}

// TestLinesCutNoSecret writes a secret across each place where a line or the kept output is cut.
func TestLinesCutNoSecret(t *testing.T) {
	const secret, mask = "canary-0123-of-a-secret", "***"
	for _, length := range []int{longest, kept, kept + margin, 2 * kept, 4 * kept} {
		for at := -len(secret) - 1; at <= 1; at++ {
			for _, order := range []string{"before", "after"} {
				var got []string
				l := &lines{emit: func(s string) { got = append(got, s) }, scrub: func(s string) string { return strings.ReplaceAll(s, secret, mask) }}
				long, want := strings.Repeat("x", length+at)+secret+"y", strings.Repeat("x", length+at)+mask+"y"
				if order == "after" {
					long, want = secret+strings.Repeat("x", length+at), mask+strings.Repeat("x", length+at)
				}
				for text := long + "\n"; text != ""; { // a pipe delivers at most 4 KiB at once
					n, _ := l.Write([]byte(text[:min(len(text), 4096)]))
					text = text[n:]
				}
				l.end()
				for i, line := range got {
					got[i] = l.scrub(line)
				}
				if all := strings.Join(got, ""); all != want {
					t.Fatalf("%d %d %s: the lines have %d bytes, and not %d", length, at, order, len(all), len(want))
				}
				if last := l.scrub(l.last()); !strings.HasSuffix(want+"\n", last) || len(last) != min(kept, len(want)+1) {
					t.Fatalf("%d %d %s: the kept output has %d bytes, and begins with %.40q", length, at, order, len(last), last)
				}
			}
		}
	}
}
