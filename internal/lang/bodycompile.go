package lang

import (
	"cmp"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// bodyCompiler compiles the bodies of a unit against schemas and reports what does not fit.
type bodyCompiler struct {
	c   *compiler // for JSON: expressions are compiled when the schema says what they are
	bag *diag.Bag
	ok  bool

	incomplete           bool     // arguments may be missing
	outer                *rawBody // the body that metaArgs and metaBlocks belong to
	metaArgs, metaBlocks []string // what the language gives it beside its schema
}

func (c *bodyCompiler) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// beside says which names of the language stand beside those of a declaration's schema.
func (c *bodyCompiler) beside(raw *rawBody, d *decl) {
	switch {
	case d == nil:
	case d.kind == Resource:
		c.outer = raw
		c.metaArgs, c.metaBlocks = config.MetaNames(d.res.Mode)
	case d.kind == Provider:
		c.outer = raw
		c.metaArgs, c.metaBlocks = config.ProviderMetaNames()
	}
}

// compile holds a raw body against a schema.
func (c *bodyCompiler) compile(raw *rawBody, sch *schema.Block) *body {
	if raw.json != nil {
		content := c.jsonContent(raw, sch)
		raw.attrs, raw.blocks = content.attrs, content.blocks // for who wants to know where things are
		raw = content
	}
	b := &body{schema: sch, ty: sch.Type()}
	c.unknownNames(raw, sch)
	constant := true
	b.attrs = make([]bodyAttr, 0, len(sch.Attrs))
	for _, a := range sch.Attrs {
		ba := c.attr(raw, sch, a)
		constant = constant && ba.ready != cty.NilVal
		b.attrs = append(b.attrs, ba)
	}
	for _, n := range sch.Blocks {
		bn := c.nested(raw, n)
		bn.ready = bn.fold()
		constant = constant && bn.ready != cty.NilVal
		b.nested = append(b.nested, bn)
	}
	if constant {
		b.ready = b.eval(nil, nil)
		b.attrs, b.nested = nil, nil
	}
	return b
}

func (c *bodyCompiler) attr(raw *rawBody, sch *schema.Block, a *schema.Attr) bodyAttr {
	out := bodyAttr{attr: a, want: configType(a)}
	written := raw.attr(a.Name)
	if written == nil {
		if n := asBlocks(sch, a.Name); n != nil && slices.ContainsFunc(raw.blocks, func(b rawBlock) bool { return b.typ == a.Name }) {
			return c.asBlocks(raw, n, out)
		}
		c.absent(raw, a)
		out.ready = cty.NullVal(a.Type)
		return out
	}
	if raw.fromJSON && asBlocks(sch, a.Name) != nil {
		out.want = looseType(a.Type) // there is no telling blocks from objects: parts may be left out
	}
	out.expr = written.expr
	if v, ok := constant(written.expr); ok {
		if v, err := convertValue(v, out.want); err == nil && !(a.WriteOnly && a.Required && v.IsNull()) {
			out.ready = v
		}
	}
	return out
}

func (c *bodyCompiler) nested(raw *rawBody, n *schema.Nested) bodyNested {
	out := bodyNested{Nested: n}
	for i := range raw.blocks {
		b := &raw.blocks[i]
		if b.typ != n.Name || !c.labels(b, n) {
			continue
		}
		out.items = append(out.items, bodyItem{body: c.compile(b.body, n.Block), labels: b.labels, dynamic: b.dynamic, at: b.typeAt, raw: b.body})
	}
	return out
}

// unknownNames reports arguments and blocks that the schema does not have.
func (c *bodyCompiler) unknownNames(raw *rawBody, sch *schema.Block) {
	var metaArgs, metaBlocks []string
	if raw == c.outer {
		metaArgs, metaBlocks = c.metaArgs, c.metaBlocks
	}
	for i := range raw.attrs {
		a := &raw.attrs[i]
		if sch.Attr(a.name) != nil {
			continue
		}
		if sch.Nested(a.name) != nil || slices.Contains(metaBlocks, a.name) {
			c.error(diag.Errorf("Unsupported argument", "An argument named %q is not expected here. Did you mean to define a block of type %q?", a.name, a.name).At(a.nameAt))
			continue
		}
		near := diag.SuggestAmong(a.name, append(argumentNames(sch), metaArgs...))
		hint := diag.Meant(near)
		if near == a.name { // it is not one of those only in a block _
			hint = ` In a block "_", every name is an argument of the provider: what has a meaning of its own stands outside of it.`
		}
		c.error(diag.Errorf("Unsupported argument", "An argument named %q is not expected here.%s", a.name, hint).At(a.nameAt))
		raw.mean(sch, near)
	}
	for i := range raw.blocks {
		b := &raw.blocks[i]
		if sch.Nested(b.typ) != nil {
			continue
		}
		if a := sch.Attr(b.typ); a != nil {
			if asBlocks(sch, a.Name) == nil {
				c.error(diag.Errorf("Unsupported block type", "Blocks of type %q are not expected here. Did you mean to define argument %q? If so, use the equals sign to assign it a value.", b.typ, b.typ).At(b.typeAt))
			}
			continue
		}
		hint := cmp.Or(config.Misplaced(b.typ), diag.DidYouMean(b.typ, append(blockNames(sch), metaBlocks...)))
		c.error(diag.Errorf("Unsupported block type", "Blocks of type %q are not expected here.%s", b.typ, hint).At(b.typeAt))
	}
}

// mean remembers the required argument that is there under a wrong name: it is not reported as
// missing, too.
func (raw *rawBody) mean(sch *schema.Block, name string) {
	if a := sch.Attr(name); a != nil && a.Required && raw.attr(name) == nil {
		raw.meant = name
	}
}

func argumentNames(sch *schema.Block) []string {
	var out []string
	for _, a := range sch.Attrs {
		if a.Required || a.Optional {
			out = append(out, a.Name)
		}
	}
	return out
}

func blockNames(sch *schema.Block) []string {
	var out []string
	for _, n := range sch.Blocks {
		out = append(out, n.Name)
	}
	return out
}

// absent reports a required argument that is not there.
func (c *bodyCompiler) absent(raw *rawBody, a *schema.Attr) {
	if a.Required && raw.meant != a.Name && !c.incomplete {
		c.error(diag.Errorf("Missing required argument", "The argument %q is required, but no definition was found.", a.Name).At(raw.missing))
	}
}

// labels checks the labels of a block: one for maps, none otherwise.
func (c *bodyCompiler) labels(b *rawBlock, n *schema.Nested) bool {
	want := 0
	if n.Nesting == schema.Map {
		want = 1
	}
	have := len(b.labels)
	if b.dynamic != nil {
		have = len(b.dynamic.labels)
	}
	switch {
	case have > want && want == 0:
		c.error(diag.Errorf("Extraneous label for "+n.Name, "No labels are expected for %s blocks.", n.Name).At(b.typeAt))
	case have > want:
		c.error(diag.Errorf("Extraneous label for "+n.Name, "Only 1 labels (key) are expected for %s blocks.", n.Name).At(b.typeAt))
	case have < want:
		c.error(diag.Errorf("Missing key for "+n.Name, "All %s blocks must have 1 labels (key).", n.Name).At(b.typeAt))
	}
	return have == want
}

// configType is what an argument is converted to: its type, where parts of nested attributes that
// a configuration need not set may be left out.
func configType(a *schema.Attr) cty.Type {
	if a.Object == nil {
		return a.Type
	}
	return objectType(a.Object)
}

func objectType(o *schema.Object) cty.Type {
	atys := make(map[string]cty.Type, len(o.Attrs))
	var optional []string
	for _, a := range o.Attrs {
		atys[a.Name] = configType(a)
		if !a.Required {
			optional = append(optional, a.Name)
		}
	}
	ty := cty.ObjectWithOptionalAttrs(atys, optional)
	switch o.Nesting {
	case schema.List:
		return cty.List(ty)
	case schema.Set:
		return cty.Set(ty)
	case schema.Map:
		return cty.Map(ty)
	}
	return ty
}

// asBlocks is an attribute as a block type, where configurations for old providers may write it so;
// nil otherwise.
func asBlocks(sch *schema.Block, name string) *schema.Nested {
	for _, n := range sch.BlocksAsAttrs() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// looseType is a type in which no attribute of an object is required.
func looseType(ty cty.Type) cty.Type {
	switch {
	case ty.IsListType():
		return cty.List(looseType(ty.ElementType()))
	case ty.IsSetType():
		return cty.Set(looseType(ty.ElementType()))
	case ty.IsObjectType():
		atys := map[string]cty.Type{}
		for name, aty := range ty.AttributeTypes() {
			atys[name] = looseType(aty)
		}
		return cty.ObjectWithOptionalAttrs(atys, sorted(atys))
	}
	return ty
}

// asBlocks compiles blocks that stand for an attribute.
func (c *bodyCompiler) asBlocks(raw *rawBody, nested *schema.Nested, out bodyAttr) bodyAttr {
	n := c.nested(raw, nested)
	if len(n.items) == 0 { // they are wrong, as was reported
		out.ready = cty.UnknownVal(out.attr.Type)
		return out
	}
	out.expr = &blocksExpr{LiteralValueExpr: &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: n.items[0].at}, n: &n}
	return out
}

// jsonContent reads a JSON body as its schema says.
func (c *bodyCompiler) jsonContent(raw *rawBody, sch *schema.Block) *rawBody {
	hs := &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "dynamic", LabelNames: []string{"type"}}}}
	for _, a := range sch.Attrs {
		hs.Attributes = append(hs.Attributes, hcl.AttributeSchema{Name: a.Name})
	}
	for _, n := range sch.Blocks {
		h := hcl.BlockHeaderSchema{Type: n.Name}
		if n.Nesting == schema.Map {
			h.LabelNames = []string{"key"}
		}
		hs.Blocks = append(hs.Blocks, h)
	}
	content, diags := raw.json.Content(hs)
	if !c.bag.HCL(diags) {
		c.ok = false
	}
	r := &rewriter{c: c.c, why: raw.why, place: raw.place, locals: raw.locals}
	out := &rawBody{missing: content.MissingItemRange, fromJSON: true}
	for _, a := range inOrder(content.Attributes) {
		source := native(a.Expr)
		out.attrs = append(out.attrs, rawAttr{name: a.Name, expr: r.node(source), source: source, nameAt: a.NameRange, at: a.Range})
	}
	for _, b := range content.Blocks {
		if rb, ok := c.jsonBlock(r, b, sch); ok {
			out.blocks = append(out.blocks, rb)
		}
	}
	return out
}

func (c *bodyCompiler) jsonBlock(r *rewriter, b *hcl.Block, sch *schema.Block) (rawBlock, bool) {
	out := rawBlock{typ: b.Type, labels: b.Labels, labelsAt: b.LabelRanges, typeAt: b.TypeRange, openAt: b.DefRange}
	if b.Type != "dynamic" || sch.Nested("dynamic") != nil {
		out.body = r.jsonRaw(b.Body)
		return out, true
	}
	return c.jsonDynamic(r, b, out)
}

// jsonRaw is a JSON body whose references are known already.
func (r *rewriter) jsonRaw(b hcl.Body) *rawBody {
	return &rawBody{json: b, missing: b.MissingItemRange(), why: r.why, place: r.place, locals: slices.Clone(r.locals)}
}

func (c *bodyCompiler) jsonDynamic(r *rewriter, b *hcl.Block, out rawBlock) (rawBlock, bool) {
	content, diags := b.Body.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "for_each", Required: true}, {Name: "iterator"}, {Name: "labels"}},
		Blocks:     []hcl.BlockHeaderSchema{{Type: "content"}},
	})
	if !c.bag.HCL(diags) {
		c.ok = false
		return out, false
	}
	if len(content.Blocks) != 1 {
		c.error(diag.Errorf("Missing dynamic content block", "A dynamic block must have exactly one nested block of type \"content\" to describe the body of each generated block.").At(b.DefRange))
		return out, false
	}
	out.typ, out.labels = b.Labels[0], nil
	d := &dynamic{iterator: b.Labels[0], at: b.DefRange}
	if a := content.Attributes["iterator"]; a != nil {
		d.iterator = hcl.ExprAsKeyword(a.Expr)
	}
	d.forEach = r.expr(content.Attributes["for_each"].Expr)
	out.dynamic = d
	r.within(locals{d.iterator: nil}, func() {
		if a := content.Attributes["labels"]; a != nil {
			if list, ok := native(a.Expr).(*hclsyntax.TupleConsExpr); ok {
				d.labels = r.nodes(list.Exprs)
			}
		}
		out.body = r.jsonRaw(content.Blocks[0].Body)
	})
	return out, true
}
