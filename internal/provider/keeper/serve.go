package keeper

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/lethe-iac/lethe/internal/diag"
	"github.com/lethe-iac/lethe/internal/provider/launch"
)

// closeTime is how long closing a lease may take when the engine is gone.
const closeTime = 30 * time.Second

// server is the keeper's side.
type server struct {
	link *link
	book book

	mu        sync.Mutex
	providers map[uint32]*served
	calls     map[uint32]*call
	lost      bool           // the engine is gone
	effects   sync.WaitGroup // calls under way that change something, or open or close it
}

// served is a provider that runs.
type served struct {
	number uint32
	*launch.Running
	end func()
}

// call is one under way.
type call struct {
	effect effect
	cancel context.CancelFunc
}

// outcome is how a start went.
type outcome struct {
	Protocol        int
	Summary, Detail string // what is wrong; the first is empty if nothing is
}

// Serve keeps what an engine at the other end of a connection uses, until all is closed.
func Serve(conn net.Conn) error {
	s := &server{link: &link{conn: conn}, providers: map[uint32]*served{}, calls: map[uint32]*call{}}
	err := s.link.receive(s.take)
	s.orphaned()
	return err
}

var errBye = errors.New("the engine has said goodbye")

// take does what the engine asks for.
func (s *server) take(k kind, number uint32, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch k {
	case startFrame:
		var program launch.Program
		if err := json.Unmarshal(payload, &program); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		s.calls[number] = &call{cancel: cancel}
		go s.start(ctx, number, program)
	case callFrame:
		if len(payload) < 5 || len(payload) < 5+int(payload[4]) {
			return fmt.Errorf("call %d is cut off", number)
		}
		method := string(payload[5 : 5+int(payload[4])])
		p := s.providers[binary.LittleEndian.Uint32(payload)]
		if p == nil {
			s.answer(number, nil, status.Error(codes.Unavailable, "the provider has ended"))
			return nil
		}
		ctx, cancel := context.WithCancel(context.Background())
		c := &call{effectOf(method), cancel}
		s.calls[number] = c
		if c.effect != none {
			s.effects.Add(1)
		}
		go s.call(ctx, number, c, p, method, payload[5+len(method):])
	case cancelFrame:
		if c := s.calls[number]; c != nil {
			c.cancel()
		}
	case endFrame:
		if p := s.providers[number]; p != nil {
			go func() {
				p.end()
				s.link.send(endedFrame, number)
			}()
		} else {
			s.link.send(endedFrame, number)
		}
	case byeFrame:
		return errBye
	}
	return nil
}

// start starts a provider.
func (s *server) start(ctx context.Context, number uint32, program launch.Program) {
	r, err := launch.Start(ctx, program, func(level, line string) {
		s.link.send(lineFrame, number, []byte{byte(len(level))}, []byte(level), []byte(line))
	})
	var out outcome
	if err != nil {
		out.Summary, out.Detail = "Failed to start provider", err.Error()
		if d := (diag.Diagnostic{}); errors.As(err, &d) {
			out.Summary, out.Detail = d.Summary, d.Detail
		}
	} else {
		out.Protocol = r.Protocol
		p := &served{number: number, Running: r}
		p.end = sync.OnceFunc(func() {
			r.Close()
			s.mu.Lock()
			delete(s.providers, number)
			s.mu.Unlock()
		})
		s.mu.Lock()
		s.providers[number] = p
		s.mu.Unlock()
	}
	s.forget(number)
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	s.link.send(startedFrame, number, text)
}

// call makes a call. The answer is noted before the engine has it.
func (s *server) call(ctx context.Context, number uint32, c *call, p *served, method string, request []byte) {
	var answer []byte
	err := p.Conn.Invoke(ctx, method, request, &answer)
	if err == nil {
		s.book.note(c.effect, p, request, answer)
	}
	s.forget(number)
	if status.Code(err) == codes.Unavailable {
		s.link.send(goneFrame, p.number, []byte(p.Ended()))
	}
	s.answer(number, answer, err)
	if c.effect != none {
		s.effects.Done()
	}
}

func (s *server) forget(number uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[number].cancel()
	delete(s.calls, number)
}

func (s *server) answer(number uint32, answer []byte, err error) {
	if st := status.Convert(err); st.Code() != codes.OK {
		answer = []byte(st.Message())
		s.link.send(answerFrame, number, []byte{byte(st.Code())}, answer)
		return
	}
	s.link.send(answerFrame, number, []byte{0}, answer)
}

// orphaned brings everything to its end: the engine needs nothing any more. What changes something, or
// opens or closes it, is waited for; the leases are closed, the last one first, since it may need those before it.
func (s *server) orphaned() {
	s.mu.Lock()
	for _, c := range s.calls {
		if c.effect == none {
			c.cancel()
		}
	}
	s.mu.Unlock()
	s.effects.Wait()
	for l := s.book.last(); l != nil; l = s.book.last() {
		s.close(l)
		s.book.drop(l)
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
	s.link.send(doneFrame, 0)
}

// close closes a lease.
func (s *server) close(l *lease) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	method := "/tfplugin6.Provider/CloseEphemeralResource"
	if l.provider.Protocol == 5 {
		method = "/tfplugin5.Provider/CloseEphemeralResource"
	}
	var answer []byte
	_ = l.provider.Conn.Invoke(ctx, method, l.closing(), &answer)
}
