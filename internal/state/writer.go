package state

import (
	"encoding/base64"
	"maps"
	"slices"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// writer writes parts of a state file as JSON.
type writer struct{ jsontext.Writer }

// recorded writes a list of recorded dependencies unchanged.
func (e *writer) recorded(list []addr.Resource) {
	if len(list) == 0 {
		return
	}
	e.Key("dependencies")
	e.Open('[')
	for _, d := range list {
		e.Text(d.String())
	}
	e.Close(']')
}

// instance writes the fields of one object. It writes the field "provider" unless provider is "". deps writes the
// dependencies of the object.
func (e *writer) instance(s slot, n *Entry, provider string, deps func()) {
	e.instanceKey(s.key)
	if provider != "" {
		e.KeyText("provider", provider)
	}
	if n.Tainted {
		e.KeyText("status", "tainted")
	}
	if s.deposed != "" {
		e.KeyText("deposed", s.deposed)
	}
	e.attributes(n)
	e.identity(n)
	if len(n.Private) > 0 {
		e.Key("private")
		e.Next()
		e.Buf = append(e.Buf, '"')
		e.Buf = base64.StdEncoding.AppendEncode(e.Buf, n.Private)
		e.Buf = append(e.Buf, '"')
	}
	deps()
	if n.CreateFirst {
		e.KeyTrue("create_before_destroy")
	}
	if n.SkipDestroy {
		e.KeyTrue("skip_destroy")
	}
	if n.Protected {
		e.KeyTrue("prevent_destroy")
	}
	if n.Complete {
		e.KeyTrue(completeObject)
	}
	e.Members(n.Extra)
}

// completeObject is the key that marks a tainted object as complete (Entry.Complete). Terraform and OpenTofu ignore it.
const completeObject = "complete_object"

func (e *writer) instanceKey(k addr.Key) {
	if k.IsNone() {
		return
	}
	e.Key("index_key")
	if i, ok := k.Int(); ok {
		e.Int(int64(i))
		return
	}
	text, _ := k.Str()
	e.Text(text)
}

func (e *writer) attributes(n *Entry) {
	e.KeyInt("schema_version", n.Schema)
	if n.Flatmap != nil {
		e.flatmap(n.Flatmap)
	} else if n.Attrs != nil {
		e.Key("attributes")
		e.Raw(n.Attrs)
	}
	e.Key("sensitive_attributes")
	e.paths(n.Sensitive)
}

func (e *writer) identity(n *Entry) {
	if n.Identity != nil || n.IdentitySchema != 0 {
		e.KeyInt("identity_schema_version", n.IdentitySchema)
	}
	if n.Identity != nil {
		e.Key("identity")
		e.Raw(n.Identity)
	}
}

func (e *writer) flatmap(m map[string]string) {
	e.Key("attributes_flat")
	e.Open('{')
	for _, k := range slices.Sorted(maps.Keys(m)) {
		e.KeyText(k, m[k])
	}
	e.Close('}')
}

// paths writes a list of sensitive paths.
func (e *writer) paths(list paths) {
	if len(list) == 0 {
		e.Word("[]")
		return
	}
	e.Open('[')
	for _, p := range list {
		e.path(p)
	}
	e.Close(']')
}

func (e *writer) path(p cty.Path) {
	e.Open('[')
	for _, step := range p {
		e.Open('{')
		switch step := step.(type) {
		case cty.GetAttrStep:
			e.KeyText("type", "get_attr")
			e.KeyText("value", step.Name)
		case cty.IndexStep:
			e.KeyText("type", "index")
			e.Key("value")
			e.index(step.Key)
		}
		e.Close('}')
	}
	e.Close(']')
}

// index writes the key of an index step of a path: a string or a number.
func (e *writer) index(key cty.Value) {
	e.Open('{')
	if key.Type() == cty.String {
		e.KeyText("value", key.AsString())
		e.KeyText("type", "string")
	} else {
		e.Key("value")
		e.Word(key.AsBigFloat().Text('f', -1))
		e.KeyText("type", "number")
	}
	e.Close('}')
}
