package config

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config/native"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Encryption is the merged content of an encryption block and of the environment variable EncryptionVariable.
type Encryption struct {
	Providers []*EncryptionPart // key_provider blocks
	Methods   []*EncryptionPart // method blocks
	State     *EncryptionTarget // nil if absent
	Plan      *EncryptionTarget // nil if absent
	// Remote holds the encryption of states that terraform_remote_state reads, by name of the data source. The key ""
	// is the default.
	Remote map[string]*EncryptionTarget
}

// EncryptionPart is a key provider or a method.
type EncryptionPart struct {
	EncryptionRef
	Uses *EncryptionRef // the key provider that the argument "keys" or "chain" names; nil: the block has no such argument
	Body hcl.Body       // the settings except for "keys" or "chain"
}

// HasBlock reports whether the settings contain a block of a type.
func (p *EncryptionPart) HasBlock(typ string) bool {
	c, _, _ := p.Body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: typ}}}) // mistakes are reported when the settings are evaluated
	return len(c.Blocks) > 0
}

// EncryptionRef names a key provider or a method.
type EncryptionRef struct {
	Type, Name string
	Range      diag.Range
}

// EncryptionTarget selects the method that encrypts the state, the plan or a remote state.
type EncryptionTarget struct {
	Block    string            // the name of the target in messages
	Method   *EncryptionRef    // nil if absent
	Enforced hcl.Expression    // nil if absent
	Fallback *EncryptionTarget // the content of the fallback block, with which readers decrypt older data; nil if absent
	Range    diag.Range
}

var (
	encryptionSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "key_provider", LabelNames: []string{"type", "name"}},
		{Type: "method", LabelNames: []string{"type", "name"}},
		{Type: "state"}, {Type: "plan"}, {Type: "remote_state_data_sources"},
	}}
	remoteEncryptionSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "default"}, {Type: "remote_state_data_source", LabelNames: []string{"name"}},
	}}
	encryptionTargetSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method"}, {Name: "enforced"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
	}
	encryptionFallbackSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "method", Required: true}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "fallback"}},
	}
)

// ShowEncryption adds the text of the environment variable to sources, so that diagnostics can quote it. It masks all
// values that may be keys.
func ShowEncryption(env string, sources *diag.Sources) {
	if env == "" {
		return
	}
	sources.Set(EncryptionVariable, diag.Masked(bytes.TrimSpace([]byte(env)), diag.Harmless{
		Values: []string{"keys", "method", "chain", "enforced", "iterations", "hash_function", "salt_length", "key_length", "kms_key_id", "key_spec", "region", "key_name", "kms_encryption_key", "vault_uri", "vault_key_name", "transit_engine_path", "encrypted_metadata_alias"},
		Labels: []string{"key_provider", "method", "remote_state_data_source"},
	}))
}

// ReadEncryption merges the encryption block of a root module with the text of the environment variable, whose settings
// take precedence. root may be nil. ReadEncryption returns nil if neither configures encryption. It returns false if it
// has reported an error.
func ReadEncryption(root *Module, env string, o Options, bag *diag.Bag) (*Encryption, bool) {
	o.Limits = o.Limits.Filled()
	rd := &reader{opts: o}
	var out *Encryption
	if root != nil && root.Encryption != nil {
		out = readEncryption(rd, root.Encryption)
	}
	if text := bytes.TrimSpace([]byte(env)); len(text) > 0 {
		var found diag.Bag
		body, ok := ParseBody(EncryptionVariable, text, o.Limits, &found)
		rd.bag.MoveUnquoted(&found)
		if !ok {
			bag.Move(&rd.bag)
			return nil, false
		}
		out = out.merge(readEncryption(rd, body))
	}
	ok := !rd.bag.HasErrors()
	bag.Move(&rd.bag)
	return out, ok
}

// encryptionReader reads one encryption block. It reports mistakes to rd, and needs no other part of the module.
type encryptionReader struct {
	rd  *reader
	out *Encryption
}

// readEncryption returns the content of an encryption block. It reports mistakes, and leaves the wrong parts out of the
// result.
func readEncryption(rd *reader, b hcl.Body) *Encryption {
	r := &encryptionReader{rd, &Encryption{Remote: map[string]*EncryptionTarget{}}}
	c, _ := rd.content(b, encryptionSchema)
	for _, kind := range []string{"state", "plan", "remote_state_data_sources"} {
		rd.only(c.Blocks.OfType(kind), "encryption block")
	}
	for _, b := range c.Blocks {
		switch b.Type {
		case "key_provider":
			r.out.Providers = r.part(r.out.Providers, b, "chain")
		case "method":
			r.out.Methods = r.part(r.out.Methods, b, "keys")
		case "state":
			r.out.State = r.target(b, b.Type)
		case "plan":
			r.out.Plan = r.target(b, b.Type)
		default:
			r.remote(b)
		}
	}
	return r.out
}

// remote reads the targets of a remote_state_data_sources block.
func (r *encryptionReader) remote(b *hcl.Block) {
	c, _ := r.rd.content(b.Body, remoteEncryptionSchema)
	for _, b := range c.Blocks {
		name := ""
		if len(b.Labels) > 0 {
			name = b.Labels[0]
		}
		if first := r.out.Remote[name]; first != nil {
			r.rd.again(b.DefRange, first.Range, "Duplicate encryption configuration", "The encryption of this remote state is already configured at %s. Merge the two blocks.", first.Range)
			continue
		}
		r.out.Remote[name] = r.target(b, "remote_state_data_sources")
	}
}

// part reads a key provider or a method and appends it to list. uses is the name of the argument that refers to a key
// provider: "keys" or "chain".
func (r *encryptionReader) part(list []*EncryptionPart, b *hcl.Block, uses string) []*EncryptionPart {
	p := &EncryptionPart{EncryptionRef: EncryptionRef{b.Labels[0], b.Labels[1], place(b)}}
	if first := findPart(list, p.EncryptionRef); first != nil {
		r.rd.again(p.Range, first.Range, "Duplicate encryption configuration", "The %s %q %q is already declared at %s. Rename or remove one of them.", b.Type, p.Type, p.Name, first.Range)
		return list
	}
	c, rest, ds := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: uses}}})
	r.rd.hcl(ds)
	if a := c.Attributes[uses]; a != nil {
		p.Uses = r.ref(a, "key_provider", "pbkdf2.main")
	}
	p.Body = remains(b.Body, rest, c, &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: uses}}})
	return append(list, p)
}

func findPart(list []*EncryptionPart, ref EncryptionRef) *EncryptionPart {
	i := slices.IndexFunc(list, func(p *EncryptionPart) bool { return p.Type == ref.Type && p.Name == ref.Name })
	if i < 0 {
		return nil
	}
	return list[i]
}

// Provider returns the key provider with the given name, or nil if none exists.
func (e *Encryption) Provider(ref EncryptionRef) *EncryptionPart { return findPart(e.Providers, ref) }

// MethodOf returns the method with the given name, or nil if none exists.
func (e *Encryption) MethodOf(ref EncryptionRef) *EncryptionPart { return findPart(e.Methods, ref) }

// ref reads a reference to a key provider or a method, KIND.TYPE.NAME. If the argument is not such a reference, ref
// reports an error and returns nil.
func (r *encryptionReader) ref(a *hcl.Attribute, kind, example string) *EncryptionRef {
	example = kind + "." + example
	e := a.Expr
	if n, ds := native.Expression(e); !ds.HasErrors() {
		if w, ok := n.(*hclsyntax.TemplateWrapExpr); ok { // in JSON syntax, references in other arguments have this form
			e = w.Wrapped
		}
	}
	t, ok := r.rd.traversal(e, a.Name, example)
	if !ok {
		return nil
	}
	if len(t) == 3 && t.RootName() == kind {
		typ, ok1 := t[1].(hcl.TraverseAttr)
		name, ok2 := t[2].(hcl.TraverseAttr)
		if ok1 && ok2 {
			return &EncryptionRef{typ.Name, name.Name, a.Expr.Range()}
		}
	}
	r.rd.error(a.Expr.Range(), "Invalid encryption configuration", "The argument %q must be a reference of three parts, such as %s.", a.Name, example)
	return nil
}

// target reads a state, plan, remote state or fallback block. called is the name of the outermost block in messages.
func (r *encryptionReader) target(b *hcl.Block, called string) *EncryptionTarget {
	schema := encryptionTargetSchema
	if b.Type == "fallback" {
		schema = encryptionFallbackSchema
	}
	c, _ := r.rd.content(b.Body, schema)
	t := &EncryptionTarget{Block: called, Enforced: argument(c, "enforced"), Range: place(b)}
	if a := c.Attributes["method"]; a != nil {
		t.Method = r.ref(a, "method", "aes_gcm.main")
	}
	if f := r.rd.only(c.Blocks, called+" block"); f != nil {
		t.Fallback = r.target(f, called)
	}
	return t
}

// merge returns e with the settings of other. A setting of other replaces the same setting of e. merge changes e, which
// may be nil.
func (e *Encryption) merge(other *Encryption) *Encryption {
	if e == nil {
		return other
	}
	e.Providers, e.Methods = mergeParts(e.Providers, other.Providers), mergeParts(e.Methods, other.Methods)
	e.State, e.Plan = e.State.merge(other.State), e.Plan.merge(other.Plan)
	for name, t := range other.Remote {
		e.Remote[name] = e.Remote[name].merge(t)
	}
	return e
}

func mergeParts(base, other []*EncryptionPart) []*EncryptionPart {
	for _, o := range other {
		b := findPart(base, o.EncryptionRef)
		if b == nil {
			base = append(base, o)
			continue
		}
		b.Body = override(b.Body, o.Body)
		if o.Uses != nil {
			b.Uses = o.Uses
		}
	}
	return base
}

func (t *EncryptionTarget) merge(other *EncryptionTarget) *EncryptionTarget {
	if t == nil || other == nil {
		if other == nil {
			return t
		}
		return other
	}
	m := *t
	m.Method, m.Enforced, m.Fallback = cmp.Or(other.Method, t.Method), cmp.Or(other.Enforced, t.Enforced), cmp.Or(other.Fallback, t.Fallback)
	return &m
}
