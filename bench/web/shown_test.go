package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What makes a page slow to read is seen where it is, and only there.
func TestShown(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skipf("no Chromium: %v; deploy/setup/install.sh test installs it", err)
	}
	const line = "<p>Here is a line to read.</p>"
	bodies := map[string]string{
		"/plain": line,
		"/late": `<script>setTimeout(() => { document.body.innerHTML = "<p>` +
			`Here are some more words to read than those of before, so many that this is the largest part.</p>" }, 300)</script>` + line,
		"/blocks": line + `<script>requestAnimationFrame(() => setTimeout(() => { // once the line was painted
			const begin = performance.now();
			while (performance.now() - begin < 400);
		}))</script>`,
		"/shifts": `<div id="above"></div>` + line +
			`<script>setTimeout(() => { document.getElementById("above").style.height = "300px" }, 100)</script>`,
	}
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>t</title>", bodies[r.URL.Path])
	}))
	defer site.Close()
	pages, err := measureShown(t.Context(), site.URL, []string{"/plain", "/late", "/blocks", "/shifts"}, 1)
	require.NoError(t, err)
	require.Len(t, pages, 4)
	plain, late, blocks, shifts := pages[0], pages[1], pages[2], pages[3]
	t.Log(pages)
	assert.Positive(t, plain.First)
	assert.GreaterOrEqual(t, plain.Largest, plain.First)
	assert.Zero(t, plain.Shift)
	assert.Greater(t, plain.Elements, 4.0)
	assert.Greater(t, late.Largest, 300.0)
	assert.Greater(t, blocks.Blocked, 300.0)
	assert.Greater(t, shifts.Shift, 0.05)
	assert.False(t, blocks.goals()[1].Met())
	assert.True(t, plain.goals()[2].Met())
}
