package review

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const counted = `variable "v" {
  default = 1
}
resource "terraform_data" "x" {
  count = COUNT
  input = { n = count.index, text = "line 1\nline ${var.v}\nline 3", v = var.v }
}
`

// TestCost checks that the page of a plan costs at most twice the CPU time of its JSON. Both are measured in turn.
func TestCost(t *testing.T) {
	count := "3000"
	if os.Getenv("LETHE_LONG") != "" {
		count = "10000"
	}
	bin, dir := program(t), t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(strings.Replace(counted, "COUNT", count, 1)), 0o600))
	run := func(args ...string) time.Duration {
		cmd := exec.Command(bin, args...)
		cmd.Dir = dir
		must(t, cmd.Run())
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	run("apply", "-auto-approve")
	run("plan", "-var=v=2", "-out=change.plan")
	json, page := time.Hour, time.Hour
	for range 5 {
		json = min(json, run("show", "-json", "change.plan"))
		page = min(page, run("show", "-html=page.html", "change.plan"))
	}
	t.Logf("%s changes: show -json %s, show -html %s of CPU time", count, json, page)
	if page > 2*json {
		t.Errorf("a page costs %s, more than twice %s", page, json)
	}
}
