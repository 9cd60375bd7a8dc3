package stores

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// startPostgres runs a PostgreSQL server for one test, and returns its port. The files are removed at the end. A server
// refuses to run as root; then the system's user postgres runs it.
func startPostgres(t *testing.T) string {
	t.Helper()
	bin := serverPrograms(t)
	s := newServer(t)
	s.run(filepath.Join(bin, "initdb"), "-D", s.db, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
	s.start()
	return s.port
}

// server is the directory and the user of a PostgreSQL server.
type server struct {
	*testing.T
	base, db, port string
	as             *syscall.Credential
}

func newServer(t *testing.T) *server {
	t.Helper()
	base, err := os.MkdirTemp("", "pg") // a short path, because it contains a socket
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &server{T: t, base: base, db: filepath.Join(base, "db"), port: strconv.Itoa(freePort(t))}
	if os.Getuid() == 0 {
		s.as = someone(t)
		check(t, os.Chown(base, int(s.as.Uid), int(s.as.Gid)))
	}
	return s
}

func (s *server) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = s.base, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

func (s *server) run(path string, args ...string) {
	s.Helper()
	cmd := s.command(path, args...)
	log, err := os.Create(filepath.Join(s.TempDir(), filepath.Base(path))) // a pipe would stay open until the server ends
	check(s.T, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		s.Fatalf("%s: %v\n%s", path, err, text)
	}
}

func (s *server) start() {
	s.Helper()
	control := filepath.Join(serverPrograms(s.T), "pg_ctl")
	s.run(control, "-D", s.db, "-w", "-l", filepath.Join(s.base, "log"), "-o", fmt.Sprintf("-k %s -h 127.0.0.1 -p %s -c fsync=off", s.base, s.port), "start")
	s.Cleanup(func() { s.run(control, "-D", s.db, "-m", "immediate", "stop") })
}

// serverPrograms returns the directory of the server's programs. Distributions keep them outside PATH, by version.
func serverPrograms(t *testing.T) string {
	t.Helper()
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_ctl"); len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	path, err := exec.LookPath("pg_ctl")
	if err != nil {
		t.Skip("there is no PostgreSQL server here")
	}
	return filepath.Dir(path)
}

func someone(t *testing.T) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skipf("a server does not run as root, and nobody else is there: %v", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	check(t, err)
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	check(t, err)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
