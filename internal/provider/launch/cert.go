package launch

import (
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
)

// CertVariable is the environment variable with Lethe's certificate as PEM. A provider program accepts only connections
// with this certificate, and sends its own certificate in its first line.
const CertVariable = "PLUGIN_CLIENT_CERT"

// Identify makes a key and a certificate for one connection. They prove to a provider program that the connection comes
// from the process that started it. The certificate has the fields of go-plugin's certificates except for the curve:
// P-256 is strong enough for this use, and needs a hundredth of the time of P-521 on both sides. The key leaves the
// process only in an Address.
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
		NotBefore:             now.Add(-30 * time.Second), // because the clocks of two machines may differ
		NotAfter:              now.AddDate(30, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageKeyAgreement | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true, // the certificate is its own issuer
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, "", fmt.Errorf("no certificate could be made for the connection to the provider: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		ClientAuth:   tls.RequireAndVerifyClientCert, // used only by a server with this configuration
		MinVersion:   tls.VersionTLS12,
		ServerName:   host,
	}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), nil
}

// host is the name for which the certificates of both sides are valid.
const host = "localhost"

// Address has the data with which another process connects to a running program. The zero value means that no such
// connection is possible.
type Address struct {
	Network, Address  string
	Key, Certificate  []byte // Lethe's identity; nil: the connection has no TLS
	ServerCertificate []byte
	Ticket, Session   []byte // the TLS session of the first connection, with which another connection needs no certificates; nil: no session is available
}

// sessions is a TLS session cache for one program. It keeps only the last session that was stored.
type sessions struct {
	mu   sync.Mutex
	last *tls.ClientSessionState
	came chan struct{} // has an element after a session was stored
}

// Get returns the stored session and true, or nil and false if the cache has no session. The argument has no effect,
// because the cache is for one program.
func (s *sessions) Get(string) (*tls.ClientSessionState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.last != nil
}

// Put stores a session in place of the previous session. The first argument has no effect.
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
// process need not prove its certificate, which would take 30 ms on both sides for the curve P-521 of go-plugin's
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

// resume returns a TLS session cache with the session of the address, or nil if the address has no usable session.
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

// addressOf returns the address of a program that listens at a. line is the line of the program's handshake. addressOf
// returns the zero value if config (the TLS configuration) is not nil and line lacks the server's certificate.
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
