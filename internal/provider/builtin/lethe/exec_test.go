//go:build unix

package lethe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"
)

func sh(script string) []string { return []string{"/bin/sh", "-c", script} }

// calls returns the inputs of commands, decoded from the file to which the commands' scripts appended them.
func (r *rig) calls(name string) (all []map[string]any) {
	r.t.Helper()
	b, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(b)); dec.More(); {
		var m map[string]any
		if err := dec.Decode(&m); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// setGrace changes grace for a test.
func setGrace(t *testing.T, d time.Duration) {
	old := grace
	grace = d
	t.Cleanup(func() { grace = old })
}

func TestExec(t *testing.T) {
	r := newRig(t)
	now := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	r.p.o.Now = func() time.Time { return now }
	input := map[string]any{"role": "app", "password": canary + "-in", "n": 12, "on": true, "none": cty.NullVal(cty.String), "list": []string{"a", "b"}}
	o := r.mustOpen("lethe_exec", map[string]any{
		"open":        sh(`cat >> said; echo '{"user": "u1", "password": "` + canary + `-out", "ports": [1, 2.5], "nothing": null}'`),
		"renew":       sh(`cat >> said; echo '{"token": "` + canary + `-renewed"}'`),
		"close":       sh(`cat >> said`),
		"input":       input,
		"renew_after": "90s",
	})
	result := o.GetAttr("result")
	if result.GetAttr("password").AsString() != canary+"-out" || !result.GetAttr("nothing").IsNull() || result.GetAttr("ports").LengthInt() != 2 {
		t.Errorf("%#v", result)
	}
	if !o.renewAt.Equal(now.Add(90 * time.Second)) {
		t.Errorf("to be renewed at %s", o.renewAt)
	}
	now = now.Add(time.Hour)
	renewed, ds := r.p.Renew(t.Context(), "lethe_exec", o.private)
	if ds != nil || !renewed.RenewAt.Equal(now.Add(90*time.Second)) {
		t.Errorf("renewing: %s, next at %s", r.show(ds), renewed.RenewAt)
	}
	if ds := r.p.CloseLease(t.Context(), "lethe_exec", renewed.Private); ds != nil {
		t.Error(r.show(ds))
	}
	in := `"input":{"list":["a","b"],"n":12,"none":null,"on":true,"password":"` + canary + `-in","role":"app"}`
	out := `"result":{"nothing":null,"password":"` + canary + `-out","ports":[1,2.5],"user":"u1"}`
	want := []string{
		`{"action":"open",` + in + `,"renewed":null,"result":null}`,
		`{"action":"renew",` + in + `,"renewed":null,` + out + `}`,
		`{"action":"close",` + in + `,"renewed":{"token":"` + canary + `-renewed"},` + out + `}`,
	}
	for i, got := range r.calls("said") {
		if i >= len(want) || asJSON(got) != want[i] {
			t.Errorf("call %d was told %s", i, asJSON(got))
		}
	}
}

func TestExecResults(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct {
		given map[string]any
		want  cty.Value
	}{
		"string":      {map[string]any{"open": sh(`echo '"x"'`)}, cty.StringVal("x")},
		"number":      {map[string]any{"open": sh(`printf 12`)}, cty.NumberIntVal(12)},
		"null":        {map[string]any{"open": sh(`echo null`)}, cty.NullVal(cty.DynamicPseudoType)},
		"nothing":     {map[string]any{"open": sh(`:`)}, cty.NullVal(cty.DynamicPseudoType)},
		"json":        {map[string]any{"open": sh(`echo '["a", 1]'`), "format": "json"}, cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(1)})},
		"text":        {map[string]any{"open": sh(`printf 'a\nb\n\n'`), "format": "text"}, cty.StringVal("a\nb\n")},
		"empty text":  {map[string]any{"open": sh(`:`), "format": "text"}, cty.StringVal("")},
		"no stdin":    {map[string]any{"open": []string{"printf", "%s", "plain"}, "format": "text"}, cty.StringVal("plain")},
		"in dir":      {map[string]any{"open": sh(`pwd`), "format": "text", "working_dir": "/"}, cty.StringVal("/")},
		"default dir": {map[string]any{"open": sh(`pwd -P`), "format": "text"}, cty.StringVal(realPath(t, r.dir))},
	} {
		o := r.mustOpen("lethe_exec", c.given)
		if !o.GetAttr("result").RawEquals(c.want) || o.private != nil || !o.renewAt.IsZero() {
			t.Errorf("%s: %#v", name, o.Value)
		}
		if ds := r.p.CloseLease(t.Context(), "lethe_exec", o.private); ds != nil {
			t.Errorf("%s: %s", name, r.show(ds))
		}
	}
}

func realPath(t *testing.T, p string) string {
	p, err := filepath.EvalSymlinks(p)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestExecHidesValues checks that no value is in the arguments or the environment of a command, and that no program's
// environment contains values of variables.
func TestExecHidesValues(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("there is no /proc to look at")
	}
	r := newRig(t, "TF_VAR_x="+canary, "TF_CLI_ARGS_apply=-var x="+canary, "KEPT=yes")
	look := `tr '\0' '\n' < /proc/$$/environ >> seen; tr '\0' '\n' < /proc/$$/cmdline >> seen; cat > /dev/null; `
	o := r.mustOpen("lethe_exec", map[string]any{
		"open": sh(look + `echo '"` + canary[:6] + `""` + canary[6:] + `"' | tr -d '\n' | sed 's/""//'`), "renew": sh(look), "close": sh(look), "renew_after": "1h",
		"input": map[string]any{"a": canary},
	})
	if _, ds := r.p.Renew(t.Context(), "lethe_exec", o.private); ds != nil {
		t.Error(r.show(ds))
	}
	if ds := r.p.CloseLease(t.Context(), "lethe_exec", o.private); ds != nil {
		t.Error(r.show(ds))
	}
	if o.GetAttr("result").AsString() != canary {
		t.Fatalf("%#v", o.Value)
	}
	seen, err := os.ReadFile(filepath.Join(r.dir, "seen"))
	if err != nil || strings.Count(string(seen), "KEPT=yes") != 3 || strings.Contains(string(seen), canary) {
		t.Errorf("%v\n%s", err, seen)
	}
}

func TestExecFails(t *testing.T) {
	setGrace(t, 200*time.Millisecond)
	r := newRig(t)
	closing := sh(`cat > closed`)
	for name, c := range map[string]struct {
		given  map[string]any
		want   string
		closed bool // the command close is called, because a lease may be open
	}{
		"status":          {map[string]any{"open": sh(`exit 3`)}, "error open: Program failed; The open command failed: exit status 3.", false},
		"says":            {map[string]any{"open": sh(`echo no such role >&2; exit 3`)}, "exit status 3. It wrote to its standard error:\n\nno such role", false},
		"signal":          {map[string]any{"open": sh(`kill -9 $$`)}, "signal: killed", true},
		"no program":      {map[string]any{"open": []string{"nope-" + canary}}, "there is no such program in the directories of PATH", false},
		"no file":         {map[string]any{"open": []string{"./nope-" + canary}}, "there is no such program, or no such working directory", false},
		"no directory":    {map[string]any{"open": sh("true"), "working_dir": "nope-" + canary}, "no such working directory", false},
		"not executable":  {map[string]any{"open": []string{"/dev/null"}}, "it cannot be started (permission denied)", false},
		"no json":         {map[string]any{"open": sh(`echo token ` + canary)}, "error open: Program printed no JSON; ", true},
		"no text":         {map[string]any{"open": sh(`printf '\377'`), "format": "text"}, "error open: Program printed no text; ", true},
		"no text in json": {map[string]any{"open": sh(`printf '"\377"'`)}, "Program printed no text", true},
		"huge number":     {map[string]any{"open": sh(`echo '{"n": [1e600000000]}'`)}, "Program printed no JSON", true},
		"tiny number":     {map[string]any{"open": sh(`echo 1e-600000000`)}, "Program printed no JSON", true},
		"no number":       {map[string]any{"open": sh(`echo 1e99999999999`)}, "Program printed no JSON", true},
		"two values":      {map[string]any{"open": sh(`echo '{} {}'`)}, "is not one JSON value", true},
		"too long":        {map[string]any{"open": sh(`echo start >&2; sleep 30 & wait`), "timeout": "1500ms"}, "it exceeded its time limit of 1.5s and was stopped. It wrote to its standard error:\n\nstart", true},
		"deaf":            {map[string]any{"open": sh(`trap '' TERM; sleep 30`), "timeout": "2s"}, "it exceeded its time limit of 2s", true},
		"prints too much": {map[string]any{"open": sh(`head -c 5000000 /dev/zero`)}, "it prints more than 4 MiB", true},
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			os.Remove(filepath.Join(r.dir, "closed"))
			c.given["close"] = closing
			began := time.Now()
			o, ds := r.open("lethe_exec", c.given)
			if !ds.HasErrors() || !strings.Contains(r.show(ds), c.want) {
				t.Errorf("got %s", r.show(ds))
			}
			if time.Since(began) > 20*time.Second {
				t.Errorf("it took %s", time.Since(began))
			}
			if (o.private != nil) != c.closed {
				t.Fatalf("to be closed: %t", o.private != nil)
			}
			if !c.closed {
				return
			}
			if ds := r.p.CloseLease(t.Context(), "lethe_exec", o.private); ds != nil {
				t.Error(r.show(ds))
			}
			if got := asJSON(r.calls("closed")[0]["result"]); got != "null" {
				t.Errorf("close was told the result %s", got)
			}
		})
	}
}

// TestExecMasks checks that the standard error of a failed program is shown without the values that the program
// received or printed.
func TestExecMasks(t *testing.T) {
	r := newRig(t)
	program := func(script string, input any) string {
		t.Helper()
		_, ds := r.open("lethe_exec", map[string]any{"open": sh(script + "; exit 1"), "input": valueOf(input)})
		_, output, _ := strings.Cut(r.show(ds), "standard error:\n\n")
		return output
	}
	for name, c := range map[string]struct {
		script string
		input  any
		want   string
	}{
		"given":     {`echo "login with ` + canary + ` failed" >&2`, map[string]any{"x": []string{canary}}, "login with (ephemeral value) failed"},
		"encoded":   {`printf %s ` + canary + ` | base64 >&2`, canary, "(ephemeral value)=="},
		"short":     {`echo "user app at xy7890 and apple, pin 42." >&2`, map[string]any{"role": "app", "pin": 42, "b": "7890"}, "user (ephemeral value) at xy(ephemeral value) and apple, pin (ephemeral value)."},
		"lines":     {`printf 'bad key: line-one-of-secret\nand line-two-of-secret\n' >&2`, "line-one-of-secret\nline-two-of-secret", "bad key: (ephemeral value)\nand (ephemeral value)"},
		"printed":   {`echo '{"t": "` + canary + `"}'; echo "token ` + canary + `" >&2`, "", "token (ephemeral value)"},
		"as text":   {`echo ` + canary + `; echo "token ` + canary + `" >&2`, "", "token (ephemeral value)"},
		"long tail": {`i=0; while [ $i -lt 2000 ]; do echo "line $i of many ` + canary + `"; i=$((i+1)); done >&2`, canary, "line 1999 of many (ephemeral value)"},
	} {
		if got := program(c.script, c.input); !strings.HasSuffix(got, c.want) || len(got) > stderrOut+10 {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := program(`head -c 70000 /dev/zero | tr '\0' x; echo oops >&2`, ""); got != "" {
		t.Errorf("too much was printed to look for it, and still this is shown: %q", got)
	}
}

// TestMaskLeavesNothing checks that masking removes all values from a text.
func TestMaskLeavesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.StringMatching(`[A-Z0-9+/"\\-]{4,20}`)
		values := rapid.SliceOfN(value, 1, 4).Draw(t, "values")
		word := rapid.OneOf(rapid.SampledFrom(values), rapid.StringMatching(`[a-z: ]{0,9}`), rapid.Just("\n"))
		output := strings.Join(rapid.SliceOfN(word, 1, 20).Draw(t, "said"), "")
		given, printed := asJSON(values[:len(values)/2]), asJSON(values[len(values)/2:])
		c := &command{secrets: []json.RawMessage{json.RawMessage(given)}}
		got := c.mask(output, []byte(printed))
		for _, v := range values {
			if strings.Contains(got, v) {
				t.Fatalf("%q is left in %q, of %q", v, got, output)
			}
		}
	})
}

// TestTailIsCutAtLines checks that a secret without its beginning is not shown.
func TestTailIsCutAtLines(t *testing.T) {
	w := &tail{max: 10}
	for _, s := range []string{"0123456", "789\nabc", "def"} {
		if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := w.text(); got != "abcdef" {
		t.Errorf("%q", got)
	}
}

func TestExecRenewAndCloseFail(t *testing.T) {
	r := newRig(t)
	o := r.mustOpen("lethe_exec", map[string]any{
		"open": sh(`echo '"` + canary + `"'`), "renew": sh(`cat >&2; exit 4`), "close": sh(`cat >&2; exit 5`), "renew_after": "1m",
	})
	resp, ds := r.p.Renew(t.Context(), "lethe_exec", o.private)
	if got := r.show(ds); !strings.Contains(got, "error renew: Program failed; The renew command failed: exit status 4. It wrote to its standard error:\n\n") || !bytes.Equal(resp.Private, o.private) {
		t.Errorf("%s, private data %q", got, resp.Private)
	}
	ds = r.p.CloseLease(t.Context(), "lethe_exec", o.private)
	if got := r.show(ds); !strings.Contains(got, "error close: Program failed; The close command failed: exit status 5.") || !strings.Contains(got, "(ephemeral value)") {
		t.Error(got)
	}
}

// runs reports whether a process runs.
func runs(pid int) bool { return syscall.Kill(pid, 0) == nil && !zombie(pid) }

func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

func (r *rig) pid(name string) int {
	r.t.Helper()
	for range 500 {
		b, _ := os.ReadFile(filepath.Join(r.dir, name))
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return pid
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("%s was not written", name)
	return 0
}

// TestExecIsInterrupted checks that the context and Stop end an open with all its child processes, and that Stop does
// not end a close.
func TestExecIsInterrupted(t *testing.T) {
	setGrace(t, time.Second)
	for name, stop := range map[string]func(*rig, context.CancelFunc){
		"context": func(_ *rig, cancel context.CancelFunc) { cancel() },
		"stop":    func(r *rig, _ context.CancelFunc) { _ = r.p.Stop(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var o opened
			var ds provider.Diags
			done := make(chan struct{})
			go func() {
				defer close(done)
				o, ds = r.openIn(ctx, "lethe_exec", map[string]any{
					"open":  sh(`sh -c 'trap "" TERM; echo $$ > child; sleep 60' & echo $$ > leader; wait; sleep 60`),
					"close": sh(`cat > closed`), "input": canary,
				})
			}()
			child, leader := r.pid("child"), r.pid("leader")
			stop(r, cancel)
			<-done
			if got := r.show(ds); !strings.Contains(got, "The open command failed: it was interrupted") || o.private == nil {
				t.Errorf("%s, private data %q", got, o.private)
			}
			for range 500 {
				if !runs(child) && !runs(leader) {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if runs(child) || runs(leader) {
				t.Error("something still runs")
			}
			if ds := r.p.CloseLease(t.Context(), "lethe_exec", o.private); ds != nil {
				t.Error(r.show(ds))
			}
			if len(r.calls("closed")) != 1 {
				t.Error("it was not closed")
			}
		})
	}
}

// TestExecLeavesHelpers checks that background processes of open live until another process ends them.
func TestExecLeavesHelpers(t *testing.T) {
	setGrace(t, 100*time.Millisecond)
	r := newRig(t)
	o := r.mustOpen("lethe_exec", map[string]any{
		"open":  sh(`sleep 60 > /dev/null 2>&1 & echo $!`),
		"close": sh(`kill $(sed 's/.*"result":\([0-9]*\).*/\1/')`),
	})
	n, _ := o.GetAttr("result").AsBigFloat().Int64()
	if !runs(int(n)) {
		t.Error("the helper is gone")
	}
	if ds := r.p.CloseLease(t.Context(), "lethe_exec", o.private); ds != nil {
		t.Error(r.show(ds))
	}
	for i := 0; runs(int(n)) && i < 500; i++ {
		time.Sleep(10 * time.Millisecond)
	}
	if runs(int(n)) {
		t.Error("the helper still runs")
	}
	// A background process that keeps the output open does not block open.
	o = r.mustOpen("lethe_exec", map[string]any{"open": sh(`sleep 60 & echo $!`)})
	n, _ = o.GetAttr("result").AsBigFloat().Int64()
	_ = syscall.Kill(int(n), syscall.SIGKILL)
}

// A time limit does not apply to a program that has ended, even if a child process keeps its output open.
func TestExecEndsWithItsProgram(t *testing.T) {
	setGrace(t, 2500*time.Millisecond)
	r := newRig(t)
	o := r.mustOpen("lethe_exec", map[string]any{"timeout": "2s", "open": sh(`sleep 60 & echo $!`)})
	n, _ := o.GetAttr("result").AsBigFloat().Int64()
	_ = syscall.Kill(int(n), syscall.SIGKILL)
}

// A child process has time to clean up, even if the program that started it ends at once.
func TestExecWaitsForWorkers(t *testing.T) {
	setGrace(t, 20*time.Second)
	r := newRig(t)
	_, ds := r.open("lethe_exec", map[string]any{
		"timeout": "2s",
		"open":    sh(`sh -c 'trap "sleep 0.3; echo yes > cleaned; exit 0" TERM; while :; do sleep 0.05; done' > /dev/null 2>&1 & wait`),
	})
	if got := r.show(ds); !strings.Contains(got, "exceeded its time limit of 2s") {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "cleaned")); err != nil {
		t.Error(err)
	}
}

func TestExecRefuses(t *testing.T) {
	r := newRig(t)
	open := sh("true")
	r.refusals("lethe_exec", map[string]refusal{
		"no program":    {map[string]any{"open": []string{}}, "error open: Invalid lethe_exec; open must be a list whose first element is a program"},
		"empty program": {map[string]any{"open": []string{"", "x"}}, "open must be a list"},
		"empty close":   {map[string]any{"open": open, "close": []string{}}, "error close: Invalid lethe_exec; close must be"},
		"duration":      {map[string]any{"open": open, "timeout": "soon"}, "error timeout: Invalid duration; timeout must be a duration greater than zero"},
		"negative":      {map[string]any{"open": open, "timeout": "-1s"}, "timeout must be a duration"},
		"format":        {map[string]any{"open": open, "format": "yaml"}, `format must be "json" or "text"`},
		"only after":    {map[string]any{"open": open, "renew_after": "1m"}, "With renew_after, set renew"},
		"only renew":    {map[string]any{"open": open, "renew": open}, "With renew, set renew_after"},
	})
}
