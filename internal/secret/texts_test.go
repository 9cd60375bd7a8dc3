package secret

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestTexts checks that an index finds the strings that its texts contain, and no others.
func TestTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for range 20 {
		b := make([]byte, r.IntN(300))
		for i := range b {
			b[i] = "abcde\x00\xff"[r.IntN(7)]
		}
		texts = append(texts, string(b))
	}
	all := strings.Join(texts, "\x01")
	index := NewTexts(texts)
	for range 20000 {
		from := r.IntN(len(all))
		s := all[from:min(len(all), from+r.IntN(24))]
		if r.IntN(2) == 0 {
			s += "e"
		}
		if got, want := index.Contain(s), strings.Contains(all, s) && !strings.Contains(s, "\x01"); got != want {
			t.Fatalf("%q: %v", s, got)
		}
	}
	if NewTexts(nil).Contain("12345678") || !NewTexts([]string{"12345678"}).Contain("12345678") {
		t.Error("the bounds are wrong")
	}
}

func BenchmarkTexts(b *testing.B) {
	var file strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&file, "resource \"aws_instance\" \"i%d\" {\n  name = \"instance-%d\"\n}\n", i, i)
	}
	texts := []string{file.String()}
	b.SetBytes(int64(len(texts[0])))
	for b.Loop() {
		index := NewTexts(texts)
		for i := range 1000 {
			index.Contain(fmt.Sprintf("secret-value-%d-of-many", i))
		}
	}
}
