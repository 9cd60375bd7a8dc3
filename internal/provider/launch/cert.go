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

// CertVariable is the environment variable with Lethe's certificate as PEM. A provider program accepts only connections
// with this certificate, and sends its own certificate in its first line.
const CertVariable = "PLUGIN_CLIENT_CERT"

// Identify makes a key and a certificate for one connection. They prove to a provider program that the connection comes
// from the process that started it. The certificate equals go-plugin's except for its curve: P-256 is strong enough for
// this use, and needs a hundredth of the time of P-521 on both sides. The key leaves the process only in an Address.
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
		NotBefore:             now.Add(-30 * time.Second), // clocks may differ
		NotAfter:              now.AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // the certificate signs itself
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

// Address has the data with which another process connects to a running program. The zero value has none.
type Address struct {
	Network, Address  string
	Key, Certificate  []byte // Lethe's identity; nil: the connection has no TLS
	ServerCertificate []byte
	Ticket, Session   []byte // taken from the first connection, so that another connection needs no certificates; nil: not available
}

// sessions is a TLS session cache for one program. It keeps only the last session.
type sessions struct {
	mu   sync.Mutex
	last *tls.ClientSessionState
	came chan struct{} // has an element after a session was stored
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

// ticketTime is how long a session ticket is awaited after the handshake. A server need not send one.
const ticketTime = 50 * time.Millisecond

// handOn stores the TLS session of a connection in the address of the program. With the ticket of the session, another
// process need not prove its certificate, which would take 30 ms on both sides for the curve of go-plugin's
// certificates.
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

// addressOf returns the address of a program that listens at a, or the zero value if line is incomplete. line is the
// line of the program's handshake.
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

// Reach makes a further connection to a running program.
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

// listens is an address as a net.Addr.
type listens struct{ network, address string }

func (l listens) Network() string { return l.network }
func (l listens) String() string  { return l.address }
