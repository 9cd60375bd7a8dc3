package stores

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/store"
)

// line is a proxy between clients and a server. It can break connections, delay answers, or lead to another server.
type line struct {
	net.Listener

	mu      sync.Mutex
	to      string            // the address of the server
	open    map[net.Conn]bool // the connections to clients and to the server; all values are true
	refused int               // number of connections that will still be refused
	until   time.Time         // connections before this time are refused
	slow    time.Duration     // delay of each answer; applies to new connections
}

// newLine starts a line (a proxy) to the server on a port of this machine, until the end of the test.
func newLine(t *testing.T, port string) *line {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	l := &line{Listener: listener, to: "127.0.0.1:" + port, open: map[net.Conn]bool{}}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go l.serve(c)
		}
	}()
	return l
}

func (l *line) port() string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// cut ends all connections. It refuses the given number (refused) of the next connections, and all connections during
// the given time.
func (l *line) cut(refused int, during time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused, l.until = refused, time.Now().Add(during)
	for c := range l.open {
		c.Close()
	}
	clear(l.open)
}

// lead ends all connections, and connects new clients to the server on another port.
func (l *line) lead(port string) {
	l.mu.Lock()
	l.to = "127.0.0.1:" + port
	l.mu.Unlock()
	l.cut(0, 0)
}

// serve connects a client with the server, or closes the connection if it must be refused.
func (l *line) serve(c net.Conn) {
	defer c.Close()
	l.mu.Lock()
	to, slow, no := l.to, l.slow, l.refused > 0 || time.Now().Before(l.until)
	if l.refused > 0 {
		l.refused--
	}
	l.mu.Unlock()
	if no {
		return
	}
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.open[c], l.open[server] = true, true
	l.mu.Unlock()
	go func() {
		io.Copy(server, c)
		server.Close()
	}()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(slow) // delay the answer, as a slow server does
		if _, err := c.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestPostgresFaults checks that a state in a database survives the same faults as the stores on HTTP: slow answers, a
// server that cannot be reached once, three times or for 30 seconds, and a server that is read-only for a time. The
// connection of the lock breaks each time, and the lock is taken again.
func TestPostgresFaults(t *testing.T) {
	const factor = 200
	hurried(t, factor)
	port := startPostgres(t)
	for _, layout := range []string{"document", "rows", "journal"} {
		var flags []string
		as := layout
		if layout == "journal" {
			as, flags = "document", []string{"journal"}
		}
		for name, begin := range map[string]func(*line){
			"slow":       func(l *line) { l.slow = 20 * time.Millisecond; l.cut(0, 0) },
			"once":       func(l *line) { l.cut(1, 0) },
			"three":      func(l *line) { l.cut(3, 0) },
			"30 seconds": func(l *line) { l.cut(0, 30*time.Second/factor) },
			"read-only": func(l *line) {
				query(t, port, `ALTER ROLE postgres SET default_transaction_read_only = on`)
				time.AfterFunc(30*time.Second/factor, func() { readOnlyOff(t, port) })
				l.cut(0, 0)
			},
		} {
			t.Run(layout+"/"+name, func(t *testing.T) {
				l := newLine(t, port)
				st := opener(t, l.port(), "faults "+layout+" "+name, as, flags...)()
				v, err := st.Put(ctx, store.Default, document(1, 1, 10, ""), "")
				check(t, err)
				unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("OperationTypeApply", "1"))
				check(t, err)
				want := document(2, 1, 10, "")
				begin(l)
				v, err = st.Put(ctx, store.Default, want, v)
				check(t, err)
				if name != "read-only" && name != "slow" {
					begin(l)
				}
				check(t, unlock(ctx))
				time.Sleep(30 * time.Second / factor) // the pauses of retries are shorter by factor, so the fault is shorter, too
				have, now, err := st.Get(ctx, store.Default)
				check(t, err)
				if string(have) != string(want) || now != v {
					t.Errorf("there is %s of version %q, not %q", have, now, v)
				}
				ranThrough(t, st, v, document(3, 1, 10, ""))
			})
		}
	}
}

// readOnlyOff lets new connections of the role postgres write again. It uses psql, and may run in another goroutine
// than the test.
func readOnlyOff(t *testing.T, port string) {
	out, err := exec.Command(filepath.Join(serverPrograms(t), "psql"), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-c", `SET default_transaction_read_only = off`, "-c", `ALTER ROLE postgres SET default_transaction_read_only = off`, "postgres").CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestFailover ends the server of a run. The server's replica takes over; at first it is read-only. The state is
// written to the replica after the replica's promotion. Before the promotion, only a plan can lock the state on the
// replica.
func TestFailover(t *testing.T) {
	const factor = 20
	hurried(t, factor)
	for _, layout := range []string{"document", "rows"} {
		t.Run(layout, func(t *testing.T) {
			primary := startPostgres(t)
			l := newLine(t, primary)
			st, other := opener(t, l.port(), "failover", layout)(), opener(t, l.port(), "failover", layout)()
			v, err := st.Put(ctx, store.Default, document(1, 1, 10, ""), "")
			check(t, err)
			replica, promote := startReplica(t, primary)
			unlock, err := st.Lock(ctx, store.Default, store.NewLockInfo("OperationTypeApply", "1"))
			check(t, err)
			l.lead(replica)
			plan, err := other.Lock(ctx, store.Default, store.NewLockInfo("OperationTypePlan", "1"))
			check(t, err)
			check(t, plan(ctx))
			if _, err := other.Lock(ctx, store.Default, store.NewLockInfo("OperationTypeApply", "1")); err == nil || !strings.Contains(err.Error(), "read-only") {
				t.Errorf("an apply has a lock on a replica: %v", err)
			}
			promoted := make(chan struct{})
			time.AfterFunc(time.Second, func() { promote(); close(promoted) })
			defer func() { <-promoted }()
			v, err = st.Put(ctx, store.Default, document(2, 1, 10, ""), v)
			check(t, err)
			check(t, unlock(ctx))
			ranThrough(t, other, v, document(3, 1, 10, ""))
		})
	}
}

// startReplica starts a replica of a server, until the end of the test. The argument of is the port of the server. It
// returns the replica's port and a function that promotes the replica.
func startReplica(t *testing.T, of string) (port string, promote func()) {
	t.Helper()
	bin := serverPrograms(t)
	s := newServer(t)
	s.run(filepath.Join(bin, "pg_basebackup"), "-h", "127.0.0.1", "-p", of, "-U", "postgres", "-D", s.db, "-R", "--checkpoint=fast", "--no-sync", "-X", "stream")
	s.start()
	return s.port, func() {
		if out, err := s.command(filepath.Join(bin, "pg_ctl"), "-D", s.db, "promote").CombinedOutput(); err != nil {
			t.Error(fmt.Errorf("%w: %s", err, out))
		}
	}
}
