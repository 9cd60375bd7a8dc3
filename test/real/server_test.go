package real

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

// startServer runs a PostgreSQL server until the end of the test, and returns environment variables with its settings.
// If the test runs as root, the user postgres runs the server, because a server refuses to run as root. It skips the
// test if no server is installed.
func startServer(t *testing.T) []string {
	t.Helper()
	bin := serverPrograms(t)
	base, err := os.MkdirTemp("", "pg") // a short path, because the path of a socket in it is limited
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	var as *syscall.Credential
	if os.Getuid() == 0 {
		as = someone(t)
		check(t, os.Chown(base, int(as.Uid), int(as.Gid)))
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(bin, name), args...)
		cmd.Dir, cmd.Env = base, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
		log, err := os.Create(filepath.Join(t.TempDir(), name)) // a file, because a pipe would stay open until the server ends
		check(t, err)
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Run(); err != nil {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
	}
	db := filepath.Join(base, "db")
	port := strconv.Itoa(freePort(t))
	run("initdb", "-D", db, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")
	run("pg_ctl", "-D", db, "-w", "-l", filepath.Join(base, "log"), "-o", fmt.Sprintf("-k %s -h 127.0.0.1 -p %s -c fsync=off -c wal_level=logical -c max_replication_slots=10", base, port), "start")
	t.Cleanup(func() { run("pg_ctl", "-D", db, "-m", "immediate", "stop") })
	return []string{"PGHOST=127.0.0.1", "PGPORT=" + port, "PGUSER=postgres", "PGPASSWORD=postgres", "PGSSLMODE=disable", "PGSUPERUSER=true"}
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
