package provider

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// oldPlain has attributes of each type and presence.
func oldPlain() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"s":     {Type: schema.TypeString, Optional: true},
		"n":     {Type: schema.TypeInt, Optional: true},
		"f":     {Type: schema.TypeFloat, Optional: true},
		"b":     {Type: schema.TypeBool, Optional: true},
		"l":     {Type: schema.TypeList, Optional: true, Elem: text()},
		"st":    {Type: schema.TypeSet, Optional: true, Elem: text()},
		"m":     {Type: schema.TypeMap, Optional: true, Elem: text()},
		"c":     {Type: schema.TypeString, Optional: true, Computed: true},
		"cl":    {Type: schema.TypeList, Optional: true, Computed: true, Elem: text()},
		"cm":    {Type: schema.TypeMap, Optional: true, Computed: true, Elem: text()},
		"d":     {Type: schema.TypeString, Optional: true, Default: "default"},
		"dn":    {Type: schema.TypeInt, Optional: true, Default: 3},
		"db":    {Type: schema.TypeBool, Optional: true, Default: true},
		"ro":    {Type: schema.TypeString, Computed: true},
		"force": {Type: schema.TypeString, Optional: true, ForceNew: true},
		"fl":    {Type: schema.TypeList, Optional: true, ForceNew: true, Elem: text()},
		"fc":    {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true},
		"sens":  {Type: schema.TypeString, Optional: true, Sensitive: true},
	}
}

func upper(v any) string { return strings.ToUpper(v.(string)) }

func bang(v any) string { return v.(string) + "!" }

// sum returns the beginning of the SHA-1 sum of a text in hexadecimal, or "" for "".
func sum(v any) string {
	if v.(string) == "" {
		return ""
	}
	h := sha1.Sum([]byte(v.(string)))
	return hex.EncodeToString(h[:4])
}

// compactJSON returns a JSON text in compact form, or any other text unchanged.
func compactJSON(v any) string {
	var x any
	if json.Unmarshal([]byte(v.(string)), &x) != nil {
		return v.(string)
	}
	out, _ := json.Marshal(x)
	return string(out)
}

func sameFold(_, old, now string, _ *schema.ResourceData) bool { return strings.EqualFold(old, now) }

// oldFunc has functions that change values or hide differences.
func oldFunc() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"up":       {Type: schema.TypeString, Optional: true, StateFunc: upper},
		"bang":     {Type: schema.TypeString, Optional: true, StateFunc: bang},
		"sha":      {Type: schema.TypeString, Optional: true, StateFunc: sum},
		"shaforce": {Type: schema.TypeString, Optional: true, ForceNew: true, StateFunc: sum},
		"json": {Type: schema.TypeString, Optional: true, StateFunc: compactJSON, DiffSuppressFunc: func(_, old, now string, _ *schema.ResourceData) bool {
			return compactJSON(old) == compactJSON(now)
		}},
		"ci":      {Type: schema.TypeString, Optional: true, DiffSuppressFunc: sameFold},
		"ciforce": {Type: schema.TypeString, Optional: true, ForceNew: true, DiffSuppressFunc: sameFold},
		"cic":     {Type: schema.TypeString, Optional: true, Computed: true, DiffSuppressFunc: sameFold},
		"keep": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: func(_, _, now string, _ *schema.ResourceData) bool {
			return now == "" // the difference is hidden if the argument is removed
		}},
		"after": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: func(_, _, _ string, d *schema.ResourceData) bool {
			return d.Id() != "" // the argument counts only at creation
		}},
		"cil": {Type: schema.TypeList, Optional: true, DiffSuppressFunc: sameFold, Elem: text()},
		"fn":  {Type: schema.TypeString, Optional: true, DefaultFunc: func() (any, error) { return "fn", nil }},
		"blk": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"up": {Type: schema.TypeString, Optional: true, StateFunc: upper},
			"ci": {Type: schema.TypeString, Optional: true, DiffSuppressFunc: sameFold},
			"k":  {Type: schema.TypeString, Optional: true},
		}}},
		"sblk": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"up": {Type: schema.TypeString, Optional: true},
			"k":  {Type: schema.TypeString, Optional: true},
		}}},
		"ro": {Type: schema.TypeString, Computed: true},
	}
}

// foldHash hashes a text without its case.
func foldHash(v any) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.ToLower(v.(string))))
	return int(h.Sum32())
}

// keyHash hashes an object by its attribute k, without its case.
func keyHash(v any) int {
	m, _ := v.(map[string]any)
	k, _ := m["k"].(string)
	return foldHash(k)
}

// oldBlock has blocks of each kind.
func oldBlock() map[string]*schema.Schema {
	inner := func(more map[string]*schema.Schema) *schema.Resource {
		s := map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Optional: true},
			"p": {Type: schema.TypeInt, Optional: true},
			"d": {Type: schema.TypeString, Optional: true, Default: "inner"},
			"l": {Type: schema.TypeList, Optional: true, Elem: text()},
		}
		for k, v := range more {
			s[k] = v
		}
		return &schema.Resource{Schema: s}
	}
	return map[string]*schema.Schema{
		"s": {Type: schema.TypeString, Optional: true},
		"lb": {Type: schema.TypeList, Optional: true, Elem: inner(map[string]*schema.Schema{
			"in": {Type: schema.TypeList, Optional: true, Elem: inner(nil)},
			"c":  {Type: schema.TypeString, Optional: true, Computed: true},
		})},
		"sb": {Type: schema.TypeSet, Optional: true, Elem: inner(map[string]*schema.Schema{
			"in": {Type: schema.TypeSet, Optional: true, Elem: inner(nil)},
		})},
		"sc": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Required: true},
			"c": {Type: schema.TypeString, Computed: true},
		}}},
		"one": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: inner(map[string]*schema.Schema{
			"c": {Type: schema.TypeString, Computed: true},
		})},
		"at": {Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: inner(nil)},
		"as": {Type: schema.TypeSet, Optional: true, ConfigMode: schema.SchemaConfigModeAttr, Elem: inner(nil)},
		"cb": {Type: schema.TypeList, Optional: true, Computed: true, Elem: inner(nil)},
		"cc": {Type: schema.TypeList, Computed: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"c": {Type: schema.TypeString, Computed: true},
		}}},
		"hs": {Type: schema.TypeSet, Optional: true, Elem: text(), Set: foldHash},
		"hb": {Type: schema.TypeSet, Optional: true, Set: keyHash, Elem: inner(nil)},
		"fb": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Optional: true},
			"f": {Type: schema.TypeString, Optional: true, ForceNew: true},
		}}},
		"fs": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Optional: true},
			"f": {Type: schema.TypeString, Optional: true, ForceNew: true},
		}}},
		"pw": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Optional: true},
			"x": {Type: schema.TypeString, Optional: true, Sensitive: true},
		}}},
	}
}

// oldCustom has a CustomizeDiff function. The words of its attribute mode select the actions of that function.
func oldCustom() *schema.Resource {
	t := &oldType{name: "old_cd", schema: map[string]*schema.Schema{
		"mode":     {Type: schema.TypeString, Optional: true},
		"s":        {Type: schema.TypeString, Optional: true},
		"n":        {Type: schema.TypeInt, Optional: true},
		"calc":     {Type: schema.TypeString, Computed: true},
		"oc":       {Type: schema.TypeString, Optional: true, Computed: true},
		"lc":       {Type: schema.TypeList, Optional: true, Computed: true, Elem: text()},
		"mc":       {Type: schema.TypeMap, Optional: true, Computed: true, Elem: text()},
		"tags":     {Type: schema.TypeMap, Optional: true, Elem: text()},
		"tags_all": {Type: schema.TypeMap, Optional: true, Computed: true, Elem: text()},
		"name":     {Type: schema.TypeString, Required: true},
	}}
	r := t.resource()
	r.Timeouts = &schema.ResourceTimeout{Create: schema.DefaultTimeout(time.Minute), Update: schema.DefaultTimeout(2 * time.Minute), Delete: schema.DefaultTimeout(time.Minute)}
	r.CustomizeDiff = func(ctx context.Context, d *schema.ResourceDiff, meta any) error {
		if err := t.plan(ctx, d, meta); err != nil {
			return err
		}
		for _, word := range strings.Split(d.Get("mode").(string), ",") {
			if err := customize(d, word); err != nil {
				return err
			}
		}
		return nil
	}
	return r
}

// customize does the action of a word: always, forever, new, computed, force, clear, error, noupdate, shrink or tags.
// It ignores any other word.
func customize(d *schema.ResourceDiff, word string) error {
	changed := d.HasChange("s")
	update := d.Id() != "" && changed
	s := d.Get("s").(string)
	switch {
	case word == "always":
		return d.SetNew("calc", "calc-"+s)
	case word == "forever":
		return d.SetNewComputed("calc")
	case word == "new" && changed:
		return errors.Join(d.SetNew("calc", "calc-"+s), d.SetNew("mc", map[string]any{"k": s}), d.SetNew("lc", []any{s, "x"}))
	case word == "computed" && changed:
		return errors.Join(d.SetNewComputed("calc"), d.SetNewComputed("oc"))
	case word == "force" && update:
		return d.ForceNew("s")
	case word == "clear" && update:
		return d.Clear("oc")
	case word == "error" && changed && s == "bad":
		return errors.New("s is bad")
	case word == "noupdate" && update:
		return errors.New("s cannot be changed in place")
	case word == "shrink" && d.Id() != "":
		if old, now := d.GetChange("n"); now.(int) < old.(int) {
			return d.ForceNew("n")
		}
	case word == "tags":
		if !d.GetRawConfig().GetAttr("tags").IsWhollyKnown() {
			return d.SetNewComputed("tags_all")
		}
		all := map[string]any{"by": "provider"}
		for k, v := range d.Get("tags").(map[string]any) {
			all[k] = v
		}
		return d.SetNew("tags_all", all)
	}
	return nil
}

// oldNorm has an API that returns different values than it received.
func oldNorm() *schema.Resource {
	t := &oldType{name: "old_norm", schema: map[string]*schema.Schema{
		"low":   {Type: schema.TypeString, Optional: true},                             // Read returns the text in lower case
		"lowc":  {Type: schema.TypeString, Optional: true, DiffSuppressFunc: sameFold}, // Read returns the text in lower case, and differences of case are hidden
		"order": {Type: schema.TypeList, Optional: true, Elem: text()},                 // Read returns the elements sorted
		"drop":  {Type: schema.TypeString, Optional: true},                             // Read never returns the value
		"zero":  {Type: schema.TypeString, Optional: true},                             // Read returns "none" for ""
		"m":     {Type: schema.TypeMap, Optional: true, Elem: text()},                  // Read returns a key that was not written
		"ns":    {Type: schema.TypeSet, Optional: true, Elem: text()},                  // Read returns the elements in lower case
		"nb": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k": {Type: schema.TypeString, Optional: true},
			"v": {Type: schema.TypeString, Optional: true},
		}}}, // Read leaves out blocks without k
		"num": {Type: schema.TypeInt, Optional: true},
	}}
	t.adjust = func(a map[string]any) {
		for _, k := range []string{"low", "lowc"} {
			if s, ok := a[k].(string); ok {
				a[k] = strings.ToLower(s)
			}
		}
		delete(a, "drop")
		if l, ok := a["order"].([]any); ok {
			slices.SortFunc(l, func(x, y any) int { // the SDK has nil for an empty text in a list
				a, _ := x.(string)
				b, _ := y.(string)
				return strings.Compare(a, b)
			})
		}
		if a["zero"] == "" {
			a["zero"] = "none"
		}
		if m, ok := a["m"].(map[string]any); ok && len(m) > 0 {
			m["added"] = "yes"
		}
		if l, ok := a["ns"].([]any); ok {
			for i, e := range l {
				text, _ := e.(string)
				l[i] = strings.ToLower(text)
			}
		}
		if l, ok := a["nb"].([]any); ok {
			a["nb"] = slices.DeleteFunc(l, func(e any) bool {
				m, _ := e.(map[string]any)
				return m == nil || m["k"] == "" || m["k"] == nil
			})
		}
	}
	return t.resource()
}

// oldUp has three schema versions, 0 to 2, of which SDK_SCHEMA selects one.
func oldUp() *schema.Resource {
	version := schemaVersion()
	s := map[string]*schema.Schema{"s": {Type: schema.TypeString, Optional: true}}
	switch version {
	case 0:
		s["size"] = text()
		s["size"].Optional = true
		s["tag"] = text()
		s["tag"].Optional = true
	case 1:
		s["size"] = &schema.Schema{Type: schema.TypeInt, Optional: true}
		s["tags"] = &schema.Schema{Type: schema.TypeList, Optional: true, Elem: text()}
	default:
		s["size"] = &schema.Schema{Type: schema.TypeInt, Optional: true}
		s["tags"] = &schema.Schema{Type: schema.TypeSet, Optional: true, Elem: text()}
		s["extra"] = &schema.Schema{Type: schema.TypeString, Optional: true, Computed: true}
	}
	t := &oldType{name: "old_up", schema: s}
	t.adjust = func(a map[string]any) { // converts objects that an older schema version wrote
		if version > 0 {
			if tag, ok := a["tag"].(string); ok && tag != "" {
				a["tags"] = []any{tag}
			}
			if size, ok := a["size"].(string); ok && size == "" {
				a["size"] = 0
			}
		}
	}
	r := t.resource()
	r.SchemaVersion = version
	at := []cty.Type{
		cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String, "s": cty.String, "size": cty.String, "tag": cty.String}),
		cty.Object(map[string]cty.Type{"id": cty.String, "name": cty.String, "s": cty.String, "size": cty.Number, "tags": cty.List(cty.String)}),
	}
	upgrades := []schema.StateUpgradeFunc{
		func(_ context.Context, old map[string]any, _ any) (map[string]any, error) {
			if tag, ok := old["tag"].(string); ok && tag != "" {
				old["tags"] = []any{tag}
			}
			delete(old, "tag")
			if size, ok := old["size"].(string); ok {
				var n any
				if json.Unmarshal([]byte(size), &n) == nil {
					old["size"] = n
				} else {
					old["size"] = nil
				}
			}
			return old, nil
		},
		func(_ context.Context, old map[string]any, _ any) (map[string]any, error) {
			name, _ := old["name"].(string)
			if err := failed(name, "upgrade"); err != nil {
				return nil, err
			}
			old["extra"] = "upgraded"
			return old, nil
		},
	}
	for v := range min(version, 2) {
		r.StateUpgraders = append(r.StateUpgraders, schema.StateUpgrader{Version: v, Type: at[v], Upgrade: upgrades[v]})
	}
	return r
}

func oldWriteOnly() map[string]*schema.Schema {
	return map[string]*schema.Schema{
		"s":  {Type: schema.TypeString, Optional: true},
		"pw": {Type: schema.TypeString, Optional: true, WriteOnly: true},
		"v":  {Type: schema.TypeInt, Optional: true},
		"one": {Type: schema.TypeList, Optional: true, MaxItems: 1, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
			"k":  {Type: schema.TypeString, Optional: true},
			"pw": {Type: schema.TypeString, Optional: true, WriteOnly: true},
		}}},
		"fv": {Type: schema.TypeInt, Optional: true, ForceNew: true},
	}
}

// oldIdentified has an identity, which Terraform before 1.12 does not request.
func oldIdentified() *schema.Resource {
	t := &oldType{name: "old_id", schema: map[string]*schema.Schema{
		"s":     {Type: schema.TypeString, Optional: true},
		"force": {Type: schema.TypeString, Optional: true, ForceNew: true},
	}}
	r := t.resource()
	r.Identity = &schema.ResourceIdentity{SchemaFunc: func() map[string]*schema.Schema {
		return map[string]*schema.Schema{"id": {Type: schema.TypeString, RequiredForImport: true}}
	}}
	r.ReadContext = identified(t.read)
	r.CreateContext = identified(t.create)
	r.UpdateContext = identified(t.update)
	return r
}
