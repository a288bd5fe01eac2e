package remote_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"misstep/corpus"
	"misstep/internal/testenv"
)

// attempt is what somebody makes of a signed request.
type attempt struct {
	method, url, body string
	headers           map[string]string
}

func (a attempt) send(t *testing.T) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), a.method, a.url, strings.NewReader(a.body))
	require.NoError(t, err)
	for name, value := range a.headers {
		if name == "Content-Length" {
			continue // the body's
		}
		r.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// with returns the attempt with another header.
func (a attempt) with(name, value string) attempt {
	a.headers = maps.Clone(a.headers)
	if a.headers == nil {
		a.headers = map[string]string{}
	}
	a.headers[name] = value
	return a
}

// ask returns the attempt with another parameter in its address.
func (a attempt) ask(name, value string) attempt {
	u, _ := url.Parse(a.url)
	q := u.Query()
	q.Set(name, value)
	u.RawQuery = q.Encode()
	a.url = u.String()
	return a
}

// A signed request is good for one object, its method and its content (see TestWhatASignedRequestAllows): neither other headers nor
// other parameters of its address make a real object store do anything else.
func TestWhatElseNobodyMakesOfASignedRequest(t *testing.T) {
	s := testenv.StartS3(t)
	store := bucket(t, s, "")
	const other, mine = "another's evidence", "mine: as many bytes" // one byte longer
	secret, _, err := store.Put(t.Context(), strings.NewReader(other), corpus.Digest{})
	require.NoError(t, err)
	secretKey := secret.Hex()[:2] + "/" + secret.Hex()
	digest := corpus.DigestBytes([]byte(mine))
	key := digest.Hex()[:2] + "/" + digest.Hex()

	write, err := store.SignWrite(t.Context(), digest, int64(len(mine)))
	require.NoError(t, err)
	put := attempt{http.MethodPut, write.URL, mine, write.Headers}
	wrong := strings.Repeat("x", len(mine))
	sum := sha256.Sum256([]byte(wrong))
	elsewhere := put
	elsewhere.url = strings.Replace(put.url, key, secretKey, 1)
	require.NotEqual(t, put.url, elsewhere.url)
	method := func(a attempt, m string) attempt { a.method, a.body = m, ""; return a }
	content := func(a attempt, text string) attempt { a.body = text; return a }
	for name, a := range map[string]attempt{
		"another object":            elsewhere,
		"other bytes and their sum": content(put, wrong).with("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:])),
		"over what is there":        put.with("If-None-Match", ""),
		"for longer":                put.ask("X-Amz-Expires", "604800"),
		"of another day":            put.ask("X-Amz-Date", "20300101T000000Z"),
		"fewer headers signed":      put.ask("X-Amz-SignedHeaders", "host"),
		"a copy of another object":  put.with("X-Amz-Copy-Source", "/"+s.Bucket+"/"+secretKey),
		"its rights":                put.ask("acl", ""),
		"its tags":                  put.ask("tagging", ""),
		"a part of many":            put.ask("partNumber", "1").ask("uploadId", "1"),
	} {
		status, text := a.send(t)
		require.GreaterOrEqual(t, status, 400, "%s: %s", name, text)
		require.NotContains(t, text, other, name)
	}
	missing, err := store.Missing(t.Context(), []corpus.Digest{digest})
	require.NoError(t, err)
	require.Len(t, missing, 1, "nothing was written")

	status, text := put.send(t)
	require.Equal(t, http.StatusOK, status, text)
	status, text = put.send(t)
	require.GreaterOrEqual(t, status, 400, "a second time: %s", text)

	read, err := store.SignRead(t.Context(), digest)
	require.NoError(t, err)
	get := attempt{method: http.MethodGet, url: read.URL}
	elsewhere = get
	elsewhere.url = strings.Replace(get.url, key, secretKey, 1)
	list := get
	list.url = strings.Replace(get.url, key, "", 1)
	for name, a := range map[string]attempt{
		"another object": elsewhere,
		"the bucket":     list.ask("list-type", "2"),
		"another type":   get.ask("response-content-type", "text/html"),
		"for longer":     get.ask("X-Amz-Expires", "604800"),
		"its rights":     get.ask("acl", ""),
		"to write":       content(method(get, http.MethodPut), wrong),
		"to delete":      method(get, http.MethodDelete),
	} {
		status, text := a.send(t)
		require.GreaterOrEqual(t, status, 400, "%s: %s", name, text)
		require.NotContains(t, text, other, name)
	}
	status, text = get.send(t)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, mine, text)
}
