//go:build unix

package cli_test

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMisdeeds lets a provider get secrets out at random: a value, a part of it or what it is packed into, from any source,
// by any exit, at any moment. None gets into a file or onto the screen, and what would have been stored is reported once.
func TestMisdeeds(t *testing.T) {
	draws := 40
	if os.Getenv("LETHE_LONG") != "" {
		draws = 1000
	}
	const whole, part = "misdeed-41d7/whole+secret", "misdeed-41d7-part"
	sources := []string{"var.v", "local.l", "ephemeral.rogue_lease.l.tags.t", "base64decode(base64encode(var.v))", "module.m.o", "var.s"}
	exits := []struct{ moments, deed, reports string }{
		{"Create Update", "leak:leaked", "invalid object"},
		{"Create Update", "leak-private:json,base64", "invalid object"},
		{"Create", "leak:id", "invalid object"},
		{"Create", "leak-identity", "invalid object"},
		{"Create Update", "set:leaked=" + part, "invalid object"},
		{"Create Update", `set:leaked="` + base64.StdEncoding.EncodeToString([]byte("x "+part)) + `"`, "invalid object"},
		{"Create Update", "leak-packed:leaked=json,base64", "invalid object"},
		{"Validate Plan Apply", "leak-warning", ""},
		{"Validate Plan Apply", "leak-error", ""},
		{"Plan Apply", "leak-log:json,base64", ""},
	}
	for i := range draws {
		r := rand.New(rand.NewPCG(uint64(i), 41))
		source, exit := sources[r.IntN(len(sources))], exits[r.IntN(len(exits))]
		moments := strings.Fields(exit.moments)
		object := "a"
		if strings.Contains(exit.deed, "set:") {
			object = "b" // which is given the part
		}
		rule := moments[r.IntN(len(moments))] + "/" + object + "=" + exit.deed
		t.Run(fmt.Sprintf("%d %s %s", i, source, strings.ReplaceAll(rule, part, "part")), func(t *testing.T) {
			t.Parallel()
			p := newProcess(t, fmt.Sprintf(misdeeds, source), "PLAYGROUND_ROGUE=", "PLAYGROUND_CANARY="+whole,
				"TF_VAR_v={\"w\":\""+whole+"\",\"p\":\""+part+"\"}", "TF_VAR_s={\"w\":\""+whole+"\",\"p\":\""+part+"\"}", "TF_LOG=trace", "TF_LOG_PATH=log")
			if err := os.MkdirAll(filepath.Join(p.dir, "m"), 0o700); err != nil {
				t.Fatal(err)
			}
			p.write("m/main.tf", "variable \"i\" {\n  ephemeral = true\n}\noutput \"o\" {\n  value     = var.i\n  ephemeral = true\n}\n")
			if code, out := p.run("init"); code != 0 {
				t.Fatal(out)
			}
			var all string
			if strings.HasPrefix(rule, "Update") || strings.HasPrefix(rule, "Read") {
				_, all = p.run("apply", "-auto-approve", "-no-color")
			}
			p.env = append(p.env, "PLAYGROUND_ROGUE="+rule)
			_, out := p.run("apply", "-auto-approve", "-no-color", "-var=note=other")
			all += out
			if n := strings.Count(out, "Provider produced "+exit.reports); exit.reports != "" && (n == 0 || strings.Count(out, "returned the secret")+strings.Count(out, "put the secret") != 1) {
				t.Errorf("%d reports:\n%s", n, out)
			}
			_ = filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, ".calls") && !strings.Contains(path, "/.cloud/") {
					text, _ := os.ReadFile(path)
					all += string(text)
				}
				return nil
			})
			for _, secret := range []string{whole, part, base64.StdEncoding.EncodeToString([]byte("x " + part))} {
				if at := strings.Index(all, secret); at >= 0 {
					t.Errorf("%s is out: ...%s", secret, all[max(0, at-300):at+len(secret)])
				}
			}
		})
	}
}

// misdeeds is a configuration in which a document of secrets goes from a source to a write-only argument.
const misdeeds = `
variable "v" {
  ephemeral = true
}
variable "s" {
  sensitive = true
}
variable "note" {
  default = "first"
}
locals {
  l = var.v
}
module "m" {
  source = "./m"
  i      = var.v
}
ephemeral "rogue_lease" "l" {
  name = "l"
  tags = {
    t = var.v
  }
}
locals {
  doc = jsondecode(%s)
}
resource "rogue_thing" "a" {
  name      = "a"
  note      = var.note
  secret_wo = "${local.doc["w"]}"
}
resource "rogue_thing" "b" {
  name      = "b"
  note      = var.note
  secret_wo = "pg://u:${local.doc["p"]}@${ephemeral.rogue_lease.l.name}"
}
`
