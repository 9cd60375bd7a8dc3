package cli_test

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPicture runs the example of the readme in a terminal and compares the final text with docs/quickstart.svg.
// UPDATE_SCRIPTS=1 writes the picture.
func TestPicture(t *testing.T) {
	t.Parallel()
	const name = "../../docs/quickstart.svg"
	dir := t.TempDir()
	if err := os.CopyFS(dir, tracked(t, examplesDir+"/quickstart")); err != nil {
		t.Fatal(err)
	}
	shown := inTerminal(t, dir, "lethe", "apply", "-auto-approve")
	password, err := os.ReadFile(filepath.Join(dir, "app.password"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(shown, strings.TrimSpace(string(password))) {
		t.Fatal("the password is on the screen")
	}
	shown = regexp.MustCompile(`after \d+s`).ReplaceAllString(shown, "after 0s")
	shown = regexp.MustCompile(`held [\d.]+s`).ReplaceAllString(shown, "held 0.0s")
	want := terminalSVG("lethe apply -auto-approve", shown)
	have, err := os.ReadFile(name)
	if err == nil && string(have) == want {
		return
	}
	if os.Getenv("UPDATE_SCRIPTS") == "" {
		t.Fatalf("%s is not the picture of this run (%v); UPDATE_SCRIPTS=1 writes it. The terminal shows:\n%s", name, err, shown)
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// inTerminal runs a program in a new terminal of 80 columns, and returns everything that the terminal receives.
func inTerminal(t *testing.T, dir string, args ...string) string {
	t.Helper()
	user, program := terminal(t)
	defer user.Close()
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 60, Col: 80}); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	out := make(chan string)
	go func() {
		var text strings.Builder
		b := make([]byte, 4096)
		for {
			n, err := user.Read(b)
			text.Write(b[:n])
			if err != nil { // the error EIO means that no program has the terminal open any longer
				out <- text.String()
				return
			}
		}
	}()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	select {
	case text := <-out:
		return finalText(text)
	case <-time.After(time.Minute):
		t.Fatal("a program still has the terminal open")
		return ""
	}
}

var erased = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\r?\x1b\\[(\\d+)A\x1b\\[J") })

// finalText returns the lines that remain on the screen. Lethe erases lines about operations in progress: it moves the
// cursor up and overwrites them.
func finalText(received string) string {
	received = strings.ReplaceAll(received, "\r\n", "\n")
	for {
		at := erased().FindStringSubmatchIndex(received)
		if at == nil {
			return received
		}
		n, _ := strconv.Atoi(received[at[2]:at[3]])
		kept := strings.SplitAfter(received[:at[0]], "\n")
		received = strings.Join(kept[:max(0, len(kept)-1-n)], "") + received[at[1]:]
	}
}

// terminalColors are the colors of the escape sequences (SGR) that Lethe prints.
var terminalColors = map[string]string{"31": "#f47067", "32": "#6bc46d", "33": "#daaa3f", "34": "#6cb6ff", "35": "#dcbdfb", "36": "#76e3ea", "90": "#768390"}

var sgr = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[([0-9;]*)m") })

// terminalSVG draws a terminal with a command and its output.
func terminalSVG(command, output string) string {
	const lineHeight, charWidth, margin, head = 17, 8, 16, 36
	lines := append([]string{"$ " + command}, strings.Split(strings.TrimRight(output, "\n"), "\n")...)
	width, height := 80*charWidth+2*margin, head+len(lines)*lineHeight+margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%s in a terminal">
<rect width="100%%" height="100%%" rx="8" fill="#22272e"/>
<circle cx="18" cy="16" r="5" fill="#f47067"/><circle cx="36" cy="16" r="5" fill="#daaa3f"/><circle cx="54" cy="16" r="5" fill="#6bc46d"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" fill="#adbac7" xml:space="preserve">
`, width, height, html.EscapeString(command))
	color, bold := "", false
	for i, line := range lines {
		fmt.Fprintf(&b, `<text x="%d" y="%d">`, margin, head+(i+1)*lineHeight-4)
		span := func(s string) {
			if s == "" {
				return
			}
			attributes := ""
			if color != "" {
				attributes += ` fill="` + color + `"`
			}
			if bold {
				attributes += ` font-weight="bold"`
			}
			if attributes == "" {
				b.WriteString(html.EscapeString(s))
				return
			}
			fmt.Fprintf(&b, "<tspan%s>%s</tspan>", attributes, html.EscapeString(s))
		}
		for {
			at := sgr().FindStringSubmatchIndex(line)
			if at == nil {
				break
			}
			span(line[:at[0]])
			for code := range strings.SplitSeq(line[at[2]:at[3]], ";") {
				switch code {
				case "", "0":
					color, bold = "", false
				case "1":
					bold = true
				default:
					color = terminalColors[code]
				}
			}
			line = line[at[1]:]
		}
		span(line)
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}
