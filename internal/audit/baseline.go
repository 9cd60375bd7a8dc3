package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Baseline is a list of accepted findings. It identifies them by address, attribute and reason. It contains no value
// and no digest, because readers could test guesses against a digest.
type Baseline map[BaselineEntry]bool

// BaselineEntry identifies a finding.
type BaselineEntry struct {
	Address   string `json:"address"`
	Attribute string `json:"attribute,omitempty"`
	Reason    Reason `json:"reason"`
}

// baselineFormat is the version of the file format.
const baselineFormat = "1.0"

type baselineDocument struct {
	Format  string          `json:"format_version"`
	Secrets []BaselineEntry `json:"secrets"`
}

func (f *Finding) baseline() BaselineEntry { return BaselineEntry{f.Address, f.Path, f.Reason} }

// Has reports whether the finding is accepted.
func (b Baseline) Has(f *Finding) bool { return b[f.baseline()] }

// ReadBaseline reads the result of BaselineOf. It returns an error for invalid JSON, an unknown field, and another
// version of the format.
func ReadBaseline(data []byte) (Baseline, error) {
	var doc baselineDocument
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Format != baselineFormat {
		return nil, fmt.Errorf("its format_version is %q, and this version of Lethe supports %q", doc.Format, baselineFormat)
	}
	out := Baseline{}
	for _, e := range doc.Secrets {
		out[e] = true
	}
	return out, nil
}

// BaselineOf returns a baseline that accepts a report's findings in clear. It has one line for each finding.
func BaselineOf(r *Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"format_version\":%q,\"secrets\":[", baselineFormat)
	first := true
	for _, f := range r.Findings {
		if !f.Clear() {
			continue
		}
		line, err := json.Marshal(f.baseline())
		if err != nil {
			panic(err) // strings can always be encoded
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.WriteByte('\n')
		b.Write(line)
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}
