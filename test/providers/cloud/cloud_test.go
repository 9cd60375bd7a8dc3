package cloud

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func TestObjects(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	c := Here()
	id := "arn:a/b/../c" // an ID that must not lead out of the directory
	o := &Object{Type: "x_thing", ID: id, Attributes: map[string]json.RawMessage{"size": json.RawMessage("1")}}
	if err := c.Create(o); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(o); !errors.Is(err, ErrTaken) {
		t.Errorf("creating twice: %v", err)
	}
	o.Attributes["size"] = json.RawMessage("2")
	if err := c.Update(o); err != nil {
		t.Fatal(err)
	}
	got, err := c.Get("x_thing", id)
	if err != nil || got.Writes != 2 || string(got.Attributes["size"]) != "2" {
		t.Errorf("got %+v, %v", got, err)
	}
	found, err := c.Find("x_thing", func(o *Object) bool { return o.ID == id })
	if err != nil || len(found) != 1 {
		t.Errorf("found %d, %v", len(found), err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 {
		t.Errorf("files: %v", files)
	}
	for range 2 { // the second time, the object does not exist any more
		if err := c.Delete("x_thing", id); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.Get("x_thing", id); !errors.Is(err, ErrGone) {
		t.Errorf("after deletion: %v", err)
	}
	if err := c.Update(o); !errors.Is(err, ErrGone) {
		t.Errorf("updating what is gone: %v", err)
	}
}

func TestLeases(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(Env, dir)
	c := Here()
	if err := c.OpenLease(&Lease{Type: "x_lease", ID: "l"}); err != nil {
		t.Fatal(err)
	}
	if err := c.RenewLease("l", 1, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "leases", "l.json")); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseLease("l"); err != nil {
		t.Fatal(err)
	}
	if err := c.CloseLease("l"); !errors.Is(err, ErrGone) {
		t.Errorf("closing twice: %v", err)
	}
}

func TestNoCloud(t *testing.T) {
	t.Setenv(Env, "")
	c := Here()
	if c != nil {
		t.Fatal("a cloud out of nothing")
	}
	if err := errors.Join(c.Create(&Object{}), c.Update(&Object{}), c.Delete("", ""), c.OpenLease(&Lease{}), c.CloseLease("")); err != nil {
		t.Error(err)
	}
}

func TestEncode(t *testing.T) {
	object := tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"s": tftypes.String, "n": tftypes.Number, "b": tftypes.Bool, "any": tftypes.DynamicPseudoType, "none": tftypes.DynamicPseudoType,
		"l": tftypes.List{ElementType: tftypes.String}, "m": tftypes.Map{ElementType: tftypes.Number},
		"set": tftypes.Set{ElementType: tftypes.Object{AttributeTypes: map[string]tftypes.Type{"x": tftypes.String}}},
	}}
	pair := tftypes.Tuple{ElementTypes: []tftypes.Type{tftypes.Number, tftypes.String}}
	x := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"x": tftypes.String}}
	v := tftypes.NewValue(object, map[string]tftypes.Value{
		"s":    tftypes.NewValue(tftypes.String, "text"),
		"n":    tftypes.NewValue(tftypes.Number, 1.5),
		"b":    tftypes.NewValue(tftypes.Bool, true),
		"any":  tftypes.NewValue(pair, []tftypes.Value{tftypes.NewValue(tftypes.Number, 1), tftypes.NewValue(tftypes.String, "two")}),
		"none": tftypes.NewValue(tftypes.DynamicPseudoType, nil),
		"l":    tftypes.NewValue(object.AttributeTypes["l"], nil),
		"m":    tftypes.NewValue(object.AttributeTypes["m"], map[string]tftypes.Value{"k": tftypes.NewValue(tftypes.Number, 12345678901234)}),
		"set":  tftypes.NewValue(object.AttributeTypes["set"], []tftypes.Value{tftypes.NewValue(x, map[string]tftypes.Value{"x": tftypes.NewValue(tftypes.String, nil)})}),
	})
	data, err := Encode(v, object)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(data, object)
	if err != nil {
		t.Fatal(err)
	}
	if !v.Equal(back) {
		diff, _ := v.Diff(back)
		t.Errorf("came back different: %v", diff)
	}
	if _, err := Encode(tftypes.NewValue(tftypes.String, tftypes.UnknownValue), tftypes.String); err == nil {
		t.Error("an unknown value was encoded")
	}
}

func TestSeal(t *testing.T) {
	secret := strings.Repeat("canary", 20)
	sealed := Seal("salt", secret)
	if strings.Contains(sealed, "canary") || sealed == Seal("pepper", secret) {
		t.Errorf("sealed: %s", sealed)
	}
	if got, err := Unseal("salt", sealed); err != nil || got != secret {
		t.Errorf("unsealed: %q, %v", got, err)
	}
}
