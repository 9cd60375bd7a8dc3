package secret

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf16"
)

// TestWordsInPlainTexts compares words with a search that reads every character.
func TestWordsInPlainTexts(t *testing.T) {
	plain := func(c *code, text string) (ends []int, values []byte) {
		for i := 0; i < len(text); i++ {
			if c.value[text[i]] == none {
				continue
			}
			begin := len(values)
			for i < len(text) {
				if v := c.value[text[i]]; v != none {
					values = append(values, v)
					i++
					continue
				}
				next := i
				if c.wraps {
					next = wrapped(text, i)
				} else if text[i] == ':' {
					next = wrapped(text, i+1)
				}
				if next == i || next == len(text) || c.value[text[next]] == none {
					break
				}
				i = next
			}
			if len(values)-begin < c.least {
				values = values[:begin]
				continue
			}
			ends = append(ends, len(values))
		}
		return ends, values
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"aaaaaab0f \n", "aaaa:\r\n\t ", "aaaaaaaa0a.", "a\n  :.", "aaaaaaaaaaaaaaaaaaaaZ\n\r\t :,"} {
		for range 3000 {
			text := make([]byte, r.IntN(120))
			for i := range text {
				text[i] = alphabet[r.IntN(len(alphabet))]
			}
			for _, c := range []*code{&base64Code, &hexCode} {
				ends, values := plain(c, string(text))
				if got := c.words(string(text), true, func([]byte) bool { return true }); !slices.Equal(got.ends, ends) || !slices.Equal(got.values, values) || len(got.at) != len(values) {
					t.Fatalf("%q, %d bits: %v, want %v", text, c.bits, got.ends, ends)
				}
			}
		}
	}
}

// TestExcludedWords checks that excludes excludes no word in whose bytes a secret, a text, an archive or UTF-16 may be,
// and that it excludes most other words.
func TestExcludedWords(t *testing.T) {
	var s Set
	s.Add("hunter2-canary", Origin{})
	s.Add("\x01\x90\x02\x91\x03\x92\x04\x93\x05", Origin{})
	var wide []byte
	for _, c := range utf16.Encode([]rune("some text")) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	r := rand.New(rand.NewPCG(1, 2))
	excluded, all := 0, 0
	for _, inside := range []string{"", "hunter2-", "\x01\x90\x02\x91\x03\x92\x04\x93", "\x1f\x8b\x08", string(wide[:12]), string(wide[1:14]), "any text", "naïve ö", "日本語。"} {
		for range 20000 {
			b := make([]byte, 8+r.IntN(24))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			copy(b[r.IntN(len(b)):], inside)
			word := base64.RawStdEncoding.EncodeToString(b)[r.IntN(4):]
			values := make([]byte, len(word))
			for i := range word {
				values[i] = base64Code.value[word[i]]
			}
			excludes, holds := s.table.excludes(values), s.table.decodesToAny(values, letterBits)
			if excludes && holds {
				t.Fatalf("%q with %q is excluded", b, inside)
			}
			if inside == "" && !holds {
				all++
				if excludes {
					excluded++
				}
			}
		}
	}
	if excluded*10 < all*7 {
		t.Errorf("only %d of %d words are excluded", excluded, all)
	}
}
