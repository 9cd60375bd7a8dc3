package keeper

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	link   *link
	failed func() // it has ended before it was to

	changing atomic.Int32 // changing calls in progress

	mu        sync.Mutex
	next      uint32
	waiting   map[uint32]*waiting
	providers map[uint32]*conn
	parting   bool          // the engine has said goodbye
	stopped   chan struct{} // closed when it sends no more
	done      chan struct{} // closed when it has closed all leases that it could
	open      []string      // the leases that it could not close
}

// waiting is a call, or a start, that was not answered yet.
type waiting struct {
	answer []byte
	err    error
	done   chan struct{}
	queue  [][]byte      // of a stream: answers that the caller has not taken
	more   chan struct{} // has an element when there may be another
}

// newPeer makes one of a connection.
func newPeer(c net.Conn, failed func()) *peer {
	k := &peer{link: &link{conn: c}, failed: failed, waiting: map[uint32]*waiting{}, providers: map[uint32]*conn{}, stopped: make(chan struct{}), done: make(chan struct{})}
	go func() {
		_ = k.link.receive(k.receive)
		if k.ended() {
			k.failed()
		}
	}()
	return k
}

// errEnded is the error of calls whose keeper has ended.
var errEnded = status.Error(codes.Unavailable, "the keeper process, which ran the provider, has exited")

// ended records that the keeper has ended: every call and start that waits for it fails, and its providers have ended.
// It returns true if the engine has not said goodbye, so that the keeper was killed or crashed.
func (k *peer) ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.stopped)
	for n, w := range k.waiting {
		w.err = errEnded
		close(w.done)
		delete(k.waiting, n)
	}
	for _, p := range k.providers {
		p.ends("with the keeper process, which ran it")
	}
	return !k.parting
}

// isStopped reports whether the keeper has ended.
func (k *peer) isStopped() bool {
	select {
	case <-k.stopped:
		return true
	default:
		return false
	}
}

// receive handles a frame of the keeper.
func (k *peer) receive(what kind, number uint32, payload []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch what {
	case startedFrame, answerFrame, endedFrame:
		w := k.waiting[number]
		if w == nil {
			return nil // the call was given up
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
		close(w.done)
	case passedFrame:
		if w := k.waiting[number]; w != nil {
			w.queue = append(w.queue, payload)
			select {
			case w.more <- struct{}{}:
			default: // the caller looks for all that there is
			}
		}
	case lineFrame:
		if p := k.providers[number]; p != nil && p.log != nil {
			n := int(payload[0])
			p.log(string(payload[1:1+n]), string(payload[1+n:]))
		}
	case connEndedFrame:
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

// expect registers a wait for an answer, and returns its number.
func (k *peer) expect() (uint32, *waiting, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.stopped:
		return 0, nil, errEnded
	default:
	}
	k.next++
	w := &waiting{done: make(chan struct{}), more: make(chan struct{}, 1)}
	k.waiting[k.next] = w
	return k.next, w, nil
}

// await waits for an answer.
func (k *peer) await(ctx context.Context, number uint32, w *waiting) ([]byte, error) {
	select {
	case <-w.done:
		return w.answer, w.err
	case <-ctx.Done():
	}
	k.mu.Lock()
	delete(k.waiting, number)
	k.mu.Unlock()
	select {
	case <-w.done: // at the same moment
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
	c := &conn{keeper: k, number: number, log: log, dead: make(chan struct{})}
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
	if out.At.Address = string(out.Address); out.At.Address != "" { // else all calls go by way of the keeper
		c.own, _ = launch.Reach(ctx, out.At)
	}
	return &launch.Running{Conn: c, Protocol: out.Protocol, Ended: c.ended, Close: c.close}, nil
}

// part says goodbye, and waits up to limit until the leases are closed. It returns the leases that could not be closed;
// ok is true if the list is complete.
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
	case <-k.stopped:
	case <-time.After(limit):
	}
	return nil, false
}

// conn takes the place of the connection to a provider. It implements grpc.ClientConnInterface.
type conn struct {
	keeper *peer
	number uint32
	log    func(level, line string)
	own    *rpc.Conn // another connection, for calls without effects; nil: no such connection

	dead chan struct{} // closed when its process has ended; then there is:
	how  string        // it has
}

// ends records that the process has ended. The caller holds the keeper's lock.
func (c *conn) ends(how string) {
	select {
	case <-c.dead:
	default:
		c.how = how
		close(c.dead)
	}
}

// Invoke makes a call.
func (c *conn) Invoke(ctx context.Context, method string, asked, answer any, options ...grpc.CallOption) error {
	e := effectOf(method)
	if c.own != nil && e == none {
		// The provider may copy its request into the answer to a change, and the keeper records that answer if this
		// process is lost. The keeper has seen the calls that opened leases.
		if c.keeper.changing.Load() > 0 {
			c.keeper.link.sendSecrets()
		}
		return c.own.Invoke(ctx, method, asked, answer)
	}
	if e == changes {
		c.keeper.changing.Add(1)
		defer c.keeper.changing.Add(-1)
	}
	r := request{provider: c.number, method: method}
	var note [][]byte
	body, err := encoded(asked)
	if err != nil {
		return err
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
	return rpc.Decode(got, answer)
}

// encoded is a request in pieces.
func encoded(asked any) ([][]byte, error) {
	m, ok := asked.(proto.Message)
	if !ok {
		return nil, nil
	}
	body, err := rpc.Pieces(m)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "grpc: error while marshaling: %v", err)
	}
	if size := proto.Size(m); size > wire.MaxMessage {
		return nil, status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", size, wire.MaxMessage)
	}
	return body, nil
}

// ended returns how the process ended, "" if it has not. It waits a moment, because a connection breaks before the end
// of the process is known.
func (c *conn) ended() string {
	select {
	case <-c.dead:
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
	<-w.done
}
