package raw

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"github.com/vmihailenco/msgpack/v5"
)

// shapes has the deeds that change the bytes of the value in the answer.
var shapes = map[string]deedFunc{
	"nil": func(_ context.Context, sc *scene, _ string) error { return sc.replace(nil) },
	"malformed": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func([]byte) []byte { return []byte{0xc1, 0xc1} })
	},
	"empty": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func([]byte) []byte { return []byte{} })
	},
	"truncated": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func(b []byte) []byte { return b[:len(b)/2] })
	},
	"trailing": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func(b []byte) []byte { return append(bytes.Clone(b), 0xc0, 0xc0) })
	},
	// big-map and big-string announce four thousand million entries and bytes, and contain none.
	"big-map": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func([]byte) []byte { return []byte{0xdf, 0xff, 0xff, 0xff, 0xff} })
	},
	"big-string": func(_ context.Context, sc *scene, _ string) error {
		return sc.bytes(func([]byte) []byte { return []byte{0xdb, 0xff, 0xff, 0xff, 0xff} })
	},
	"deep": func(_ context.Context, sc *scene, arg string) error {
		return sc.bytes(func([]byte) []byte { return bytes.Repeat([]byte{0x91}, whole(arg, 2_000_000)) })
	},
	"json": func(_ context.Context, sc *scene, _ string) error {
		return sc.replace(&tfprotov6.DynamicValue{JSON: []byte(`{"name":`)})
	},
	"extra": func(_ context.Context, sc *scene, _ string) error {
		return sc.fields(func(m map[string]any) { m["extra_attribute"] = "not in the schema" })
	},
	"missing": func(_ context.Context, sc *scene, arg string) error {
		return sc.fields(func(m map[string]any) { delete(m, arg) })
	},
	// wrong-type sends an object in place of a value of another type.
	"wrong-type": func(_ context.Context, sc *scene, arg string) error {
		if arg == "" {
			return sc.bytes(func([]byte) []byte { return []byte{0x93, 0x01, 0x02, 0x03} })
		}
		return sc.fields(func(m map[string]any) { m[arg] = map[string]any{"wrong": true} })
	},
}

// contents has the deeds that change the value in the answer, but not its type.
var contents = map[string]deedFunc{
	"null": func(_ context.Context, sc *scene, _ string) error {
		return sc.edit(func(v tftypes.Value) (tftypes.Value, error) { return tftypes.NewValue(v.Type(), nil), nil })
	},
	"unknown": func(_ context.Context, sc *scene, _ string) error {
		return sc.edit(func(v tftypes.Value) (tftypes.Value, error) {
			return tftypes.NewValue(v.Type(), tftypes.UnknownValue), nil
		})
	},
	"set": func(_ context.Context, sc *scene, arg string) error {
		path, text, _ := strings.Cut(arg, "=")
		return sc.put(path, unquote(text))
	},
	"set-null":    func(_ context.Context, sc *scene, arg string) error { return sc.put(arg, nil) },
	"set-unknown": func(_ context.Context, sc *scene, arg string) error { return sc.put(arg, tftypes.UnknownValue) },
	"big": func(_ context.Context, sc *scene, arg string) error {
		path, size, _ := strings.Cut(arg, "=")
		return sc.put(path, strings.Repeat("0123456789abcdef", megabytes(size)/16))
	},
	// contradict changes a configured argument.
	"contradict": func(_ context.Context, sc *scene, _ string) error { return sc.put("name", "contradicted") },
	// duplicate adds the first element of a set once more.
	"duplicate": func(_ context.Context, sc *scene, arg string) error { return sc.duplicate(arg) },
	// wo returns every configured write-only value. If none is configured, secret_wo is the canary.
	"wo": func(_ context.Context, sc *scene, _ string) error { return sc.returnWriteOnly() },
}

// replace replaces the value in the answer. An answer that cannot have a value is an error.
func (sc *scene) replace(d *tfprotov6.DynamicValue) error {
	if sc.value == nil {
		return sc.cannot("have a value")
	}
	*sc.value = d
	return nil
}

// bytes replaces the bytes of the value in the answer by the result of f. An answer without a value is an error.
func (sc *scene) bytes(f func([]byte) []byte) error {
	if sc.value == nil || *sc.value == nil {
		return sc.cannot("have a value")
	}
	*sc.value = &tfprotov6.DynamicValue{MsgPack: f((*sc.value).MsgPack)}
	return nil
}

// fields lets f edit the attributes of the value in the answer, without their types. Unknown values become null. An
// answer without a value is an error.
func (sc *scene) fields(f func(map[string]any)) error {
	if sc.value == nil || *sc.value == nil {
		return sc.cannot("have a value")
	}
	v, err := (*sc.value).Unmarshal(sc.typ)
	if err != nil {
		return err
	}
	v, err = tftypes.Transform(v, func(_ *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		if !v.IsKnown() {
			return tftypes.NewValue(v.Type(), nil), nil
		}
		return v, nil
	})
	if err != nil {
		return err
	}
	d, err := tfprotov6.NewDynamicValue(sc.typ, v)
	if err != nil {
		return err
	}
	m := map[string]any{}
	if err := msgpack.Unmarshal(d.MsgPack, &m); err != nil {
		return err
	}
	f(m)
	wire, err := msgpack.Marshal(m)
	*sc.value = &tfprotov6.DynamicValue{MsgPack: wire}
	return err
}

// edit replaces the value in the answer by the result of f, which must have the same type. An answer without a value is
// an error.
func (sc *scene) edit(f func(tftypes.Value) (tftypes.Value, error)) error {
	if sc.value == nil || *sc.value == nil {
		return sc.cannot("have a value")
	}
	v, err := (*sc.value).Unmarshal(sc.typ)
	if err != nil {
		return err
	}
	if v, err = f(v); err != nil {
		return err
	}
	d, err := tfprotov6.NewDynamicValue(sc.typ, v)
	*sc.value = &d
	return err
}

// put sets the attribute at a path like disk.0.label. If no attribute has the path, the value is unchanged. Text
// becomes a number or a bool if the type requires it; any other type is an error. The new value may also be nil or
// tftypes.UnknownValue.
func (sc *scene) put(path string, to any) error {
	return sc.edit(func(v tftypes.Value) (tftypes.Value, error) {
		return tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if dotted(at) != path {
				return v, nil
			}
			text, ok := to.(string)
			if !ok {
				return tftypes.NewValue(v.Type(), to), nil
			}
			return fromText(v.Type(), text)
		})
	})
}

// putKey sets the map at a path to a single entry with a key and the value null. If no map has the path, the value is
// unchanged.
func (sc *scene) putKey(path, key string) error {
	return sc.edit(func(v tftypes.Value) (tftypes.Value, error) {
		return tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			m, ok := v.Type().(tftypes.Map)
			if !ok || dotted(at) != path {
				return v, nil
			}
			return tftypes.NewValue(m, map[string]tftypes.Value{key: tftypes.NewValue(m.ElementType, nil)}), nil
		})
	})
}

func fromText(t tftypes.Type, text string) (tftypes.Value, error) {
	switch {
	case t.Is(tftypes.Number):
		n, ok := new(big.Float).SetString(text)
		if !ok {
			return tftypes.Value{}, fmt.Errorf("%q is no number", text)
		}
		return tftypes.NewValue(t, n), nil
	case t.Is(tftypes.Bool):
		return tftypes.NewValue(t, text == "true"), nil
	case t.Is(tftypes.String), t.Is(tftypes.DynamicPseudoType):
		return tftypes.NewValue(tftypes.String, text), nil
	}
	return tftypes.Value{}, fmt.Errorf("a %s cannot be set to a text", t)
}

func (sc *scene) duplicate(path string) error {
	return sc.edit(func(v tftypes.Value) (tftypes.Value, error) {
		return tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if dotted(at) != path {
				return v, nil
			}
			var elements []tftypes.Value
			if err := v.As(&elements); err != nil || len(elements) == 0 {
				return v, err
			}
			return tftypes.NewValue(v.Type(), append(elements, elements[0])), nil
		})
	})
}

func (sc *scene) returnWriteOnly() error {
	configured := map[string]tftypes.Value{}
	if !sc.config.IsNull() {
		_ = tftypes.Walk(sc.config, func(at *tftypes.AttributePath, v tftypes.Value) (bool, error) {
			if writeOnly(at) {
				configured[dotted(at)] = v
			}
			return true, nil
		})
	}
	if len(configured) == 0 {
		return sc.put("secret_wo", sc.secret)
	}
	return sc.edit(func(v tftypes.Value) (tftypes.Value, error) {
		return tftypes.Transform(v, func(at *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
			if c, ok := configured[dotted(at)]; ok {
				return c, nil
			}
			return v, nil
		})
	})
}

// writeOnly reports whether a path ends at a write-only attribute: in this provider, all names that end in _wo.
func writeOnly(at *tftypes.AttributePath) bool {
	steps := at.Steps()
	if len(steps) == 0 {
		return false
	}
	name, ok := steps[len(steps)-1].(tftypes.AttributeName)
	return ok && strings.HasSuffix(string(name), "_wo")
}

// dotted formats a path as in rules: disk.0.label.
func dotted(at *tftypes.AttributePath) string {
	var words []string
	for _, step := range at.Steps() {
		switch s := step.(type) {
		case tftypes.AttributeName:
			words = append(words, string(s))
		case tftypes.ElementKeyString:
			words = append(words, string(s))
		case tftypes.ElementKeyInt:
			words = append(words, strconv.Itoa(int(s)))
		default:
			words = append(words, "*")
		}
	}
	return strings.Join(words, ".")
}

// attributePath parses a path as written in rules.
func attributePath(text string) *tftypes.AttributePath {
	path := tftypes.NewAttributePath()
	for word := range strings.SplitSeq(text, ".") {
		if i, err := strconv.Atoi(word); err == nil {
			path = path.WithElementKeyInt(i)
		} else {
			path = path.WithAttributeName(word)
		}
	}
	return path
}

// canary returns the secret for calls without a secret: PLAYGROUND_CANARY, or a constant if that is not set.
func canary() string {
	if s := os.Getenv("PLAYGROUND_CANARY"); s != "" {
		return s
	}
	return "rogue-canary-0123456789"
}
