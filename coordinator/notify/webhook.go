package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"google.golang.org/protobuf/encoding/protojson"

	misstepv1 "misstep/proto/misstep/v1"
)

// Webhook posts messages as JSON, signed as https://www.standardwebhooks.com specifies: HMAC-SHA256 of id, time and body in the
// header webhook-signature. It implements Sender.
type Webhook struct {
	url    string
	signer *standardwebhooks.Webhook
	client *http.Client
}

// NewWebhook returns a Webhook. The secret is in base64, with or without the prefix "whsec_", and has at least 24 bytes. Only a URL
// on this host may be plain HTTP.
func NewWebhook(address, secret string) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("webhook %q: expected https://HOST/PATH", address)
	}
	if host := u.Hostname(); u.Scheme == "http" && host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return nil, fmt.Errorf("webhook %s: plain HTTP leaves this host unencrypted; use https", address)
	}
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil || len(secret) < 32 {
		return nil, fmt.Errorf("webhook %s: expected a secret of at least 24 bytes in base64; "+
			"make one with openssl rand -base64 32", u.Redacted())
	}
	return &Webhook{u.String(), signer, &http.Client{
		// A redirect would send the message to a host that nobody configured.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// body is what a webhook receives.
type body struct {
	// Type of the message.
	Type string `json:"type"`
	// Timestamp of the first event.
	Timestamp time.Time `json:"timestamp"`
	// Text for people, as in mail; chat systems show it.
	Text string `json:"text"`
	// Data is the Notification.
	Data json.RawMessage `json:"data"`
}

// Body returns the JSON that a webhook receives for a message.
func Body(n *misstepv1.Notification) ([]byte, error) {
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("write notification %s as JSON: %w", n.GetId(), err)
	}
	return json.Marshal(body{"misstep.findings", n.GetCreated().AsTime(), Text(n), data})
}

// Send implements Sender.
func (w *Webhook) Send(ctx context.Context, n *misstepv1.Notification) error {
	raw, err := Body(n)
	if err != nil {
		return err
	}
	at := time.Now() // receivers compare it with their own time
	signed, err := w.signer.Sign(n.GetId(), at, raw)
	if err != nil {
		return fmt.Errorf("sign notification %s: %w", n.GetId(), err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("post to %s: %w", w.url, err)
	}
	for key, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "misstep",
		"Webhook-Id": n.GetId(), "Webhook-Timestamp": strconv.FormatInt(at.Unix(), 10), "Webhook-Signature": signed,
	} {
		req.Header.Set(key, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return err // names the URL
	}
	defer resp.Body.Close()
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	if resp.StatusCode/100 == 2 {
		return nil
	}
	failure := fmt.Errorf("post to %s: %s %q; check the target's URL and secret", w.url, resp.Status,
		strings.TrimSpace(string(answer)))
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		return &LaterError{time.Duration(seconds) * time.Second, failure}
	}
	return failure
}
