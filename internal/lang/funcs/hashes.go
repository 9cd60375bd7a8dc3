package funcs

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
)

var hashes = []*builtin{
	hashOf("base64sha256", "SHA-256", "Base64", sha256.New, base64.StdEncoding.EncodeToString),
	hashOf("base64sha512", "SHA-512", "Base64", sha512.New, base64.StdEncoding.EncodeToString),
	hashOf("md5", "MD5", "hexadecimal", md5.New, hex.EncodeToString),
	hashOf("sha1", "SHA-1", "hexadecimal", sha1.New, hex.EncodeToString),
	hashOf("sha256", "SHA-256", "hexadecimal", sha256.New, hex.EncodeToString),
	hashOf("sha512", "SHA-512", "hexadecimal", sha512.New, hex.EncodeToString),
	fileHashOf("filebase64sha256", "SHA-256", "Base64", sha256.New, base64.StdEncoding.EncodeToString),
	fileHashOf("filebase64sha512", "SHA-512", "Base64", sha512.New, base64.StdEncoding.EncodeToString),
	fileHashOf("filemd5", "MD5", "hexadecimal", md5.New, hex.EncodeToString),
	fileHashOf("filesha1", "SHA-1", "hexadecimal", sha1.New, hex.EncodeToString),
	fileHashOf("filesha256", "SHA-256", "hexadecimal", sha256.New, hex.EncodeToString),
	fileHashOf("filesha512", "SHA-512", "hexadecimal", sha512.New, hex.EncodeToString),
	{
		name: "bcrypt", doc: "Hashes a password with bcrypt. Each call returns another hash.",
		params:  []param{{name: "str", typ: cty.String, doc: "The password, at most 72 bytes."}},
		rest:    &param{name: "cost", typ: cty.Number, doc: "The cost, as a power of two. Default: 10."},
		returns: cty.String, impure: true, run: bcryptHash,
	},
	fixed("rsadecrypt", "Decrypts a text that is encrypted with RSA and PKCS #1 v1.5 padding.", cty.String, rsaDecrypt,
		text("ciphertext", "The encrypted text in Base64."),
		text("privatekey", "The private key in PEM, without a passphrase.")),
	{
		name: "uuid", doc: "Returns a random UUID.",
		returns: cty.String, impure: true, run: randomUUID,
	},
	fixed("uuidv5", "Returns the UUID of a name in a namespace. The same name has the same UUID.", cty.String, namedUUID,
		text("namespace", "dns, url, oid, x500, or a UUID."),
		text("name", "The name.")),
}

func hashOf(name, algorithm, form string, h func() hash.Hash, encode func([]byte) string) *builtin {
	return &builtin{
		name: name, doc: fmt.Sprintf("Computes the %s hash of a string, as UTF-8, in %s.", algorithm, form),
		params:  []param{{name: "str", typ: cty.String, doc: "The string."}},
		returns: cty.String,
		run: func(c *call) (cty.Value, error) {
			sum := h()
			_, _ = io.WriteString(sum, c.args[0].AsString()) // a hash never returns an error
			return cty.StringVal(encode(sum.Sum(nil))), nil
		},
	}
}

func fileHashOf(name, algorithm, form string, h func() hash.Hash, encode func([]byte) string) *builtin {
	return &builtin{
		name: name, doc: fmt.Sprintf("Computes the %s hash of the content of a file, in %s.", algorithm, form),
		params:  []param{{name: "path", typ: cty.String, doc: "The file."}},
		returns: cty.String, observed: true,
		run: func(c *call) (cty.Value, error) {
			sum := h()
			if err := c.feed(sum); err != nil {
				return cty.NilVal, c.because(fileArgument{c}.relative(err))
			}
			return cty.StringVal(encode(sum.Sum(nil))), nil
		},
	}
}

// hashFactor is the factor by which a file to be hashed may exceed the limit of bytes, because such a file is never
// completely in memory.
const hashFactor = 16

// mostCost is the maximum cost of bcrypt. Each step doubles the time; 16 takes a few seconds.
const mostCost = 16

// feed writes the content of the file that the first argument names to the hash sum. It returns an error if the file
// cannot be read, or has more bytes than hashFactor times the limit.
func (c *call) feed(sum hash.Hash) error {
	f, _, err := fileArgument{c}.open(hashFactor)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(sum, io.LimitReader(f, hashFactor*c.limits.Bytes+1))
	if err == nil && n > hashFactor*c.limits.Bytes {
		err = tooMuch("too many bytes", hashFactor*c.limits.Bytes)
	}
	return err
}

func bcryptHash(c *call) (cty.Value, error) {
	if len(c.args) > 2 {
		return cty.NilVal, errors.New("bcrypt() takes no more than two arguments")
	}
	cost := bcrypt.DefaultCost
	if len(c.args) == 2 {
		var err error
		if cost, err = wholeNumber(c.args[1]); err != nil {
			return cty.NilVal, c.because(err)
		}
	}
	if cost > mostCost && cost <= bcrypt.MaxCost {
		return cty.NilVal, bad(1, "%s", tooMuch("too high a cost", mostCost))
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(c.args[0].AsString()), cost)
	if err != nil {
		return cty.NilVal, c.because(err)
	}
	return cty.StringVal(string(hash)), nil
}

// largestKey is a size in bytes that every usable private key in PEM is below.
const largestKey = 64 << 10

func rsaDecrypt(c *call) (cty.Value, error) {
	text, pem := c.args[0].AsString(), c.args[1].AsString()
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return cty.NilVal, bad(0, "failed to decode input %s: cipher text must be base64-encoded", c.quote(0, text))
	}
	if len(pem) > largestKey {
		return cty.NilVal, bad(1, "%s", tooMuch("invalid private key: too many bytes", largestKey))
	}
	parsed, err := ssh.ParseRawPrivateKey([]byte(pem))
	if err != nil {
		return cty.NilVal, bad(1, "invalid private key: %s", keyProblem(err))
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return cty.NilVal, bad(1, "invalid private key: it is not an RSA key")
	}
	//lint:ignore SA1019 this padding is what rsadecrypt is defined with
	clear, err := rsa.DecryptPKCS1v15(rand.Reader, key, raw)
	if err != nil {
		return cty.NilVal, fmt.Errorf("failed to decrypt: %w", err)
	}
	return cty.StringVal(string(clear)), nil
}

// keyProblem returns the reason why a private key cannot be used. It does not quote the error of the parser, which may
// contain parts of the key.
func keyProblem(err error) string {
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return "this private key is passphrase protected"
	case strings.Contains(err.Error(), "no key found"):
		return "no key found"
	}
	return "it is not a private key in PEM"
}

func randomUUID(*call) (cty.Value, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(id.String()), nil
}

// namespaces are the namespaces of RFC 4122, appendix C.
var namespaces = map[string]uuid.UUID{
	"dns": uuid.NameSpaceDNS, "url": uuid.NameSpaceURL, "oid": uuid.NameSpaceOID, "x500": uuid.NameSpaceX500,
}

func namedUUID(c *call) (cty.Value, error) {
	given := c.args[0].AsString()
	space, ok := namespaces[given]
	if !ok {
		var err error
		if space, err = uuid.Parse(given); err != nil {
			return cty.NilVal, c.because(fmt.Errorf("uuidv5() doesn't support namespace %s (%w)", c.show(0, given), err))
		}
	}
	return cty.StringVal(uuid.NewSHA1(space, []byte(c.args[1].AsString())).String()), nil
}
