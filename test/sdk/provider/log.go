package provider

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// A Call is one line of the log.
type Call struct {
	Call string         `json:"call"`
	Type string         `json:"type"`
	Key  string         `json:"key"` // the name of the object, from its attribute name
	Req  map[string]any `json:"req"`
	Resp map[string]any `json:"resp"`
}

// Unknown represents an unknown value in a logged value.
const Unknown = "<unknown>"

// record appends one line to the log, if SDK_LOG is set. A provider cannot report a failure of its log; the test
// notices the missing line.
func record(call, typ string, req, resp map[string]any) {
	path := os.Getenv(EnvLog)
	if path == "" {
		return
	}
	key := ""
	for _, from := range []any{req["config"], req["prior"], req["planned"], req["state"]} {
		if m, ok := from.(map[string]any); ok && key == "" {
			key, _ = m["name"].(string)
		}
	}
	if id, ok := req["id"].(string); ok {
		key, _, _ = strings.Cut(id, "-")
	}
	line, err := json.Marshal(Call{call, typ, key, req, resp})
	if err != nil {
		return
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}

// tree decodes a value from the wire without its schema: asJSON if that is not empty, and wire otherwise. It returns
// nil if both are empty, and a text with the error if wire cannot be decoded.
func tree(wire, asJSON []byte) any {
	if len(asJSON) > 0 {
		var v any
		_ = json.Unmarshal(asJSON, &v)
		return v
	}
	if len(wire) == 0 {
		return nil
	}
	v, err := next(msgpack.NewDecoder(bytes.NewReader(wire)))
	if err != nil {
		return "undecodable: " + err.Error()
	}
	return v
}

func next(d *msgpack.Decoder) (any, error) {
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsExt(code):
		return Unknown, d.Skip()
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		n, err := d.DecodeMapLen()
		m := map[string]any{}
		for i := 0; i < n && err == nil; i++ {
			var k string
			if k, err = d.DecodeString(); err == nil {
				m[k], err = next(d)
			}
		}
		return m, err
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		n, err := d.DecodeArrayLen()
		l := []any{}
		for i := 0; i < n && err == nil; i++ {
			var v any
			v, err = next(d)
			l = append(l, v)
		}
		return l, err
	case code == msgpcode.Bin8, code == msgpcode.Bin16, code == msgpcode.Bin32:
		b, err := d.DecodeBytes() // the wire form has bytes only for the type of a dynamic attribute
		return string(b), err
	}
	return d.DecodeInterface()
}

// private returns private data as decoded JSON, in which nested JSON of the framework is text. Data that are not JSON
// are returned in base64, and empty data as nil.
func private(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(b, &v) == nil {
		if m, ok := v.(map[string]any); ok { // the framework stores each value in base64
			for k, e := range m {
				if s, ok := e.(string); ok {
					if raw, err := base64.StdEncoding.DecodeString(s); err == nil && json.Valid(raw) {
						m[k] = string(raw)
					}
				}
			}
		}
		return v
	}
	return base64.StdEncoding.EncodeToString(b)
}
