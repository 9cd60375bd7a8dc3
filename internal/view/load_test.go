package view

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/mark"
	"github.com/lethe-iac/lethe/internal/plan"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/lethe-iac/lethe/internal/state"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	"golang.org/x/tools/txtar"
)

// This file converts recorded output of Terraform into plans and schemas.

type jsonBlock struct {
	Attributes      map[string]*jsonAttr   `json:"attributes"`
	BlockTypes      map[string]*jsonNested `json:"block_types"`
	Deprecated      bool                   `json:"deprecated"`
	Description     string
	DescriptionKind string `json:"description_kind"`
}

type jsonAttr struct {
	Type                                                json.RawMessage
	NestedType                                          *jsonObject `json:"nested_type"`
	Description                                         string
	DescriptionKind                                     string `json:"description_kind"`
	Required, Optional, Computed, Sensitive, Deprecated bool
	WriteOnly                                           bool `json:"write_only"`
}

type jsonObject struct {
	Attributes  map[string]*jsonAttr
	NestingMode string `json:"nesting_mode"`
}

type jsonNested struct {
	NestingMode string `json:"nesting_mode"`
	Block       *jsonBlock
	MinItems    int `json:"min_items"`
	MaxItems    int `json:"max_items"`
}

type jsonSchema struct {
	Version     int64
	Block       *jsonBlock
	Description string
}

var nestings = map[string]schema.Nesting{"single": schema.Single, "group": schema.Group, "list": schema.List, "set": schema.Set, "map": schema.Map}

func (b *jsonBlock) block() *schema.Block {
	out := &schema.Block{Attrs: attrsOf(b.Attributes), Deprecated: b.Deprecated, Description: b.Description, Markdown: b.DescriptionKind == "markdown"}
	for name, n := range b.BlockTypes {
		out.Blocks = append(out.Blocks, &schema.Nested{Name: name, Block: n.Block.block(), Nesting: nestings[n.NestingMode], Min: n.MinItems, Max: n.MaxItems})
	}
	sort.Slice(out.Blocks, func(i, j int) bool { return out.Blocks[i].Name < out.Blocks[j].Name })
	return out
}

func attrsOf(m map[string]*jsonAttr) []*schema.Attr {
	var out []*schema.Attr
	for name, a := range m {
		s := &schema.Attr{Name: name, Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly, Deprecated: a.Deprecated, Description: a.Description, Markdown: a.DescriptionKind == "markdown"}
		if a.NestedType != nil {
			s.Object = &schema.Object{Attrs: attrsOf(a.NestedType.Attributes), Nesting: nestings[a.NestedType.NestingMode]}
			s.Type = objectTypeOf(s.Object)
		} else {
			ty, err := ctyjson.UnmarshalType(a.Type)
			if err != nil {
				panic(err)
			}
			s.Type = ty
		}
		out = append(out, s)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func objectTypeOf(o *schema.Object) cty.Type {
	atys := map[string]cty.Type{}
	for _, a := range o.Attrs {
		atys[a.Name] = a.Type
	}
	switch ty := cty.Object(atys); o.Nesting {
	case schema.List:
		return cty.List(ty)
	case schema.Set:
		return cty.Set(ty)
	case schema.Map:
		return cty.Map(ty)
	default:
		return ty
	}
}

type jsonFunction struct {
	Description, Summary string
	Deprecation          string          `json:"deprecation_message"`
	Return               json.RawMessage `json:"return_type"`
	Parameters           []jsonParam
	Variadic             *jsonParam `json:"variadic_parameter"`
}

type jsonParam struct {
	Name, Description string
	Nullable          bool `json:"is_nullable"`
	Type              json.RawMessage
}

func (f jsonFunction) function() *provider.Function {
	out := &provider.Function{Summary: f.Summary, Description: f.Description, DeprecationMessage: f.Deprecation}
	out.Return, _ = ctyjson.UnmarshalType(f.Return)
	for _, p := range f.Parameters {
		out.Params = append(out.Params, p.param())
	}
	if f.Variadic != nil {
		p := f.Variadic.param()
		out.Variadic = &p
	}
	return out
}

func (p jsonParam) param() provider.Param {
	ty, _ := ctyjson.UnmarshalType(p.Type)
	return provider.Param{Name: p.Name, Description: p.Description, AllowNull: p.Nullable, Type: ty}
}

// peerSchemas holds the schemas of the providers that the recordings use.
type peerSchemas map[addr.Provider]*provider.Schemas

func (p peerSchemas) Of(a addr.Provider) *provider.Schemas { return p[a] }

func loadSchemas(t testing.TB) peerSchemas {
	data, err := os.ReadFile("testdata/peer/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Providers map[string]struct {
			Provider  jsonSchema            `json:"provider"`
			Resources map[string]jsonSchema `json:"resource_schemas"`
			Data      map[string]jsonSchema `json:"data_source_schemas"`
			Ephemeral map[string]jsonSchema `json:"ephemeral_resource_schemas"`
			Functions map[string]jsonFunction
		} `json:"provider_schemas"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	out := peerSchemas{}
	for name, p := range doc.Providers {
		a, err := addr.ParseProvider(name)
		if err != nil {
			t.Fatal(err)
		}
		var config *schema.Schema
		if p.Provider.Block != nil {
			config = &schema.Schema{Version: p.Provider.Version, Block: p.Provider.Block.block()}
		}
		s := provider.NewSchemas(config)
		for name, f := range p.Functions {
			s.Functions[name] = f.function()
		}
		for mode, types := range map[addr.Mode]map[string]jsonSchema{addr.Managed: p.Resources, addr.Data: p.Data, addr.Ephemeral: p.Ephemeral} {
			for typ, sch := range types {
				made := &schema.Schema{Version: sch.Version, Block: sch.Block.block()}
				s.Add(mode, typ, func() (*schema.Schema, error) { return made, nil })
			}
		}
		out[a] = s
	}
	return out
}

// peerCase is one recording.
type peerCase struct {
	name  string
	files map[string]string
}

func loadCases(t testing.TB) []peerCase {
	paths, err := filepath.Glob("testdata/peer/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recordings", err)
	}
	var out []peerCase
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c := peerCase{strings.TrimSuffix(filepath.Base(path), ".txtar"), map[string]string{}}
		for _, f := range a.Files {
			c.files[f.Name] = string(f.Data)
		}
		out = append(out, c)
	}
	return out
}

// jsonPlan is the JSON plan of Terraform.
type jsonPlan struct {
	Changes []jsonChange          `json:"resource_changes"`
	Drift   []jsonChange          `json:"resource_drift"`
	Outputs map[string]jsonValues `json:"output_changes"`
	Prior   *jsonState            `json:"prior_state"`
	Planned struct {
		Outputs map[string]struct{ Type json.RawMessage }
	} `json:"planned_values"`
	Relevant []struct {
		Resource  string
		Attribute []any
	} `json:"relevant_attributes"`
	Variables map[string]struct{ Value json.RawMessage }
	Checks    json.RawMessage
	Timestamp time.Time
	Errored   bool
	Complete  bool
}

type jsonChange struct {
	Address  string
	Previous string `json:"previous_address"`
	Provider string `json:"provider_name"`
	Mode     string
	Type     string
	Deposed  string
	Change   jsonValues
	Reason   string `json:"action_reason"`
}

type jsonValues struct {
	Actions         []string
	Before, After   json.RawMessage
	Unknown         json.RawMessage `json:"after_unknown"`
	BeforeSensitive json.RawMessage `json:"before_sensitive"`
	AfterSensitive  json.RawMessage `json:"after_sensitive"`
	ReplacePaths    [][]any         `json:"replace_paths"`
	Importing       *struct{ ID string }
	GeneratedConfig string `json:"generated_config"`
}

type jsonState struct {
	Values struct {
		Outputs map[string]struct {
			Sensitive bool
			Value     json.RawMessage
			Type      json.RawMessage
		}
		Root jsonModule `json:"root_module"`
	}
}

type jsonModule struct {
	Resources []struct {
		Address   string
		Provider  string `json:"provider_name"`
		Mode      string
		Type      string
		Version   int64 `json:"schema_version"`
		Values    json.RawMessage
		Tainted   bool
		Deposed   string          `json:"deposed_key"`
		Depends   []string        `json:"depends_on"`
		Sensitive json.RawMessage `json:"sensitive_values"`
	}
	Children []jsonModule `json:"child_modules"`
}

var actionsByName = map[string]plan.Action{
	"no-op": plan.NoOp, "create": plan.Create, "read": plan.Read, "update": plan.Update, "delete": plan.Delete,
	"delete,create": plan.DeleteCreate, "create,delete": plan.CreateDelete, "forget": plan.Forget,
}

// loadPlan converts the JSON plan to a plan.
func loadPlan(t testing.TB, text string, schemas peerSchemas, mode plan.Mode) *plan.Plan {
	var doc jsonPlan
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	p := &plan.Plan{Mode: mode, Errored: doc.Errored, Complete: doc.Complete, Timestamp: doc.Timestamp, Request: plan.Request{Variables: map[string]plan.Variable{}}}
	for _, c := range doc.Changes {
		p.Changes = append(p.Changes, loadChange(t, c, schemas))
	}
	for _, c := range doc.Drift {
		p.Drift = append(p.Drift, loadChange(t, c, schemas))
	}
	for name, o := range doc.Outputs {
		p.Outputs = append(p.Outputs, loadOutput(t, name, o, &doc))
	}
	sort.Slice(p.Outputs, func(i, j int) bool { return p.Outputs[i].Name < p.Outputs[j].Name })
	for name, v := range doc.Variables {
		p.Variables[name] = plan.Variable{Value: implied(t, v.Value)}
	}
	for _, r := range doc.Relevant {
		i, err := addr.ParseInstance(r.Resource)
		if err != nil {
			continue
		}
		p.Relevant = append(p.Relevant, plan.Relevant{Resource: i.Abs(), Key: i.Key, Path: loadPath(r.Attribute)})
	}
	p.Refreshed = loadState(t, doc.Prior, schemas)
	p.Checks = loadChecks(t, doc.Checks)
	return p
}

func implied(t testing.TB, b json.RawMessage) cty.Value {
	if b == nil {
		return cty.NullVal(cty.DynamicPseudoType)
	}
	ty, err := ctyjson.ImpliedType(b)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ctyjson.Unmarshal(b, ty)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func loadPath(steps []any) cty.Path {
	var p cty.Path
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = append(p, cty.GetAttrStep{Name: s})
		case json.Number:
			n, _ := strconv.Atoi(s.String())
			p = append(p, cty.IndexStep{Key: cty.NumberIntVal(int64(n))})
		}
	}
	return p
}

func loadChange(t testing.TB, c jsonChange, schemas peerSchemas) *plan.Change {
	i, err := addr.ParseInstance(c.Address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := addr.ParseProvider(c.Provider)
	if err != nil {
		t.Fatal(err)
	}
	out := &plan.Change{Object: addr.Object{Instance: i, Deposed: c.Deposed}, Why: plan.Reason(c.Reason), Generated: c.Change.GeneratedConfig}
	out.Was = out.Object
	if c.Previous != "" {
		was, err := addr.ParseInstance(c.Previous)
		if err != nil {
			t.Fatal(err)
		}
		out.Was = was.Current()
	}
	out.Provider.Provider = p
	out.Action = actionsByName[strings.Join(c.Change.Actions, ",")]
	out.SkipDestroy = out.Action == plan.Forget // Terraform forgets an object only if destroy = false is set
	if c.Change.Importing != nil {
		out.Importing = &plan.Importing{ID: c.Change.Importing.ID}
	}
	for _, path := range c.Change.ReplacePaths {
		out.Replace = append(out.Replace, loadPath(path))
	}
	sch, err := schemas[p].Type(i.Mode, i.Type)
	if err != nil || sch == nil {
		t.Fatalf("no schema for %s", c.Address)
	}
	out.Before = sensitive(typed(t, sch.Type(), c.Change.Before, nil), c.Change.BeforeSensitive)
	out.After = sensitive(hinted(typed(t, sch.Type(), c.Change.After, c.Change.Unknown), c.Change.AfterSensitive), c.Change.AfterSensitive)
	// Terraform does not record which write-only attributes are set, and shows all of them.
	_ = cty.Walk(out.After.Raw, func(path cty.Path, _ cty.Value) (bool, error) {
		if len(path) > 0 && sch.IsWriteOnly(path) {
			out.Sent = append(out.Sent, path.Copy())
		}
		return true, nil
	})
	return out
}

func loadOutput(t testing.TB, name string, o jsonValues, doc *jsonPlan) *plan.OutputChange {
	out := &plan.OutputChange{Name: name, Action: actionsByName[strings.Join(o.Actions, ",")]}
	out.Before = mark.Plain(typed(t, cty.DynamicPseudoType, o.Before, nil))
	ty := cty.DynamicPseudoType
	if planned := doc.Planned.Outputs[name].Type; planned != nil {
		ty, _ = ctyjson.UnmarshalType(planned)
	}
	out.After = mark.Plain(typed(t, ty, o.After, o.Unknown))
	out.Sensitive = string(o.AfterSensitive) == "true" || out.Action == plan.Delete && string(o.BeforeSensitive) == "true"
	return out
}

// typed decodes a value of type ty. It inserts unknown values as the document unknown specifies.
func typed(t testing.TB, ty cty.Type, b, unknown json.RawMessage) cty.Value {
	if u := string(unknown); u == "true" {
		return cty.UnknownVal(ty)
	}
	if len(b) == 0 || string(b) == "null" {
		return cty.NullVal(ty)
	}
	switch {
	case ty == cty.DynamicPseudoType:
		return dynamic(t, b, unknown)
	case ty.IsObjectType() || ty.IsMapType():
		var vals, unk map[string]json.RawMessage
		mustDecode(t, b, &vals)
		decodeMaybe(unknown, &unk)
		out := map[string]cty.Value{}
		if ty.IsMapType() {
			for k, v := range vals {
				out[k] = typed(t, ty.ElementType(), v, unk[k])
			}
			for k := range unk {
				if _, ok := out[k]; !ok {
					out[k] = typed(t, ty.ElementType(), nil, unk[k])
				}
			}
			if len(out) == 0 {
				return cty.MapValEmpty(ty.ElementType())
			}
			return cty.MapVal(out)
		}
		for name, aty := range ty.AttributeTypes() {
			out[name] = typed(t, aty, vals[name], unk[name])
		}
		return cty.ObjectVal(out)
	case ty.IsListType() || ty.IsSetType():
		var vals, unk []json.RawMessage
		mustDecode(t, b, &vals)
		decodeMaybe(unknown, &unk)
		var out []cty.Value
		for i, v := range vals {
			var u json.RawMessage
			if i < len(unk) {
				u = unk[i]
			}
			out = append(out, typed(t, ty.ElementType(), v, u))
		}
		switch {
		case ty.IsSetType() && len(out) == 0:
			return cty.SetValEmpty(ty.ElementType())
		case ty.IsSetType():
			return cty.SetVal(out)
		case len(out) == 0:
			return cty.ListValEmpty(ty.ElementType())
		}
		return cty.ListVal(out)
	}
	v, err := ctyjson.Unmarshal(b, ty)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func dynamic(t testing.TB, b, unknown json.RawMessage) cty.Value {
	switch bytes.TrimSpace(b)[0] {
	case '{':
		var vals, unk map[string]json.RawMessage
		mustDecode(t, b, &vals)
		decodeMaybe(unknown, &unk)
		out := map[string]cty.Value{}
		for k, v := range vals {
			out[k] = typed(t, cty.DynamicPseudoType, v, unk[k])
		}
		for k, u := range unk {
			if _, ok := out[k]; !ok {
				out[k] = typed(t, cty.DynamicPseudoType, nil, u)
			}
		}
		return cty.ObjectVal(out)
	case '[':
		var vals, unk []json.RawMessage
		mustDecode(t, b, &vals)
		decodeMaybe(unknown, &unk)
		var out []cty.Value
		for i, v := range vals {
			var u json.RawMessage
			if i < len(unk) {
				u = unk[i]
			}
			out = append(out, typed(t, cty.DynamicPseudoType, v, u))
		}
		return cty.TupleVal(out)
	}
	return implied(t, b)
}

func mustDecode(t testing.TB, b []byte, into any) {
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func decodeMaybe(b []byte, into any) {
	if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
		_ = json.Unmarshal(b, into)
	}
}

// hinted refines unknown attributes of any type to a tuple or an object. The document of sensitive values has an empty
// list or an empty object for them.
func hinted(v cty.Value, sensitive json.RawMessage) cty.Value {
	var where map[string]json.RawMessage
	decodeMaybe(sensitive, &where)
	if v.IsNull() || where == nil {
		return v
	}
	attrs := v.AsValueMap()
	for name, av := range attrs {
		if av.IsKnown() || av.Type() != cty.DynamicPseudoType {
			continue
		}
		switch string(where[name]) {
		case "[]":
			attrs[name] = cty.UnknownVal(cty.EmptyTuple)
		case "{}":
			attrs[name] = cty.UnknownVal(cty.EmptyObject)
		}
	}
	return cty.ObjectVal(attrs)
}

// sensitive marks the parts of a value that a JSON document lists as sensitive.
func sensitive(v cty.Value, where json.RawMessage) mark.Value {
	out := mark.Plain(v)
	var visit func(b json.RawMessage, p cty.Path, ty cty.Type)
	visit = func(b json.RawMessage, p cty.Path, ty cty.Type) {
		switch {
		case string(b) == "true":
			out.Marks = append(out.Marks, mark.At{Path: p.Copy(), Tag: mark.Sensitive})
		case len(b) > 0 && b[0] == '{':
			var m map[string]json.RawMessage
			decodeMaybe(b, &m)
			for k, sub := range m {
				visit(sub, append(p.Copy(), cty.GetAttrStep{Name: k}), ty)
			}
		case len(b) > 0 && b[0] == '[':
			var l []json.RawMessage
			decodeMaybe(b, &l)
			for i, sub := range l {
				visit(sub, append(p.Copy(), cty.IndexStep{Key: cty.NumberIntVal(int64(i))}), ty)
			}
		}
	}
	visit(where, nil, v.Type())
	return out
}

func loadState(t testing.TB, s *jsonState, schemas peerSchemas) *state.Snapshot {
	if s == nil {
		return nil
	}
	e := (&state.Snapshot{}).Edit()
	for name, o := range s.Values.Outputs {
		ty, err := ctyjson.UnmarshalType(o.Type)
		if err != nil {
			t.Fatal(err)
		}
		v, err := ctyjson.Unmarshal(o.Value, ty)
		if err != nil {
			t.Fatal(err)
		}
		e.Output(name, state.Output{Value: mark.Plain(v), Type: ty, Sensitive: o.Sensitive})
	}
	loadModule(t, e, s.Values.Root, schemas)
	return e.Done()
}

func loadModule(t testing.TB, e *state.Edit, m jsonModule, schemas peerSchemas) {
	for _, r := range m.Resources {
		i, err := addr.ParseInstance(r.Address)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := addr.ParseProvider(r.Provider)
		entry := &state.Entry{Schema: r.Version, Tainted: r.Tainted}
		entry.Provider.Provider = p
		sch, _ := schemas[p].Type(i.Mode, i.Type)
		v := typed(t, sch.Type(), r.Values, nil)
		if entry.Attrs, err = sch.EncodeJSON(v); err != nil {
			t.Fatal(err)
		}
		for _, d := range r.Depends {
			a, err := addr.ParseTarget(d)
			if err != nil {
				t.Fatal(err)
			}
			entry.Recorded = append(entry.Recorded, a.Resource())
		}
		entry.Sensitive = sensitive(v, r.Sensitive).PathsOf(mark.Sensitive)
		e.Put(addr.Object{Instance: i, Deposed: r.Deposed}, entry)
	}
	for _, c := range m.Children {
		loadModule(t, e, c, schemas)
	}
}

func loadChecks(t testing.TB, b json.RawMessage) []state.Check {
	if b == nil {
		return nil
	}
	type address struct {
		Kind      string
		ToDisplay string `json:"to_display"`
	}
	var list []struct {
		Address   address
		Status    string
		Instances []struct {
			Address  address
			Status   string
			Problems []struct{ Message string }
		}
	}
	mustDecode(t, b, &list)
	statuses := map[string]state.Status{"pass": state.Pass, "fail": state.Fail, "error": state.Errored, "unknown": state.Unknown}
	var out []state.Check
	for _, c := range list {
		kind := c.Address.Kind
		if kind == "output_value" {
			kind = "output"
		}
		sc := state.Check{Kind: kind, Addr: c.Address.ToDisplay, Status: statuses[c.Status]}
		for _, i := range c.Instances {
			o := state.CheckedObject{Addr: i.Address.ToDisplay, Status: statuses[i.Status]}
			for _, p := range i.Problems {
				o.Failures = append(o.Failures, p.Message)
			}
			sc.Objects = append(sc.Objects, o)
		}
		out = append(out, sc)
	}
	return out
}
