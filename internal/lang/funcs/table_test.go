package funcs

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type peerParam struct {
	Name     string          `json:"name"`
	Type     json.RawMessage `json:"type"`
	Nullable bool            `json:"is_nullable,omitempty"`
}

type peerSignature struct {
	Returns  json.RawMessage `json:"return_type"`
	Params   []peerParam     `json:"parameters,omitempty"`
	Variadic *peerParam      `json:"variadic_parameter,omitempty"`
}

// signatureDifferences lists the functions whose signatures differ from Terraform 1.11.4.
var signatureDifferences = map[string]string{
	"contains": "the value may be null",
}

// TestSignatures compares the signatures with testdata/peer/signatures.json, the output of `terraform metadata
// functions -json` without the descriptions.
func TestSignatures(t *testing.T) {
	raw, err := os.ReadFile("testdata/peer/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var peer map[string]peerSignature
	if err := json.Unmarshal(raw, &peer); err != nil {
		t.Fatal(err)
	}
	for name, want := range peer {
		sig, ok := SignatureOf(name)
		if !ok {
			t.Errorf("no function %s", name)
			continue
		}
		got := peerSignature{Returns: typeJSON(t, sig.Returns)}
		for _, p := range sig.Params {
			got.Params = append(got.Params, peerParam{p.Name, typeJSON(t, p.Type), p.Nullable})
		}
		if p := sig.Variadic; p != nil {
			got.Variadic = &peerParam{p.Name, typeJSON(t, p.Type), p.Nullable}
		}
		if diff := cmp.Diff(plainJSON(t, want), plainJSON(t, got)); (diff != "") != (signatureDifferences[name] != "") {
			t.Errorf("%s (-theirs +ours):\n%s", name, diff)
		}
	}
	ours := slices.DeleteFunc(Names(), func(name string) bool { _, ok := peer[name]; return ok })
	if diff := cmp.Diff([]string{"base64gunzip", "cidrcontains", "convert", "urldecode"}, ours); diff != "" {
		t.Errorf("functions that Terraform 1.11.4 does not have (-want +got):\n%s", diff)
	}
}

func typeJSON(t *testing.T, ty interface{ MarshalJSON() ([]byte, error) }) json.RawMessage {
	raw, err := ty.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func plainJSON(t *testing.T, v any) string {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestDocs checks that a sentence describes every function and every parameter.
func TestDocs(t *testing.T) {
	for _, name := range append(Names(), "type") {
		sig, _ := SignatureOf(name)
		texts := []string{sig.Doc}
		for _, p := range sig.Params {
			texts = append(texts, p.Doc)
		}
		if sig.Variadic != nil {
			texts = append(texts, sig.Variadic.Doc)
		}
		for _, text := range texts {
			if !strings.HasSuffix(text, ".") || strings.ToUpper(text[:1]) != text[:1] && !strings.HasPrefix(text, "dns") {
				t.Errorf("%s: %q", name, text)
			}
		}
	}
	if sig, ok := SignatureOf("nosuch"); ok {
		t.Errorf("nosuch: %+v", sig)
	}
}

func TestTableHasBothNames(t *testing.T) {
	table := Table(&Env{Console: true})
	for _, name := range append(Names(), "list", "map", "type") {
		if _, ok := table[name]; !ok {
			t.Errorf("no %s", name)
		}
		if _, ok := table["core::"+name]; !ok {
			t.Errorf("no core::%s", name)
		}
	}
}
