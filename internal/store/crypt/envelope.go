package crypt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// envelope is the content of an encrypted file, a JSON object.
type envelope struct {
	Serial  *uint64           `json:"serial,omitempty"`
	Lineage string            `json:"lineage,omitempty"`
	Meta    map[string][]byte `json:"meta"`
	Data    []byte            `json:"encrypted_data"`
	Version string            `json:"encryption_version"`
}

const version = "v0"

// Sealed reports whether data is an encrypted file: a JSON object, complete or not, with a top-level member "meta",
// "encrypted_data" or "encryption_version".
func Sealed(data []byte) bool {
	found := false
	members(data, func(name string, _ *json.Decoder) bool {
		found = found || name == "meta" || name == "encrypted_data" || name == "encryption_version"
		return !found && name != "version" // stop at "version", with which plain states begin
	})
	return found
}

// IsState reports whether an encrypted file contains a state, not a plan or a journal: only for states, a serial or a
// lineage precedes the encrypted data in plain text.
func IsState(data []byte) bool {
	found := false
	members(data, func(name string, _ *json.Decoder) bool {
		found = name == "serial" || name == "lineage"
		return !found
	})
	return found
}

// members calls next for each top-level name of a JSON object, until next returns false. next may read the value from
// d.
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

// identity returns the serial and the lineage of a plain state, or nil and "" if they are missing.
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

// parse decodes an envelope and checks its version.
func parse(data []byte) (*envelope, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, damage("The encrypted file is damaged: it was truncated or changed (%s). Restore it from a backup.", reason(err, data))
	}
	switch {
	case e.Version != version:
		return nil, failed(badOpen, "The file is encrypted in version %q of the format, but only %q is supported. Use a newer version of Lethe, or restore the file from a backup if it was changed.", e.Version, version)
	case len(e.Data) == 0:
		return nil, damage("The encrypted file is damaged: it has no \"encrypted_data\".")
	}
	return &e, nil
}

// reason describes an error of package json without quoting the data, which may be secret.
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
