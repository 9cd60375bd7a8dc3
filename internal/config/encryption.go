package config

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/diag"
)

// Encryption is an encryption block, or what the environment says in place of one.
type Encryption struct {
	Providers []*EncryptionPart // key_provider blocks
	Methods   []*EncryptionPart // method blocks
	State     *EncryptionTarget // nil: nothing is said of it
	Plan      *EncryptionTarget
	// Remote is about the states that terraform_remote_state reads, by name of the data source; "" is the default.
	Remote map[string]*EncryptionTarget
}

// EncryptionPart is a key provider or a method.
type EncryptionPart struct {
	EncryptionRef
	Uses *EncryptionRef // the key provider that "keys" or "chain" names; may be nil
	Body hcl.Body       // the other settings
}

// EncryptionRef names a key provider or a method.
type EncryptionRef struct {
	Type, Name string
	Range      diag.Range
}

// EncryptionTarget says which method is for something.
type EncryptionTarget struct {
	Block    string // what it is, for messages
	Method   *EncryptionRef
	Enforced hcl.Expression
	Fallback *EncryptionTarget
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

// ShowEncryption lets mistakes in what the environment says be shown, but for the values that may be keys.
func ShowEncryption(env string, sources *diag.Sources) {
	if env == "" {
		return
	}
	sources.Set(EncryptionVariable, diag.Masked(bytes.TrimSpace([]byte(env)), []string{
		"keys", "method", "chain", "enforced", "iterations", "hash_function", "salt_length", "key_length", "kms_key_id", "key_spec", "region", "key_name", "kms_encryption_key", "vault_uri", "vault_key_name", "transit_engine_path", "encrypted_metadata_alias",
	}))
}

// ReadEncryption reads the encryption block of a root module, which may be nil, with what the environment says
// merged over it. It gives nil where neither says anything.
func ReadEncryption(root *Module, env string, o Options, bag *diag.Bag) (*Encryption, bool) {
	o.Limits = o.Limits.Filled()
	rd := &reader{opts: o}
	var out *Encryption
	if root != nil && root.Encryption != nil {
		out = rd.encryption(root.Encryption)
	}
	if text := bytes.TrimSpace([]byte(env)); len(text) > 0 {
		var said diag.Bag
		body, ok := ParseBody(EncryptionVariable, text, o.Limits, &said)
		for _, d := range said.List() {
			rd.bag.Add(diag.Unquoted(d))
		}
		if !ok {
			bag.Take(&rd.bag)
			return nil, false
		}
		out = out.merge(rd.encryption(body))
	}
	ok := !rd.bag.HasErrors()
	bag.Take(&rd.bag)
	return out, ok
}

func (rd *reader) encryption(b hcl.Body) *Encryption {
	e := &Encryption{Remote: map[string]*EncryptionTarget{}}
	c, _ := rd.content(b, encryptionSchema)
	for _, kind := range []string{"state", "plan", "remote_state_data_sources"} {
		rd.only(c.Blocks.OfType(kind), "encryption block")
	}
	for _, b := range c.Blocks {
		switch b.Type {
		case "key_provider":
			e.Providers = rd.encryptionPart(e.Providers, b, "chain")
		case "method":
			e.Methods = rd.encryptionPart(e.Methods, b, "keys")
		case "state":
			e.State = rd.encryptionTarget(b, b.Type)
		case "plan":
			e.Plan = rd.encryptionTarget(b, b.Type)
		default:
			rd.remoteEncryption(e, b)
		}
	}
	return e
}

func (rd *reader) remoteEncryption(e *Encryption, b *hcl.Block) {
	c, _ := rd.content(b.Body, remoteEncryptionSchema)
	for _, b := range c.Blocks {
		name := ""
		if len(b.Labels) > 0 {
			name = b.Labels[0]
		}
		if first := e.Remote[name]; first != nil {
			rd.again(b.DefRange, first.Range, "Duplicate encryption configuration", "The encryption of this remote state was configured at %s already. Put everything into one block.", first.Range)
			continue
		}
		e.Remote[name] = rd.encryptionTarget(b, "remote_state_data_sources")
	}
}

func (rd *reader) encryptionPart(list []*EncryptionPart, b *hcl.Block, uses string) []*EncryptionPart {
	p := &EncryptionPart{EncryptionRef: EncryptionRef{b.Labels[0], b.Labels[1], place(b)}}
	if first := findPart(list, p.EncryptionRef); first != nil {
		rd.again(p.Range, first.Range, "Duplicate encryption configuration", "The %s %q %q was declared at %s already. Names have to be unique.", b.Type, p.Type, p.Name, first.Range)
		return list
	}
	c, rest, ds := b.Body.PartialContent(&hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: uses}}})
	rd.hcl(ds)
	if a := c.Attributes[uses]; a != nil {
		p.Uses = rd.encryptionRef(a, "key_provider", "pbkdf2.main")
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

// Provider gives a key provider, nil if there is none of that name.
func (e *Encryption) Provider(ref EncryptionRef) *EncryptionPart { return findPart(e.Providers, ref) }

// MethodOf gives a method, nil if there is none of that name.
func (e *Encryption) MethodOf(ref EncryptionRef) *EncryptionPart { return findPart(e.Methods, ref) }

// encryptionRef reads a reference to a key provider or a method: KIND.TYPE.NAME.
func (rd *reader) encryptionRef(a *hcl.Attribute, kind, example string) *EncryptionRef {
	example = kind + "." + example
	e := a.Expr
	if n, ds := Native(e); !ds.HasErrors() {
		if w, ok := n.(*hclsyntax.TemplateWrapExpr); ok { // as JSON has references elsewhere
			e = w.Wrapped
		}
	}
	t, ok := rd.traversal(e, a.Name, example)
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
	rd.error(a.Expr.Range(), "Invalid encryption configuration", "The argument %q has to be a reference of three parts, such as %s.", a.Name, example)
	return nil
}

func (rd *reader) encryptionTarget(b *hcl.Block, called string) *EncryptionTarget {
	schema := encryptionTargetSchema
	if b.Type == "fallback" {
		schema = encryptionFallbackSchema
	}
	c, _ := rd.content(b.Body, schema)
	t := &EncryptionTarget{Block: called, Enforced: argument(c, "enforced"), Range: place(b)}
	if a := c.Attributes["method"]; a != nil {
		t.Method = rd.encryptionRef(a, "method", "aes_gcm.main")
	}
	if f := rd.only(c.Blocks, called+" block"); f != nil {
		t.Fallback = rd.encryptionTarget(f, called)
	}
	return t
}

// merge is this configuration with another over it.
func (e *Encryption) merge(over *Encryption) *Encryption {
	if e == nil {
		return over
	}
	e.Providers, e.Methods = mergeParts(e.Providers, over.Providers), mergeParts(e.Methods, over.Methods)
	e.State, e.Plan = e.State.merge(over.State), e.Plan.merge(over.Plan)
	for name, t := range over.Remote {
		e.Remote[name] = e.Remote[name].merge(t)
	}
	return e
}

func mergeParts(base, over []*EncryptionPart) []*EncryptionPart {
	for _, o := range over {
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

func (t *EncryptionTarget) merge(over *EncryptionTarget) *EncryptionTarget {
	if t == nil || over == nil {
		if over == nil {
			return t
		}
		return over
	}
	m := *t
	if over.Method != nil {
		m.Method = over.Method
	}
	if over.Enforced != nil {
		m.Enforced = over.Enforced
	}
	if over.Fallback != nil {
		m.Fallback = over.Fallback
	}
	return &m
}
