package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// component is a component of a bill of materials in the format CycloneDX 1.5.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// bill returns the bill of materials of a program: the modules that it was built from, according to the program itself.
// name is the name of its file, for the reference to it.
func bill(program []byte, name, version string, at time.Time) ([]byte, error) {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return nil, err
	}
	type metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(program))
	doc := struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}{
		Format: "CycloneDX", Spec: "1.5", Version: 1,
		Metadata: metadata{at.Format(time.RFC3339), component{Type: "application", Ref: name, Name: "lethe", Version: version, Hashes: []hash{{"SHA-256", sum}}}},
	}
	doc.Components = append(doc.Components, component{Type: "platform", Name: "go", Version: info.GoVersion, PURL: "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")})
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		doc.Components = append(doc.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl})
	}
	text, err := json.MarshalIndent(doc, "", "  ")
	return append(text, '\n'), err
}
