package lethe

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func count(s, chars string) int {
	n := 0
	for _, r := range s {
		if strings.ContainsRune(chars, r) {
			n++
		}
	}
	return n
}

func TestRandomPassword(t *testing.T) {
	r := newRig(t)
	lower, upper, digits, special := classes[0].chars, classes[1].chars, classes[2].chars, classes[3].chars
	for name, c := range map[string]struct {
		given   map[string]any
		length  int
		allowed string
		least   map[string]int
	}{
		"plain":     {map[string]any{"length": 24}, 24, lower + upper + digits + special, nil},
		"one":       {map[string]any{"length": 1, "lower": false, "upper": false, "special": false}, 1, digits, nil},
		"letters":   {map[string]any{"length": 4096, "numeric": false, "special": false, "upper": true}, 4096, lower + upper, nil},
		"minimums":  {map[string]any{"length": 10, "min_lower": 1, "min_upper": 2, "min_numeric": 3, "min_special": 4}, 10, lower + upper + digits + special, map[string]int{lower: 1, upper: 2, digits: 3, special: 4}},
		"some":      {map[string]any{"length": 8, "min_special": 6}, 8, lower + upper + digits + special, map[string]int{special: 6}},
		"own":       {map[string]any{"length": 30, "min_special": 10, "override_special": "ä€€-"}, 30, lower + upper + digits + "ä€-", map[string]int{"ä€-": 10}},
		"zero":      {map[string]any{"length": 5, "special": false, "min_special": 0}, 5, lower + upper + digits, nil},
		"and bytes": {map[string]any{"length": 5, "bytes": 3}, 5, lower + upper + digits + special, nil},
	} {
		o := r.mustOpen("lethe_random", c.given)
		pw := o.text("password")
		if len([]rune(pw)) != c.length || count(pw, c.allowed) != c.length {
			t.Errorf("%s: %q", name, pw)
		}
		for chars, n := range c.least {
			if count(pw, chars) < n {
				t.Errorf("%s: fewer than %d of %q in %q", name, n, chars, pw)
			}
		}
		if o.private != nil || !o.renewAt.IsZero() {
			t.Errorf("%s: there is something to renew or close", name)
		}
	}
}

func TestRandomBytes(t *testing.T) {
	r := newRig(t)
	o := r.mustOpen("lethe_random", map[string]any{"bytes": 32})
	b, err1 := base64.StdEncoding.DecodeString(o.text("base64"))
	h, err2 := hex.DecodeString(o.text("hex"))
	if err1 != nil || err2 != nil || len(b) != 32 || string(b) != string(h) || o.text("password") != "<null>" {
		t.Errorf("%x %x %v %v", b, h, err1, err2)
	}
	if o := r.mustOpen("lethe_random", map[string]any{"length": 3}); o.text("base64") != "<null>" || o.text("hex") != "<null>" {
		t.Error("bytes that nobody asked for")
	}
}

// TestRandomIsFair checks that all characters of a class are about equally frequent at each position. The probability
// of a deviation above one half is below one in 10^100.
func TestRandomIsFair(t *testing.T) {
	r := newRig(t)
	seen := map[rune]int{}
	first := map[rune]int{}
	const rounds = 10
	for range rounds {
		pw := r.mustOpen("lethe_random", map[string]any{"length": 4000, "lower": false, "upper": false, "special": false, "min_numeric": 4000}).text("password")
		for i, c := range pw {
			seen[c]++
			if i < 1000 {
				first[c]++
			}
		}
	}
	for c := '0'; c <= '9'; c++ {
		if n := seen[c]; n < 4000*rounds/20 || n > 4000*rounds/5 {
			t.Errorf("%c came %d times of %d", c, n, 4000*rounds)
		}
		if first[c] == 0 {
			t.Errorf("%c is never in front", c)
		}
	}
	if a, b := r.mustOpen("lethe_random", map[string]any{"length": 40}), r.mustOpen("lethe_random", map[string]any{"length": 40}); a.text("password") == b.text("password") {
		t.Error("the same password twice")
	}
}

func TestRandomRefuses(t *testing.T) {
	r := newRig(t)
	r.refusals("lethe_random", map[string]refusal{
		"nothing":        {nil, "error length: Invalid lethe_random; Set length for a password"},
		"zero":           {map[string]any{"length": 0}, "length must be a whole number from 1 to 4096"},
		"half":           {map[string]any{"length": 1.5}, "length must be a whole number"},
		"huge":           {map[string]any{"length": float64(1 << 40)}, "length must be a whole number"},
		"many bytes":     {map[string]any{"bytes": 4097}, "error bytes: Invalid lethe_random; bytes must be a whole number from 1 to 4096"},
		"no class":       {map[string]any{"length": 5, "lower": false, "upper": false, "numeric": false, "special": false}, "All characters are excluded"},
		"too many":       {map[string]any{"length": 5, "min_lower": 3, "min_upper": 3}, "add up to more than the length"},
		"negative":       {map[string]any{"length": 5, "min_lower": -1}, "error min_lower: Invalid lethe_random; min_lower must be"},
		"excluded":       {map[string]any{"length": 5, "min_lower": 1, "lower": false}, "min_lower requires characters that lower = false excludes"},
		"empty special":  {map[string]any{"length": 5, "override_special": ""}, "override_special must contain at least one character"},
		"control":        {map[string]any{"length": 5, "override_special": "a\n"}, "no control characters"},
		"known too many": {map[string]any{"length": 2, "min_lower": 3, "bytes": 1}, "add up to more"},
	})
}

// TestRandomPartlyUnknown checks that errors which do not depend on unknown values are reported.
func TestRandomPartlyUnknown(t *testing.T) {
	r := newRig(t)
	s := r.schema(ephemeral, "lethe_random")
	unknown := cty.UnknownVal(cty.Number)
	for name, c := range map[string]struct {
		given map[string]any
		want  string
	}{
		"length":  {map[string]any{"length": unknown, "min_lower": 9}, ""},
		"minimum": {map[string]any{"length": 3, "min_lower": unknown, "min_upper": 2}, ""},
		"wrong":   {map[string]any{"length": unknown, "min_lower": 1, "lower": false}, "excludes"},
	} {
		ds := r.p.Validate(t.Context(), ephemeral, "lethe_random", r.encode(s, r.config(s, c.given)))
		if got := r.show(ds); got != "" && c.want == "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
