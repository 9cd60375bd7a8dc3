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

// CertVariable is the environment variable with our certificate as PEM. A program lets in the holder of this certificate, and sends
// its own certificate in its first line.
const CertVariable = "PLUGIN_CLIENT_CERT"

// Identify makes a key and a certificate for one connection. They prove to a program that the connection comes from the
// process that started it. The certificate equals go-plugin's except for its curve: P-256 is strong enough for the
// connection, and takes a hundredth of the time of P-521 on both sides. The key leaves the process only in an Address.
func Identify() (config *tls.Config, certificate string, err error) {
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
		ClientAuth:   tls.RequireAndVerifyClientCert, // for a server with this configuration
		MinVersion:   tls.VersionTLS12,
		ServerName:   host,
	}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

// host is the name in the certificates of both sides.
const host = "localhost"

// Address lets another process connect to a running program. The zero value does not.
type Address struct {
	Network, Address  string
	Key, Certificate  []byte // our identity; nil: the connection has no TLS
	ServerCertificate []byte
	Ticket, Session   []byte // of the first connection, so that another one needs no certificates; nil: not available
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

// handOn stores the TLS session of a connection in the address of the program. The certificate of go-plugin has a key
// on a curve whose proof takes both sides 30 ms. A process that shows the ticket of the session avoids the proof.
func (w *Address) handOn(s *sessions) {
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

// resume returns a cache with the TLS session of an address, or nil if the address has none.
func (w *Address) resume() tls.ClientSessionCache {
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

// addressOf returns the address of a program that listens at a. line is the line of its handshake.
func addressOf(a net.Addr, config *tls.Config, line string) Address {
	w := Address{Network: a.Network(), Address: a.String()}
	if config == nil {
		return w
	}
	own := config.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	fields := strings.Split(line, "|")
	if err != nil || len(fields) < 6 {
		return Address{}
	}
	w.Key, w.Certificate = key, own.Certificate[0]
	if w.ServerCertificate, err = base64.RawStdEncoding.DecodeString(fields[5]); err != nil {
		return Address{}
	}
	return w
}

// Reach makes another connection to a program that runs.
func Reach(ctx context.Context, w Address) (*rpc.Conn, error) {
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
