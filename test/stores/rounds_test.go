package stores

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// zones has nodes that are decided in a second round, and a resource without relation to them. The provisioner of a
// cluster waits for a file.
const zones = `
variable "zones" {
  type = list(string)
}
variable "gate" {
  type = string
}
resource "terraform_data" "cluster" {
  input            = var.zones
  triggers_replace = var.zones
  provisioner "local-exec" {
    command = "touch ${var.gate}.begun; until [ -e ${var.gate} ]; do sleep 0.05; done"
  }
}
resource "terraform_data" "node" {
  for_each = toset(terraform_data.cluster.output)
  input    = each.key
}
resource "terraform_data" "other" {
  input = length(var.zones)
}
`

// TestRoundsInRows applies in rounds on a state in rows. A run with -changed plans all rounds. Until the last round, a
// run in rounds locks the whole state, because its later changes are not known.
func TestRoundsInRows(t *testing.T) {
	ours, err := lethe()
	check(t, err)
	p := rowsPlace(startPostgres(t), "rounds")
	gates := t.TempDir()
	at := func(name string, open bool) *directory {
		gate := filepath.Join(gates, name)
		if open {
			check(t, os.WriteFile(gate, nil, 0o600))
		}
		d := newDirectory(t, ours, place{p.backend, append(p.env, "TF_VAR_gate="+gate)})
		d.configure(zones + p.backend)
		return d
	}
	first := at("first", true)
	apply := func(zones string, more ...string) []string {
		return append([]string{"apply", "-no-color", "-rounds=all", "-auto-approve", "-lock-timeout=5m", "-var", "zones=" + zones}, more...)
	}
	if out := first.run(0, apply(`["a"]`, "-changed")...); !strings.Contains(out, "Round 2 complete.") {
		t.Errorf("no second round:\n%s", out)
	}
	first.run(0, "plan", "-changed", "-detailed-exitcode", "-var", `zones=["a"]`)
	first.run(0, "plan", "-detailed-exitcode", "-var", `zones=["a"]`)

	slow, same, other := at("slow", false), at("same", true), at("other", true)
	done := make(chan string, 2)
	start := func(name string, d *directory, args []string) {
		go func() {
			out, err := d.cmd(args...).CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
			done <- name
		}()
	}
	start("slow", slow, apply(`["a","b"]`, "-target=terraform_data.node"))
	for begun := filepath.Join(gates, "slow.begun"); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(begun); err == nil {
			break
		}
	}
	if out := other.run(1, apply(`["a","b","c"]`, "-target=terraform_data.other", "-lock-timeout=0s")...); !strings.Contains(out, "a run that is in progress changes all of the state") {
		t.Errorf("not refused because of the other run:\n%s", out)
	}
	start("same", same, apply(`["a","c"]`, "-target=terraform_data.node"))
	check(t, os.WriteFile(filepath.Join(gates, "slow"), nil, 0o600))
	if name := <-done; name != "slow" {
		t.Errorf("%s ended before slow", name)
	}
	<-done
	if got, want := strings.Join(strings.Fields(first.run(0, "state", "list")), " "), `terraform_data.cluster terraform_data.node["a"] terraform_data.node["c"] terraform_data.other`; got != want {
		t.Errorf("the state has %s", got)
	}
	first.run(2, "plan", "-detailed-exitcode", "-var", `zones=["a","c"]`) // exit code 2, because terraform_data.other changes
	first.run(0, apply(`["a","c"]`, "-changed")...)
	first.run(0, "plan", "-detailed-exitcode", "-var", `zones=["a","c"]`)
}
