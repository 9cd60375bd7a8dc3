package journal

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/state"
)

// BenchmarkResult measures durable records of about 600 bytes per second. One operation is one record.
func BenchmarkResult(b *testing.B) {
	for _, writers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("writers%d", writers), func(b *testing.B) {
			w := create(b, filepath.Join(b.TempDir(), "j"), nil, Options{})
			defer w.Close()
			o := object(b, `module.some["thing"].playground_thing.name[7]`)
			e := &state.Entry{Attrs: []byte(`{"id":"x","text":"` + strings.Repeat("lorem ", 60) + `"}`), Provider: provider}
			b.ReportAllocs()
			b.ResetTimer()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			for range writers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := w.Result(1, Change{o, e}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	path := filepath.Join(b.TempDir(), "j")
	w := create(b, path, nil, Options{})
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			for n := range 100 {
				o := object(b, fmt.Sprintf("playground_thing.n%d[%d]", i, n))
				op, err := w.Intent(Intent{Object: o, Action: "create", Provider: provider})
				if err == nil {
					err = w.Result(op, Change{o, entry("x")})
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	data, err := w.fs.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := Replay(data, nil, nil); err != nil || r.Snapshot.Len() != 10000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode measures the encoding of the two records of a change, without the disk.
func BenchmarkEncode(b *testing.B) {
	o := object(b, `module.some["thing"].playground_thing.name[7]`)
	u := Unknown{Intent: Intent{Object: o, Action: "create", Provider: provider}, Time: time.Now().UTC()}
	e := &state.Entry{Attrs: []byte(`{"id":"x","text":"` + strings.Repeat("lorem ", 60) + `"}`), Provider: provider}
	b.ReportAllocs()
	for b.Loop() {
		encodeIntent(1, u)
		encodeResult(1, []Change{{o, e}})
	}
}
