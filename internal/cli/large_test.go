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
// 512 MB, without its provider processes. Without LETHE_LONG the text has 16 MB and the limit is 160 MB. The peak with
// garbage collection depends on the machine, but the number of copies of the text does not. So commands that destroy
// are also measured without garbage collection.
func TestLargeAttribute(t *testing.T) {
	secondLane(t, needsMuch)
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
		copies float64 // maximum number of copies of the text, without garbage collection; 0: the command runs with garbage collection
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
		peak := peakUntilEnd(s, func() {
			code, out := s.wait()
			if code != 0 {
				t.Errorf("%q: exit code %d:\n%.2000s", args, code, out)
			}
		})
		t.Logf("%q with %d MB: %d MB", args, size, peak)
		if peak < size || peak > most {
			t.Errorf("%q with %d MB in an attribute takes %d MB, and may take %d", args, size, peak, most)
		}
		env = append(env, fmt.Sprintf("PLAYGROUND_ROGUE=Read=big:value=%d", size)) // the test cloud stores only the configured text
	}
}

// TestActionProgress invokes an action that reports 1 GB of progress, in messages of 1 MB. Without LETHE_LONG it
// reports 128 MB. The limit does not depend on the size, because Lethe keeps one message at a time in memory, and the
// beginnings of the messages that it shows.
func TestActionProgress(t *testing.T) {
	if raced {
		t.Skip("the race detector takes two and three times the memory that is measured here")
	}
	const most = 120
	size := 128
	if whole() {
		size = 1024
	}
	p := newProcess(t, fmt.Sprintf(`
action "rogue_act" "a" {
  config {
    stream = "megabytes:%d"
  }
}
`, size))
	s := p.start("apply", "-auto-approve", "-invoke=action.rogue_act.a")
	peak := peakUntilEnd(s, func() {
		code, out := s.wait()
		if code != 0 || !strings.Contains(out, "Actions: 1 invoked.") || strings.Count(out, "(triggered by CLI): xxx") < min(size, 900) || len(out) > 5<<20 {
			t.Errorf("exit code %d, %d bytes:\n%.2000s", code, len(out), out)
		}
	})
	t.Logf("%d MB of progress: %d MB", size, peak)
	if peak > most {
		t.Errorf("%d MB of progress take %d MB, and may take %d", size, peak, most)
	}
}

// peakUntilEnd returns the peak memory of a process in MB. wait waits for the end of the process.
func peakUntilEnd(s *started, wait func()) (peak int) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		wait()
	}()
	for {
		peak = max(peak, highWater(s.cmd.Process.Pid))
		select {
		case <-ended:
			return peak
		case <-time.After(5 * time.Millisecond):
		}
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
