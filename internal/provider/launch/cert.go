package launch

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/lethe-iac/lethe/internal/provider/rpc"
	"github.com/lethe-iac/lethe/internal/provider/wire"
)

// certVariable is how a program learns whom to let in: by our certificate, as PEM. It answers with
// one of its own in its first line.
const certVariable = "PLUGIN_CLIENT_CERT"

// identify makes a key and a certificate for one connection, which prove to a program that we are
// who started it. The certificate is what go-plugin's would be, but for its curve: P-256 is as
// strong as the connection needs, and takes a hundredth of the time that P-521 takes, on both
// sides. The key leaves the process in a Way alone.
func identify() (config *tls.Config, certificate string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("no key could be made for the connection to the provider: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 128))
	if err != nil {
		return nil, "", fmt.Errorf("no certificate could be made for the connection to the provider: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: host},
		DNSNames:              []string{host},
		SerialNumber:          serial,
		NotBefore:             now.Add(-30 * time.Second), // clocks may jump
		NotAfter:              now.AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // it has itself for an authority
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", fmt.Errorf("no certificate could be made for the connection to the provider: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, // of who connects to us, where a broker is used
		MinVersion:   tls.VersionTLS12,
		ServerName:   host,
	}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

// host is the name in the certificates of both sides.
const host = "localhost"

// Way is how another process reaches a program that runs. The zero value says that it cannot.
type Way struct {
	Network, Address  string
	Key, Certificate  []byte // our identity; nil: the connection has no TLS
	ServerCertificate []byte
	Ticket, Session   []byte // of the first connection, which spares another one the certificates; nil: there is none
}

// sessions is a cache of TLS sessions that has one, the last: for one program.
type sessions struct {
	mu   sync.Mutex
	last *tls.ClientSessionState
	came chan struct{} // has an element once there is one
}

// Get implements tls.ClientSessionCache.
func (s *sessions) Get(string) (*tls.ClientSessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.last != nil
}

// Put implements tls.ClientSessionCache.
func (s *sessions) Put(_ string, state *tls.ClientSessionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = state
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// ticketTime is how long a ticket is waited for, which comes right after the handshake, if there is one at all.
const ticketTime = 50 * time.Millisecond

// handOn puts the session of a connection into the way to its other end. The key of the certificate of go-plugin is of a
// curve that takes 30 ms of both sides to prove: another process that shows the ticket need not do that again.
func (w *Way) handOn(s *sessions) {
	select {
	case <-s.came:
	case <-time.After(ticketTime):
	}
	if last, ok := s.Get(""); ok {
		ticket, state, err := last.ResumptionState()
		if err != nil || state == nil {
			return
		}
		if text, err := state.Bytes(); err == nil {
			w.Ticket, w.Session = ticket, text
		}
	}
}

// resume is a cache with the session that a way has; nil without one.
func (w *Way) resume() tls.ClientSessionCache {
	state, err := tls.ParseSessionState(w.Session)
	if err != nil {
		return nil
	}
	last, err := tls.NewResumptionState(w.Ticket, state)
	if err != nil {
		return nil
	}
	return &sessions{last: last, came: make(chan struct{}, 1)}
}

// wayTo is the way to a program that listens at an address, and wrote a line about itself.
func wayTo(a net.Addr, config *tls.Config, line string) Way {
	w := Way{Network: a.Network(), Address: a.String()}
	if config == nil {
		return w
	}
	own := config.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	fields := strings.Split(line, "|")
	if err != nil || len(fields) < 6 {
		return Way{}
	}
	w.Key, w.Certificate = key, own.Certificate[0]
	if w.ServerCertificate, err = base64.RawStdEncoding.DecodeString(fields[5]); err != nil {
		return Way{}
	}
	return w
}

// Reach makes another connection to a program that runs.
func Reach(ctx context.Context, w Way) (*rpc.Conn, error) {
	if w.Key == nil {
		return rpc.Dial(ctx, listens{w.Network, w.Address}, nil, wire.MaxMessage)
	}
	key, err := x509.ParsePKCS8PrivateKey(w.Key)
	if err != nil {
		return nil, err
	}
	server, err := x509.ParseCertificate(w.ServerCertificate)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{w.Certificate}, PrivateKey: key}},
		RootCAs:      x509.NewCertPool(), MinVersion: tls.VersionTLS12, ServerName: host, ClientSessionCache: w.resume(),
	}
	config.RootCAs.AddCert(server)
	return rpc.Dial(ctx, listens{w.Network, w.Address}, config, wire.MaxMessage)
}

// listens is an address.
type listens struct{ network, address string }

func (l listens) Network() string { return l.network }
func (l listens) String() string  { return l.address }
