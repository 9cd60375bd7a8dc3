package program

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/lethe-iac/lethe/internal/config"
	"github.com/lethe-iac/lethe/internal/convert"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/lang/expr"
	"github.com/lethe-iac/lethe/internal/lang/outline"
	"github.com/lethe-iac/lethe/internal/schema"
	"github.com/zclconf/go-cty/cty"
)

// bodyCompiler compiles the bodies of blocks of a module against schemas, and reports arguments and blocks that do not
// fit.
type bodyCompiler struct {
	c   *compiler // compiles expressions in JSON, which cannot be compiled before the schema is known
	bag *diag.Bag
	ok  bool

	incomplete           bool     // missing required arguments are not reported
	outer                *RawBody // the body that may contain the names in metaArgs and metaBlocks
	metaArgs, metaBlocks []string // the names that the language permits in a body besides the names of the schema
}

func (c *bodyCompiler) error(d diag.Diagnostic) {
	c.bag.Add(d)
	c.ok = false
}

// beside records which arguments and blocks of the language, such as count, the body of a declaration may have besides
// the names of its schema. d is nil for a body outside of declarations, which has only the names of its schema.
func (c *bodyCompiler) beside(raw *RawBody, d *Def) {
	switch {
	case d == nil:
	case d.Kind == Resource:
		c.outer = raw
		c.metaArgs, c.metaBlocks = config.MetaNames(d.Src.Res.Mode)
	case d.Kind == Provider:
		c.outer = raw
		c.metaArgs, c.metaBlocks = config.ProviderMetaNames()
	}
}

// compile compiles a body against a schema, and reports arguments and blocks that do not fit. If all arguments are
// constant, compile evaluates the body at once and sets Ready.
func (c *bodyCompiler) compile(raw *RawBody, sch *schema.Block) *expr.Body {
	if raw.json != nil {
		content := c.jsonContent(raw, sch)
		raw.Attrs, raw.Blocks = content.Attrs, content.Blocks // RawBody.Where needs the decoded arguments and blocks
		raw = content
	}
	b := &expr.Body{Schema: sch, Ty: sch.Type()}
	c.unknownNames(raw, sch)
	constant := true
	b.Attrs = make([]expr.BodyAttr, 0, len(sch.Attrs))
	for _, a := range sch.Attrs {
		ba := c.attr(raw, sch, a)
		constant = constant && ba.Ready != cty.NilVal
		b.Attrs = append(b.Attrs, ba)
	}
	for _, n := range sch.Blocks {
		bn := c.nested(raw, n)
		bn.Ready = bn.Fold()
		constant = constant && bn.Ready != cty.NilVal
		b.Nested = append(b.Nested, bn)
	}
	if constant {
		b.Ready = b.Eval(nil, nil)
		b.Attrs, b.Nested = nil, nil
	}
	return b
}

func (c *bodyCompiler) attr(raw *RawBody, sch *schema.Block, a *schema.Attr) expr.BodyAttr {
	out := expr.BodyAttr{Attr: a, Want: configType(a)}
	written := raw.attr(a.Name)
	if written == nil {
		if n := asBlocks(sch, a.Name); n != nil && slices.ContainsFunc(raw.Blocks, func(b rawBlock) bool { return b.typ == a.Name }) {
			return c.asBlocks(raw, n, out)
		}
		c.absent(raw, a)
		out.Ready = cty.NullVal(a.Type)
		return out
	}
	if raw.fromJSON && asBlocks(sch, a.Name) != nil {
		out.Want = looseType(a.Type) // JSON does not distinguish blocks from objects, so attributes of the objects may be omitted
	}
	out.Expr = written.Expr
	if v, ok := expr.Constant(written.Expr); ok {
		if v, err := convert.To(v, out.Want); err == nil && !(a.WriteOnly && a.Required && v.IsNull()) {
			out.Ready = v
		}
	}
	return out
}

func (c *bodyCompiler) nested(raw *RawBody, n *schema.Nested) expr.BodyBlocks {
	out := expr.BodyBlocks{Nested: n}
	for i := range raw.Blocks {
		b := &raw.Blocks[i]
		if b.typ != n.Name || !c.labels(b, n) {
			continue
		}
		item := expr.BodyBlock{Labels: b.labels, Dynamic: b.Dynamic, At: b.typeAt, Raw: b.Body}
		if b.Dynamic != nil {
			item.Body, item.Mistakes = c.content(b.Body, n.Block)
		} else {
			item.Body = c.compile(b.Body, n.Block)
		}
		out.Items = append(out.Items, item)
	}
	return out
}

// content compiles the content of a dynamic block against its schema. It returns mistakes instead of reporting them,
// because they matter only if the dynamic block generates a block.
func (c *bodyCompiler) content(raw *RawBody, sch *schema.Block) (*expr.Body, []diag.Diagnostic) {
	bag, ok, own := c.bag, c.ok, &diag.Bag{}
	c.bag = own
	out := c.compile(raw, sch)
	c.bag, c.ok = bag, ok
	return out, own.List()
}

// unknownNames reports arguments and blocks that the schema does not have.
func (c *bodyCompiler) unknownNames(raw *RawBody, sch *schema.Block) {
	var metaArgs, metaBlocks []string
	if raw == c.outer {
		metaArgs, metaBlocks = c.metaArgs, c.metaBlocks
	}
	for i := range raw.Attrs {
		a := &raw.Attrs[i]
		if sch.Attr(a.Name) != nil {
			continue
		}
		if sch.Nested(a.Name) != nil || slices.Contains(metaBlocks, a.Name) {
			c.error(diag.Errorf("Unsupported argument", "An argument named %q is not expected here. Did you mean to define a block of type %q?", a.Name, a.Name).At(a.NameAt))
			continue
		}
		near := diag.SuggestAmong(a.Name, append(argumentNames(sch), metaArgs...))
		hint := diag.Meant(near)
		if near == a.Name { // the name is an argument of the language, which is not permitted inside a block "_"
			hint = ` A block "_" can contain only arguments of the provider. Move meta-arguments out of the block.`
		}
		reported := diag.Errorf("Unsupported argument", "An argument named %q is not expected here.%s", a.Name, hint).At(a.NameAt)
		c.instead(reported, func(d diag.Diagnostic) bool { return contains(a.at, *d.Subject) || c.needs(d, near, raw) })
		raw.mean(sch, near)
	}
	for i := range raw.Blocks {
		b := &raw.Blocks[i]
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
		c.instead(diag.Errorf("Unsupported block type", "Blocks of type %q are not expected here.%s", b.typ, hint).At(b.typeAt), func(d diag.Diagnostic) bool { return contains(b.Body.at, *d.Subject) })
	}
}

// instead reports d, an unexpected argument or block, and removes the earlier errors for which follows returns true.
// These errors are consequences of d: for example, names in a misplaced "ignore_changes" or "when" were taken for
// references.
func (c *bodyCompiler) instead(d diag.Diagnostic, follows func(diag.Diagnostic) bool) {
	c.bag.Instead(d, follows)
	c.ok = false
}

// needs reports whether the error d is a consequence of a misspelt count or for_each in raw. near is the correct
// spelling, with which the error d would not exist. Only the outer body of a declaration has these arguments.
func (c *bodyCompiler) needs(d diag.Diagnostic, near string, raw *RawBody) bool {
	symbol := map[string]string{"count": withoutCount, "for_each": withoutForEach}[near]
	of := c.c.d
	switch {
	case symbol == "" || raw != c.outer || of == nil:
		return false
	case d.Summary == symbol:
		return contains(raw.at, *d.Subject)
	case d.Summary == config.InvalidImportTo:
		return d.Related[0].Range == of.At
	}
	return of.Kind == Resource && d.Detail == noKeyOf(localName(of.Src.Res.Name))
}

// contains reports whether the second range is in the same file as the first, and inside of it.
func contains(within, at hcl.Range) bool {
	return within.Filename == at.Filename && within.Start.Byte <= at.Start.Byte && at.End.Byte <= within.End.Byte
}

// mean records that the body probably has a required argument under a misspelt name, so that the method absent does not
// also report the argument as missing. The parameter name is the correct name.
func (raw *RawBody) mean(sch *schema.Block, name string) {
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

// absent reports that the required argument a is missing in raw. It reports nothing if a is optional, if it is probably
// misspelt, or if c.incomplete is true.
func (c *bodyCompiler) absent(raw *RawBody, a *schema.Attr) {
	if a.Required && raw.meant != a.Name && !c.incomplete {
		c.error(diag.Errorf("Missing required argument", "The argument %q is required, but no definition was found.", a.Name).At(raw.missing))
	}
}

// labels checks the number of labels of a block: one if the block type has the nesting mode Map, and none otherwise. If
// the number is wrong, labels reports an error and returns false.
func (c *bodyCompiler) labels(b *rawBlock, n *schema.Nested) bool {
	want := 0
	if n.Nesting == schema.Map {
		want = 1
	}
	have := len(b.labels)
	if b.Dynamic != nil {
		have = len(b.Dynamic.Labels)
	}
	switch {
	case have > want && want == 0:
		c.error(diag.Errorf("Extraneous label for "+n.Name, "No labels are expected for %s blocks.", n.Name).At(b.typeAt))
	case have > want:
		c.error(diag.Errorf("Extraneous label for "+n.Name, "A %s block has one label (key).", n.Name).At(b.typeAt))
	case have < want:
		c.error(diag.Errorf("Missing key for "+n.Name, "A %s block must have one label (key).", n.Name).At(b.typeAt))
	}
	return have == want
}

// configType returns the type to which an argument is converted: the type of the attribute, in which the parts of
// nested attributes that a configuration need not set are optional.
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
	return o.Nesting.Of(cty.ObjectWithOptionalAttrs(atys, optional))
}

// asBlocks returns the block type for an attribute that a configuration may also write as blocks
// (schema.BlocksAsAttrs). It returns nil for any other name.
func asBlocks(sch *schema.Block, name string) *schema.Nested {
	for _, n := range sch.BlocksAsAttrs() {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// looseType returns ty with all attributes of its objects optional, at any depth of lists, sets and objects. It does
// not change types inside maps and tuples.
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
		return cty.ObjectWithOptionalAttrs(atys, slices.Sorted(maps.Keys(atys)))
	}
	return ty
}

// asBlocks compiles the blocks in raw that set an attribute. The value of the attribute is the list of these blocks.
func (c *bodyCompiler) asBlocks(raw *RawBody, nested *schema.Nested, out expr.BodyAttr) expr.BodyAttr {
	n := c.nested(raw, nested)
	n.Attr = true
	if len(n.Items) == 0 { // all blocks are malformed, and the errors were reported
		out.Ready = cty.UnknownVal(out.Attr.Type)
		return out
	}
	out.Expr = &expr.BlocksAsList{LiteralValueExpr: &hclsyntax.LiteralValueExpr{Val: cty.DynamicVal, SrcRange: n.Items[0].At}, N: &n}
	return out
}

// jsonContent decodes a JSON body with its schema and compiles its expressions. After an error, c.ok is false, and the
// result lacks the wrong parts.
func (c *bodyCompiler) jsonContent(raw *RawBody, sch *schema.Block) *RawBody {
	hs := outline.BodySchema(sch)
	hs.Blocks = slices.Insert(hs.Blocks, 0, hcl.BlockHeaderSchema{Type: "dynamic", LabelNames: []string{"type"}}) // inserted first, so that it takes precedence over a block type "dynamic" of the schema
	content, diags := raw.json.Content(hs)
	if !c.bag.HCL(diags) {
		c.ok = false
	}
	r := &rewriter{c: c.c, why: raw.why, place: raw.place, locals: raw.locals, content: raw.content}
	out := &RawBody{missing: content.MissingItemRange, fromJSON: true}
	for _, a := range inOrder(content.Attributes) {
		source := Native(a.Expr)
		out.Attrs = append(out.Attrs, rawAttr{Name: a.Name, Expr: r.node(source), source: source, NameAt: a.NameRange, at: a.Range})
	}
	for _, b := range content.Blocks {
		if rb, ok := c.jsonBlock(r, b, sch); ok {
			out.Blocks = append(out.Blocks, rb)
		}
	}
	return out
}

func (c *bodyCompiler) jsonBlock(r *rewriter, b *hcl.Block, sch *schema.Block) (rawBlock, bool) {
	out := rawBlock{typ: b.Type, labels: b.Labels, typeAt: b.TypeRange}
	if b.Type != "dynamic" || sch.Nested("dynamic") != nil {
		out.Body = r.jsonRaw(b.Body)
		return out, true
	}
	return c.jsonDynamic(r, b, out)
}

// jsonRaw returns a RawBody for a nested JSON body, whose references jsonBody has collected before.
func (r *rewriter) jsonRaw(b hcl.Body) *RawBody {
	return &RawBody{json: b, missing: b.MissingItemRange(), why: r.why, place: r.place, locals: slices.Clone(r.locals), content: r.content}
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
		c.error(diag.Errorf("Missing dynamic content block", "A dynamic block must have exactly one nested \"content\" block with the body of the generated blocks.").At(b.DefRange))
		return out, false
	}
	out.typ, out.labels = b.Labels[0], nil
	d := &expr.Dynamic{Iterator: b.Labels[0]}
	if a := content.Attributes["iterator"]; a != nil {
		d.Iterator = hcl.ExprAsKeyword(a.Expr)
	}
	d.ForEach = r.expr(content.Attributes["for_each"].Expr)
	out.Dynamic = d
	r.inContent(d.Iterator, func() {
		if a := content.Attributes["labels"]; a != nil {
			if list, ok := Native(a.Expr).(*hclsyntax.TupleConsExpr); ok {
				d.Labels = r.nodes(list.Exprs)
			}
		}
		out.Body = r.jsonRaw(content.Blocks[0].Body)
	})
	return out, true
}
