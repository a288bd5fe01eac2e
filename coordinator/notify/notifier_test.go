package notify

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/coordinator/store"
	"misstep/coordinator/store/memory"
	misstepv1 "misstep/proto/misstep/v1"
)

// receiver keeps what it gets and refuses while fail is set.
type receiver struct {
	mu   sync.Mutex
	fail error
	got  []*misstepv1.Notification
}

func (r *receiver) Send(_ context.Context, n *misstepv1.Notification) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, n)
	return r.fail
}

// fixture is a notifier whose time and findings the test sets.
type fixture struct {
	*Notifier
	now  time.Time
	seen Snapshot
}

func newFixture(s store.Store, targets ...Target) *fixture {
	f := &fixture{now: now}
	f.Notifier = &Notifier{
		Store: s, Clock: func() time.Time { return f.now }, NewID: numbered(), Targets: targets,
		Logger: slog.New(slog.DiscardHandler), See: func(store.Tx) (Snapshot, error) { return f.seen, nil },
	}
	return f
}

func (f *fixture) round(t *testing.T) {
	t.Helper()
	require.NoError(t, f.Round(t.Context(), false))
}

func TestNothingIsLostOrRepeated(t *testing.T) {
	s, r, other := memory.New(), &receiver{}, &receiver{}
	targets := []Target{{Name: "a", Sender: r}, {Name: "b", Sender: other, Kinds: []string{ReproductionDone}}}
	f := newFixture(s, targets...)
	f.round(t)
	f.seen.Findings = []*misstepv1.Finding{finding("F1", "jdk17")}
	r.fail = errors.New("refused")
	f.round(t)
	require.Len(t, r.got, 1)

	// Another coordinator takes over the store; the receiver is back.
	f = newFixture(s, targets...)
	f.now, r.fail = now.Add(firstWait), nil
	f.seen.Findings = []*misstepv1.Finding{finding("F1", "jdk17"), finding("F2", "jdk17")}
	f.round(t)
	require.Len(t, r.got, 2)
	assert.Equal(t, r.got[0].GetId(), r.got[1].GetId(), "a repetition has the same id")
	f.now = f.now.Add(DefaultEvery)
	f.round(t)
	f.now = f.now.Add(DefaultEvery)
	f.round(t)
	require.Len(t, r.got, 3)
	assert.Equal(t, []string{"new-finding F2 jdk17"}, kinds(r.got[2].GetEvents()))
	assert.Empty(t, other.got)
}

func TestTwoCoordinatorsSendOnce(t *testing.T) {
	s, r := memory.New(), &receiver{}
	f, g := newFixture(s, Target{Name: "a", Sender: r}), newFixture(s, Target{Name: "a", Sender: r})
	f.round(t)
	f.seen.Findings = []*misstepv1.Finding{finding("F1", "jdk17")}
	g.seen = f.seen
	var both sync.WaitGroup
	both.Go(func() { assert.NoError(t, f.Round(t.Context(), false)) })
	both.Go(func() { assert.NoError(t, g.Round(t.Context(), false)) })
	both.Wait()
	assert.Len(t, r.got, 1)
}

func TestTheLastRoundWaitsForNoInterval(t *testing.T) {
	r := &receiver{}
	f := newFixture(memory.New(), Target{Name: "a", Sender: r, Every: time.Hour})
	f.round(t)
	f.seen.Findings = []*misstepv1.Finding{finding("F1", "jdk17")}
	f.round(t)
	f.seen.Findings = append(f.seen.Findings, finding("F2", "jdk17"))
	f.round(t)
	require.Len(t, r.got, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	f.Run(ended)
	require.Len(t, r.got, 2)
}

func TestAFailingStoreSendsNothing(t *testing.T) {
	r := &receiver{}
	f := newFixture(memory.New(), Target{Name: "a", Sender: r})
	f.round(t)
	f.See = func(store.Tx) (Snapshot, error) { return Snapshot{}, errors.New("disk is gone") }
	require.ErrorContains(t, f.Round(t.Context(), false), "disk is gone")
	assert.Empty(t, r.got)
}

func TestReadTargets(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), mode))
		return path
	}
	write("secret", secret+"\n", 0o600)
	write("open", secret, 0o644)
	hook := "webhook: {url: 'https://example.org/hook', secret-file: secret}"
	targets, err := ReadTargets(write("good.yaml", `
- name: chat
  `+hook+`
  events: [new-finding]
  known: true
  every: 5m
- name: team
  project: loom
  mail: {server: 'mail.example.org:587', from: a@example.org, to: [b@example.org], user: a, password-file: secret}
`, 0o644))
	require.NoError(t, err)
	require.Len(t, targets, 2)
	assert.Equal(t, 5*time.Minute, targets[0].every())
	assert.Equal(t, DefaultEvery, targets[1].every())
	assert.Empty(t, targets[0].Project)
	assert.Equal(t, "loom", targets[1].Project)
	for text, want := range map[string]string{
		"":                                       "names no target",
		"[]":                                     "names no target",
		"- {name: a, colour: red}":               "colour",
		"- " + hook:                              "expected a name",
		"- {name: a}":                            "expected either webhook or mail",
		"- {name: a, every: -1s, " + hook + "}":  "every",
		"- {name: a, project: P!, " + hook + "}": "project: expected the name of a project",
		"- {name: a, events: [loud], " + hook + "}":                    "no kind \"loud\"; there are new-finding",
		"- {name: a, webhook: {url: 'https://h/'}}":                    "secret-file: expected",
		"- {name: a, webhook: {url: 'https://h/', secret-file: open}}": "chmod 600",
		"- {name: a, webhook: {url: 'https://h/', secret-file: gone}}": "no such file",
		"- {name: a, mail: {server: h, from: a@b, to: [a@b]}}":         "expected HOST:PORT",
		"- {name: a, " + hook + "}\n- {name: a, " + hook + "}":         "same name",
	} {
		_, err := ReadTargets(write("bad.yaml", text, 0o644))
		require.ErrorContains(t, err, want, text)
	}
	_, err = ReadTargets(filepath.Join(dir, "none.yaml"))
	require.ErrorContains(t, err, "none.yaml")
}
