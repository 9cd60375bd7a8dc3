package style

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what comes out into the golden file")

// formatCases returns the cases of testdata/format.txtar, which are pairs of files NAME.in and NAME.out. If a name
// begins with "ours-", the peers have another result.
func formatCases(t testing.TB) map[string][2][]byte {
	t.Helper()
	ar, err := txtar.ParseFile("testdata/format.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2][]byte{}
	for _, f := range ar.Files {
		name, kind, _ := strings.Cut(f.Name, ".")
		c := out[name]
		if kind == "in" {
			c[0] = f.Data
		} else {
			c[1] = f.Data
		}
		out[name] = c
	}
	return out
}

func TestFormat(t *testing.T) {
	if *update {
		updateFormat(t)
	}
	for name, c := range formatCases(t) {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(string(c[1]), string(formatted(c[0]))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			checkStable(t, c[0])
		})
	}
}

func updateFormat(t *testing.T) {
	ar, err := txtar.ParseFile("testdata/format.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := &txtar.Archive{Comment: ar.Comment}
	for _, f := range ar.Files {
		if name, ok := strings.CutSuffix(f.Name, ".in"); ok {
			out.Files = append(out.Files, f, txtar.File{Name: name + ".out", Data: formatted(f.Data)})
		}
	}
	if err := os.WriteFile("testdata/format.txtar", txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzFormat starts from the cases of this package and the golden cases of package config.
func FuzzFormat(f *testing.F) {
	for _, c := range formatCases(f) {
		f.Add(c[0])
	}
	names, err := filepath.Glob("../testdata/load/*.txtar")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkStable(t, text) })
}

// checkStable checks that formatting twice has the same result as formatting once, and that valid text remains valid.
func checkStable(t *testing.T, src []byte) {
	t.Helper()
	var bag diag.Bag
	once, ok := Format("x.tf", src, &bag)
	if !ok {
		return
	}
	twice, ok := Format("x.tf", once, &bag)
	if !ok {
		t.Errorf("formatting %q gives %q, which is not valid: %v", src, once, bag.List())
	}
	if !bytes.Equal(once, twice) {
		t.Errorf("formatting %q\ngives %q\nthen  %q", src, once, twice)
	}
}

// variants returns other forms of the same text.
func variants(src []byte) [][]byte {
	s := string(src)
	return [][]byte{
		src,
		[]byte(strings.TrimSuffix(s, "\n")),
		[]byte(strings.ReplaceAll(s, "\n", "\r\n")),
		[]byte("\ufeff" + s),
		[]byte(strings.ReplaceAll(s, "  ", "\t")),
	}
}

// TestFormatAsThePeerDoes checks that the results are equal to the results of Terraform, if terraform is installed.
func TestFormatAsThePeerDoes(t *testing.T) {
	peer, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("there is no terraform on PATH to compare with")
	}
	var texts [][]byte
	for name, c := range formatCases(t) {
		if !strings.HasPrefix(name, "ours-") {
			texts = append(texts, variants(c[0])...)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for len(texts) < *documents {
		text := (&scribe{Rand: r}).file()
		if _, ds := hclsyntax.ParseConfig(text, "", hcl.InitialPos); !ds.HasErrors() {
			texts = append(texts, text)
		}
	}
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.tf", i)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(peer, "fmt", "-list=false", "-no-color", dir)
	cmd.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for i, text := range texts {
		want, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.tf", i)))
		if err != nil {
			t.Fatal(err)
		}
		// If the peer's result changes when it is formatted again, Lethe's result is the final form.
		if got := formatted(text); !bytes.Equal(got, want) && !bytes.Equal(got, formatted(want)) {
			t.Errorf("%q\n(-peer +ours)\n%s", text, cmp.Diff(string(want), string(got)))
		}
		checkStable(t, text)
	}
}

var documents = flag.Int("documents", 500, "how many texts to compare with the peer")

// scribe writes random configuration in bad style.
type scribe struct {
	*rand.Rand
	b     bytes.Buffer
	depth int
}

func (s *scribe) file() []byte {
	for range 1 + s.IntN(4) {
		s.item()
	}
	return s.b.Bytes()
}

func (s *scribe) one(of ...string) { s.b.WriteString(of[s.IntN(len(of))]) }

func (s *scribe) space() { s.one("", " ", "  ", "\t", " ") }

func (s *scribe) end() {
	s.space()
	s.one("\n", "\n", "\n", " # why\n", "// because\n", "\n\n", "\n\n\n", "# é\n", " /* c */\n")
}

func (s *scribe) item() {
	s.space()
	switch s.IntN(10) {
	case 0:
		s.one("# alone\n", "// alone\n", "/* two\n lines */\n")
	case 1, 2, 3:
		s.block()
	default:
		s.attr()
	}
}

var attrs = 0

func (s *scribe) attr() {
	attrs++
	fmt.Fprintf(&s.b, "%s%d", []string{"a", "bb", "long_name", "type", "x"}[s.IntN(5)], attrs)
	s.space()
	s.b.WriteByte('=')
	s.space()
	s.expr(false)
	s.end()
}

func (s *scribe) block() {
	s.one("resource", "variable", "locals", "provider", "dynamic")
	for range s.IntN(3) {
		s.one(" ", "  ")
		s.one(`"aws"`, `"x y"`, "plain", `"é"`, "a-b")
	}
	s.space()
	s.b.WriteByte('{')
	if s.IntN(5) == 0 {
		s.space()
		s.b.WriteString("}")
		s.end()
		return
	}
	s.end()
	s.depth++
	if s.depth < 4 {
		for range s.IntN(5) {
			s.item()
		}
	}
	s.depth--
	s.space()
	s.b.WriteByte('}')
	s.end()
}

// expr writes an expression. If bracketed is true, lines may end anywhere in it.
func (s *scribe) expr(bracketed bool) {
	if s.depth++; s.depth > 7 {
		s.one("1", "x", `"s"`)
		s.depth--
		return
	}
	gap := func() {
		if bracketed && s.IntN(6) == 0 {
			s.one("\n", "\n", "# c\n", "/* c */")
		}
		s.space()
	}
	sub := func(in bool) { s.expr(bracketed || in) }
	switch s.IntN(22) {
	case 0, 1:
		s.one("1", "-1", "1.5e3", "true", "null", "0")
	case 2, 3:
		s.one("x", "var.foo", "aws_x.y[0].z", "a.*.b", "a[*].b", `m["k"]`, "a . b")
	case 4, 5:
		s.one(`"plain"`, `""`, `"a ${x}"`, `"${x}"`, `"${ x }"`, `"%{ if x }y%{ endif }"`, `"é$${x}"`, `"\"q\""`, `"${a}${b}"`, `"${~x~}"`)
	case 6:
		s.b.WriteString(`"${`)
		gap()
		sub(false)
		gap()
		s.b.WriteString(`}"`)
	case 7, 8:
		s.b.WriteByte('(')
		gap()
		sub(true)
		gap()
		s.b.WriteByte(')')
	case 9, 10:
		s.list(true)
	case 11, 12:
		s.object()
	case 13:
		s.one("f", "provider::a::b", "jsonencode")
		s.b.WriteByte('(')
		for range s.IntN(3) {
			s.expr(true)
			s.space()
			s.b.WriteByte(',')
			s.space()
		}
		s.expr(true)
		s.one("", "", "...")
		s.b.WriteByte(')')
	case 14, 15:
		sub(false)
		gap()
		s.one("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "&&", "||")
		gap()
		sub(false)
	case 16:
		sub(false)
		s.space()
		s.b.WriteByte('?')
		gap()
		sub(false)
		gap()
		s.b.WriteByte(':')
		s.space()
		sub(false)
	case 17:
		s.one("!", "-")
		s.space()
		s.one("x", "(y)", "f(1)")
	case 18:
		s.b.WriteString("[")
		gap()
		s.one("for x in y", "for k,v in  z", "for x in[1]")
		s.space()
		s.b.WriteByte(':')
		s.space()
		s.expr(true)
		s.one("", " if x", "  if  x != null")
		s.b.WriteString("]")
	case 19:
		s.b.WriteString("{ for k, v in x :k=>")
		s.expr(false)
		s.one("", "...", " if v")
		s.one("}", " }")
	case 20:
		s.one("x", "f(1)", "y.z")
		s.b.WriteByte('[')
		s.space()
		s.one("0", "k", `"s"`, "f(x)", "each.key", "i + 1") // the peer loses other constants here
		s.b.WriteByte(']')
	case 21:
		s.one("x", "y")
	}
	s.depth--
}

func (s *scribe) list(lines bool) {
	s.b.WriteByte('[')
	for range s.IntN(4) {
		if s.IntN(3) == 0 {
			s.one("\n", "\n  ", " # c\n")
		}
		s.expr(true)
		s.space()
		s.b.WriteByte(',')
		s.space()
	}
	if s.IntN(3) == 0 {
		s.expr(true)
	}
	s.one("", "\n", " ")
	s.b.WriteByte(']')
}

func (s *scribe) object() {
	s.b.WriteByte('{')
	lines := s.IntN(2) == 0
	n := s.IntN(4)
	for i := range n {
		if lines {
			s.end()
		}
		s.one("a", `"b"`, "(c)", "long_key", `"${d}"`)
		s.space()
		s.one("=", "=", "=", ":")
		s.space()
		s.expr(false)
		s.space()
		if !lines && i < n-1 {
			s.b.WriteByte(',')
		}
	}
	if lines {
		s.end()
	}
	s.space()
	s.b.WriteByte('}')
}

// formatted returns a text in the canonical style. If the text cannot be parsed, formatted returns it unchanged.
func formatted(src []byte) []byte {
	out, _ := Format("", src, &diag.Bag{})
	return out
}
