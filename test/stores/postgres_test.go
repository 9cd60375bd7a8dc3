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

// startPostgres runs a PostgreSQL server until the end of the test, and returns its port. If the test runs as root, the
// user postgres runs the server, because a server refuses to run as root. It skips the test if no server is installed.
func startPostgres(t *testing.T) string {
	t.Helper()
	bin := serverPrograms(t)
	s := newServer(t)
	s.run(filepath.Join(bin, "initdb"), "-D", s.db, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
	s.start()
	return s.port
}

// server is the directory, port and user of a PostgreSQL server.
type server struct {
	*testing.T
	base, db, port string              // base is a directory, and db the directory of the data in it
	as             *syscall.Credential // the user of the server; nil: the user of the test
}

// newServer creates the directory of a server, without its data. The end of the test removes it.
func newServer(t *testing.T) *server {
	t.Helper()
	base, err := os.MkdirTemp("", "pg") // a short path, because the path of a socket in it is limited
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	s := &server{T: t, base: base, db: filepath.Join(base, "db"), port: strconv.Itoa(freePort(t))}
	if os.Getuid() == 0 {
		s.as = someone(t)
		check(t, os.Chown(base, int(s.as.Uid), int(s.as.Gid)))
	}
	return s
}

// command returns a command as the server's user, in the directory base.
func (s *server) command(path string, args ...string) *exec.Cmd {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = s.base, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as}
	return cmd
}

// run runs a command as the server's user. It ends the test with the command's output if the command fails.
func (s *server) run(path string, args ...string) {
	s.Helper()
	cmd := s.command(path, args...)
	log, err := os.Create(filepath.Join(s.TempDir(), filepath.Base(path))) // a file, because a pipe would stay open until the server ends
	check(s.T, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		text, _ := os.ReadFile(log.Name())
		s.Fatalf("%s: %v\n%s", path, err, text)
	}
}

// start starts the server, waits until it is ready, and stops it at the end of the test.
func (s *server) start() {
	s.Helper()
	control := filepath.Join(serverPrograms(s.T), "pg_ctl")
	s.run(control, "-D", s.db, "-w", "-l", filepath.Join(s.base, "log"), "-o", fmt.Sprintf("-k %s -h 127.0.0.1 -p %s -c fsync=off", s.base, s.port), "start")
	s.Cleanup(func() { s.run(control, "-D", s.db, "-m", "immediate", "stop") })
}

// serverPrograms returns the directory of the server's programs, which distributions keep outside PATH. It skips the
// test if they are not installed.
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

// someone returns the credentials of the user postgres, and skips the test if the system has no such user.
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

// freePort returns a TCP port of this machine on which no program listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
