package funcs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
)

var encodings = []*builtin{
	fixed("base64decode", "Decodes Base64. The result must be text in UTF-8.", cty.String, base64Decode,
		text("str", "The Base64 text.")),
	fixed("base64encode", "Encodes a string, as UTF-8, in Base64.", cty.String, onText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		text("str", "The string.")),
	fixed("base64gunzip", "Decodes Base64 and decompresses the result with gzip. The decompressed text must be UTF-8.", cty.String, base64Gunzip,
		text("str", "The compressed text in Base64, such as a result of base64gzip.")),
	fixed("base64gzip", "Compresses a string with gzip and encodes the result in Base64.", cty.String, base64Gzip,
		text("str", "The string.")),
	fixed("textdecodebase64", "Decodes Base64 to text in a character encoding.", cty.String, textDecode,
		text("source", "The Base64 text."),
		text("encoding", "The encoding, by its IANA name or one of its aliases.")),
	fixed("textencodebase64", "Encodes a string in a character encoding, and the result in Base64.", cty.String, textEncode,
		text("string", "The string."),
		text("encoding", "The encoding, by its IANA name or one of its aliases.")),
	fixed("urldecode", "Decodes a string that urlencode has encoded.", cty.String, urlDecode,
		text("str", "The encoded string.")),
	fixed("urlencode", "Encodes a string for the query of a URL.", cty.String, onText(url.QueryEscape),
		text("str", "The string.")),
}

// onText returns the field run of a builtin with one string parameter whose result is f of that string.
func onText(f func(string) string) func(*call) (cty.Value, error) {
	return func(c *call) (cty.Value, error) { return cty.StringVal(f(c.args[0].AsString())), nil }
}

// utf8Text returns raw as a string of the language, or an error if raw is not valid UTF-8.
func utf8Text(raw []byte) (cty.Value, error) {
	if !utf8.Valid(raw) {
		return cty.NilVal, errors.New("the result of decoding the provided string is not valid UTF-8")
	}
	return cty.StringVal(string(raw)), nil
}

func (c *call) decode64() ([]byte, error) {
	text := c.args[0].AsString()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("failed to decode base64 data %s", c.quote(0, text))
	}
	return raw, nil
}

func base64Decode(c *call) (cty.Value, error) {
	raw, err := c.decode64()
	if err != nil {
		return cty.NilVal, err
	}
	return utf8Text(raw)
}

// base64Gzip compresses a string with gzip and returns Base64. It calls Flush before Close, as Terraform and OpenTofu
// do, because Flush changes the bytes of the result.
func base64Gzip(c *call) (cty.Value, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, c.args[0].AsString())
	if err := errors.Join(err, w.Flush(), w.Close()); err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(base64.StdEncoding.EncodeToString(b.Bytes())), nil
}

func base64Gunzip(c *call) (cty.Value, error) {
	raw, err := c.decode64()
	if err != nil {
		return cty.NilVal, err
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return cty.NilVal, c.because(fmt.Errorf("failed to read gzip data: %w", err))
	}
	most := c.limits.Bytes
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	switch {
	case err != nil:
		return cty.NilVal, c.because(fmt.Errorf("failed to read gzip data: %w", err))
	case int64(len(text)) > most:
		return cty.NilVal, c.tooLong()
	}
	return utf8Text(text)
}

func urlDecode(c *call) (cty.Value, error) {
	text, err := url.QueryUnescape(c.args[0].AsString())
	if err != nil {
		return cty.NilVal, c.because(fmt.Errorf("failed to decode URL: %w", err))
	}
	return utf8Text([]byte(text))
}

// charset returns the character encoding that argument i names, and its canonical name for messages. It returns an
// error for an unknown name.
func (c *call) charset(i int) (encoding.Encoding, string, error) {
	name := c.args[i].AsString()
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		return nil, "", bad(i, "%s is not a supported IANA encoding name or alias in this version of Lethe", c.quote(i, name))
	}
	if canonical, err := ianaindex.IANA.Name(enc); err == nil {
		name = canonical
	}
	return enc, c.show(i, name), nil
}

func textEncode(c *call) (cty.Value, error) {
	enc, name, err := c.charset(1)
	if err != nil {
		return cty.NilVal, err
	}
	raw, err := enc.NewEncoder().Bytes([]byte(c.args[0].AsString()))
	if err != nil {
		return cty.NilVal, bad(0, "the given string contains characters that cannot be represented in %s", name)
	}
	return cty.StringVal(base64.StdEncoding.EncodeToString(raw)), nil
}

// textDecode decodes Base64, and then the bytes in the given character encoding. It returns an error if the text
// contains a replacement character (U+FFFD), which the decoder writes for invalid bytes.
func textDecode(c *call) (cty.Value, error) {
	enc, name, err := c.charset(1)
	if err != nil {
		return cty.NilVal, err
	}
	raw, err := base64.StdEncoding.DecodeString(c.args[0].AsString())
	if err != nil {
		var at base64.CorruptInputError
		if errors.As(err, &at) {
			return cty.NilVal, bad(0, "the given value has an invalid base64 symbol at offset %d", int64(at))
		}
		return cty.NilVal, c.badBecause(0, err)
	}
	text, err := enc.NewDecoder().Bytes(raw)
	if err != nil || strings.ContainsRune(string(text), utf8.RuneError) {
		return cty.NilVal, bad(0, "the given string contains symbols that are not defined for %s", name)
	}
	return cty.StringVal(string(text)), nil
}
