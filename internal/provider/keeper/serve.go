package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
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

// closeTime is how long opening, renewing and closing one lease may take when the engine is gone.
const closeTime = 30 * time.Second

// server is the keeper's side.
type server struct {
	link   *link
	book   book
	ledger ledger

	mu        sync.Mutex
	providers map[uint32]*served
	calls     map[uint32]*call // under way
	over      int              // calls that have ended
	ended     sync.Cond        // one of them has

	closing sync.Mutex // held while leases are closed
}

// call is one under way.
type call struct {
	effect effect
	cancel context.CancelFunc
}

// starting is what is to be started.
type starting struct {
	launch.Program
	Path  []byte // hides that of Program, and so does Env: neither need be UTF-8, as the strings of JSON are
	Env   [][]byte
	Heard bool // the engine wants the lines that it writes
}

// program is what is to be started.
func (s starting) program() launch.Program {
	s.Program.Path = string(s.Path)
	for _, e := range s.Env {
		s.Program.Env = append(s.Program.Env, string(e))
	}
	return s.Program
}

// outcome is how a start went.
type outcome struct {
	Protocol        int
	Way             launch.Way // for what leaves nothing behind
	Address         []byte     // of Way, which need not be UTF-8
	Summary, Detail string     // what is wrong; the first is empty if nothing is
}

// Serve keeps what an engine at the other end of a connection uses, until all is closed. What comes from stop when the
// engine is gone has it wait for nothing more.
func Serve(conn net.Conn, late Lates, stop <-chan os.Signal) error {
	s := &server{link: &link{conn: conn}, ledger: ledger{late: late}, providers: map[uint32]*served{}, calls: map[uint32]*call{}}
	s.ended.L = &s.mu
	err := s.link.receive(s.take)
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.orphaned()
	}()
	hasty := time.AfterFunc(closeTime, func() { s.giveUp(opens, renews, closes) })
	defer hasty.Stop()
	select {
	case <-stop: // while the engine was there
	default:
	}
	for {
		select {
		case <-over:
			return err
		case <-stop:
			s.giveUp(changes, opens, renews, closes)
		}
	}
}

// take does what the engine asks for.
func (s *server) take(k kind, number uint32, payload []byte) error {
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
		s.book.begin()
	case recordedFrame:
		s.ledger.recorded(journal.Op(binary.LittleEndian.Uint64(payload)))
	case secretFrame:
		var t told
		if err := json.Unmarshal(payload, &t); err != nil {
			return err
		}
		s.ledger.learn(t)
	case byeFrame:
		go s.part()
	}
	return nil
}

func (s *server) provider(number uint32) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.providers[number]
}

// begin takes note of a call that begins.
func (s *server) begin(number uint32, e effect) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number] = &call{e, cancel}
	return ctx
}

// end takes note of its end.
func (s *server) end(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number].cancel()
	delete(s.calls, number)
	s.over++
	s.ended.Broadcast()
}

// settle waits until no call is under way that changes something, or opens or closes it. When one has ended it calls
// record, unless another opens something: what is secret in its answer is not known yet.
func (s *server) settle(record func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for recorded := -1; ; {
		opening, lasting := false, false
		for _, c := range s.calls {
			opening, lasting = opening || c.effect == opens, lasting || c.effect != none
		}
		switch {
		case recorded < s.over && !opening:
			recorded = s.over
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

// giveUp ends calls under way that have one of the effects.
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

// start starts a provider.
func (s *server) start(ctx context.Context, number uint32, what starting) {
	var log func(level, line string)
	if what.Heard {
		log = func(level, line string) {
			s.link.send(lineFrame, number, []byte{byte(len(level))}, []byte(level), []byte(line))
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
		if r.Way != nil {
			out.Way = r.Way()
			out.Address = []byte(out.Way.Address)
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
		if r.Gone != nil {
			go func() {
				<-r.Gone
				s.link.send(goneFrame, number, []byte(r.Ended()))
			}()
		}
	}
	s.end(number)
	text, err := json.Marshal(out)
	if err != nil {
		panic(err) // there is nothing in it that cannot be written
	}
	s.link.send(startedFrame, number, text)
}

// ask makes a call. What it did is noted before the engine has the answer.
func (s *server) ask(number uint32, payload []byte) error {
	r, ok := readRequest(payload)
	if !ok {
		return fmt.Errorf("call %d is cut off", number)
	}
	p := s.provider(r.provider)
	if p == nil {
		s.answer(number, nil, status.Error(codes.Unavailable, "the provider has ended"))
		return nil
	}
	e := effectOf(r.method)
	ctx := s.begin(number, e)
	s.ledger.ask(r.op)
	go func() {
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
	}()
	return nil
}

func (s *server) answer(number uint32, answer []byte, err error) {
	if st := status.Convert(err); st.Code() != codes.OK {
		s.link.send(answerFrame, number, []byte{byte(st.Code())}, []byte(st.Message()))
		return
	}
	s.link.send(answerFrame, number, []byte{0}, answer)
}

// part closes what is open for an engine that ends, and names what it could not close. The engine waits for nothing
// that changes something any more.
func (s *server) part() {
	s.giveUp(none, changes)
	s.settle(func() {})
	s.closeAll()
	text, err := json.Marshal(s.book.names())
	if err != nil {
		panic(err) // they are strings
	}
	s.link.send(doneFrame, 0, text)
}

// orphaned brings everything to its end when the engine is gone: what changes something, or opens or closes it, is
// waited for and recorded, each when it has ended; the leases are closed, the last one first, since it may need those
// before it.
func (s *server) orphaned() {
	s.giveUp(none)
	r := s.ledger.resume()
	s.settle(func() { s.ledger.record(context.Background(), r, s.book.leases()) })
	s.closeAll()
	if r != nil {
		s.book.ended(func(op journal.Op) {
			if _, is := r.Open[op]; is {
				r.Over(op)
			}
		})
		s.ledger.handOver(r.Close)
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

// closeAll closes the leases. A provider that does not answer is not asked again.
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
