package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"misstep/coordinator/notify"
	"misstep/internal/testenv"
	misstepv1 "misstep/proto/misstep/v1"
)

// A hunt that finds a bug tells a webhook before it exits, whatever the minimum time between two messages.
func TestHuntNotifiesAWebhook(t *testing.T) {
	const secret = "c2VjcmV0IG9mIGEgdGVzdCwgYXQgbGVhc3QgMjQgYnl0ZXM="
	verifier, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	var (
		mu     sync.Mutex
		events []*misstepv1.Event
	)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		assert.NoError(t, verifier.Verify(raw, r.Header))
		var body struct {
			Data json.RawMessage `json:"data"`
		}
		assert.NoError(t, json.Unmarshal(raw, &body))
		var n misstepv1.Notification
		assert.NoError(t, protojson.Unmarshal(body.Data, &n))
		mu.Lock()
		defer mu.Unlock()
		events = append(events, n.GetEvents()...)
	}))
	defer server.Close()
	dir := t.TempDir()
	targets := filepath.Join(dir, "targets.yaml")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o600))
	require.NoError(t, os.WriteFile(targets, []byte(`
- {name: hook, known: true, every: 1h, webhook: {url: '`+server.URL+`', secret-file: secret}}
`), 0o644))
	status := runHunt(t, testenv.Home(t), filepath.Join(dir, "hunt"), `
name: notify
jdks: [jdk17, jdk25]
workloads: [{name: clinit, repetitions: 1, arguments: ["1"]}]
flag_sets: [{name: c1, flags: [-XX:TieredStopAtLevel=1, -Xcomp]}]
checks: [{name: gst-asgct, share: 1}]
budget: {trials: 2}
`, "--notify", targets)
	require.NotEmpty(t, status.GetFindingIds(), "the workload shows a known bug in every trial")
	mu.Lock()
	defer mu.Unlock()
	told := map[string]bool{}
	for _, e := range events {
		assert.Contains(t, []string{notify.NewFinding, notify.NewOnJDK}, e.GetKind())
		told[e.GetFindingId()] = told[e.GetFindingId()] || e.GetKind() == notify.NewFinding && len(e.GetJdks()) > 0
	}
	for _, id := range status.GetFindingIds() {
		assert.Truef(t, told[id], "finding %s was not notified; events %v", id, events)
	}
}
