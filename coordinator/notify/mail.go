package notify

import (
	"context"
	"fmt"

	"github.com/wneessen/go-mail"

	misstepv1 "misstep/proto/misstep/v1"
)

// Mail sends messages as plain text by SMTP. It implements Sender.
type Mail struct {
	client *mail.Client
	from   string
	to     []string
}

// MailConfig says how mail is sent.
type MailConfig struct {
	// Server is HOST:PORT.
	Host string
	Port int
	// TLS is "starttls" (the default), "tls" (from the first byte) or "none", which only a server on this host may have.
	TLS string
	// User and Password to log in with; none when User is empty.
	User, Password string
	From           string
	To             []string
}

// NewMail returns a Mail.
func NewMail(c MailConfig) (*Mail, error) {
	options := []mail.Option{mail.WithPort(c.Port), mail.WithTimeout(sendTimeout)}
	switch c.TLS {
	case "", "starttls":
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	case "tls":
		options = append(options, mail.WithSSL())
	case "none":
		if c.Host != "localhost" && c.Host != "127.0.0.1" && c.Host != "::1" {
			return nil, fmt.Errorf("mail by %s: without TLS mail leaves this host unencrypted; use starttls or tls", c.Host)
		}
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		return nil, fmt.Errorf("mail by %s: tls %q: expected starttls, tls or none", c.Host, c.TLS)
	}
	if c.User != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.User),
			mail.WithPassword(c.Password))
	}
	client, err := mail.NewClient(c.Host, options...)
	if err != nil {
		return nil, fmt.Errorf("mail by %s: %w", c.Host, err)
	}
	m := &Mail{client, c.From, c.To}
	_, err = m.message(&misstepv1.Notification{})
	return m, err
}

func (m *Mail) message(n *misstepv1.Notification) (*mail.Msg, error) {
	msg := mail.NewMsg()
	if err := msg.From(m.from); err != nil {
		return nil, fmt.Errorf("mail from %q: %w", m.from, err)
	}
	if err := msg.To(m.to...); err != nil || len(m.to) == 0 {
		return nil, fmt.Errorf("mail to %q: expected at least one address: %w", m.to, err)
	}
	msg.SetMessageIDWithValue(n.GetId() + "@misstep")
	msg.SetDateWithValue(n.GetCreated().AsTime())
	msg.Subject("Misstep: " + Subject(n))
	msg.SetBodyString(mail.TypeTextPlain, Text(n))
	return msg, nil
}

// Send implements Sender.
func (m *Mail) Send(ctx context.Context, n *misstepv1.Notification) error {
	msg, err := m.message(n)
	if err != nil {
		return err
	}
	if err := m.client.DialAndSendWithContext(ctx, msg); err != nil {
		return fmt.Errorf("mail to %q: %w", m.to, err)
	}
	return nil
}
