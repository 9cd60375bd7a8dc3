package launch

import (
	"context"
	"io"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
)

// Calls that a plugin serves in addition to the provider's calls: shutdown ends the process, and hear streams its
// output. The stream is necessary because a plugin closes its standard output and error after the handshake.
const (
	shutdown = "/plugin.GRPCController/Shutdown"
	hear     = "/plugin.GRPCStdio/StreamStdio"
)

// dial starts the process and connects to it with package rpc. It uses go-plugin only for the handshake: the program's
// first line, and the certificates. It returns the connection, a function that returns the program's address, and a
// function that ends the process.
func dial(ctx context.Context, client *plugin.Client, config *plugin.ClientConfig, proc *process) (grpc.ClientConnInterface, func() Address, func(), error) {
	a, err := client.Start()
	if err != nil {
		return nil, nil, nil, err
	}
	session := &sessions{came: make(chan struct{}, 1)}
	if config.TLSConfig != nil {
		config.TLSConfig.ClientSessionCache = session
	}
	conn, err := dialWithin(ctx, config.StartTimeout, a, config.TLSConfig)
	if err != nil {
		proc.ended() // wait until a process that ends by itself has ended, because a killed process does not show why
		proc.kill()  // otherwise go-plugin tries for 20 seconds to connect, to ask the process to end
		return nil, nil, nil, err
	}
	line, _ := proc.first.text()
	address := func() Address {
		w := addressOf(a, config.TLSConfig, line)
		if w.Key != nil {
			w.handOn(session)
		}
		return w
	}
	life, cancel := context.WithCancel(context.Background())
	conn.Go(func() error {
		listen(life, conn, newLines(proc.log), newLines(proc.log))
		return nil
	})
	return conn, address, func() {
		defer cancel()
		farewell(conn, proc)
	}, nil
}

// listen reads the output of the program. It must be read even if it is not needed, because a program whose output is
// not read stops.
func listen(ctx context.Context, conn *rpc.Conn, stdout, stderr io.Writer) {
	_ = conn.Listen(ctx, hear, func(message []byte) { // ignore the error: a program that does not have this call returns one
		text, channel := printed(message)
		out := stdout
		if channel == 2 {
			out = stderr
		}
		_, _ = out.Write(text)
	})
}

// printed decodes a message StdioData, a part of the output: field 1 is the channel (1: standard output, 2: standard
// error), field 2 is the text.
func printed(m []byte) (text []byte, channel uint64) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeField(m)
		if n < 0 {
			return nil, 0
		}
		_, _, tag := protowire.ConsumeTag(m)
		switch value := m[tag:n]; {
		case num == 1 && typ == protowire.VarintType:
			channel, _ = protowire.ConsumeVarint(value)
		case num == 2 && typ == protowire.BytesType:
			text, _ = protowire.ConsumeBytes(value)
		}
		m = m[n:]
	}
	return text, channel
}

// farewell asks the process to end, closes the connection, and kills the process if it does not end in time. It returns
// when the process has ended, and removes the directory of its socket.
func farewell(conn *rpc.Conn, proc *process) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_ = conn.Invoke(ctx, shutdown, nil, nil) // ignore the error: the process may end before it answers
	conn.Close()
	ctx, cancel = context.WithTimeout(ctx, graceTime)
	defer cancel()
	select {
	case <-proc.done:
	case <-ctx.Done():
		proc.kill()
		<-proc.done
	}
	_ = disk.OS.RemoveAll(proc.dir)
}
