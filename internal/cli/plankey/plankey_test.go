package plankey

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"testing"
)

// TestSlowKey checks that the plan key is not a plain digest of the text in the environment, and that the derivation of
// the key takes much memory. So the reader of a saved plan can try only few texts.
func TestSlowKey(t *testing.T) {
	const text = "correct horse battery"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	key := slowKey(text)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used < 32<<20 {
		t.Errorf("a trial takes %d bytes", used)
	}
	if plain := sha256.Sum256([]byte(text)); bytes.Equal(key, plain[:]) || len(key) != sha256.Size {
		t.Error("the key is a digest")
	}
	if !bytes.Equal(key, slowKey(text)) || bytes.Equal(key, slowKey(text+".")) {
		t.Error("the key is not that of the text")
	}
}
