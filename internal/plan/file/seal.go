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
// ID identifies the key: 16 hexadecimal digits, or zeros without a key. MAC is the HMAC-SHA-256 under that key of the
// SHA-256 of all bytes before it, including ID, or zeros without a key. SUM is the SHA-256 of all bytes before it. So
// every reader of a plan detects damage, and a reader with the key detects intentional changes.
const (
	sealBegin = "lethe plan seal "
	sealSum   = " sha256:"
	idDigits  = 16
	macDigits = 2 * sha256.Size
	sealSize  = len(sealBegin) + idDigits + 1 + macDigits + len(sealSum) + macDigits
)

// keyID returns the ID of a key, which does not reveal the key. For a nil key, the ID is zeros.
func keyID(key []byte) string {
	if key == nil {
		return strings.Repeat("0", idDigits)
	}
	sum := sha256.Sum256(append([]byte("lethe plan key "), key...))
	return hex.EncodeToString(sum[:idDigits/2])
}

// seal returns the seal for the bytes before it.
func seal(before, key []byte) []byte {
	sum := sha256.New()
	sum.Write(before)
	return sealOf(sum, key)
}

// sealOf returns the seal for the bytes that sum has digested.
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

// sealer passes on the bytes that are written, except for the last sealSize bytes. They are the comment of the archive,
// in whose place end writes the seal: the seal is known only after all bytes before it.
type sealer struct {
	out  *bufio.Writer
	sum  hash.Hash
	key  []byte
	held []byte // the last sealSize bytes or fewer; all earlier bytes were passed on
}

func newSealer(w io.Writer, key []byte) *sealer {
	return &sealer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New(), key: key}
}

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	if excess := min(len(s.held)+len(p)-sealSize, len(s.held)); excess > 0 {
		s.on(s.held[:excess])
		s.held = append(s.held[:0], s.held[excess:]...)
	}
	if excess := len(s.held) + len(p) - sealSize; excess > 0 { // then held is empty
		s.on(p[:excess])
		s.held = append(s.held, p[excess:]...)
	} else {
		s.held = append(s.held, p...)
	}
	return len(p), nil
}

// on passes bytes on. The writer keeps an error for end.
func (s *sealer) on(p []byte) {
	s.sum.Write(p)
	s.out.Write(p)
}

// end writes the seal in place of the held bytes.
func (s *sealer) end() error {
	s.out.Write(sealOf(s.sum, s.key))
	return s.out.Flush()
}

// checkSeal compares the seal with the bytes before it, and returns an error if they do not match. own is true if the
// seal was made with key. It is false without an error if the seal was made without a key or with another key, or if
// key is nil.
func checkSeal(data, key []byte) (own bool, d *diag.Diagnostic) {
	at := max(0, len(data)-sealSize)
	before, have := data[:at], data[at:]
	id, ok := bytes.CutPrefix(have, []byte(sealBegin))
	if !ok || len(have) < sealSize {
		return false, broken("its end is missing or was changed after it was written")
	}
	sum := sha256.Sum256(data[:len(data)-macDigits])
	if !bytes.Equal(hex.AppendEncode(nil, sum[:]), data[len(data)-macDigits:]) {
		return false, broken("its contents do not match its checksum, so it was damaged or changed after it was written")
	}
	if key == nil || string(id[:idDigits]) != keyID(key) {
		return false, nil
	}
	if !hmac.Equal(seal(before, key), have) {
		return false, broken("it was changed after it was created, and signed again without the key")
	}
	return true, nil
}

const badFile = "Invalid plan file"

func broken(format string, a ...any) *diag.Diagnostic {
	d := diag.Errorf(badFile, "cannot be used as a saved plan: "+format+". Make a new plan.", a...)
	return &d
}
