//go:build unix

package cli_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A misdeed is one random case: a secret from a source, the provider call (moment) that leaks it, and the part of the
// answer (exit) that contains it.
type misdeed struct {
	source       string // an expression that returns the document of secrets
	part, layers string // the key of the secret in the document ("w" or "p"), and the encodings of the secret, the innermost first
	moment, exit string // a name in misdeedMoments, and an exit of this moment
	token        bool   // the provider is configured with the value
	early        bool   // the call comes before the validation of the object
}

// misdeedMoments lists the calls of providers, and the exits: the parts of their answers that may contain a text. Early
// calls come before the validation of the object, in which Lethe learns the secret, so the log of such a call may
// contain the secret (docs/reference/secret-guard.md).
var misdeedMoments = []struct {
	name, calls, exits string
	early              bool
}{
	{"configure", "Configure", "warning error log", false},
	{"validate", "Validate/OBJECT", "warning error log", false},
	{"plan", "Plan/OBJECT", "computed id identity private warning error log deferred", false},
	{"apply", "Create/OBJECT", "computed id identity private warning error log", false},
	{"update", "Update/OBJECT", "computed id identity private warning error log", false},
	{"destroy", "Delete/OBJECT", "warning error log", false},
	{"read", "Read/OBJECT", "computed identity private warning error deferred", true},
	{"refresh", "Read/OBJECT", "computed identity private warning error deferred", true},
	{"read to destroy", "Read/OBJECT", "computed identity private warning error deferred", true},
	{"data", "ReadData/d", "value warning error", true},
	{"import", "Import", "computed identity private warning error", true},
	{"import command", "Import", "computed identity private warning error", true},
	{"upgrade", "Upgrade/OBJECT", "computed warning error", true},
	{"move", "Move/m", "computed identity private warning error", true},
	{"open", "Open/l", "private warning error log deferred", false},
	{"renew", "Renew/l", "private warning error log", false},
	{"close", "Close/l", "warning error log", false},
	{"function", "Call", "result func-error", true},
}

var misdeedSources = []string{
	"var.v", "local.l", "ephemeral.rogue_lease.l.tags.t", "base64decode(base64encode(var.v))", `join("", [var.v])`, "module.m.o", "var.s", "module.m.s",
}

// misdeedStored are the exits (parts of an answer) whose data is stored. In these parts, the guard (the check of
// answers) rejects the secret and reports it. In the other parts, it masks the secret.
const misdeedStored = "computed id identity private value result"

func drawMisdeed(r *rand.Rand) misdeed {
	pick := func(all []string) string { return all[r.IntN(len(all))] }
	m := misdeedMoments[r.IntN(len(misdeedMoments))]
	d := misdeed{source: pick(misdeedSources), part: pick([]string{"w", "p"}), moment: m.name, exit: pick(strings.Fields(m.exits)), early: m.early}
	if d.sensitive() && (d.moment == "data" || d.moment == "function") {
		d.source = "local.l" // data sources and functions may return a sensitive value, so use an ephemeral source
	}
	if strings.HasPrefix(d.source, "ephemeral") && slices.Contains([]string{"refresh", "destroy", "read to destroy", "import command"}, d.moment) {
		d.source = "local.l" // an ephemeral resource is not opened in these calls
	}
	if r.IntN(2) == 0 {
		d.layers = pick([]string{"json", "base64", "json,base64", "hex", "url", "gzip,base64", "base64,json"})
	}
	d.token = d.moment == "configure" || !d.sensitive() && r.IntN(4) == 0
	return d
}

// sensitive reports whether the source is sensitive and not ephemeral, so that other objects may store the value.
func (d misdeed) sensitive() bool { return strings.HasSuffix(d.source, ".s") }

// object returns the name of the object whose write-only argument has d.part, the secret.
func (d misdeed) object() string { return map[string]string{"w": "a", "p": "b"}[d.part] }

func (d misdeed) rules() string {
	var deed string
	switch d.exit {
	case "computed", "deferred":
		deed = "leak-packed:leaked=" + d.layers
		if d.moment == "open" {
			deed = "leak-packed:value=" + d.layers
		}
	case "id", "value":
		deed = "leak-packed:" + d.exit + "=" + d.layers
	case "result":
		deed = "leak-packed:=" + d.layers
	default:
		deed = "leak-" + d.exit + ":" + d.layers
	}
	for _, m := range misdeedMoments {
		if m.name != d.moment {
			continue
		}
		call := strings.ReplaceAll(m.calls, "OBJECT", d.object())
		rules := call + "=" + deed
		if d.exit == "deferred" {
			rules += ";" + call + "=defer:1"
		}
		if d.moment == "renew" {
			rules += ";Open=renew:1ms"
		}
		return rules
	}
	return ""
}

func (d misdeed) String() string {
	return strings.Join([]string{d.source, d.part, d.layers, d.exit, d.moment, strconv.FormatBool(d.token)}, " ")
}

// TestMisdeeds lets a provider leak secrets at random: a whole value, a part of it or an encoding of it, from any
// source, through any exit, at any moment. No secret may reach a file or the screen, and each secret that would have
// been stored must be reported once. A failure prints the number of its case, and LETHE_MISDEED set to this number
// repeats the case.
func TestMisdeeds(t *testing.T) {
	secondLane(t, drawsRandom)
	t.Parallel()
	draws, seed := 40, uint64(41)
	if os.Getenv("LETHE_LONG") != "" {
		draws, seed = 1000, uint64(time.Now().Unix())
	}
	if text := os.Getenv("LETHE_MISDEED"); text != "" {
		if _, err := fmt.Sscanf(text, "%d", &seed); err != nil {
			t.Fatal(err)
		}
		draws = 1
	}
	for i := range uint64(draws) {
		d := drawMisdeed(rand.New(rand.NewPCG(seed+i, 0)))
		t.Run(fmt.Sprintf("%d %s", seed+i, d), func(t *testing.T) {
			t.Parallel()
			d.run(t)
		})
	}
}

const misdeedWhole, misdeedPart = "misdeed-41d7/whole+secret", "misdeed-41d7-part"

func (d misdeed) run(t *testing.T) {
	text := map[string]string{"w": misdeedWhole, "p": misdeedPart}[d.part]
	doc, _ := json.Marshal(map[string]string{"w": misdeedWhole, "p": misdeedPart})
	config := strings.ReplaceAll(misdeeds, "SOURCE", d.source)
	if d.token {
		misbehave := ""
		if d.moment == "configure" {
			misbehave = d.rules() // the rules apply only to this provider block
		}
		config += fmt.Sprintf("provider \"rogue\" {\n  token     = \"Bearer ${local.doc[%q]}\"\n  misbehave = %q\n}\n", d.part, misbehave)
	} else {
		config += "provider \"rogue\" {}\n"
	}
	p := newProcess(t, config, "PLAYGROUND_ROGUE=", "PLAYGROUND_ROGUE_SECRET="+text, "TF_VAR_v="+string(doc), "TF_VAR_s="+string(doc))
	if !d.early {
		p.env = append(p.env, "TF_LOG=trace", "TF_LOG_PATH=log")
	}
	if d.moment == "open" || d.moment == "renew" { // the calls open and renew may come before the validation of an object, in which Lethe would learn the secret
		p.env = append(p.env, "TF_VAR_e="+text)
	}
	if err := os.MkdirAll(filepath.Join(p.dir, "m"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.write("m/main.tf", misdeedsModule)
	const moved = "moved {\n  from = rogue_nesting.m\n  to   = rogue_thing.m\n}\nresource \"rogue_thing\" \"m\" {\n  name = \"m\"\n}\n"
	p.write("m.tf", "resource \"rogue_nesting\" \"m\" {\n  name = \"m\"\n}\n")
	if code, out := p.run("init"); code != 0 {
		t.Fatal(out)
	}
	command := []string{"apply", "-auto-approve", "-no-color", "-var=note=other"}
	var all string
	run := func(want int, args ...string) {
		code, out := p.run(args...)
		if all += out; code != want {
			t.Fatal(out)
		}
	}
	switch d.moment {
	case "update", "read", "upgrade":
		run(0, "apply", "-auto-approve", "-no-color")
	case "refresh":
		run(0, "apply", "-auto-approve", "-no-color")
		command = append(command, "-refresh-only")
	case "destroy", "read to destroy":
		run(0, "apply", "-auto-approve", "-no-color")
		command = []string{"destroy", "-auto-approve", "-no-color", "-refresh=" + strconv.FormatBool(d.early)}
	case "import", "import command":
		run(0, "apply", "-auto-approve", "-no-color")
		_, shown := p.run("state", "show", "-no-color", "rogue_thing."+d.object())
		id := regexp.MustCompile(`rogue-[0-9a-f]+`).FindString(shown)
		run(0, "state", "rm", "rogue_thing."+d.object())
		if d.moment == "import command" {
			command = []string{"import", "-no-color", "rogue_thing." + d.object(), id}
			break
		}
		p.write("import.tf", fmt.Sprintf("import {\n  to = rogue_thing.%s\n  id = %q\n}\n", d.object(), id))
	case "move":
		run(0, "apply", "-auto-approve", "-no-color")
		p.write("m.tf", strings.ReplaceAll(moved, "name = ", fmt.Sprintf("secret_wo = \"x-${local.doc[%q]}\"\n  name = ", d.part)))
	}
	if d.moment != "configure" {
		p.env = append(p.env, "PLAYGROUND_ROGUE="+d.rules())
	}
	code, out := p.run(command...)
	all += out
	reports := strings.Count(out, "returned the secret") + strings.Count(out, "put the secret")
	switch {
	case strings.Contains(" "+misdeedStored+" ", " "+d.exit+" ") && !(d.moment == "open" || d.moment == "renew"):
		if reports != 1 || code == 0 {
			t.Errorf("exit code %d and %d reports:\n%s", code, reports, out)
		}
	case reports != 0:
		t.Errorf("%d reports:\n%s", reports, out)
	case strings.Contains(d.exit, "error") && d.moment != "renew" && d.moment != "close" && strings.Count(out, "The secret is ") != 1:
		t.Errorf("the error is not there once:\n%s", out)
	}
	_ = filepath.WalkDir(p.dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasSuffix(path, ".calls") && !strings.Contains(path, "/.cloud/") {
			text, _ := os.ReadFile(path)
			all += "\n" + path + ":\n" + string(text)
		}
		return nil
	})
	for _, form := range append(packings(text, d.layers), misdeedWhole, misdeedPart) {
		if at := strings.Index(all, form); at >= 0 {
			t.Errorf("%s is out: ...%s", form, all[max(0, at-600):at+len(form)])
		}
	}
}

// packings returns a text, and the text after each of the encodings in layers, which are applied one after another.
func packings(text, layers string) []string {
	all := []string{text}
	for layer := range strings.SplitSeq(layers, ",") {
		switch layer {
		case "json":
			b, _ := json.Marshal(map[string]string{"k": text})
			text = string(b)
		case "base64":
			text = base64.StdEncoding.EncodeToString([]byte(text))
		case "hex":
			text = hex.EncodeToString([]byte(text))
		case "url":
			text = url.QueryEscape(text)
		case "gzip":
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = w.Write([]byte(text))
			_ = w.Close()
			text = b.String()
		}
		all = append(all, text)
	}
	return all
}

// misdeedsModule is a module that forwards values.
const misdeedsModule = `
variable "i" {
  ephemeral = true
}
variable "s" {
  sensitive = true
}
output "o" {
  value     = var.i
  ephemeral = true
}
output "s" {
  value     = var.s
  sensitive = true
}
`

// misdeeds is a configuration in which a document of secrets is passed from a source to a write-only argument, as a
// whole and in parts.
const misdeeds = `
variable "v" {
  ephemeral = true
}
variable "s" {
  sensitive = true
}
variable "e" {
  default   = null
  ephemeral = true
}
variable "note" {
  default = "first"
}
locals {
  l   = var.v
  doc = jsondecode(SOURCE)
}
module "m" {
  source = "./m"
  i      = var.v
  s      = var.s
}
provider "rogue" {
  alias = "leases"
}
ephemeral "rogue_lease" "l" {
  provider = rogue.leases
  name     = "l"
  tags = {
    t = var.v
  }
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
data "rogue_thing" "d" {
  name = "d"
}
output "f" {
  value = provider::rogue::echo("${rogue_thing.a.name}${rogue_thing.b.name}")
}
`
