package config

import (
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/limits"
	"github.com/rogpeppe/go-internal/txtar"
)

// seeds adds the files of the golden cases as seeds: JSON files if js is true, otherwise files in native syntax.
func seeds(f *testing.F, js bool) {
	for _, name := range []string{"variables", "settings", "providers", "resources", "statements", "modules", "overrides", "json", "files"} {
		ar, err := txtar.ParseFile("testdata/load/" + name + ".txtar")
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range ar.Files {
			if isJSON := len(file.Data) > 0 && (file.Data[0] == '{' || file.Data[0] == '['); isJSON == js {
				f.Add(file.Data)
			}
		}
	}
}

// tight holds small limits, so that a single input takes little time.
var tight = limits.Limits{Tokens: 20_000, Nesting: 100, Elements: 10_000}

func fuzzLoad(t *testing.T, name string, text []byte) {
	start := time.Now()
	files := Memory{name: text, "override.tf": []byte("locals {\n  a = 1\n}\n")}
	var bags [2]diag.Bag
	var loaded [2]bool
	for i := range bags {
		var m *Module
		m, loaded[i] = Load(".", Options{Files: files, Limits: tight, Version: "1.12.0"}, nil, &bags[i])
		if loaded[i] == bags[i].HasErrors() {
			t.Errorf("result %v with %v", loaded[i], bags[i].List())
		}
		if loaded[i] {
			_ = dump(m)
		}
	}
	if a, b := render(&bags[0], loaded[0]), render(&bags[1], loaded[1]); a != b {
		t.Errorf("two results:\n%s\n%s", a, b)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("took %v", took)
	}
}

func FuzzLoad(f *testing.F) {
	seeds(f, false)
	f.Fuzz(func(t *testing.T, text []byte) { fuzzLoad(t, "main.tf", text) })
}

func FuzzLoadJSON(f *testing.F) {
	seeds(f, true)
	f.Fuzz(func(t *testing.T, text []byte) { fuzzLoad(t, "main.tf.json", text) })
}

func FuzzValues(f *testing.F) {
	f.Add([]byte("a = 1\nb = [true, null, \"x\"]\nc = { d = <<E\nx\nE\n}\n"))
	f.Add([]byte("a {}\nb = c\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var bag diag.Bag
		if _, ok := LoadValues("x.tfvars", text, tight, &bag); ok == bag.HasErrors() {
			t.Errorf("result %v with %v", ok, bag.List())
		}
	})
}
