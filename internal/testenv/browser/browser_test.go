package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What a page may not do is seen; what it may do is not.
func TestProblems(t *testing.T) {
	b := Start(t)
	bodies := map[string]string{
		"/good":     `<img src="/here">`,
		"/host":     `<img src="http://localhost.example/x">`,
		"/missing":  `<img src="/nowhere">`,
		"/dialog":   `<script>alert("hello")</script>`,
		"/fails":    `<script>throw new Error("no")</script>`,
		"/complain": `<script>console.error("ouch")</script>`,
		"/policy":   `<script>document.title = "changed"</script>`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, there := bodies[r.URL.Path]
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/here":
			w.Header().Set("Content-Type", "image/svg+xml")
			body = `<svg xmlns="http://www.w3.org/2000/svg"></svg>`
		case !there:
			http.NotFound(w, r)
			return
		case r.URL.Path == "/policy":
			w.Header().Set("Content-Security-Policy", "script-src 'none'")
		}
		_, _ = w.Write([]byte(body))
	}))
	defer site.Close()
	for path, want := range map[string]string{
		"/good": "", "/host": "request to another host: http://localhost.example/x", "/missing": "/nowhere answers 404",
		"/dialog": "dialog: hello", "/fails": "script: ", "/complain": `console: "ouch"`, "/policy": "security: ",
	} {
		t.Run(strings.TrimPrefix(path, "/"), func(t *testing.T) {
			tab := b.Open(t, site.URL)
			assert.Equal(t, http.StatusOK, tab.Visit(path))
			problems := tab.Problems()
			if want == "" {
				assert.Empty(t, problems)
			} else if assert.Len(t, problems, 1) {
				assert.Contains(t, problems[0], want)
			}
		})
	}
}

func TestViolations(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(`<html lang="en"><title>x</title><main><h1 style="color:#ccc;background:#fff">pale</h1></main>`))
	}))
	defer site.Close()
	tab := Start(t).Open(t, site.URL)
	tab.Visit("/")
	found := tab.Violations()
	if assert.Len(t, found, 1) {
		assert.Equal(t, "color-contrast", found[0].ID)
		assert.Contains(t, found[0].Nodes[0].HTML, "pale")
	}
}
