package crypt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// envelope is an encrypted file.
type envelope struct {
	Serial  *uint64           `json:"serial,omitempty"`
	Lineage string            `json:"lineage,omitempty"`
	Meta    map[string][]byte `json:"meta"`
	Data    []byte            `json:"encrypted_data"`
	Version string            `json:"encryption_version"`
}

const version = "v0"

// Sealed reports whether data is an encrypted file, as far as its beginning tells: a JSON object with the
// member "meta", "encrypted_data" or "encryption_version" at its top, whole or not.
func Sealed(data []byte) bool {
	found := false
	members(data, func(name string, _ *json.Decoder) bool {
		found = found || name == "meta" || name == "encrypted_data" || name == "encryption_version"
		return !found && name != "version" // which plain states begin with
	})
	return found
}

// IsState reports whether an encrypted file has a state in it, and no plan.
func IsState(data []byte) bool {
	found := false
	members(data, func(name string, _ *json.Decoder) bool {
		found = name == "serial" || name == "lineage"
		return !found
	})
	return found
}

// members goes through the names at the top of a JSON object for as long as next says so. next may read the value.
func members(data []byte, next func(name string, d *json.Decoder) bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return
		}
		before := d.InputOffset()
		if !next(name.(string), d) {
			return
		}
		if d.InputOffset() == before {
			var skip json.RawMessage
			if d.Decode(&skip) != nil {
				return
			}
		}
	}
}

// identity finds serial and lineage of a plain state, nil and "" where it has none.
func identity(plain []byte) (serial *uint64, lineage string) {
	members(plain, func(name string, d *json.Decoder) bool {
		switch name {
		case "serial":
			serial = new(uint64)
			if d.Decode(serial) != nil {
				serial = nil
				return false
			}
		case "lineage":
			if d.Decode(&lineage) != nil {
				return false
			}
		}
		return serial == nil || lineage == ""
	})
	return serial, lineage
}

// parse reads an envelope.
func parse(data []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, damage("The encrypted file is damaged: it is not whole, or was changed after it was written (%s).", reason(err, data))
	}
	switch {
	case e.Version != version:
		return nil, failed(badOpen, "The file is encrypted in the version %q of the format, and only %q is known. Newer software wrote it, or it was changed after it was written.", e.Version, version)
	case len(e.Data) == 0:
		return nil, damage("The encrypted file is damaged: it has no \"encrypted_data\".")
	}
	return &e, nil
}

// reason says what is wrong with JSON, without a part of it.
func reason(err error, data []byte) string {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(data)):
		return fmt.Sprintf("it ends after %d bytes", len(data))
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON at byte %d", syntax.Offset)
	case errors.As(err, &typ):
		return fmt.Sprintf("its member %q is of the wrong type", typ.Field)
	}
	return "one of its members is not base64"
}

func (e *envelope) bytes() ([]byte, error) { return json.Marshal(e) }
