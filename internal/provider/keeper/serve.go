package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider/launch"
	"github.com/lethe-iac/lethe/internal/provider/wire"
	"github.com/lethe-iac/lethe/internal/state/journal"
)

// closeTime is the time limit for closing one lease. After the engine has ended, closeTime also limits the calls that
// open, renew or close leases.
const closeTime = 30 * time.Second

// server is the keeper's side of the connection to the engine.
type server struct {
	link   *link
	book   book
	ledger ledger

	mu        sync.Mutex
	providers map[uint32]*served
	calls     map[uint32]*call // running calls, by the number of the call
	finished  int              // number of calls that have ended
	alone     bool             // the engine has ended
	ended     sync.Cond        // signalled when a call has ended, the engine took answers of a stream, or the engine has ended

	closing sync.Mutex // locked while leases are closed

	jobs chan func() // jobs for waiting goroutines; these are reused because their stacks are already large enough
}

// call is a running call of the engine to a provider.
type call struct {
	effect effect
	cancel context.CancelFunc
	passed int // number of bytes of a stream's answers that were sent and that the engine has not taken
}

// starting describes a program that the keeper is to start.
type starting struct {
	launch.Program
	Path  []byte // Path replaces Program.Path, and Env replaces Program.Env: strings in JSON must be UTF-8, but paths and variables may not be
	Env   [][]byte
	Heard bool // the engine wants the lines that the program writes
}

func (s starting) program() launch.Program {
	s.Program.Path = string(s.Path)
	for _, e := range s.Env {
		s.Program.Env = append(s.Program.Env, string(e))
	}
	return s.Program
}

// outcome is the result of the start of a provider.
type outcome struct {
	Protocol        int
	At              launch.Address // address at which the engine makes calls without effects; zero: it makes all calls through the keeper
	Address         []byte         // At.Address, which may be invalid UTF-8
	Summary, Detail string         // the error; Summary is empty if the start succeeded
}

// Serve serves the engine at the other end of conn until the engine has ended and all leases are closed. After the
// engine has ended, a signal from stop cancels all running calls. recovered makes the journal records of calls that the
// engine could not record.
func Serve(conn io.ReadWriteCloser, recovered NewRecorder, stop <-chan os.Signal) error {
	s := &server{link: &link{conn: conn}, ledger: ledger{recovered: recovered}, providers: map[uint32]*served{}, calls: map[uint32]*call{}, jobs: make(chan func())}
	s.ended.L = &s.mu
	err := s.link.receive(s.receive)
	close(s.jobs)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.orphaned()
	}()
	hasty := time.AfterFunc(closeTime, func() { s.giveUp(opens, renews, closes) })
	defer hasty.Stop()
	select {
	case <-stop: // drop a signal that came while the engine was running
	default:
	}
	for {
		select {
		case <-done:
			return err
		case <-stop:
			s.giveUp(changes, opens, renews, closes)
		}
	}
}

// receive handles a frame (a message) of the engine.
func (s *server) receive(k kind, number uint32, payload []byte) error {
	switch k {
	case startFrame, callFrame, streamFrame:
		if s.used(number) {
			return fmt.Errorf("the number %d is in use", number)
		}
	}
	switch k {
	case startFrame:
		var what starting
		if err := json.Unmarshal(payload, &what); err != nil {
			return err
		}
		what.Program = what.program()
		ctx := s.begin(number, none)
		go s.start(ctx, number, what)
	case callFrame:
		return s.ask(number, payload)
	case streamFrame:
		return s.stream(number, payload)
	case tookFrame:
		s.took(number, int(binary.LittleEndian.Uint32(payload)))
	case cancelFrame:
		s.mu.Lock()
		defer s.mu.Unlock()
		if c := s.calls[number]; c != nil {
			c.cancel()
		}
	case endFrame:
		p := s.provider(number)
		go func() {
			if p != nil {
				p.end()
			}
			s.link.send(endedFrame, number)
		}()
	case journalFrame:
		var r running
		if err := json.Unmarshal(payload, &r); err != nil {
			return err
		}
		s.ledger.begin(r)
		if len(r.Path) == 0 { // only an empty path ends the journal numbers: a journal that follows directly continues the open leases
			s.book.forget()
		}
	case recordedFrame:
		s.ledger.recorded(journal.Op(binary.LittleEndian.Uint64(payload)))
	case secretFrame:
		var t secretText
		if err := json.Unmarshal(payload, &t); err != nil {
			return err
		}
		s.ledger.learn(t)
	case byeFrame:
		go s.part()
	default:
		return unknownFrame(k)
	}
	return nil
}

// used reports whether number is the number of a running call or of a provider.
func (s *server) used(number uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[number] != nil || s.providers[number] != nil
}

func (s *server) provider(number uint32) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.providers[number]
}

// begin records that a call begins. It returns the context of the call, which giveUp cancels.
func (s *server) begin(number uint32, e effect) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number] = &call{effect: e, cancel: cancel}
	return ctx
}

// end records that a call has ended.
func (s *server) end(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number].cancel()
	delete(s.calls, number)
	s.finished++
	s.ended.Broadcast()
}

// settle waits until no call with a lasting effect is running. It calls record at the beginning and after each call. It
// does not call record while a call that opens a lease is running: until that call ends, the secrets in its answer are
// unknown.
func (s *server) settle(record func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for recorded := -1; ; {
		opening, lasting := false, false
		for _, c := range s.calls {
			opening, lasting = opening || c.effect == opens, lasting || c.effect != none
		}
		switch {
		case recorded < s.finished && !opening:
			recorded = s.finished
			s.mu.Unlock()
			record()
			s.mu.Lock()
		case lasting:
			s.ended.Wait()
		default:
			return
		}
	}
}

// giveUp cancels the running calls that have one of the given effects, such as opens.
func (s *server) giveUp(of ...effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		for _, e := range of {
			if c.effect == e {
				c.cancel()
			}
		}
	}
}

// start starts a provider and sends the result to the engine.
func (s *server) start(ctx context.Context, number uint32, what starting) {
	var log func(level, line string)
	if what.Heard {
		log = func(level, line string) {
			s.link.send(lineFrame, number, []byte{byte(len(level))}, []byte(level), []byte(line)) // package launch logs only short levels
		}
	}
	r, err := launch.Start(ctx, what.Program, log)
	var out outcome
	if err != nil {
		out.Summary, out.Detail = "Failed to start provider", err.Error()
		if d := (diag.Diagnostic{}); errors.As(err, &d) {
			out.Summary, out.Detail = d.Summary, d.Detail
		}
	} else {
		out.Protocol = r.Protocol
		if r.Address != nil {
			out.At = r.Address()
			out.Address = []byte(out.At.Address)
		}
		p := &served{Running: r, program: what.Program}
		p.end = sync.OnceFunc(func() {
			r.Close()
			s.mu.Lock()
			delete(s.providers, number)
			s.mu.Unlock()
		})
		s.mu.Lock()
		s.providers[number] = p
		s.mu.Unlock()
		if r.Done != nil {
			go func() {
				<-r.Done
				s.link.send(connEndedFrame, number, []byte(r.Ended()))
			}()
		}
	}
	s.end(number)
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // an outcome can always be encoded
	}
	s.link.send(startedFrame, number, text)
}

// ask makes a call for the engine. It records the effect of the call before the engine gets the answer.
func (s *server) ask(number uint32, payload []byte) error {
	r, p, err := s.asked(number, payload)
	if p == nil {
		return err
	}
	e := effectOf(r.method)
	ctx := s.begin(number, e)
	s.ledger.ask(r.op)
	s.run(func() {
		var answer []byte
		err := p.Conn.Invoke(ctx, r.method, r.body, &answer, grpc.ForceCodec(wire.Raw{}))
		switch {
		case e == closes && status.Code(err) == codes.Canceled:
			s.book.giveUp(p, &r)
		case err != nil:
		case e == changes:
			s.ledger.answered(change{p, &r, answer})
		case e != none:
			s.book.note(p, &r, answer)
		}
		s.answer(number, answer, err)
		s.end(number)
	})
	return nil
}

// asked decodes a request of the engine. If the provider of the request has ended, asked answers the call with an error
// and returns no provider.
func (s *server) asked(number uint32, payload []byte) (request, *served, error) {
	r, ok := readRequest(payload)
	if !ok {
		return r, nil, fmt.Errorf("call %d is cut off", number)
	}
	p := s.provider(r.provider)
	if p == nil {
		s.answer(number, nil, status.Error(codes.Unavailable, "the provider has exited"))
	}
	return r, p, nil
}

// run runs a job in a waiting goroutine, or in a new goroutine if none is waiting.
func (s *server) run(job func()) {
	select {
	case s.jobs <- job:
	default:
		go func() {
			job()
			for job := range s.jobs {
				job()
			}
		}()
	}
}

func (s *server) answer(number uint32, answer []byte, err error) {
	if st := status.Convert(err); st.Code() != codes.OK {
		code := min(st.Code(), math.MaxUint8) // a provider may return any number, and the frame has one byte for it
		s.link.send(answerFrame, number, []byte{byte(code)}, []byte(st.Message()))
		return
	}
	s.link.send(answerFrame, number, []byte{0}, answer)
}

// stream makes a call with several answers, and passes the answers on. The results of such a call are not recorded,
// because only the engine can interpret the answers.
func (s *server) stream(number uint32, payload []byte) error {
	r, p, err := s.asked(number, payload)
	if p == nil {
		return err
	}
	ctx := s.begin(number, effectOf(r.method))
	s.ledger.ask(r.op) // the answers are not recorded: if the engine dies, the result of the call stays unknown
	go func() {
		err := s.relay(ctx, p, &r, number)
		s.answer(number, nil, err)
		s.end(number)
	}()
	return nil
}

// relay sends the request of a stream to the provider, and its answers to the engine.
func (s *server) relay(ctx context.Context, p *served, r *request, number uint32) error {
	st, err := p.Conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, r.method, grpc.ForceCodec(wire.Raw{}))
	if err == nil {
		err = st.SendMsg(r.body)
	}
	for err == nil {
		var answer []byte
		s.mayPass(ctx, number)
		if err = st.RecvMsg(&answer); err == nil {
			s.pass(number, answer)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// mayPass waits until the engine has taken enough of the earlier answers of the call with this number. It ends, too,
// when the engine or ctx ends.
func (s *server) mayPass(ctx context.Context, number uint32) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := s.calls[number]; c.passed >= room && !s.alone && ctx.Err() == nil; {
		s.ended.Wait()
	}
}

// pass sends one answer of a stream to the engine.
func (s *server) pass(number uint32, answer []byte) {
	s.mu.Lock()
	s.calls[number].passed += len(answer)
	s.mu.Unlock()
	s.link.send(passedFrame, number, answer)
}

// took records that the engine has taken n bytes of a stream.
func (s *server) took(number uint32, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[number]; c != nil {
		c.passed = max(c.passed-n, 0)
		s.ended.Broadcast()
	}
}

// part closes the open leases for an engine that is about to end, and sends the addresses of the leases that could not
// be closed. It cancels changes, and does not record them.
func (s *server) part() {
	s.giveUp(none, changes)
	s.settle(func() {})
	s.closeAll()
	text, err := json.Marshal(s.book.names())
	if err != nil {
		panic(err) // a list of strings can always be encoded
	}
	s.link.send(doneFrame, 0, text)
}

// orphaned finishes the work after the engine has ended. It waits for the calls that change, open or close something,
// and records the changes. Then it closes the leases, the last opened first, because the closing of a lease may need a
// lease that was opened before it. At the end it closes the journal and ends the providers.
func (s *server) orphaned() {
	s.mu.Lock()
	s.alone = true
	s.ended.Broadcast()
	s.mu.Unlock()
	s.giveUp(none)
	r := s.ledger.resume()
	s.settle(func() { s.ledger.record(context.Background(), r, s.book.leases()) })
	s.closeAll()
	if r != nil {
		s.book.ended(func(op journal.Op) {
			if _, is := r.Open[op]; is {
				r.Closed(op)
			}
		})
		s.ledger.release(r.Close)
	}
	s.mu.Lock()
	all := make([]*served, 0, len(s.providers))
	for _, p := range s.providers {
		all = append(all, p)
	}
	s.mu.Unlock()
	var ended sync.WaitGroup
	for _, p := range all {
		ended.Go(p.end)
	}
	ended.Wait()
}

// closeAll closes all leases. If a provider does not answer, closeAll skips the other leases of this provider.
func (s *server) closeAll() {
	s.closing.Lock()
	defer s.closing.Unlock()
	silent := map[*served]bool{}
	for _, l := range s.book.leases() {
		if silent[l.provider] {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		method := fmt.Sprintf("/tfplugin%d.Provider/CloseEphemeralResource", l.provider.Protocol)
		var answer []byte
		err := l.provider.Conn.Invoke(ctx, method, l.closing(), &answer, grpc.ForceCodec(wire.Raw{}))
		cancel()
		if err == nil && !hasError(answer) {
			s.book.closed(l)
		}
		silent[l.provider] = err != nil
	}
}
