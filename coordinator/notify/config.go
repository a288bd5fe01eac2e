package notify

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"misstep/coordinator/projects"
	"misstep/internal/strictyaml"
)

// targetFile is one entry of the file that ReadTargets reads.
type targetFile struct {
	Name    string        `yaml:"name"`
	Project string        `yaml:"project"`
	Webhook *webhookFile  `yaml:"webhook"`
	Mail    *mailFile     `yaml:"mail"`
	Events  []string      `yaml:"events"`
	Known   bool          `yaml:"known"`
	Every   time.Duration `yaml:"every"`
}

type webhookFile struct {
	URL        string `yaml:"url"`
	SecretFile string `yaml:"secret-file"`
}

type mailFile struct {
	Server       string   `yaml:"server"`
	TLS          string   `yaml:"tls"`
	User         string   `yaml:"user"`
	PasswordFile string   `yaml:"password-file"`
	From         string   `yaml:"from"`
	To           []string `yaml:"to"`
}

// ReadTargets reads a YAML list of targets; docs/howto/notifications.md describes it. Secrets are in files of their own, whose
// paths are relative to the list's folder. The error names the target and the field.
func ReadTargets(path string) ([]Target, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the targets of notifications: %w", err)
	}
	var entries []targetFile
	if err := strictyaml.Decode(text, &entries); err != nil {
		return nil, fmt.Errorf("read the targets of notifications in %s: %w", path, err)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s names no target: expected a list of entries with name and webhook or mail", path)
	}
	var out []Target
	for i, e := range entries {
		t, err := e.target(filepath.Dir(path))
		if err == nil && slices.ContainsFunc(out, func(o Target) bool { return o.Name == t.Name }) {
			err = errors.New("an earlier target has the same name")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: target %d (%q): %w", path, i+1, e.Name, err)
		}
		out = append(out, t)
	}
	return out, nil
}

func (e targetFile) target(dir string) (Target, error) {
	t := Target{Name: e.Name, Project: e.Project, Kinds: e.Events, Known: e.Known, Every: e.Every}
	if e.Name == "" {
		return t, errors.New("expected a name")
	}
	if e.Every < 0 {
		return t, fmt.Errorf("every: %v: expected a positive duration", e.Every)
	}
	if e.Project != "" {
		if err := projects.Check(e.Project); err != nil {
			return t, fmt.Errorf("project: %w", err)
		}
	}
	for _, kind := range e.Events {
		if !slices.Contains(Kinds(), kind) {
			return t, fmt.Errorf("events: no kind %q; there are %s", kind, strings.Join(Kinds(), ", "))
		}
	}
	var err error
	switch {
	case (e.Webhook == nil) == (e.Mail == nil):
		err = errors.New("expected either webhook or mail")
	case e.Webhook != nil:
		t.Sender, err = e.Webhook.sender(dir)
	default:
		t.Sender, err = e.Mail.sender(dir)
	}
	return t, err
}

func (w webhookFile) sender(dir string) (Sender, error) {
	secret, err := readSecret(dir, w.SecretFile, "secret-file")
	if err != nil {
		return nil, err
	}
	return NewWebhook(w.URL, secret)
}

func (m mailFile) sender(dir string) (Sender, error) {
	host, port, err := net.SplitHostPort(m.Server)
	number, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil {
		return nil, fmt.Errorf("mail: server %q: expected HOST:PORT", m.Server)
	}
	password := ""
	if m.User != "" {
		if password, err = readSecret(dir, m.PasswordFile, "password-file"); err != nil {
			return nil, err
		}
	}
	return NewMail(MailConfig{
		Host: host, Port: int(number), TLS: m.TLS, User: m.User, Password: password, From: m.From, To: m.To,
	})
}

// maxSecret bounds a file with a secret in bytes.
const maxSecret = 4096

func readSecret(dir, path, field string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%s: expected the path of a file with the secret", field)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", field, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s: others may read %s: chmod 600 %s", field, path, path)
	}
	if info.Size() > maxSecret {
		return "", fmt.Errorf("%s: %s has %d bytes, more than the %d of a secret", field, path, info.Size(), maxSecret)
	}
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}
