package schema

import (
	"github.com/lethe-iac/lethe/internal/ctyvalue"
	"github.com/lethe-iac/lethe/internal/jsontext"
	"github.com/zclconf/go-cty/cty"
)

// appendJSON writes v as package cty/json does.
func (c *codec) appendJSON(b []byte, v cty.Value) ([]byte, *failure) {
	if marked(v) {
		return nil, fail("a marked value cannot be encoded")
	}
	if !v.IsKnown() {
		return nil, fail("the value is not known")
	}
	ty := v.Type()
	if c.kind == kindDynamic && ty != cty.DynamicPseudoType {
		return appendDynamicJSON(b, v, ty)
	}
	if v.IsNull() {
		return append(b, "null"...), nil
	}
	if !c.is(ty) {
		return nil, mismatched
	}
	switch c.kind {
	case kindString:
		return jsontext.AppendString(b, v.AsString()), nil
	case kindNumber:
		f := ctyvalue.Number(v)
		if f.IsInf() {
			return nil, fail("infinity has no form in JSON")
		}
		if f.Sign() == 0 {
			return append(b, '0'), nil // also for what is a little less than nothing
		}
		return appendDecimal(b, f), nil
	case kindBool:
		if v.True() {
			return append(b, "true"...), nil
		}
		return append(b, "false"...), nil
	case kindList, kindSet, kindTuple:
		return c.appendJSONList(b, v)
	case kindMap:
		return c.appendJSONMap(b, v)
	case kindObject:
		return c.appendJSONObject(b, v)
	}
	return nil, fail("a value of this type cannot be encoded")
}

func (c *codec) appendJSONList(b []byte, v cty.Value) ([]byte, *failure) {
	b = append(b, '[')
	var f *failure
	for i, ev := range ctyvalue.Items(v) {
		if i > 0 {
			b = append(b, ',')
		}
		if b, f = c.item(i).appendJSON(b, ev); f != nil {
			return nil, f.at(i)
		}
	}
	return append(b, ']'), nil
}

func (c *codec) appendJSONMap(b []byte, v cty.Value) ([]byte, *failure) {
	b = append(b, '{')
	var f *failure
	for k, ev := range ctyvalue.Members(v) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(jsontext.AppendString(b, k), ':')
		if b, f = c.elem.appendJSON(b, ev); f != nil {
			return nil, f.in(cty.IndexStep{Key: cty.StringVal(k)})
		}
	}
	return append(b, '}'), nil
}

func (c *codec) appendJSONObject(b []byte, v cty.Value) ([]byte, *failure) {
	b = append(b, '{')
	attrs := fieldsOf(v)
	var f *failure
	for i := range c.attrs {
		a := &c.attrs[i]
		av, ok := attrs.get(a.name)
		if !ok {
			return nil, mismatched
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, a.text...)
		if b, f = a.appendJSON(b, av); f != nil {
			return nil, f.in(cty.GetAttrStep{Name: a.name})
		}
	}
	return append(b, '}'), nil
}

// appendDynamicJSON writes the type behind the value.
func appendDynamicJSON(b []byte, v cty.Value, ty cty.Type) ([]byte, *failure) {
	name, err := ty.MarshalJSON()
	if err != nil {
		return nil, fail("its type cannot be encoded: " + err.Error())
	}
	b = append(b, `{"value":`...)
	b, f := compile(ty).appendJSON(b, v)
	if f != nil {
		return nil, f
	}
	b = append(b, `,"type":`...)
	b = append(b, name...)
	return append(b, '}'), nil
}
