package launch

import (
	"context"
	"io"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lethe-iac/lethe/internal/disk"
	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
)

// Calls that a plugin serves beside the provider: a call that ends it, and a call that streams its output after the
// handshake, because its standard output and error are then closed.
const (
	shutdown = "/plugin.GRPCController/Shutdown"
	hear     = "/plugin.GRPCStdio/StreamStdio"
)

// dial starts the process and connects to it by package rpc. go-plugin has a part in the handshake
// only: the program's first line, and the certificates.
func dial(ctx context.Context, client *plugin.Client, config *plugin.ClientConfig, proc *process) (grpc.ClientConnInterface, func() Address, func(), error) {
	a, err := client.Start()
	if err != nil {
		return nil, nil, nil, err
	}
	session := &sessions{came: make(chan struct{}, 1)}
	if config.TLSConfig != nil {
		config.TLSConfig.ClientSessionCache = session
	}
	conn, err := rpc.Dial(ctx, a, config.TLSConfig, wire.MaxMessage)
	if err != nil {
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

// listen reads the output of the program. It must be read even if nobody wants it: a program that cannot print stops.
func listen(ctx context.Context, conn *rpc.Conn, stdout, stderr io.Writer) {
	_ = conn.Listen(ctx, hear, func(message []byte) { // programs older than the call have an error
		text, channel := printed(message)
		out := stdout
		if channel == 2 {
			out = stderr
		}
		_, _ = out.Write(text)
	})
}

// printed reads a message StdioData: the channel is field 1, the text field 2.
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

// farewell asks the process to end, and kills it if it does not.
func farewell(conn *rpc.Conn, proc *process) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	_ = conn.Invoke(ctx, shutdown, nil, nil) // it may be gone before it answers
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
