package lethe

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"math/big"
	"slices"
	"strings"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/builtin"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// longest is the maximum length of a password, and the maximum number of random bytes.
const longest = 4096

// class is a class of characters in a password. The names of the arguments and their defaults are the same as in the
// provider random.
type class struct{ name, min, chars string }

var classes = []class{
	{"lower", "min_lower", "abcdefghijklmnopqrstuvwxyz"},
	{"upper", "min_upper", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
	{"numeric", "min_numeric", "0123456789"},
	{"special", "min_special", "!@#$%&*()-_=+[]{}<>:?"},
}

// random returns the ephemeral type lethe_random, which creates a password or random bytes.
func random() *builtin.Ephemeral {
	return &builtin.Ephemeral{
		Schema: describe("A random password, or random bytes, different each time the resource is opened.",
			schema.Optional("length", cty.Number, "The length of the password."),
			schema.Optional("lower", cty.Bool, "Whether to use lower-case letters; default: true."),
			schema.Optional("upper", cty.Bool, "Whether to use upper-case letters; default: true."),
			schema.Optional("numeric", cty.Bool, "Whether to use digits; default: true."),
			schema.Optional("special", cty.Bool, "Whether to use other characters; default: true."),
			schema.Optional("min_lower", cty.Number, "The minimum number of lower-case letters."),
			schema.Optional("min_upper", cty.Number, "The minimum number of upper-case letters."),
			schema.Optional("min_numeric", cty.Number, "The minimum number of digits."),
			schema.Optional("min_special", cty.Number, "The minimum number of other characters."),
			schema.Optional("override_special", cty.String, "The other characters, instead of "+classes[3].chars),
			schema.Optional("bytes", cty.Number, "The number of random bytes."),
			computed("password", cty.String, "The password; null if no length is given."),
			computed("base64", cty.String, "The bytes in base64; null if no number of bytes is given."),
			computed("hex", cty.String, "The bytes as hexadecimal digits."),
		),
		Validate: func(config cty.Value) provider.Diags {
			_, ds := readRecipe(config)
			return ds
		},
		Open: openRandom,
	}
}

func openRandom(_ context.Context, config cty.Value) (builtin.Lease, provider.Diags) {
	r, ds := readRecipe(config)
	if ds.HasErrors() {
		return builtin.Lease{}, ds
	}
	out := config.AsValueMap()
	none := cty.NullVal(cty.String)
	out["password"], out["base64"], out["hex"] = none, none, none
	if r.length > 0 {
		out["password"] = cty.StringVal(r.password())
	}
	if r.bytes > 0 {
		b := make([]byte, r.bytes)
		rand.Read(b)
		out["base64"] = cty.StringVal(base64.StdEncoding.EncodeToString(b))
		out["hex"] = cty.StringVal(hex.EncodeToString(b))
	}
	return builtin.Lease{Result: cty.ObjectVal(out)}, nil
}

// recipe has the lengths and characters of a password and of random bytes.
type recipe struct {
	length, bytes int
	all           []rune
	least         []atLeast
}

type atLeast struct {
	n     int
	chars []rune
}

// readRecipe reads the known arguments of the configuration. It returns errors for invalid arguments.
func readRecipe(config cty.Value) (recipe, provider.Diags) {
	const summary = "Invalid lethe_random"
	var r recipe
	var ds provider.Diags
	size := func(name string) int {
		n, set := schema.Number(config, name)
		if set && (n < 1 || n > longest) {
			ds = append(ds, refused(name, summary, "%s must be a whole number from 1 to %d.", name, longest))
		}
		return n
	}
	r.length, r.bytes = size("length"), size("bytes")
	if config.GetAttr("length").IsNull() && config.GetAttr("bytes").IsNull() {
		return r, append(ds, refused("length", summary, "Set length for a password, bytes for random bytes, or both."))
	}
	sum, unknown := 0, false
	for _, c := range classes {
		chars, n, ok := c.read(config, &ds)
		unknown = unknown || !ok
		sum += n
		r.all = append(r.all, chars...)
		if n > 0 {
			r.least = append(r.least, atLeast{n, chars})
		}
	}
	slices.Sort(r.all)
	r.all = slices.Compact(r.all) // a character in two classes counts once
	switch {
	case len(ds) > 0 || unknown:
	case len(r.all) == 0:
		ds = append(ds, refused("length", summary, "All characters are excluded: at least one of lower, upper, numeric and special must not be false."))
	case r.length > 0 && sum > r.length:
		ds = append(ds, refused("length", summary, "The minimum numbers of characters add up to more than the length of the password."))
	}
	return r, ds
}

// read returns the characters of a class and their minimum number in the password. It returns no characters if the
// configuration excludes the class. It adds errors to ds. ok is false if an argument is unknown.
func (c class) read(config cty.Value, ds *provider.Diags) (chars []rune, least int, ok bool) {
	const summary = "Invalid lethe_random"
	use := config.GetAttr(c.name)
	chars = []rune(c.chars)
	if c.name == "special" && !config.GetAttr("override_special").IsNull() {
		v := config.GetAttr("override_special")
		chars = []rune(schema.Text(config, "override_special"))
		if v.IsKnown() && (len(chars) == 0 || strings.ContainsFunc(string(chars), func(r rune) bool { return r < ' ' || r == 0x7f })) {
			*ds = append(*ds, refused("override_special", summary, "override_special must contain at least one character and no control characters. For a password without other characters, set special to false."))
		}
		ok = v.IsKnown()
	} else {
		ok = true
	}
	slices.Sort(chars)
	chars = slices.Compact(chars)
	least, set := schema.Number(config, c.min)
	if set && (least < 0 || least > longest) {
		*ds = append(*ds, refused(c.min, summary, "%s must be a whole number from 0 to %d.", c.min, longest))
	}
	if !use.IsKnown() || !config.GetAttr(c.min).IsKnown() {
		return chars, least, false
	}
	if !use.IsNull() && use.False() {
		if least > 0 {
			*ds = append(*ds, refused(c.min, summary, "%s requires characters that %s = false excludes.", c.min, c.name))
		}
		return nil, 0, ok
	}
	return chars, least, ok
}

// password creates a password. It chooses the minimum number of characters of each class, then further characters of
// all classes, and puts them into random order.
func (r *recipe) password() string {
	out := make([]rune, 0, r.length)
	for _, l := range r.least {
		for range l.n {
			out = append(out, l.chars[below(len(l.chars))])
		}
	}
	for len(out) < r.length {
		out = append(out, r.all[below(len(r.all))])
	}
	for i := len(out) - 1; i > 0; i-- {
		j := below(i + 1)
		out[i], out[j] = out[j], out[i]
	}
	return string(out)
}

// below returns a random number from 0 to n-1, with equal probabilities.
func below(n int) int {
	v, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(err) // rand.Reader returns no errors
	}
	return int(v.Int64())
}
