package stateview

import (
	"strings"
	"testing"
)

// TestTable checks that the columns of a table begin at the same character in each line, also after characters of
// several bytes. An empty cell is written as "-".
func TestTable(t *testing.T) {
	var b strings.Builder
	if err := table(&b, [][]string{{"WHO", "RUN"}, {"jörg@büro", "1"}, {"ann\x1b@office", ""}}); err != nil {
		t.Fatal(err)
	}
	if want := "WHO               RUN\njörg@büro         1\nann\\u{1b}@office  -\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
