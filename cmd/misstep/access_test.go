package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/app/login"
	"misstep/internal/testenv/oidctest"
)

// safeBuffer is what a command prints while a test reads it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// session is a coordinator that asks who calls, and all that was printed beside it.
type session struct {
	*testing.T
	dir, address string
	log          *safeBuffer
	// printed is what commands printed.
	printed strings.Builder
}

// startSession starts a coordinator in this process with further flags.
func startSession(t *testing.T, flags ...string) *session {
	t.Setenv("MISSTEP_HOME", t.TempDir())
	t.Setenv(login.TokenVariable, "")
	t.Setenv(login.TokenFileVariable, "")
	s := &session{T: t, dir: t.TempDir(), log: &safeBuffer{}}
	s.start(flags...)
	return s
}

func (s *session) start(flags ...string) {
	s.Helper()
	ctx, stop := context.WithCancel(s.Context())
	ended := make(chan int, 1)
	args := append([]string{"coordinator", "--dir", s.dir, "--listen", "127.0.0.1:0"}, flags...)
	go func() { ended <- run(ctx, args, s.log, s.log) }()
	s.Cleanup(func() {
		stop()
		<-ended
	})
	listens := regexp.MustCompile(`listen=(127\.0\.0\.1:\d+)`)
	require.Eventually(s, func() bool { return listens.MatchString(s.log.String()) }, 20*time.Second, 10*time.Millisecond,
		"the coordinator does not serve: %s", s.log)
	s.address = listens.FindStringSubmatch(s.log.String())[1]
}

// run runs a command at the coordinator and returns what it printed.
func (s *session) run(want int, args ...string) (stdout, stderr string) {
	s.Helper()
	return s.local(want, append(args, "--coordinator", s.address)...)
}

// local runs a command.
func (s *session) local(want int, args ...string) (stdout, stderr string) {
	s.Helper()
	var out, errs bytes.Buffer
	code := run(s.Context(), args, &out, &errs)
	require.Equal(s, want, code, "%v: %s%s", args, &out, &errs)
	s.printed.WriteString(out.String() + errs.String())
	return out.String(), errs.String()
}

// token makes a token by the coordinator's folder. What the command prints is not part of printed.
func (s *session) token(name string, args ...string) string {
	s.Helper()
	var out, errs bytes.Buffer
	code := run(s.Context(), append([]string{"token", "create", name, "--dir", s.dir}, args...), &out, &errs)
	require.Zero(s, code, errs.String())
	s.printed.WriteString(errs.String())
	return strings.TrimSpace(out.String())
}

// logIn logs a person in by the device flow.
func (s *session) logIn(mock *oidctest.Provider, person string) string {
	s.Helper()
	done := make(chan string, 1)
	go func() {
		out, _ := s.run(0, "login")
		done <- out
	}()
	mock.Approve(mock.Began(), &mockoidc.MockUser{Subject: "1", Email: person, EmailVerified: true, Groups: []string{"dev"}})
	return <-done
}

func credential(t *testing.T, address string) (c login.Credential, file string) {
	text, err := os.ReadFile(login.File())
	require.NoError(t, err)
	var all struct{ Coordinators map[string]login.Credential }
	require.NoError(t, json.Unmarshal(text, &all))
	return all.Coordinators[address], string(text)
}

// age makes the login at an address one that ends now.
func age(t *testing.T, address string) {
	c, text := credential(t, address)
	old, err := json.Marshal(c.Expires)
	require.NoError(t, err)
	text = strings.Replace(text, string(old), `"2026-01-02T03:04:05Z"`, 1)
	require.NoError(t, os.WriteFile(login.File(), []byte(text), 0o600))
}

// A whole session: the first admin by the folder, people by the provider, tokens, refusals, revocations, the log of all of it; and
// no secret is anywhere but where it belongs.
func TestPeopleTokensAndTheLog(t *testing.T) {
	mock := oidctest.Start(t)
	s := startSession(t, "--oidc-issuer", mock.Issuer(), "--oidc-client-id", mock.ClientID)
	root := s.token("root", "--role", "admin")
	secrets := []string{root[strings.LastIndexByte(root, '_')+1:]}

	_, text := s.run(2, "whoami")
	assert.Contains(t, text, "run `misstep login`, or give a token in MISSTEP_TOKEN")
	t.Setenv(login.TokenVariable, root)
	out, _ := s.run(0, "whoami")
	assert.Equal(t, "token root (token), may: admin\n", out)
	_, text = s.run(0, "access", "grant", "hunter", "anna@example.org", "--project", "nightly", "--project", "jfr")
	require.Equal(t, "misstep: hunter in nightly is granted to anna@example.org\n"+
		"misstep: hunter in jfr is granted to anna@example.org\n", text)
	s.run(0, "access", "grant", "viewer", "--group", "dev")
	out, _ = s.run(0, "access", "list")
	assert.Regexp(t, `(?m)^anna@example.org +hunter +jfr +token root +\d{4}-\d\d-\d\d$`, out)
	assert.Regexp(t, `(?m)^group dev +viewer +every +token root`, out)

	t.Setenv(login.TokenVariable, "")
	assert.Equal(t, "anna@example.org (person), may: hunter in jfr, hunter in nightly, viewer\n", s.logIn(mock, "anna@example.org"))
	assert.Contains(t, s.printed.String(), s.address+" names "+mock.Issuer()+" as the place to log in")
	info, err := os.Stat(login.File())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	first, _ := credential(t, s.address)
	secrets = append(secrets, first.IDToken, first.RefreshToken)
	s.run(0, "findings", "list")
	_, text = s.run(2, "known", "remove", "B1")
	assert.Contains(t, text, "anna@example.org may not call RemoveKnownBug: it needs the role triager in the project default, granted is "+
		"hunter in jfr, hunter in nightly, viewer; an admin can grant it with `misstep access grant`")
	_, text = s.run(2, "access", "list")
	assert.Contains(t, text, "needs the role admin")
	_, text = s.run(2, "token", "create", "ci", "--role", "runner")
	assert.Contains(t, text, "anna@example.org is not runner, so no token of theirs can be")

	age(t, s.address)
	time.Sleep(1100 * time.Millisecond) // the mock's tokens of one second are alike
	out, _ = s.run(0, "whoami")
	assert.Contains(t, out, "anna@example.org", "refreshed")
	second, _ := credential(t, s.address)
	assert.NotEqual(t, first.IDToken, second.IDToken)
	secrets = append(secrets, second.IDToken, second.RefreshToken)
	mock.Forget()
	s.run(0, "whoami")
	age(t, s.address)
	_, text = s.run(2, "whoami")
	assert.Contains(t, text, "the login at "+s.address+" has ended (the provider answered invalid_grant): run `misstep login`")
	require.NoError(t, os.Chmod(login.File(), 0o640))
	_, text = s.run(2, "whoami")
	assert.Contains(t, text, "others can read the logins in "+login.File())
	require.NoError(t, os.Chmod(login.File(), 0o600))
	s.run(0, "logout")
	_, text = s.run(0, "logout")
	assert.Contains(t, text, "there is no login at "+s.address)
	_, text = s.run(2, "whoami")
	assert.Contains(t, text, "run `misstep login`")

	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("\n"+root+"\n"), 0o600))
	t.Setenv(login.TokenFileVariable, file)
	out, _ = s.run(0, "token", "list")
	assert.Regexp(t, `(?m)^`+root[8:18]+` +root +local +admin +valid until \d{4}-`, out)
	_, text = s.run(2, "token", "revoke", root+"x")
	assert.Contains(t, text, "token_id: expected the 10 characters")
	out, _ = s.run(0, "audit", "--json")
	var entries []map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &entries))
	calls := map[string]int{}
	for _, e := range entries {
		name := e["call"].(string)
		calls[e["caller"].(string)+" "+name[strings.LastIndexByte(name, '/')+1:]+" "+e["code"].(string)]++
	}
	assert.Equal(t, map[string]int{
		"local CreateToken OK": 1, "anonymous WhoAmI UNAUTHENTICATED": 1, "token root GrantAccess OK": 3,
		"anna@example.org RemoveKnownBug PERMISSION_DENIED": 1, "anna@example.org ListAccess PERMISSION_DENIED": 1,
		"anna@example.org CreateToken PERMISSION_DENIED": 1, "token root RevokeToken INVALID_ARGUMENT": 1,
	}, calls)
	out, _ = s.run(0, "audit", "--by", "anna@example.org", "--since", "1h", "--limit", "2")
	assert.Regexp(t, `(?m)^\d{4}-\S+ +anna@example.org +127.0.0.1 +CreateToken +PERMISSION_DENIED +name=ci grants.role=runner$`, out)
	assert.NotContains(t, out, "RemoveKnownBug", "the newest two")

	out, _ = s.run(0, "token", "revoke", root)
	assert.Equal(t, "revoked token root ("+root[8:18]+") of local\n", out)
	_, text = s.run(2, "whoami")
	assert.Contains(t, text, "token "+root[8:18]+" was revoked at ")
	out, _ = s.local(0, "audit", "--dir", s.dir, "--limit", "1000")
	assert.Regexp(t, `token root +127.0.0.1:\d+ +RevokeToken +OK +token_id=misstep_`+root[8:18]+`_… `, out)

	kept := []string{s.log.String(), s.printed.String()}
	files, err := filepath.Glob(filepath.Join(s.dir, "store.db*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		content, err := os.ReadFile(f)
		require.NoError(t, err)
		kept = append(kept, string(content))
	}
	for _, secret := range secrets {
		require.Greater(t, len(secret), 40)
		for _, text := range kept {
			assert.NotContains(t, text, secret)
			assert.NotContains(t, text, secret[len(secret)-20:])
		}
	}
}

func TestLoginsThatFail(t *testing.T) {
	mock := oidctest.Start(t)
	s := startSession(t, "--oidc-issuer", mock.Issuer(), "--oidc-client-id", mock.ClientID)
	done := make(chan string, 1)
	go func() {
		_, text := s.run(2, "login")
		done <- text
	}()
	mock.Deny(mock.Began())
	assert.Contains(t, <-done, "it was denied at the provider")
	_, err := os.Stat(login.File())
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(login.File(), []byte("{"), 0o600))
	_, text := s.run(2, "whoami")
	assert.Contains(t, text, "remove it and log in again")
	_, text = s.local(2, "login", "--dir", s.dir)
	assert.Contains(t, text, "give --coordinator HOST:PORT")
}

func TestACoordinatorWithoutPeople(t *testing.T) {
	s := startSession(t, "--auth")
	_, text := s.run(2, "login")
	assert.Contains(t, text, "people cannot log in at "+s.address+
		": no OpenID provider is configured there; give a token in MISSTEP_TOKEN")
	for message, args := range map[string][]string{
		`role "root": expected viewer, hunter, triager, runner, admin`: {"token", "create", "x", "--role", "root", "--dir", s.dir},
		"give --coordinator HOST:PORT, --dir DIR or --store URL":       {"token", "create", "x", "--role", "admin"},
		"give either a PERSON or --group GROUP":                        {"access", "grant", "viewer", "--dir", s.dir},
		"give the IDs of tokens, or --made-by NAME":                    {"token", "revoke", "--dir", s.dir},
		"no store ":                                     {"audit", "--dir", filepath.Join(t.TempDir(), "none")},
		"expected a time back from now":                 {"audit", "--dir", s.dir, "--since", "yesterday"},
		"the flags --oidc-… need --oidc-issuer URL":     {"coordinator", "--dir", t.TempDir(), "--oidc-client-id", "x"},
		"--oidc-issuer needs --oidc-client-id ID":       {"coordinator", "--dir", t.TempDir(), "--oidc-issuer", "https://example.org"},
		"or http:// on this host":                       {"coordinator", "--dir", t.TempDir(), "--oidc-issuer", "http://example.org", "--oidc-client-id", "x"},
		"expected one token, which begins with misstep": {"whoami", "--coordinator", s.address},
	} {
		t.Setenv(login.TokenVariable, "two words")
		_, text := s.local(2, args...)
		assert.Contains(t, text, message)
		assert.NotContains(t, text, "two words")
	}
}

// Without --auth a coordinator asks nobody, as before, and writes down what was done.
func TestACoordinatorThatAsksNobody(t *testing.T) {
	s := startSession(t)
	out, _ := s.run(0, "whoami")
	assert.Equal(t, "local (local), may: admin\n", out)
	_, text := s.run(0, "login")
	assert.Contains(t, text, "no login is needed")
	s.run(2, "known", "remove", "B1")
	out, _ = s.run(0, "audit")
	assert.Regexp(t, `local +127.0.0.1:\d+ +RemoveKnownBug +NOT_FOUND +bug_id=B1`, out)
}
