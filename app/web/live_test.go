package web_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"misstep/internal/testenv/browser"
)

// ownClock gives a page a clock that stands still, and a stream in which nothing happens, until a test says so: pass(ms) lets time
// pass, change() says that something changed. fetches has the times at which the page was fetched, in ms since it was opened.
const ownClock = `
	const wait = window.setTimeout, get = window.fetch, timers = new Map(), pending = [];
	let now = 0, stream = null;
	Date.now = () => now;
	window.setTimeout = (f, ms) => { const id = timers.size + 1; timers.set(id, {f, at: now + ms}); return id; };
	window.clearTimeout = (id) => { if (timers.has(id)) timers.get(id).f = null; };
	window.EventSource = class extends EventTarget { constructor() { super(); stream = this; } close() {} };
	window.fetches = [];
	window.fetch = (...args) => {
		fetches.push(now);
		const answer = get(...args);
		pending.push(answer.then((r) => r.clone().text()));
		return answer;
	};
	const finish = async () => { await Promise.all(pending); await new Promise((done) => wait(done, 0)); };
	window.change = () => stream.dispatchEvent(new Event("changed"));
	window.pass = async (ms) => {
		for (const end = now + ms; ; ) {
			const due = [...timers.values()].filter((t) => t.f && t.at <= end).sort((a, b) => a.at - b.at)[0];
			if (!due) { now = end; return; }
			const f = due.f;
			due.f = null;
			now = Math.max(now, due.at);
			f();
			await finish();
		}
	};
`

// What people share may be older than what happened last: a page is fetched for each change, once more when it is shared by nobody
// any more, and then it is left alone.
func settle(t *testing.T, _ *scene, tab *browser.Tab) {
	tab.RunBefore(ownClock)
	require.Equal(t, http.StatusOK, tab.Visit("/findings"))
	after := func(ms, script string) []int {
		return browser.Eval[[]int](tab, script+`; (async () => { fetches.length = 0; await pass(`+ms+`); return fetches })()`)
	}
	const quiet = "600000"
	assert.Equal(t, []int{4000, 41000}, after(quiet, ""), "it may have been old when it was opened")
	assert.Equal(t, []int{600000, 604000, 641000}, after(quiet, "change()"))
	assert.Equal(t, []int{1200000}, after("1000", "change()"))
	assert.Equal(t, []int{1202000, 1206000, 1243000}, after(quiet, "change(); change()"), "after the last of several changes")
	assert.Equal(t, []int{1801000, 1805000}, after("10000", "change()"))
	tab.Do(chromedp.Click(chromedp.CSS("footer button")))
	assert.Empty(t, after(quiet, "change()"), "paused")
	tab.Do(chromedp.Click(chromedp.CSS("footer button")))
	assert.Equal(t, []int{2411000, 2415000, 2452000}, after(quiet, ""), "it follows again")
}
