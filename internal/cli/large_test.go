//go:build linux

package cli_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestLargeAttribute: a text of 70 MB in an attribute is made, read, planned and kept in a plan with less than 512 MB, of 16 MB without
// LETHE_LONG with as much less. To destroy it takes more (docs/reliability.md), and is not held to that. What provider processes take is theirs.
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
	for _, args := range [][]string{
		{"apply", "-auto-approve"},
		{"plan", "-detailed-exitcode"},
		{"plan", "-refresh=false", "-detailed-exitcode"},
		{"plan", "-out=p"},
		{"apply", "p"},
	} {
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
		p.env = append(p.env, fmt.Sprintf("PLAYGROUND_ROGUE=Read=big:value=%d", size)) // the cloud of the tests keeps what was asked for
	}
}

// highWater is the most memory that a process had so far, in MB; 0 if it is gone.
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
