package notify

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	misstepv1 "misstep/proto/misstep/v1"
)

const secret = "c2VjcmV0IG9mIGEgdGVzdCwgYXQgbGVhc3QgMjQgYnl0ZXM="

func sample() *misstepv1.Notification {
	return &misstepv1.Notification{Id: "N1", Created: timestamppb.New(now), Events: []*misstepv1.Event{event(NewFinding, "F1")}}
}

func TestWebhookIsSigned(t *testing.T) {
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	var got body
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, verifier.Verify(raw, r.Header))
		assert.Error(t, verifier.Verify(append(raw, ' '), r.Header), "a changed body is noticed")
		assert.NoError(t, json.Unmarshal(raw, &got))
		assert.Equal(t, "N1", r.Header.Get("webhook-id"))
	}))
	defer server.Close()
	hook, err := NewWebhook(server.URL, secret)
	require.NoError(t, err)
	require.NoError(t, hook.Send(t.Context(), sample()))
	assert.Equal(t, "misstep.findings", got.Type)
	assert.Contains(t, got.Text, "1 new finding")
	assert.Contains(t, string(got.Data), `"finding_id":`)
}

func TestWebhookReportsRefusals(t *testing.T) {
	elsewhere := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			w.Header().Set("Retry-After", "120")
			http.Error(w, "later", http.StatusTooManyRequests)
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		case "/elsewhere":
			elsewhere = true
		default:
			http.Error(w, strings.Repeat("long ", 1000), http.StatusForbidden)
		}
	}))
	defer server.Close()
	send := func(path string) error {
		hook, err := NewWebhook(server.URL+path, secret)
		require.NoError(t, err)
		return hook.Send(t.Context(), sample())
	}
	var later *LaterError
	require.ErrorAs(t, send("/busy"), &later)
	assert.Equal(t, 2*time.Minute, later.After)
	require.ErrorContains(t, send("/moved"), "307")
	assert.False(t, elsewhere, "a redirect is not followed")
	err := send("/")
	require.ErrorContains(t, err, "403")
	assert.Less(t, len(err.Error()), 500)
	server.Close()
	require.ErrorContains(t, send("/"), server.URL)
}

func TestWebhookRefusesWhatIsNotSafe(t *testing.T) {
	for address, want := range map[string]string{
		"http://example.org/hook": "use https", "example.org": "expected https://", "ftp://example.org/": "expected https://", "": "expected https://",
	} {
		_, err := NewWebhook(address, secret)
		require.ErrorContains(t, err, want, address)
	}
	for _, bad := range []string{"", "c2hvcnQ=", strings.Repeat("?", 40)} {
		_, err := NewWebhook("https://example.org/", bad)
		require.ErrorContains(t, err, "24 bytes in base64", bad)
	}
}

// mailbox is an SMTP server's backend that keeps what it receives.
type mailbox struct {
	mu       sync.Mutex
	to       []string
	messages []string
}

func (m *mailbox) NewSession(*smtp.Conn) (smtp.Session, error) { return m, nil }
func (m *mailbox) Reset()                                      {}
func (m *mailbox) Logout() error                               { return nil }
func (m *mailbox) Mail(string, *smtp.MailOptions) error        { return nil }

func (m *mailbox) Rcpt(to string, _ *smtp.RcptOptions) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.to = append(m.to, to)
	return nil
}

func (m *mailbox) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.messages = append(m.messages, string(raw))
	return err
}

func TestMail(t *testing.T) {
	box := &mailbox{}
	server := smtp.NewServer(box)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	m, err := NewMail(MailConfig{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, TLS: "none", From: "misstep@example.org",
		To: []string{"a@example.org", "b@example.org"},
	})
	require.NoError(t, err)
	require.NoError(t, m.Send(t.Context(), sample()))
	box.mu.Lock()
	defer box.mu.Unlock()
	assert.Equal(t, []string{"a@example.org", "b@example.org"}, box.to)
	require.Len(t, box.messages, 1)
	for _, want := range []string{"Subject: Misstep: 1 new finding\r\n", "Message-ID: <N1@misstep>", "title of F1"} {
		assert.Contains(t, box.messages[0], want)
	}
}

func TestMailRefusesWhatIsNotSafe(t *testing.T) {
	good := MailConfig{Host: "mail.example.org", Port: 587, From: "a@example.org", To: []string{"b@example.org"}}
	_, err := NewMail(good)
	require.NoError(t, err)
	for want, change := range map[string]func(*MailConfig){
		"use starttls or tls":               func(c *MailConfig) { c.TLS = "none" },
		"expected starttls":                 func(c *MailConfig) { c.TLS = "ssl3" },
		"at least one address":              func(c *MailConfig) { c.To = nil },
		`mail from "nobody"`:                func(c *MailConfig) { c.From = "nobody" },
		"mail to [\"b@example.org\\r\\nBcc": func(c *MailConfig) { c.To = []string{"b@example.org\r\nBcc: x@example.org"} },
	} {
		c := good
		change(&c)
		_, err := NewMail(c)
		require.ErrorContains(t, err, want)
	}
	// A server that offers no TLS gets nothing.
	box := &mailbox{}
	server := smtp.NewServer(box)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	m, err := NewMail(MailConfig{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, From: "a@example.org", To: []string{"b@example.org"},
	})
	require.NoError(t, err)
	require.Error(t, m.Send(t.Context(), sample()))
	assert.Empty(t, box.messages)
}
