package cli_test

import (
	"bufio"
	"io"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestConsoleInterrupted interrupts a console during a long evaluation and while it waits for input. The console must
// end at once, because it has nothing to clean up.
func TestConsoleInterrupted(t *testing.T) {
	t.Parallel()
	for name, expression := range map[string]string{
		"evaluating": "[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : 1 if false]]]\n",
		"waiting":    "",
	} {
		for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
			t.Run(name+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t, `
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  depends_on = ["terraform_data.a"] # with a warning about the quotes
}
`)
				path, err := exec.LookPath("lethe")
				if err != nil {
					t.Fatal(err)
				}
				cmd := exec.Command(path, "console")
				cmd.Dir, cmd.Env = p.dir, append(p.env, "LETHE_LIMITS=elements=1000000000000")
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				warnings, err := cmd.StderrPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				defer cmd.Process.Kill()
				if _, err := bufio.NewReader(warnings).ReadString('\n'); err != nil { // the first warning is printed before the console reads input
					t.Fatal(err)
				}
				if expression != "" { // the console reads until the end of piped input
					io.WriteString(in, "6 * 7\n"+expression)
					in.Close()
					if line, err := bufio.NewReader(out).ReadString('\n'); line != "42\n" {
						t.Fatalf("%q, %v", line, err)
					}
				}
				cmd.Process.Signal(signal)
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				select {
				case <-ended:
					if code := cmd.ProcessState.ExitCode(); code != 1 {
						t.Errorf("exit code %d", code)
					}
				case <-time.After(time.Minute):
					t.Error("it goes on")
				}
			})
		}
	}
}
