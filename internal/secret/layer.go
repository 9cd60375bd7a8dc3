package secret

import "slices"

// layer is a text that is searched for secrets: the given text (the outermost layer), or a text that was decoded from
// another layer.
type layer struct {
	text  string
	depth int
	whole bool // the layer was decoded from the whole outermost text
	web   bool // the layer was decoded from a URL or from HTML
	// lo and hi have a range for each byte: the index in the outermost text at which the encoded form of the byte begins,
	// and the index after its end. They are nil in the outermost layer, and if the places of bytes are not recorded.
	lo, hi []int
}

func (l *layer) from(i int) int {
	if l.lo == nil {
		return i
	}
	return l.lo[i]
}

func (l *layer) to(i int) int {
	if l.hi == nil {
		return i + 1
	}
	return l.hi[i]
}

// inner is a layer that is being decoded from another layer, which is in the field of.
type inner struct {
	of     *layer
	whole  bool
	web    bool
	places bool
	text   []byte
	lo, hi []int
}

// put appends text, which is the decoded form of the bytes in.of.text[from:to] of the outer layer.
func (in *inner) put(text string, from, to int) {
	in.text = append(in.text, text...)
	if !in.places || from == to {
		return
	}
	for range len(text) {
		in.lo, in.hi = append(in.lo, in.of.from(from)), append(in.hi, in.of.to(to-1))
	}
}

// same appends the bytes in.of.text[from:to] of the outer layer unchanged.
func (in *inner) same(from, to int) {
	in.text = append(in.text, in.of.text[from:to]...)
	if in.places {
		for i := from; i < to; i++ {
			in.lo, in.hi = append(in.lo, in.of.from(i)), append(in.hi, in.of.to(i))
		}
	}
}

// span is a part of a text that contains a secret.
type span struct {
	from, to int
	of       *secret
}

// joined sorts spans by place and merges spans that overlap or touch.
func joined(all []span) []span {
	slices.SortFunc(all, func(a, b span) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	out := all[:0]
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
