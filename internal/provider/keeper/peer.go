package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// peer is the engine's side of one keeper.
type peer struct {
	link *link
	lost func() // it has ended before it was to

	mu        sync.Mutex
	next      uint32
	waiting   map[uint32]*waiting
	providers map[uint32]*conn
	parting   bool          // it was said goodbye to
	over      chan struct{} // closed when it says no more
	done      chan struct{} // closed when it has closed what was open, as far as it could
	open      []string      // what it could not close
}

// waiting is a call, or a start, that was not answered yet.
type waiting struct {
	answer []byte
	err    error
	over   chan struct{}
}

// newPeer makes one of a connection.
func newPeer(c net.Conn, lost func()) *peer {
	k := &peer{link: &link{conn: c}, lost: lost, waiting: map[uint32]*waiting{}, providers: map[uint32]*conn{}, over: make(chan struct{}), done: make(chan struct{})}
	go func() {
		_ = k.link.receive(k.take)
		if k.gone() {
			k.lost()
		}
	}()
	return k
}

// errGone is what became of calls that the keeper was to make.
var errGone = status.Error(codes.Unavailable, "the keeper, which ran the provider, has ended")

// gone ends all that waits for the keeper. It reports whether that was lost.
func (k *peer) gone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.over)
	for n, w := range k.waiting {
		w.err = errGone
		close(w.over)
		delete(k.waiting, n)
	}
	for _, p := range k.providers {
		p.ends("with the keeper, which ran it")
	}
	return !k.parting
}

// isOver reports whether it says no more.
func (k *peer) isOver() bool {
	select {
	case <-k.over:
		return true
	default:
		return false
	}
}

// take takes what the keeper says.
func (k *peer) take(what kind, number uint32, payload []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch what {
	case startedFrame, answerFrame, endedFrame:
		w := k.waiting[number]
		if w == nil {
			return nil // given up
		}
		delete(k.waiting, number)
		if what == answerFrame {
			if payload[0] == 0 {
				w.answer = payload[1:]
			} else {
				w.err = status.Error(codes.Code(payload[0]), string(payload[1:]))
			}
		} else {
			w.answer = payload
		}
		close(w.over)
	case lineFrame:
		if p := k.providers[number]; p != nil && p.log != nil {
			n := int(payload[0])
			p.log(string(payload[1:1+n]), string(payload[1+n:]))
		}
	case goneFrame:
		if p := k.providers[number]; p != nil {
			p.ends(string(payload))
		}
	case doneFrame:
		if err := json.Unmarshal(payload, &k.open); err != nil {
			return err
		}
		close(k.done)
	}
	return nil
}

// expect gives a number to what an answer is waited for.
func (k *peer) expect() (uint32, *waiting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.over:
		return 0, nil, errGone
	default:
	}
	k.next++
	w := &waiting{over: make(chan struct{})}
	k.waiting[k.next] = w
	return k.next, w, nil
}

// await waits for an answer.
func (k *peer) await(ctx context.Context, number uint32, w *waiting) ([]byte, error) {
	select {
	case <-w.over:
		return w.answer, w.err
	case <-ctx.Done():
	}
	k.mu.Lock()
	delete(k.waiting, number)
	k.mu.Unlock()
	select {
	case <-w.over: // at the same moment
		return w.answer, w.err
	default:
	}
	k.link.send(cancelFrame, number)
	return nil, status.FromContextError(ctx.Err()).Err()
}

// start starts a provider: see launch.Start.
func (k *peer) start(ctx context.Context, program launch.Program, log func(level, line string)) (*launch.Running, error) {
	what := starting{Program: program, Path: []byte(program.Path), Heard: log != nil}
	for _, e := range program.Env {
		what.Env = append(what.Env, []byte(e))
	}
	text, err := json.Marshal(what)
	if err != nil {
		return nil, err
	}
	number, w, err := k.expect()
	if err != nil {
		return nil, err
	}
	c := &conn{keeper: k, number: number, log: log, gone: make(chan struct{})}
	k.mu.Lock()
	k.providers[number] = c
	k.mu.Unlock()
	k.link.send(startFrame, number, text)
	answer, err := k.await(ctx, number, w)
	var out outcome
	if err == nil {
		err = json.Unmarshal(answer, &out)
	}
	if err == nil && out.Summary != "" {
		err = diag.Errorf(out.Summary, "%s", out.Detail)
	}
	if err != nil {
		return nil, err
	}
	if out.Way.Address = string(out.Address); out.Way.Address != "" { // else all calls go by way of the keeper
		c.own, _ = launch.Reach(ctx, out.Way)
	}
	return &launch.Running{Conn: c, Protocol: out.Protocol, Ended: c.ended, Close: c.close}, nil
}

// part says goodbye, and waits for a time until what is open is closed. It gives what could not be; ok says that this
// is all.
func (k *peer) part(limit time.Duration) (open []string, ok bool) {
	k.mu.Lock()
	first := !k.parting
	k.parting = true
	k.mu.Unlock()
	if first {
		k.link.send(byeFrame, 0)
	}
	select {
	case <-k.done:
		return k.open, true
	case <-k.over:
	case <-time.After(limit):
	}
	return nil, false
}

// conn is what stands for the connection to a provider. It is a grpc.ClientConnInterface.
type conn struct {
	keeper *peer
	number uint32
	log    func(level, line string)
	own    *rpc.Conn // another connection, for calls that leave nothing behind; nil: there is none

	gone chan struct{} // closed when its process has ended; then there is:
	how  string        // it has
}

// ends says that the process has ended. The caller holds the keeper's lock.
func (c *conn) ends(how string) {
	select {
	case <-c.gone:
	default:
		c.how = how
		close(c.gone)
	}
}

// Invoke makes a call.
func (c *conn) Invoke(ctx context.Context, method string, asked, answer any, options ...grpc.CallOption) error {
	if c.own != nil && effectOf(method) == none {
		return c.own.Invoke(ctx, method, asked, answer)
	}
	r := request{provider: c.number, method: method}
	var note, body [][]byte
	size := 0
	if m, ok := asked.(proto.Message); ok {
		var err error
		if body, err = rpc.Pieces(m); err != nil {
			return status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
		}
		size = proto.Size(m)
	}
	if size > wire.MaxMessage {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", size, wire.MaxMessage)
	}
	for _, o := range options {
		if n, ok := o.(wire.Noted); ok && n.Rest != nil {
			r.op, note = journal.Op(n.Call), n.Rest()
		}
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	number, w, err := c.keeper.expect()
	if err != nil {
		return err
	}
	c.keeper.link.send(callFrame, number, slices.Concat([][]byte{r.head(length(note))}, note, body)...)
	got, err := c.keeper.await(ctx, number, w)
	if err != nil {
		return err
	}
	switch out := answer.(type) {
	case proto.Message:
		if err := rpc.Unmarshal(got, out); err != nil {
			return status.Errorf(codes.Internal, "grpc: failed to unmarshal the received message: %v", err)
		}
	case *[]byte:
		*out = got
	}
	return nil
}

// NewStream is there for grpc.ClientConnInterface: providers have no streams.
func (c *conn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.New("streams are not supported")
}

// ended says how the process ended, "" if it has not. A connection breaks a moment before that is known.
func (c *conn) ended() string {
	select {
	case <-c.gone:
		return c.how
	case <-time.After(time.Second):
		return ""
	}
}

// close ends the provider.
func (c *conn) close() {
	if c.own != nil {
		c.own.Close()
	}
	number, w, err := c.keeper.expect()
	if err != nil {
		return
	}
	c.keeper.mu.Lock()
	delete(c.keeper.waiting, number) // the answer names the provider
	c.keeper.waiting[c.number] = w
	c.keeper.mu.Unlock()
	c.keeper.link.send(endFrame, c.number)
	<-w.over
}
