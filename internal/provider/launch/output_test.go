//go:build unix

package launch

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lethe-iac/lethe/internal/addr"
)

// everyLine is output with one line of each kind.
var everyLine = strings.Join([]string{
	"plain",
	"[WARN] by prefix",
	"[TRACE] by prefix",
	"[other] prefix",
	`{"@level":"info","@message":"structured","@module":"provider.x","@timestamp":"2026-01-01T00:00:00.000000Z","b":"two words","a":1,"c":["x"]}`,
	`{"@level":"warn","@message":"bare"}`,
	`{"@level":"loud","@message":"no such level"}`,
	`{"@level":"info","@message":5}`,
	`{"@level":7,"@message":"x"}`,
	`{"not": "ours"}`,
	`{broken`,
	"windows\r",
	"",
	strings.Repeat("x", Longest) + "cut off",
	strings.Repeat("y", Longest),
	"panic: everything",
	"goroutine 1 [running]:",
	`{"@level":"info","@message":"meanwhile"}`,
	"main.main()",
	"",
}, "\n")

var everyEntry = []string{
	"debug plain",
	"warn [WARN] by prefix",
	"trace [TRACE] by prefix",
	"debug [other] prefix",
	`info provider.x: structured: a=1 b="two words" c=["x"]`,
	"warn bare",
	`debug {"@level":"loud","@message":"no such level"}`,
	`debug {"@level":"info","@message":5}`,
	`debug {"@level":7,"@message":"x"}`,
	`debug {"not": "ours"}`,
	"debug {broken",
	"debug windows",
	"debug " + strings.Repeat("x", Longest) + "c",
	"debug " + strings.Repeat("y", Longest),
	"error panic: everything",
	"error goroutine 1 [running]:",
	"info meanwhile",
	"error main.main()",
}

// TestLines checks that the lines are the same however the output is split.
func TestLines(t *testing.T) {
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader,
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			w := newLines(func(level, line string) { got = append(got, level+" "+line) })
			if _, err := io.Copy(struct{ io.Writer }{w}, wrap(strings.NewReader(everyLine))); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(everyEntry) {
				t.Fatalf("%d lines, not %d", len(got), len(everyEntry))
			}
			for i, want := range everyEntry {
				if got[i] != want {
					t.Errorf("line %d: %.100q, not %.100q", i, got[i], want)
				}
			}
		})
	}
}

// TestTrace checks the shown part of a crash: the reason and the goroutine that ended the program. A long stack is cut.
// A long reason is not shown.
func TestTrace(t *testing.T) {
	stack := "main.main()\n\t/x/main.go:3 +0x1\n"
	for text, want := range map[string]string{
		"": "", "nothing of the kind\nbad: panic: x\n": "",
		"before\npanic: why\n\ngoroutine 7 [running]:\n" + stack + "\ngoroutine 8 [select]:\n" + stack + "exit status 2\n": "panic: why\n\ngoroutine 7 [running]:\n" + strings.TrimSpace(stack),
		"panic: why\n\ngoroutine 7 [running]:\n" + strings.Repeat("main.f()\n", 1000): "panic: why\n\ngoroutine 7 [running]:\n" +
			strings.Repeat("main.f()\n", mostTrace-3) + "(further lines are not shown)",
		"fatal error: stack overflow\n" + strings.Repeat("main.f()\n", 1000): "(the trace is too long and not shown)",
		"panic: why\n" + strings.Repeat("x", Longest+1) + "\n":               "(the trace is too long and not shown)",
	} {
		var got trace
		if _, err := io.Copy(struct{ io.Writer }{&lines{trace: &got}}, iotest.OneByteReader(strings.NewReader(text))); err != nil || got.String() != want {
			t.Errorf("%.100q gives %q, not %q", text, got.String(), want)
		}
	}
}

// TestOutputOfProcess checks that all output of a process is logged and does not block it.
func TestOutputOfProcess(t *testing.T) {
	var j journal
	writes(t, &j, j.log)
	if strings.Contains(j.text(), "|grpc|") {
		t.Error("the handshake is in the log")
	}
}

// writes lets a process write everyLine. It waits until the journal contains all lines and the process has ended.
func writes(t *testing.T, j *journal, log func(p addr.Provider, level, line string)) {
	ps := processes(t, "protocol 6")
	ps.Log = log
	p := start1(t, ps)
	ask(t, p, "writes")
	for _, line := range everyEntry {
		j.await(t, line)
	}
	j.await(t, "debug to standard output")
	p.Shutdown()
	j.await(t, "debug the process ended: exit status 0")
}

// FuzzLines checks that no output of a process causes a panic or an empty line.
func FuzzLines(f *testing.F) {
	f.Add([]byte(everyLine), 7)
	f.Add([]byte(`{"@level":"error","@message":"x","@module":3,"k":{"a":[null]}}`+"\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		w := newLines(func(level, line string) {
			if level == "" || line == "" {
				t.Fatalf("an empty entry: %q %q", level, line)
			}
		})
		cut = min(max(cut, 0), len(text))
		w.Write(text[:cut])
		w.Write(text[cut:])
	})
}

// TestPanickingLog checks that a panic of the log function loses only the current line. Neither Lethe nor the provider
// ends.
func TestPanickingLog(t *testing.T) {
	var j journal
	writes(t, &j, func(p addr.Provider, level, line string) {
		j.log(p, level, line)
		panic("full")
	})
}
