package run

import (
	"context"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/engine/enginetest"
	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/provider/providertest"
	"github.com/lethe-iac/lethe/internal/schema"
)

// The schema of a resource type is requested once in a walk (a plan or an apply). An unknown type is reported in the
// bag of each caller. A type whose declaration was refused is not reported again.
func TestTypesAreDescribedOnce(t *testing.T) {
	fake := &providertest.Fake{Address: addr.Default("t")}
	fake.Describe = func() (*provider.Schemas, provider.Diags) {
		s := provider.NewSchemas(&schema.Schema{Block: &schema.Block{}})
		s.Add(addr.Managed, "t_item", func() (*schema.Schema, error) { return &schema.Schema{Block: &schema.Block{}}, nil })
		return s, nil
	}
	pool := provider.NewPool(nil)
	pool.Builtin(fake.Address, fake)
	types := newTypes(pool, enginetest.Program(t, map[string]string{"main.tf": `resource "t_absent" "declared" {}`}))
	of := func(text string, bag *diag.Bag) any {
		i := enginetest.Instance(t, text)
		if typ := types.Of(context.Background(), bag, fake.Address, i.Resource(), i); typ != nil {
			return typ
		}
		return nil
	}
	var bag diag.Bag
	if first, again := of("t_item.a", &bag), of("t_item.b", &bag); first == nil || first != again || bag.Len() > 0 {
		t.Errorf("%v, %v: %v", first, again, bag.List())
	}
	for range 2 {
		var own diag.Bag
		if typ := of("t_absent.stored", &own); typ != nil || len(own.List()) != 1 || own.List()[0].Summary != "Invalid resource type" {
			t.Errorf("%v: %v", typ, own.List())
		}
	}
	refused := &diag.Bag{}
	refused.Add(diag.Errorf("Refused", "The declaration was refused."))
	if typ := of("t_absent.declared", refused); typ != nil || refused.Len() != 1 {
		t.Errorf("%v: %v", typ, refused.List())
	}
}
