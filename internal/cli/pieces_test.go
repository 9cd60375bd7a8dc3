//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pieceExpressions convert PIECE, a part of a document of secrets, before it is passed to a write-only argument.
var pieceExpressions = []string{
	`"a${PIECE}b"`, `upper(PIECE)`, `format("%s-%s", "a", PIECE)`, `format("%q", PIECE)`, `formatlist("%s-x", [PIECE])[0]`, `replace("PLACE-x", "PLACE", PIECE)`,
	`replace(PIECE, "0", "1")`, `join(":", ["u", PIECE])`, `join(":", [for k, v in { p = PIECE, q = 1 } : "${k}=${v}"])`, `join(":", values({ p = PIECE, q = "x" }))`,
	`jsonencode({ pw = PIECE })`, `jsonencode({ a = { b = [PIECE] } })`, `yamlencode({ pw = [PIECE, "x"] })`, `base64encode("u:${PIECE}")`, `base64gzip(PIECE)`,
	`urlencode(PIECE)`, `sha256(PIECE)`, `md5(jsonencode([PIECE]))`, `true ? "x${PIECE}" : "no"`, `try("x${PIECE}", "no")`, `coalesce("x${PIECE}", "no")`,
	`lookup({ a = "x${PIECE}" }, "a", "")`, `merge({ a = "x${PIECE}" }, { b = 1 })["a"]`, `element(["x${PIECE}"], 0)`, `[for x in [PIECE] : "x${x}"][0]`,
	`"x${join("", [PIECE][*])}"`, `one(toset(["x${PIECE}"]))`, `tolist(toset([for x in [PIECE] : upper(x)]))[0]`, `zipmap(["a"], ["x${PIECE}"])["a"]`,
	`flatten([["x${PIECE}"], []])[0]`, `split(",", "x,${PIECE}")[1]`, `split("@", "u:${PIECE}@h")[0]`, `substr("xx${PIECE}", 1, -1)`, `trimprefix("xx${PIECE}", "xx")`,
	`reverse(["x${PIECE}"])[0]`, `strrev(PIECE)`, `chomp("${PIECE}\n")`, `indent(2, "a\n${PIECE}")`, `regex("^(.*)$", "x${PIECE}")[0]`,
	`regexall("[a-z0-9-]+", "x ${PIECE}")[1]`, `templatefile("t.tftpl", { p = PIECE })`, `templatestring(local.template, { p = PIECE })`,
	`templatefile("v.tftpl", { v = var.v, k = "pN" })`, `templatefile("w.tftpl", { v = var.v, k = "pN" })`,
	`provider::rogue::echo("x${PIECE}")`, `sensitive("x${PIECE}")`, `csvdecode("a,b\n1,${PIECE}")[0].b`, `"%{ for x in [PIECE] }${x};%{ endfor }"`,
	`"%{ if PIECE != "" }${PIECE}!%{ endif }"`, `title(PIECE)`, `textencodebase64(PIECE, "UTF-16LE")`, `module.m[N].o`, `local.deep[N].b[0]`, `local.joined[N]`,
}

// TestPieces passes secrets through all kinds of functions to write-only arguments. If a provider returns such a
// secret, it must be reported once for each object and not be stored.
func TestPieces(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ephemeral", "sensitive"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			doc, rules := map[string]string{}, []string{}
			config := "variable \"v\" {\n  " + kind + " = true\n}\nlocals {\n  template = \"$${p}-x\"\n  doc      = jsondecode(var.v)\n" +
				"  deep     = [for k in range(100) : { b = [\"x${try(local.doc[\"p${k}\"], \"\")}\"] }]\n" +
				"  joined   = [for k in range(100) : join(\",\", toset([\"x${try(local.doc[\"p${k}\"], \"\")}\", \"y\"]))]\n}\n" +
				"module \"m\" {\n  source = \"./m\"\n  count  = " + fmt.Sprint(len(pieceExpressions)) + "\n  v      = var.v\n  k      = \"p${count.index}\"\n}\n"
			for i, e := range pieceExpressions {
				p, secret := fmt.Sprintf("local.doc.p%d", i), fmt.Sprintf("piece-5c1e-%03d", i)
				doc[fmt.Sprintf("p%d", i)] = secret
				rules = append(rules, fmt.Sprintf("Create/r%d=set:leaked=%s", i, secret))
				e = strings.ReplaceAll(strings.ReplaceAll(e, "PIECE", p), "[N]", fmt.Sprintf("[%d]", i))
				e = strings.ReplaceAll(e, `"pN"`, fmt.Sprintf("\"p%d\"", i))
				config += fmt.Sprintf("resource \"rogue_thing\" \"r%d\" {\n  name      = \"r%d\"\n  secret_wo = %s\n}\n", i, i, e)
			}
			v, _ := json.Marshal(doc)
			p := newProcess(t, config, "TF_VAR_v="+string(v), "PLAYGROUND_ROGUE="+strings.Join(rules, ";"))
			if err := os.MkdirAll(filepath.Join(p.dir, "m"), 0o700); err != nil {
				t.Fatal(err)
			}
			p.write("m/main.tf", "variable \"v\" {\n  "+kind+" = true\n}\nvariable \"k\" {}\noutput \"o\" {\n  value = \"x${jsondecode(var.v)[var.k]}\"\n  "+kind+" = true\n}\n")
			p.write("t.tftpl", "x-${upper(p)}-y")
			p.write("v.tftpl", "x-${upper(jsondecode(v)[k])}-y")
			p.write("w.tftpl", "%{ for x in [v] }${upper(jsondecode(x)[k])};%{ endfor }")
			if code, out := p.run("init"); code != 0 {
				t.Fatal(out)
			}
			_, out := p.run("apply", "-auto-approve", "-no-color")
			for i, e := range pieceExpressions {
				if n := strings.Count(out, fmt.Sprintf("in \"rogue_thing.r%d.leaked\"", i)); n != 1 {
					t.Errorf("%s: %d reports", e, n)
				}
			}
			state, _ := os.ReadFile(filepath.Join(p.dir, "terraform.tfstate"))
			if at := strings.Index(out+string(state), "piece-5c1e"); at >= 0 {
				t.Errorf("a secret is out:\n%s", (out + string(state))[max(0, at-500):])
			}
		})
	}
}
