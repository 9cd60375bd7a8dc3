package funcs

import (
	"github.com/lethe-iac/lethe/internal/limits"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// fuzzed evaluates a call with a string from the fuzzer, with small limits. Each call must return a value or an error.
func fuzzed(f *testing.F, expr string, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	limits := limits.Limits{Elements: 10_000, Bytes: 1 << 20, Nesting: 100, Templates: 10}
	ctx := &hcl.EvalContext{Functions: Table(&Env{BaseDir: "testdata/data", Limits: limits})}
	f.Fuzz(func(t *testing.T, text string) {
		child := ctx.NewChild()
		child.Variables = map[string]cty.Value{"x": cty.StringVal(text)}
		_, diags := eval(child, expr)
		for _, d := range diags {
			if strings.Contains(d.Detail, "internal error") || strings.Contains(d.Detail, "goroutine") {
				t.Errorf("%q: %s", text, d.Detail)
			}
		}
	})
}

func FuzzYAML(f *testing.F) {
	fuzzed(f, `yamldecode(x)`, "a: 1", "- a\n- b: {c: [d]}", "&a [*a]", "a: &x 1\nb: *x", "<<: {a: 1}", "? x\n: y", "!!binary eA==", "| \n text", "'", "---\n---", "{a: [b, {c", "0x1F", ".inf", "2001-12-15")
}

func FuzzTemplate(f *testing.F) {
	fuzzed(f, `templatestring(x, {a = 1, b = ["x"], x = x})`, "a", "${a}", "%{ for v in b }${v}%{ endfor }", "%{ if a > 0 }y%{ else }n%{ endif }", "${templatestring(x, {x = x})}",
		"${[for v in b : v]...}", "$${a}", "${~ a ~}", "${b[0]}", `${"${a}"}`, "${a ? b : a}", "%{", "${", "${format(x, a)}", "${a <<EOT\n}")
}

func FuzzFormat(f *testing.F) {
	fuzzed(f, `[format(x, 1, "a"), formatlist(x, [1, 2], "b")]`, "%d-%s", "%5.2f|%q", "%[2]s %[1]d", "%%", "%v%#v", "%-05d", "%*d", "%", "%[", "%99999999999s", "%é")
}

func FuzzStrings(f *testing.F) {
	fuzzed(f, `[can(regex(x, x)), can(regexall(x, "aXb")), can(replace("aXb", "/${x}/", x)), split(x, x), strrev(x), substr(x, -2, 1), title(x), length(x), indent(1, x), urlencode(x), can(urldecode(x))]`,
		"", "a", "(?P<n>a)|(b)", "é👨‍👩‍👧", "[[:alpha:]]", "$0", "\\Q", "%2", "\u0301")
}

func FuzzParsers(f *testing.F) {
	fuzzed(f, `[can(csvdecode(x)), can(base64decode(x)), can(base64gunzip(x)), can(cidrsubnet(x, 1, 1)), can(cidrcontains(x, x)), can(formatdate(x, x)), can(timeadd(x, x)), can(uuidv5(x, x)), can(parseint(x, 36)), can(tonumber(x)), can(fileset(".", x)), can(rsadecrypt(x, x)), can(textdecodebase64(x, x))]`,
		"a,b\n1,2", `"`, "eA==", "10.0.0.0/8", "fe80::/48", "010.0.0.0/08", "::ffff:1.2.3.4/120", "2020-01-02T03:04:05Z", "YYYY 'x'", "1h", "dns", "zz", "**/*.txt", "{a,b}[", "-----BEGIN RSA PRIVATE KEY-----\n", "utf-8")
}
