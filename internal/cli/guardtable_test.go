//go:build unix

package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A guardRow is a row of the table in docs/reference/secret-guard.md, with a test for each cell. The table lists the
// values that the guard (the check of provider answers) knows. In the tests, the provider leaks the text guardText.
type guardRow struct {
	value, known, masked, refused string // the four cells of the row

	config string // the configuration besides the objects "given" and "other"
	given  string // the write-only argument of the object "given"
	env    string // environment variables for the commands
	call   string // the first provider call in whose log the value is masked
	shown  bool   // an attribute of the object "other" may contain the value, and the plan shows the value
	logged bool   // messages and logs contain the value
	in     string // the object that may not contain the value; "": no object
	kept   string // an object that may contain the value
}

const guardText = "table-5e7d-0123"

// guardVariables declares the ephemeral document local.doc and the sensitive document local.s. guardDoc is the JSON
// text of both documents. guardLease is an ephemeral resource with an argument in place of %s that the schema does not
// mark sensitive.
const (
	guardVariables = `
variable "v" {
  ephemeral = true
}
variable "s" {
  sensitive = true
}
locals {
  doc = jsondecode(var.v)
  s   = jsondecode(var.s)
}
`
	guardDoc   = `{"t":"` + guardText + `"}`
	guardLease = `
ephemeral "rogue_lease" "l" {
  provider = rogue.leases
  name     = "l"
  tags = {
    t = %s
  }
}
resource "rogue_thing" "user" {
  name      = "user"
  secret_wo = ephemeral.rogue_lease.l.id
}
`
)

var guardRows = []guardRow{
	{
		value: "ephemeral root variable", known: "start of the run", masked: "yes", refused: "yes",
		config: "variable \"e\" {\n  ephemeral = true\n}\n", env: "TF_VAR_e=" + guardText, call: "Configure", in: "other",
	}, {
		value: "computed result of an ephemeral resource that the schema calls sensitive, or whose schema calls no result sensitive",
		known: "its opening; logs wait for it", masked: "yes", refused: "yes",
		config: "ephemeral \"lethe_exec\" \"l\" {\n  open   = [\"sh\", \"-c\", \"cat > /dev/null; echo $LEASED\"]\n  format = \"text\"\n}\n",
		given:  "ephemeral.lethe_exec.l.result", env: "LEASED=" + guardText, call: "Validate/given", in: "other",
	}, {
		value: "other computed result of an ephemeral resource, such as the version of a secret", known: "its opening; logs wait for it",
		masked: "in messages and logs, unless it is in plain configuration", refused: "no",
		config: "ephemeral \"rogue_lease\" \"l\" {\n  provider  = rogue.leases\n  name      = \"l\"\n  misbehave = \"Open=leak:value\"\n}\n",
		given:  "ephemeral.rogue_lease.l.id", call: "Validate/given", shown: true, kept: "other",
	}, {
		value: "write-only argument with an ephemeral value, and its pieces", known: "validation of the object", masked: "yes", refused: "yes",
		given: `"x-${local.doc.t}"`, call: "Validate/given", in: "given",
	}, {
		value: "write-only argument with a sensitive value, and its pieces, from any source: variable, default, local, module, provider",
		known: "validation of the object", masked: "yes", refused: "yes, in that object; other objects may keep it",
		given: `"x-${local.s.t}"`, call: "Validate/given", in: "given", kept: "other",
	}, {
		value: "ephemeral argument that the schema calls sensitive, of a provider or ephemeral resource, and its pieces",
		known: "its evaluation", masked: "yes", refused: "yes",
		config: "provider \"rogue\" {\n  token = \"Bearer ${local.doc.t}\"\n  misbehave = \"MISBEHAVE\"\n}\n", call: "ValidateProvider", in: "other",
	}, {
		value: "other ephemeral argument of these, of a provisioner, of a provider's function, and its pieces",
		known: "its evaluation", masked: "yes, unless it is in plain configuration", refused: "no",
		config: fmt.Sprintf(guardLease, `"x-${local.doc.t}"`), call: "Open/l", kept: "other",
	}, {
		value: "piece of any of these ephemeral arguments that is the password in a URL", known: "its evaluation", masked: "yes", refused: "yes",
		config: fmt.Sprintf(guardLease, `"pg://u:${local.doc.t}@db"`), call: "Open/l", in: "other",
	}, {
		value: "piece of any of these arguments that is the host, user or database in a connection string",
		known: "its evaluation", masked: "yes, unless it is in plain configuration", refused: "no",
		given: `"pg://u:p@${local.doc.t}/db"`, call: "Validate/given", kept: "given",
	}, {
		value: "sensitive argument of a provider, ephemeral resource or provisioner, and its pieces", known: "its evaluation",
		masked:  "in messages and logs, unless it is in plain configuration; elsewhere by its mark only",
		refused: "no",
		config:  "provider \"rogue\" {\n  token = \"Bearer ${local.s.t}\"\n  misbehave = \"MISBEHAVE\"\n}\n", call: "ValidateProvider", shown: true, kept: "other",
	}, {
		value: "other sensitive value", known: "", masked: "by its mark only; not in messages and logs of providers", refused: "no",
		config: "resource \"rogue_thing\" \"plain\" {\n  name = \"plain\"\n  note = local.s.t\n}\n", shown: true, logged: true, kept: "other",
	},
}

// TestGuardTable checks each row of the table in docs/reference/secret-guard.md.
func TestGuardTable(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/reference/secret-guard.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| value | known from |")
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(table, "\n")[2:]
	for i, line := range lines {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for c := range cells {
			cells[c] = strings.TrimSpace(cells[c])
		}
		if i >= len(guardRows) {
			t.Errorf("no test for the row %q", line)
			continue
		}
		if r := guardRows[i]; len(cells) != 4 || r.value != cells[0] || r.known != cells[1] || r.masked != cells[2] || r.refused != cells[3] {
			t.Errorf("the test of row %d is of another text than %q", i, line)
		}
	}
	if len(lines) != len(guardRows) {
		t.Errorf("%d rows, %d tests", len(lines), len(guardRows))
	}
	for _, r := range guardRows {
		t.Run(r.value, func(t *testing.T) {
			if r.call != "" {
				t.Run("known from", func(t *testing.T) { t.Parallel(); r.testKnown(t) })
			}
			t.Run("masked", func(t *testing.T) { t.Parallel(); r.testMasked(t) })
			if r.in != "" {
				t.Run("refused", func(t *testing.T) { t.Parallel(); r.testRefused(t) })
			}
			if r.kept != "" {
				t.Run("kept", func(t *testing.T) { t.Parallel(); r.testKept(t) })
			}
			if strings.Contains(r.masked, "unless it is in plain configuration") {
				t.Run("plain", func(t *testing.T) { t.Parallel(); r.testPlain(t) })
			}
		})
	}
}

// start creates a directory with the configuration of the row and of more. rules are the misdeeds of the provider, such
// as "Create/other=leak-log".
func (r guardRow) start(t *testing.T, more string, rules ...string) *process {
	config := guardVariables + r.config + more + "provider \"rogue\" {\n  alias = \"leases\"\n}\n"
	given := r.given
	if given == "" {
		given = "null"
	}
	config += "resource \"rogue_thing\" \"given\" {\n  name      = \"given\"\n  secret_wo = " + given + "\n}\n" +
		"resource \"rogue_thing\" \"other\" {\n  name       = \"other\"\n  depends_on = [rogue_thing.given]\n}\noutput \"other\" {\n  value = rogue_thing.other.leaked\n}\n"
	all := strings.Join(rules, ";")
	if strings.HasPrefix(all, "ValidateProvider") { // the rule applies only to the provider block in r.config
		config, all = strings.ReplaceAll(config, "MISBEHAVE", all), ""
	}
	config = strings.ReplaceAll(config, "MISBEHAVE", "")
	return newProcess(t, config, "TF_VAR_v="+guardDoc, "TF_VAR_s="+guardDoc, r.env, "TF_LOG=trace", "TF_LOG_PATH=log",
		"PLAYGROUND_ROGUE="+all, "PLAYGROUND_ROGUE_SECRET="+guardText)
}

// log returns the file log in the directory of p, the log of its commands.
func (p *process) log() string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// testKnown checks that the value is masked in the log of the call r.call, because the guard knows the value from this
// call on.
func (r guardRow) testKnown(t *testing.T) {
	p := r.start(t, "", r.call+"=leak-log")
	_, out := p.run("plan", "-no-color")
	if log := p.log(); !strings.Contains(log, "the secret is (") || strings.Contains(log, guardText) {
		at := strings.Index(log, guardText)
		t.Errorf("the log is not masked:\n%s\n%s", out, log[max(0, at-300):max(0, at)])
	}
}

// testMasked checks that the value is in messages, in logs and on the screen only if the row allows it.
func (r guardRow) testMasked(t *testing.T) {
	p := r.start(t, "", "Create/other=leak-warning", "Create/other=leak-log")
	_, out := p.run("apply", "-auto-approve", "-no-color")
	for what, text := range map[string]string{"message": out, "log": p.log()} {
		if strings.Contains(text, guardText) != r.logged || !strings.Contains(strings.ToLower(text), "the secret is ") {
			t.Errorf("the %s has it: %v\n%s", what, !r.logged, out)
		}
	}
	if r.in == "" {
		p := r.start(t, "", "Create/other=leak:leaked")
		if _, out := p.run("apply", "-auto-approve", "-no-color"); strings.Contains(out, guardText) != r.shown {
			t.Errorf("the screen shows it: %v\n%s", !r.shown, out)
		}
	}
}

// testRefused checks that the value is rejected in attributes, private data, identities and results of functions.
func (r guardRow) testRefused(t *testing.T) {
	calls := []string{"Create/" + r.in + "=leak:leaked", "Create/" + r.in + "=leak-private:json,base64", "Create/" + r.in + "=leak-identity"}
	if r.kept == "" {
		calls = append(calls, "Call=leak:")
	}
	for _, rule := range calls {
		p := r.start(t, "output \"f\" {\n  value = provider::rogue::echo(rogue_thing.other.id)\n}\n", rule)
		code, out := p.run("apply", "-auto-approve", "-no-color")
		if n := strings.Count(out, "returned the secret") + strings.Count(out, "put the secret"); n != 1 || code == 0 {
			t.Errorf("%s: exit code %d, %d reports:\n%s", rule, code, n, out)
		}
		state, _ := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate"))
		if strings.Contains(string(state)+out, guardText) {
			t.Errorf("%s: it is in the state, or on the screen:\n%s", rule, out)
		}
	}
}

// testKept checks that an object may contain the value, and that no error is reported.
func (r guardRow) testKept(t *testing.T) {
	for _, rule := range []string{"leak:leaked", "leak-private:", "leak-identity"} {
		p := r.start(t, "", "Create/"+r.kept+"="+rule)
		code, out := p.run("apply", "-auto-approve", "-no-color")
		if state, _ := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate")); code != 0 || len(state) == 0 {
			t.Errorf("%s: exit code %d:\n%s", rule, code, out)
		}
	}
}

// testPlain checks that a value that is also literal in the configuration is shown.
func (r guardRow) testPlain(t *testing.T) {
	p := r.start(t, "locals {\n  plain = \""+guardText+"\"\n}\n", "Create/other=leak-warning", "Create/other=leak-log")
	_, out := p.run("apply", "-auto-approve", "-no-color")
	if !strings.Contains(out, "The secret is "+guardText) || !strings.Contains(p.log(), "the secret is "+guardText) {
		t.Errorf("it is masked although it is plain:\n%s", out)
	}
}
