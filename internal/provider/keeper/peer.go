package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

// peer is the engine's side of one keeper process.
type peer struct {
	link   *link
	failed func() // called if the keeper ends before the engine has announced its own end (part)

	changing atomic.Int32 // number of running calls that change something

	mu        sync.Mutex
	next      uint32
	waiting   map[uint32]*waiting
	providers map[uint32]*conn
	parting   bool          // the engine has announced its end to the keeper
	stopped   chan struct{} // closed when the connection to the keeper has ended
	done      chan struct{} // closed when the keeper has closed all leases that it could close
	open      []string      // addresses of the leases that the keeper could not close
}

// waiting is a call or the start of a provider that was not answered yet.
type waiting struct {
	answer []byte
	err    error
	done   chan struct{}
	queue  [][]byte      // answers of a stream that the keeper has sent and the caller has not taken yet
	more   chan struct{} // has an element if queue may have a further answer
}

// newPeer returns the peer for a connection to a keeper process. failed is called if the connection ends before part
// was called.
func newPeer(c io.ReadWriteCloser, failed func()) *peer {
	k := &peer{link: &link{conn: c}, failed: failed, waiting: map[uint32]*waiting{}, providers: map[uint32]*conn{}, stopped: make(chan struct{}), done: make(chan struct{})}
	go func() {
		if err := k.link.receive(k.receive); err != nil {
			c.Close() // after an invalid frame: without the connection, the keeper continues as after a crash of the engine
		}
		if k.ended() {
			k.failed()
		}
	}()
	return k
}

// errEnded is the error of calls to providers whose keeper has ended.
var errEnded = status.Error(codes.Unavailable, "the keeper process, which ran the provider, has exited")

// ended records that the keeper has ended: each call and each start that waits for it fails, and its providers have
// ended. ended returns true if part was not called before, so the keeper was killed or crashed.
func (k *peer) ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	close(k.stopped)
	for _, p := range k.providers {
		p.ends("with the keeper process, which ran it")
	}
	for n, w := range k.waiting {
		w.err = errEnded
		close(w.done)
		delete(k.waiting, n)
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

// receive handles a frame (a message) of the keeper.
func (k *peer) receive(what kind, number uint32, payload []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch what {
	case startedFrame, answerFrame, endedFrame:
		w := k.waiting[number]
		if w == nil {
			return nil // the caller no longer waits for this answer
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
			default: // more already has an element: the caller takes all answers in queue
			}
		}
	case lineFrame:
		if p := k.providers[number]; p != nil && p.log != nil {
			n := int(payload[0])
			if len(payload) < 1+n {
				return errors.New("a line is shorter than its level")
			}
			p.log(string(payload[1:1+n]), string(payload[1+n:]))
		}
	case connEndedFrame:
		if p := k.providers[number]; p != nil {
			p.ends(string(payload))
		}
	case doneFrame:
		select {
		case <-k.done:
			return errors.New("the keeper has parted twice")
		default:
		}
		if err := json.Unmarshal(payload, &k.open); err != nil {
			return err
		}
		close(k.done)
	default:
		return unknownFrame(what)
	}
	return nil
}

// expect registers a wait for an answer. It returns the number for the frame, and an error if the keeper has ended.
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

// await waits for the answer to a frame. If ctx ends first, await sends a cancellation to the keeper and returns an
// error.
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
	case <-w.done: // the answer came at the same time as the end of ctx
		return w.answer, w.err
	default:
	}
	k.link.send(cancelFrame, number)
	return nil, status.FromContextError(ctx.Err()).Err()
}

// start starts a provider through the keeper and connects to it. log receives the lines of the provider's log; nil
// drops the lines.
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
	if out.At.Address = string(out.Address); out.At.Address != "" { // without an address, all calls go through the keeper
		c.own, _ = launch.Reach(ctx, out.At) // ignore the error: a provider that accepts only one connection gets all calls through the keeper
	}
	running := &launch.Running{Conn: c, Protocol: out.Protocol, Ended: c.ended, Close: c.close}
	if program.Running != "" { // the keeper does not learn of the end of a process that another program started
		running.Ended = c.lost
	}
	return running, nil
}

// part informs the keeper that the engine is about to end, and waits up to limit until the keeper has closed the
// leases. It returns the addresses of the leases that could not be closed. ok is true if the list is complete.
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

// conn is the engine's connection to a provider that the keeper runs. Generated clients use it as a
// grpc.ClientConnInterface.
type conn struct {
	keeper *peer
	number uint32
	log    func(level, line string)
	own    *rpc.Conn // direct connection for calls without lasting effects; nil: no such connection

	dead chan struct{} // closed when the provider's process has ended; afterwards how may be read
	how  string        // a text that describes how the process has ended
}

// ends records that the provider's process has ended. The caller must hold c.keeper.mu.
func (c *conn) ends(how string) {
	select {
	case <-c.dead:
	default:
		c.how = how
		close(c.dead)
	}
}

// Invoke makes a call: through the direct connection if the call has no lasting effect and this connection exists, and
// otherwise through the keeper.
func (c *conn) Invoke(ctx context.Context, method string, asked, answer any, options ...grpc.CallOption) error {
	e := effectOf(method)
	if c.own != nil && e == none {
		// If the engine dies during a change, the keeper records the answer to the change, and a provider may copy text
		// from other requests into that answer. So the keeper must know the secrets before other requests are sent. It
		// knows the results of ephemeral resources because it makes the calls that open them.
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
	if size := requestHead + len(method) + length(note) + length(body); size > maxPayload {
		return status.Errorf(codes.ResourceExhausted, "trying to send message larger than max (%d vs. %d)", size, maxPayload)
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

// encoded returns the encoded request in pieces, which are not copied together.
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

// ended returns a text that describes how the process has ended, or "" if the process is running. It waits up to a
// second, because the connection breaks before the keeper reports the end of the process.
func (c *conn) ended() string {
	select {
	case <-c.dead:
	case <-time.After(time.Second):
	}
	return c.lost()
}

// lost returns the same text as ended, but does not wait for the report of the keeper.
func (c *conn) lost() string {
	select {
	case <-c.dead:
		return c.how
	default:
		return ""
	}
}

// close ends the provider and waits for its end.
func (c *conn) close() {
	if c.own != nil {
		c.own.Close()
	}
	number, w, err := c.keeper.expect()
	if err != nil {
		return
	}
	c.keeper.mu.Lock()
	delete(c.keeper.waiting, number) // remove the wait: the answer to endFrame has the number of the provider instead
	c.keeper.waiting[c.number] = w
	c.keeper.mu.Unlock()
	c.keeper.link.send(endFrame, c.number)
	<-w.done
}
