package keeper

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/provider"
	"github.com/lethe-iac/lethe/internal/secret"
)

// frame returns the bytes of one message of the connection, whose head contains size as the payload size.
func frame(k kind, number uint32, size int, payload string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(headSize-4+size))
	b = binary.LittleEndian.AppendUint32(append(b, byte(k)), number)
	return append(b, payload...)
}

func whole(k kind, payload string) []byte { return frame(k, 1, len(payload), payload) }

// TestBadFramesEndTheConnection sends frames that break the format to both sides. Each side ends the connection, and none
// panics or allocates memory for bytes that do not come.
func TestBadFramesEndTheConnection(t *testing.T) {
	request := func(method byte, note uint32) string {
		b := make([]byte, requestHead)
		b[12] = method
		binary.LittleEndian.PutUint32(b[13:], note)
		return string(b)
	}
	bad := map[string][]byte{
		"shorter than its head": append(binary.LittleEndian.AppendUint32(nil, 2), 1, 1, 0, 0, 0),
		"too long":              frame(callFrame, 1, maxPayload+1, ""),
		"unknown kind":          whole(77, ""),
	}
	run := func(name string, frames []byte, serve func(io.ReadWriteCloser) (ended chan struct{})) {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			ended := serve(theirs)
			go io.Copy(io.Discard, ours)
			ours.Write(frames)
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Error("the connection goes on")
			}
		})
	}
	engine := func(c io.ReadWriteCloser) chan struct{} {
		k := newPeer(c, func() {})
		if _, _, err := k.expect(); err != nil {
			t.Fatal(err)
		}
		k.mu.Lock()
		k.providers[1] = &conn{keeper: k, number: 1, log: func(string, string) {}, dead: make(chan struct{})}
		k.mu.Unlock()
		return k.stopped
	}
	keeper := func(c io.ReadWriteCloser) chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := Serve(c, func(provider.Provider, *secret.Set) Recorder { return nil }, make(chan os.Signal)); err == nil {
				t.Error("no error")
			}
		}()
		return done
	}
	for name, frames := range bad {
		run("engine/"+name, frames, engine)
		run("keeper/"+name, frames, keeper)
	}
	for name, frames := range map[string][]byte{
		"frame of the engine":     whole(byeFrame, ""),
		"answer without a code":   whole(answerFrame, ""),
		"line without a level":    whole(lineFrame, ""),
		"line within its level":   whole(lineFrame, "\x09info"),
		"end that is not JSON":    whole(doneFrame, "["),
		"parting twice":           bytes.Repeat(whole(doneFrame, "[]"), 2),
		"frame of another number": append(frame(answerFrame, 9, 0, ""), whole(callFrame, "")...),
	} {
		run("engine/"+name, frames, engine)
	}
	for name, frames := range map[string][]byte{
		"frame of the keeper":    whole(doneFrame, "[]"),
		"start that is not JSON": whole(startFrame, "{"),
		"call without a request": whole(callFrame, "short"),
		"call without a method":  whole(callFrame, request(0, 0)),
		"note that is cut off":   whole(streamFrame, request(1, 1<<32-1)+"m"),
		"record without number":  whole(recordedFrame, "1234567"),
		"taken without number":   whole(tookFrame, "123"),
	} {
		run("keeper/"+name, frames, keeper)
	}
}

// TestLongPayload checks that read returns a complete payload, also a payload that is larger than the first allocation.
func TestLongPayload(t *testing.T) {
	const most = 64
	for _, size := range []int{0, 1, most - 1, most, most + 1, 3*most + 7} {
		sent := bytes.Repeat([]byte("0123456789"), size/10+1)[:size]
		got, err := read(bytes.NewReader(sent), size, most)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes: %d, %v", size, len(got), err)
		}
	}
	if _, err := read(bytes.NewReader(make([]byte, 10)), maxPayload, most); err == nil {
		t.Error("a payload that is cut off is complete")
	}
}
