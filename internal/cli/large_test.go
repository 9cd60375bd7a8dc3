//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLargeAttribute creates, reads, plans, saves in a plan and destroys an attribute of 70 MB. Each command may use
// 512 MB, without its provider processes. Without LETHE_LONG the text has 16 MB and the limit is 160 MB. Garbage
// collection depends on the machine, but the number of copies does not. So commands that destroy are also measured
// without garbage collection.
func TestLargeAttribute(t *testing.T) {
	if raced {
		t.Skip("the race detector takes two and three times the memory that is measured here")
	}
	size, most := 16, 160
	if whole() {
		size, most = 70, 512
	}
	p := newProcess(t, fmt.Sprintf(`
resource "rogue_thing" "a" {
  name      = "a"
  misbehave = "Apply=big:value=%d"
}
`, size))
	state, env := filepath.Join(p.dir, "terraform.tfstate"), p.env
	var kept []byte
	for i, step := range []struct {
		args   []string
		copies float64 // of the text, without garbage collection; 0: with garbage collection
	}{
		{[]string{"apply", "-auto-approve"}, 0},
		{[]string{"plan", "-detailed-exitcode"}, 0},
		{[]string{"plan", "-refresh=false", "-detailed-exitcode"}, 0},
		{[]string{"plan", "-out=p"}, 0},
		{[]string{"apply", "p"}, 0},
		{[]string{"plan", "-destroy", "-out=p"}, 9.5},
		{[]string{"plan", "-destroy", "-out=p"}, 0},
		{[]string{"apply", "p"}, 9},
		{[]string{"apply", "p"}, 0},
	} {
		args, most := step.args, most
		p.env = env
		if step.copies > 0 {
			most = int(step.copies*float64(size)) + 40
			p.env = append(slices.Clip(env), "GOGC=off")
		}
		switch { // restore the state of the destroyed object
		case i == 7:
			kept, _ = os.ReadFile(state)
		case i == 8:
			p.write("terraform.tfstate", string(kept))
		}
		s := p.start(args...)
		peak := 0
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			code, out := s.wait()
			if code != 0 {
				t.Errorf("%q: exit code %d:\n%.2000s", args, code, out)
			}
		}()
		for going := true; going; {
			if mb := highWater(s.cmd.Process.Pid); mb > peak {
				peak = mb
			}
			select {
			case <-ended:
				going = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		t.Logf("%q with %d MB: %d MB", args, size, peak)
		if peak < size || peak > most {
			t.Errorf("%q with %d MB in an attribute takes %d MB, and may take %d", args, size, peak, most)
		}
		env = append(env, fmt.Sprintf("PLAYGROUND_ROGUE=Read=big:value=%d", size)) // the test cloud stores only the configured text
	}
}

// highWater returns the peak memory of a process in MB, and 0 if the process has ended.
func highWater(pid int) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	kb, _ := strconv.Atoi(fields[0])
	return kb >> 10
}
