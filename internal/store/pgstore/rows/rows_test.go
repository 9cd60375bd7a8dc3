package rows

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// joined splits doc, stores the rows, and joins the stored rows. It returns false if Split refuses doc.
func joined(t *testing.T, doc []byte) ([]byte, bool) {
	t.Helper()
	type row struct {
		k     Kind
		cells [][]byte
	}
	var all []row
	head, ok := Split(doc, func(k Kind, _ Digest, cells [][]byte) {
		stored := Stored(k, cells)
		for i, c := range stored {
			stored[i] = bytes.Clone(c)
		}
		all = append(all, row{k, stored})
	})
	if !ok {
		return nil, false
	}
	var out bytes.Buffer
	j := NewJoiner(&out)
	j.Head(head)
	for _, r := range all {
		j.Row(r.k, r.cells)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), true
}

// TestOdd checks that Split refuses documents that rows cannot reproduce.
func TestOdd(t *testing.T) {
	for _, doc := range []string{
		"", "1", "{}", "[]", "null", `{"version":4}`, `{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}`,
	} {
		if got, ok := joined(t, []byte(doc)); ok {
			t.Errorf("%q makes %q", doc, got)
		}
	}
}

// TestDigests checks that the digest of a row changes with a cell, and that the digests of other rows stay.
func TestDigests(t *testing.T) {
	doc, err := os.ReadFile("../../../state/testdata/terraform-1.11.4.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	digests := func(doc string) map[Digest]bool {
		m := map[Digest]bool{}
		if _, ok := Split([]byte(doc), func(_ Kind, d Digest, _ [][]byte) { m[d] = true }); !ok {
			t.Fatal("not split")
		}
		return m
	}
	before := digests(string(doc))
	after := digests(strings.Replace(string(doc), `"schema_version": 0`, `"schema_version": 1`, 1))
	same := 0
	for d := range after {
		if before[d] {
			same++
		}
	}
	if same != len(before)-1 || len(after) != len(before) {
		t.Errorf("of %d rows, %d are the same", len(before), same)
	}
}

// BenchmarkSplit splits the state in the file LETHE_STATE, or a state of the tests if it is not set.
func BenchmarkSplit(b *testing.B) {
	name := os.Getenv("LETHE_STATE")
	if name == "" {
		name = "../../../state/testdata/terraform-1.11.4.tfstate"
	}
	doc, err := os.ReadFile(name)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Split(doc, func(Kind, Digest, [][]byte) {}); !ok {
			b.Fatal("not split")
		}
	}
}
