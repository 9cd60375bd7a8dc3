package cli_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// windows are configurations with one lease (ephemeral resource), with minimum, the shortest possible time between its
// opening and closing. One resource that uses the lease needs nearly all of this time.
var windows = []struct {
	name, config string
	minimum      time.Duration
	opens        int // number of openings in plan and apply together; Terraform may open the lease more often
}{
	{"consumer beside something slow", lease + consumer("1s") + slow("u", "", "3s"), time.Second, 2},
	{"consumer before something slow", lease + consumer("1s") + slow("after", "depends_on = [playground_secret.a]", "2s"), time.Second, 2},
	{"through a provider", lease + `
provider "playground" {
  alias = "x"
  token = ephemeral.playground_lease.l.token
}
` + slow("through", "provider = playground.x", "1s") + slow("u", "", "2500ms"), time.Second, 2},
	{"nobody receives it", lease + slow("u", "", "100ms") + "locals {\n  x = ephemeral.playground_lease.l.token\n}\n", 0, 0},
	{"provisioner after something slow", lease + `
resource "playground_thing" "a" {
  name  = "a"
  delay = "2s"
  provisioner "local-exec" {
    command     = "sleep 1"
    environment = { TOKEN = ephemeral.playground_lease.l.token }
  }
}
`, time.Second, 1},
}

const lease = `
ephemeral "playground_lease" "l" {
  name = "l"
}
`

func consumer(delay string) string {
	return `
resource "playground_secret" "a" {
  name              = "a"
  secret_wo         = ephemeral.playground_lease.l.token
  secret_wo_version = 1
  delay             = "` + delay + `"
}
`
}

func slow(name, line, delay string) string {
	return `
resource "playground_thing" "` + name + `" {
  name  = "` + name + `"
  delay = "` + delay + `"
  ` + line + `
}
`
}

// BenchmarkOpenWindows measures how long leases are open, in the log of provider calls, for Lethe and Terraform. It
// prints the shortest time of three runs.
func BenchmarkOpenWindows(b *testing.B) {
	for _, w := range windows {
		for _, engine := range []string{"lethe", "terraform"} {
			b.Run(strings.ReplaceAll(w.name, " ", "_")+"/"+engine, func(b *testing.B) {
				if _, err := exec.LookPath(engine); err != nil {
					b.Skip(engine + " is not on PATH")
				}
				best, opens := time.Hour, 0
				for range 3 {
					p := newProcessFor(b, w.config)
					cmd := exec.Command(engine, "apply", "-auto-approve")
					cmd.Dir, cmd.Env = p.dir, p.env
					if out, err := cmd.CombinedOutput(); err != nil {
						b.Fatalf("%s", out)
					}
					longest, n := p.held(b)
					best, opens = min(best, longest), n
				}
				if engine == "lethe" && opens != w.opens {
					b.Errorf("opened %d times, not %d", opens, w.opens)
				}
				b.ReportMetric(float64(best.Milliseconds()), "window-ms")
				b.ReportMetric(float64(w.minimum.Milliseconds()), "minimum-ms")
				b.ReportMetric(float64(opens), "opens")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// held returns the longest time between the end of an opening and the start of its closing, and the number of openings,
// according to the call log.
func (p *process) held(b *testing.B) (longest time.Duration, opens int) {
	f, err := os.Open(filepath.Join(p.dir, ".calls"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var open int64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var call struct {
			Call, Phase string
			Start, End  int64
		}
		if json.Unmarshal(lines.Bytes(), &call) != nil || call.Phase != "" {
			continue
		}
		switch call.Call {
		case "OpenEphemeralResource":
			open, opens = call.End, opens+1
		case "CloseEphemeralResource":
			longest = max(longest, time.Duration(call.Start-open))
		}
	}
	return longest, opens
}
