package state

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lethe-iac/lethe/internal/addr"
	"github.com/lethe-iac/lethe/internal/diag"
)

func resource(i int) addr.Resource {
	return addr.Resource{Mode: addr.Managed, Type: "playground_thing", Name: fmt.Sprintf("thing_number_%06d", i)}
}

// big returns n resources with about size bytes of attributes each. They form chains of the given length, and the file
// lists all earlier resources of the chain as dependencies of each resource.
func big(n, chain, size int) *Snapshot {
	e := (*Snapshot)(nil).Edit()
	e.Head().Lineage = "big"
	filler := strings.Repeat("lorem ipsum ", size/12)
	for i := range n {
		attrs := fmt.Sprintf(`{"id":"thing-%06d","name":"some name of a thing","tags":{"a":"b","team":"platform"},"list":[1,2,3],"text":%q,"null":null,"flag":true}`, i, filler)
		entry := &Entry{Attrs: []byte(attrs), Provider: genProvider, Private: []byte("bnVsbA==")}
		if i%chain > 0 {
			entry.Recorded = []addr.Resource{resource(i - 1)}
		}
		e.Put(resource(i).In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(), entry)
	}
	return e.Done()
}

// layers returns n resources. Each resource depends on all resources of the previous layer.
func layers(n, width int) *Snapshot {
	e := (*Snapshot)(nil).Edit()
	for i := range n {
		entry := &Entry{Attrs: []byte(`{"id":"x"}`), Provider: genProvider}
		for d := (i/width - 1) * width; d >= 0 && d < i/width*width; d++ {
			entry.Recorded = append(entry.Recorded, resource(d))
		}
		e.Put(resource(i).In(addr.ModuleInstance{}).Instance(addr.NoKey).Current(), entry)
	}
	return e.Done()
}

// instances returns two resources with n instances each. The second depends on the first.
func instances(n int) *Snapshot {
	e := (*Snapshot)(nil).Edit()
	for i := range n {
		for d := range 2 {
			entry := &Entry{Attrs: []byte(`{"id":"x"}`), Provider: genProvider}
			if d > 0 {
				entry.Recorded = []addr.Resource{resource(0)}
			}
			e.Put(resource(d).In(addr.ModuleInstance{}).Instance(addr.IntKey(i)).Current(), entry)
		}
	}
	return e.Done()
}

var shapes = []struct {
	name string
	make func() *Snapshot
}{
	{"20000", func() *Snapshot { return big(20000, 2, 400) }},
	{"100MB", func() *Snapshot { return big(14160, 140, 2600) }}, // the shape of hashicorp/terraform#35822
	{"chain1000", func() *Snapshot { return big(1000, 1000, 400) }},
	{"chain3000", func() *Snapshot { return big(3000, 3000, 400) }},
	{"layers3000", func() *Snapshot { return layers(3000, 100) }},
	{"count20000", func() *Snapshot { return instances(10000) }},
}

func BenchmarkRead(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			data := mustWrite(b, shape.make())
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				var bag diag.Bag
				if _, ok := Read(data, &bag); !ok {
					b.Fatal(bag.List())
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, shape := range shapes {
		b.Run(shape.name, func(b *testing.B) {
			data := mustWrite(b, shape.make())
			s := mustRead(b, data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Write(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEqual(b *testing.B) {
	data := mustWrite(b, big(20000, 2, 400))
	x, y := mustRead(b, data), mustRead(b, data)
	for b.Loop() {
		if !Equal(x, y) {
			b.Fatal("not equal")
		}
	}
}

func BenchmarkEdit(b *testing.B) {
	s := big(20000, 2, 400)
	o := resource(7).In(addr.ModuleInstance{}).Instance(addr.NoKey).Current()
	entry := *s.Get(o)
	b.ReportAllocs()
	for b.Loop() {
		e := s.Edit()
		e.Put(o, &entry)
		e.Done()
	}
}
