package cli_test

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-iac/lethe/internal/cli"
	"golang.org/x/sys/unix"
)

// TestProgressOverEarlierVersions checks that the commands that read or change the earlier versions of a state show
// their progress. The fake clock advances by a minute each time that it is read, so the command draws each step.
func TestProgressOverEarlierVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		code int
		want []string
	}{
		{"secrets", 2, []string{"Earlier versions of the state", "0 of 2 versions", "1 of 2 versions"}},
		{"secrets scrub -dry-run", 0, []string{"Earlier versions of the state", "0 of 2 versions", "1 of 2 versions"}},
		{"secrets scrub -auto-approve -last-copy", 0, []string{"Earlier versions of the state", "1 of 2 versions", "Copies of the state", "0 of 4 copies", "3 of 4 copies"}},
	} {
		s := copiesOfSecret(t)
		user, program := terminal(t)
		defer user.Close()
		if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 80}); err != nil {
			t.Fatal(err)
		}
		received := make(chan string)
		go func() {
			text, _ := io.ReadAll(user) // the error EIO means that the program has closed the terminal
			received <- string(text)
		}()
		began, looks := time.Now(), atomic.Int64{}
		code := cli.Main(cli.Env{
			Args: strings.Fields(tt.args), Program: "lethe", Stdin: strings.NewReader(""), Stdout: program, Stderr: program, Dir: s.dir,
			Now:     func() time.Time { return began.Add(time.Duration(looks.Add(1)) * time.Minute) },
			Environ: []string{"HOME=" + s.home, "TMPDIR=" + s.home, "PATH=" + os.Getenv("PATH"), "TF_CLI_CONFIG_FILE=/dev/null", "TF_INPUT=0", "TERM=xterm"},
		})
		program.Close()
		text := <-received
		if code != tt.code {
			t.Errorf("%s: exit %d", tt.args, code)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not show %q:\n%q", tt.args, want, text)
			}
		}
		if strings.Contains(text, scrubCanary) {
			t.Errorf("%s shows the secret", tt.args)
		}
	}
}
