package cli_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilled kills the program at random moments of an apply. Every object that the provider created must be in the
// state, or the next plan must report that the outcome of its call is unknown. The state file must always be complete.
func TestKilled(t *testing.T) {
	t.Parallel()
	times := 4
	if os.Getenv("LETHE_LONG") != "" {
		times = 200
	}
	for range times {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			killed(t, 0)
		})
	}
}

// TestKilledLargeState kills an apply with a large state at random moments, because a large state takes time to write.
// The state has 2 MB, and 50 MB with LETHE_LONG.
func TestKilledLargeState(t *testing.T) {
	secondLane(t, needsMuch)
	t.Parallel()
	runs := map[int]int{2: 2}
	if os.Getenv("LETHE_LONG") != "" {
		runs = map[int]int{2: 60, 50: 30}
	}
	for mb, times := range runs {
		for range times {
			t.Run(fmt.Sprintf("%d MB", mb), func(t *testing.T) {
				t.Parallel()
				killed(t, mb)
			})
		}
	}
}

// TestKilledEncrypted kills an apply with an encrypted state at a random moment. The journal is encrypted, too, and no
// file contains plain text of the state or the journal.
func TestKilledEncrypted(t *testing.T) {
	secondLane(t, needsMuch)
	t.Parallel()
	killed(t, 0, `TF_ENCRYPTION={"key_provider":{"pbkdf2":{"k":{"passphrase":"correct horse battery staple","iterations":200000}}},"method":{"aes_gcm":{"m":{"keys":"key_provider.pbkdf2.k"}}},"state":{"method":"method.aes_gcm.m","enforced":true}}`)
}

// killed kills an apply at a random moment, and checks the state file, the files beside it and the next plan. mb is the
// size of the initial state in megabytes, 0 for none. env has additional variables of the environment.
func killed(t *testing.T, mb int, env ...string) {
	config := `
resource "playground_thing" "a" {
  count = 200
  name  = "a-${count.index}"
  delay = "10ms"
}
`
	if mb > 0 {
		config += `
resource "terraform_data" "large" {
  lifecycle {
    ignore_changes = [input]
  }
}
`
	}
	p := newProcess(t, config, env...)
	if mb > 0 {
		text := fmt.Sprintf(`{"value": %q, "type": "string"}`, strings.Repeat("x", mb<<19)) // the state contains the text twice
		p.write("terraform.tfstate", fmt.Sprintf(`{"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l", "outputs": {}, "resources": [{"mode": "managed", "type": "terraform_data", "name": "large", "provider": "provider[\"terraform.io/builtin/terraform\"]", "instances": [{"schema_version": 0, "attributes": {"id": "i", "input": %s, "output": %s, "triggers_replace": null}}]}], "check_results": null}`, text, text))
	}
	s := p.start("apply", "-auto-approve", "-parallelism", "4")
	p.seen("ApplyResourceChange", `"phase":"begin"`)
	time.Sleep(rand.N(time.Second + time.Duration(mb)*20*time.Millisecond)) // the test is about a kill at any moment
	s.cmd.Process.Kill()
	s.wait()
	made := p.settled()
	if len(env) > 0 {
		files, _ := filepath.Glob(filepath.Join(p.dir, "terraform.tfstate*"))
		for _, f := range files {
			if text, _ := os.ReadFile(f); strings.Contains(string(text), "playground_thing") {
				t.Errorf("%s is not encrypted", f)
			}
		}
		if len(files) == 0 {
			t.Error("there is no journal")
		}
	}

	if text, err := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate")); err == nil && !json.Valid(text) {
		t.Errorf("the state file is torn: %.2000q", text)
	}
	code, plan := p.run("plan", "-no-color")
	if code != 0 {
		t.Fatalf("plan after the kill:\n%s", plan)
	}
	_, list := p.run("state", "pull")
	for _, name := range made {
		known := strings.Contains(list, `"`+name+`"`)
		named := strings.Contains(plan, "playground_thing.a["+strings.TrimPrefix(name, "a-")+"]: the outcome")
		if !known && !named {
			t.Errorf("%s was made and is lost", name)
		}
	}
	if mb > 0 && len(list) < mb<<20 {
		t.Errorf("of %d MB there are %d bytes", mb, len(list))
	}
	if code, out := p.run("plan", "-detailed-exitcode"); code == 1 {
		t.Errorf("the plan after that:\n%s", out)
	}
}

// settled waits until the providers have ended, and returns the names of the objects that they created.
func (p *process) settled() []string {
	p.t.Helper()
	p.until("the providers have ended", func() bool {
		log, _ := os.ReadFile(filepath.Join(p.dir, ".calls"))
		for line := range strings.Lines(string(log)) {
			var call struct {
				Call string
				Pid  int
			}
			if json.Unmarshal([]byte(line), &call) == nil && call.Call == "start" && runs(call.Pid) {
				return false
			}
		}
		return true
	})
	files, _ := filepath.Glob(filepath.Join(p.dir, ".cloud/playground_thing.*.json"))
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "playground_thing.thing-"), ".json"))
	}
	return names
}

// runs reports whether a process exists and has not ended.
func runs(pid int) bool {
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		_, state, _ := strings.Cut(string(stat), ") ")
		return !strings.HasPrefix(state, "Z")
	}
	process, err := os.FindProcess(pid)
	return err == nil && process.Signal(syscall.Signal(0)) == nil
}
