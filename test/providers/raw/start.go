package raw

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Start does the action in PLAYGROUND_ROGUE_START before the provider serves. It returns if the provider must serve
// afterwards. After the actions from garbage to mute it sleeps until the engine ends the process. An unknown action
// ends the process with status 2.
//
//	exit:N        ends with exit status N, silently
//	panic         ends with a stack trace
//	hang          writes nothing and does not end
//	wait:D        waits, then serves
//	stderr:TEXT   writes TEXT to standard error, then serves
//	noise:N       writes N megabytes to standard output as one line, then serves
//	garbage       writes a line that is no handshake
//	short         writes half a handshake
//	protocol:N    a handshake for protocol N of the provider
//	core:N        a handshake for version N of the plugin protocol
//	network       a handshake with a network that does not exist
//	refuse        a handshake with an address where no program listens
//	babble        a handshake with an address where a program does not use gRPC
//	mute          a handshake with an address where a program writes nothing
func Start() {
	how, arg, _ := strings.Cut(os.Getenv(EnvStart), ":")
	switch how {
	case "":
	case "exit":
		os.Exit(whole(arg, 1))
	case "panic":
		panic("misbehaving at the start " + arg)
	case "hang":
		forever()
	case "wait":
		d, _ := time.ParseDuration(arg)
		time.Sleep(d)
	case "stderr":
		_ = babble(os.Stderr, arg)
	case "noise":
		fmt.Println(strings.Repeat("noise ", megabytes(arg)/6))
	default:
		handshake(how, arg)
	}
}

// handshake writes a wrong handshake line, and then sleeps until the engine gives up.
func handshake(how, arg string) {
	core, protocol, network, address := "1", "6", "unix", socket(how)
	switch how {
	case "garbage":
		fmt.Println("this is not a plugin")
		forever()
	case "short":
		fmt.Println("1|6|unix")
		forever()
	case "protocol":
		protocol = arg
	case "core":
		core = arg
	case "network":
		network = "pigeon"
	case "refuse", "babble", "mute":
	default:
		fmt.Fprintf(os.Stderr, "%s: there is no start %q\n", EnvStart, how)
		os.Exit(2)
	}
	fmt.Println(strings.Join([]string{core, protocol, network, address, "grpc", ""}, "|"))
	forever()
}

// forever sleeps for an hour, which is longer than the timeouts of all tests, and then ends the process.
func forever() {
	time.Sleep(time.Hour)
	os.Exit(1)
}

// socket returns the path of a socket. For the actions babble and mute this process listens on it without gRPC, and for
// all others no program listens.
func socket(how string) string {
	path := filepath.Join(os.TempDir(), fmt.Sprintf("rogue-%d.sock", os.Getpid()))
	if how != "babble" && how != "mute" {
		return path
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	go answer(l, how)
	return path
}

func answer(l net.Listener, how string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if how == "babble" {
			_, _ = c.Write([]byte("220 welcome to the wrong protocol\r\n"))
		}
	}
}
