package file

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"github.com/lethe-iac/lethe/internal/diag"
)

// A seal is the comment of the archive, and so its last bytes:
//
//	lethe plan seal ID MAC sha256:SUM
//
// ID says which key it is of (16 hexadecimal digits, zeros for none). MAC is the HMAC-SHA-256 under that key of the SHA-256
// of all bytes before it, ID included, and zeros without a key; SUM is the SHA-256 of all bytes before it. So each reader of a plan
// notices damage, and one with the key notices that it was changed on purpose.
const (
	sealBegin = "lethe plan seal "
	sealSum   = " sha256:"
	idDigits  = 16
	macDigits = 2 * sha256.Size
	sealSize  = len(sealBegin) + idDigits + 1 + macDigits + len(sealSum) + macDigits
)

// keyID names a key without telling it.
func keyID(key []byte) string {
	if key == nil {
		return strings.Repeat("0", idDigits)
	}
	sum := sha256.Sum256(append([]byte("lethe plan key "), key...))
	return hex.EncodeToString(sum[:idDigits/2])
}

// seal makes the seal of what comes before it.
func seal(before, key []byte) []byte {
	sum := sha256.New()
	sum.Write(before)
	return sealOf(sum, key)
}

// sealOf makes the seal of what a digest was made of.
func sealOf(sum hash.Hash, key []byte) []byte {
	out := append([]byte(sealBegin+keyID(key)+" "), strings.Repeat("0", macDigits)...)
	sum.Write(out[:len(out)-macDigits])
	if key != nil {
		mac := hmac.New(sha256.New, key)
		mac.Write(sum.Sum(nil))
		hex.Encode(out[len(out)-macDigits:], mac.Sum(nil))
	}
	out = append(out, sealSum...)
	sum.Write(out[len(sealBegin)+idDigits+1:])
	return hex.AppendEncode(out, sum.Sum(nil))
}

// sealer hands on what is written, but for the last bytes, in whose place the seal is put.
type sealer struct {
	out  *bufio.Writer
	sum  hash.Hash
	key  []byte
	held []byte // the last sealSize bytes, or fewer, before which all was handed on
}

func newSealer(w io.Writer, key []byte) *sealer {
	return &sealer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), key: key}
}

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	if over := min(len(s.held)+len(p)-sealSize, len(s.held)); over > 0 {
		s.on(s.held[:over])
		s.held = append(s.held[:0], s.held[over:]...)
	}
	if over := len(s.held) + len(p) - sealSize; over > 0 { // then nothing is held
		s.on(p[:over])
		s.held = append(s.held, p[over:]...)
	} else {
		s.held = append(s.held, p...)
	}
	return len(p), nil
}

// on hands on. An error is kept by the writer, for end.
func (s *sealer) on(p []byte) {
	s.sum.Write(p)
	s.out.Write(p)
}

// end writes the seal.
func (s *sealer) end() error {
	s.out.Write(sealOf(s.sum, s.key))
	return s.out.Flush()
}

// checkSeal compares the seal with the bytes before it. own says that it was made with the key.
func checkSeal(data, key []byte) (own bool, d *diag.Diagnostic) {
	at := max(0, len(data)-sealSize)
	before, have := data[:at], data[at:]
	id, ok := bytes.CutPrefix(have, []byte(sealBegin))
	if !ok || len(have) < sealSize {
		return false, broken("it does not end as saved plans do, so it has been cut off or changed after it was written")
	}
	sum := sha256.Sum256(data[:len(data)-macDigits])
	if !bytes.Equal(hex.AppendEncode(nil, sum[:]), data[len(data)-macDigits:]) {
		return false, broken("its contents do not match its checksum, so it has been damaged or changed after it was written")
	}
	if key == nil || string(id[:idDigits]) != keyID(key) {
		return false, nil
	}
	if !hmac.Equal(seal(before, key), have) {
		return false, broken("it was changed after it was made, and sealed again without the key")
	}
	return true, nil
}

const badFile = "Invalid plan file"

func broken(format string, a ...any) *diag.Diagnostic {
	d := diag.Errorf(badFile, "cannot be used as a saved plan: "+format+". Make a new plan.", a...)
	return &d
}
