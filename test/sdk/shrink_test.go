package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Shrink makes the batch of a difference smaller: one piece, fewer steps, fewer arguments. It returns the smallest
// batch that still has a difference of the same kind, and that difference. If it finds none, it returns b and d. It
// runs at most n batches.
func (l *Lab) Shrink(b *Batch, d Difference, n int) (*Batch, Difference) {
	i := slices.IndexFunc(b.Pieces, func(p *Piece) bool { return p.Name == owner(d.At) })
	if i < 0 {
		return b, d
	}
	try := func(b *Batch) bool {
		if n--; n < 0 {
			return false
		}
		found, err := l.play(b)
		if err != nil {
			return false
		}
		for _, f := range found {
			if f.What == d.What && f.Section == d.Section && f.On == d.On {
				d = f
				return true
			}
		}
		return false
	}
	small := b.alone(b.Pieces[i]).upTo(d.Step)
	if !try(small) {
		return b, d
	}
	for step := 0; step < len(small.Steps)-1; step++ {
		if less := small.without(step); try(less) {
			small, step = less, step-1
		}
	}
	for _, key := range small.keys() {
		if less := small.less(key); try(less) {
			small = less
		}
	}
	return small, d
}

// upTo returns the batch without the steps after n.
func (b *Batch) upTo(n int) *Batch {
	out := &Batch{Seed: b.Seed, Steps: b.Steps[:n+1]}
	for _, p := range b.Pieces {
		out.Pieces = append(out.Pieces, &Piece{p.Name, p.Steps[:n+1]})
	}
	return out
}

// without returns the batch without step n.
func (b *Batch) without(n int) *Batch {
	out := &Batch{Seed: b.Seed, Steps: slices.Delete(slices.Clone(b.Steps), n, n+1)}
	for _, p := range b.Pieces {
		out.Pieces = append(out.Pieces, &Piece{p.Name, slices.Delete(slices.Clone(p.Steps), n, n+1)})
	}
	return out
}

// keys returns the arguments and blocks of a batch of one piece: "arg" or "around", a blank and the name.
func (b *Batch) keys() []string {
	all := map[string]bool{}
	for _, s := range b.Pieces[0].Steps {
		for k := range s.Args {
			all["arg "+k] = true
		}
		for k := range s.Around {
			all["around "+k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// less returns the batch without the argument or block of a key.
func (b *Batch) less(key string) *Batch {
	out := &Batch{Seed: b.Seed, Steps: b.Steps}
	kind, key, _ := strings.Cut(key, " ")
	for _, p := range b.Pieces {
		q := &Piece{Name: p.Name}
		for _, s := range p.Steps {
			c := *s
			c.Args, c.Around, c.Drift = maps.Clone(s.Args), maps.Clone(s.Around), maps.Clone(s.Drift)
			if kind == "arg" {
				delete(c.Args, key)
				delete(c.Drift, key)
			} else {
				delete(c.Around, key)
			}
			q.Steps = append(q.Steps, &c)
		}
		out.Pieces = append(out.Pieces, q)
	}
	return out
}

// outside writes commands for the faults and the drift of a step.
func (p *Piece) outside(s *strings.Builder, st *Step) {
	if st.Faults != "" {
		fmt.Fprintf(s, "echo '%s' > cloud/%s.fault\n", st.Faults, p.Name)
	}
	last := fmt.Sprintf("$(ls -v cloud/%s-*.json | tail -1)", p.Name)
	if st.Gone {
		fmt.Fprintf(s, "rm %s\n", last)
	}
	for _, k := range slices.Sorted(maps.Keys(st.Drift)) {
		v, _ := json.Marshal(st.Drift[k])
		fmt.Fprintf(s, "f=%s; jq '.attrs[%q] = %s' $f > t && mv t $f\n", last, k, v)
	}
}

// Write writes the batch as a directory with a script that runs it by hand: run.sh ENGINE PLUGINS. ENGINE is the
// program, and PLUGINS is the directory of the providers. The script has the difference as a comment.
func (b *Batch) Write(dir string, d Difference) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var s strings.Builder
	s.WriteString("#!/bin/bash\n# usage: run.sh ENGINE PLUGINS\n# " + strings.ReplaceAll(d.String(), "\n", "\n# ") + "\n")
	s.WriteString(`here=$(cd "$(dirname "$0")" && pwd); engine=$1; plugins=$2; work=$(mktemp -d); cd "$work"; mkdir cloud
export SDK_CLOUD=$PWD/cloud SDK_LOG=$PWD/log CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE=$PWD/rc
printf 'provider_installation {\n dev_overrides {\n  "example.com/sdk/old" = "%s"\n  "example.com/sdk/fw" = "%s"\n }\n}\n' "$plugins" "$plugins" > rc
`)
	for n, c := range b.Steps {
		for name, text := range b.files(n) {
			file := filepath.Join(dir, fmt.Sprint("step", n), name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				return err
			}
		}
		fmt.Fprintf(&s, "\necho '=== step %d'; last=$(basename \"$(ls -v cloud/a*[0-9]-*.json 2>/dev/null | grep -v _ | tail -1)\" .json)\nrm -rf a[0-9]*; cp -r \"$here/step%d/.\" . && sed -E -i \"s/a[0-9]+@/$last/\" main.tf; export SDK_SCHEMA=%d; : > log\n", n, n, c.Schema)
		outside := func(late bool) {
			for _, p := range b.Pieces {
				if st := p.Steps[n]; st.Late == late {
					p.outside(&s, st)
				}
			}
		}
		outside(false)
		for _, p := range b.Pieces {
			st := p.Steps[n]
			for _, args := range st.Before {
				fmt.Fprintf(&s, "$engine '%s'\n", lastID.ReplaceAllString(strings.Join(args, "' '"), "'$$last'"))
			}
		}
		options := ""
		if list := b.options(n); len(list) > 0 {
			options = "'" + strings.Join(list, "' '") + "'"
		}
		if c.Direct {
			fmt.Fprintf(&s, "$engine apply -auto-approve -no-color %s\n", options)
		} else {
			fmt.Fprintf(&s, "if $engine plan -no-color -out=p %s; then\n", options)
			outside(true)
			s.WriteString("$engine apply -no-color p; fi\n")
		}
		s.WriteString("rm -f cloud/*.fault\n$engine plan -no-color\n")
	}
	return os.WriteFile(filepath.Join(dir, "run.sh"), []byte(s.String()), 0o755)
}
