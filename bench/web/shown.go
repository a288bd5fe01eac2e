package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"misstep/bench"
	"misstep/internal/testenv/browser"
)

const (
	// standardLoads is how often Chromium loads each page, with nothing kept from before.
	standardLoads = 5
	// maxPaint, maxBlocked and maxShift are what web.dev and Lighthouse call good: the largest part of a page is painted within
	// 2.5 s, tasks block it for 200 ms at most, and its layout shifts by 0.1.
	maxPaint   = 2500
	maxBlocked = 200
	maxShift   = 0.1
	// settled is how long a page is watched after it was loaded, in ms.
	settled = 500
)

// shown is what Chromium reports of a page: medians of its loads. Times are in ms, those of paints since the navigation began.
type shown struct {
	Page string
	// First and Largest contentful paint.
	First, Largest float64
	// Blocked is the time by which tasks took more than 50 ms each, once a part was painted: what is in the way of that counts in
	// First, and is not sure to be noted here.
	Blocked float64
	// Shift is the cumulative layout shift.
	Shift float64
	// Elements of the document.
	Elements float64
}

var fields = []func(*shown) *float64{
	func(s *shown) *float64 { return &s.First },
	func(s *shown) *float64 { return &s.Largest },
	func(s *shown) *float64 { return &s.Blocked },
	func(s *shown) *float64 { return &s.Shift },
	func(s *shown) *float64 { return &s.Elements },
}

// observe is run before anything of a page is: tasks are noted only while somebody observes them. It leaves a promise of what shown
// has, by the names of its fields.
var observe = `window.missteps = new Promise(done => {
	const seen = {First: 0, Largest: 0, Blocked: 0, Shift: 0};
	const each = (type, see) => new PerformanceObserver(list => list.getEntries().forEach(see)).observe({type, buffered: true});
	each("paint", e => { if (e.name === "first-contentful-paint") seen.First = e.startTime; });
	each("largest-contentful-paint", e => { seen.Largest = e.startTime; });
	each("longtask", e => { seen.Blocked += e.duration - 50; });
	each("layout-shift", e => { if (!e.hadRecentInput) seen.Shift += e.value; });
	const told = left => seen.Largest || !left // a busy machine paints late
		? done({...seen, Elements: document.getElementsByTagName("*").length}) : setTimeout(told, settled, left - 1);
	const settled = ` + strconv.Itoa(settled) + `;
	const end = () => setTimeout(told, settled, 20);
	document.readyState === "complete" ? end() : window.addEventListener("load", end);
})`

// measureShown has Chromium load each page of a site.
func measureShown(ctx context.Context, site string, paths []string, loads int) (pages []shown, err error) {
	ctx, end, err := browser.Launch(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if _, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		return nil, err
	}
	early := page.AddScriptToEvaluateOnNewDocumentParams{Source: observe}
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, early); err != nil {
		return nil, err
	}
	for _, path := range paths {
		one := shown{Page: path}
		var all []shown
		for range loads {
			if err := chromedp.Do(ctx, chromedp.Navigate(site+path)); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			seen, err := chromedp.Run(ctx, chromedp.Evaluate[shown]("window.missteps", chromedp.EvalAwaitPromise))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, seen)
		}
		for _, field := range fields {
			values := make([]float64, loads)
			for i := range all {
				values[i] = *field(&all[i])
			}
			slices.Sort(values)
			*field(&one) = values[loads/2]
		}
		pages = append(pages, one)
	}
	return pages, nil
}

func (s shown) goals() []bench.Goal {
	return []bench.Goal{
		{Name: s.Page + ": largest contentful paint", Goal: maxPaint, Measured: s.Largest, Unit: "ms"},
		{Name: s.Page + ": blocked by tasks", Goal: maxBlocked, Measured: s.Blocked, Unit: "ms"},
		{Name: s.Page + ": layout shift", Goal: maxShift, Measured: s.Shift},
	}
}

func tableOf(pages []shown) bench.Table {
	t := bench.Table{
		Title:   fmt.Sprintf("pages in Chromium, medians of %d loads, in ms", standardLoads),
		Columns: []string{"page", "first paint", "largest paint", "blocked", "layout shift", "elements"},
	}
	for _, s := range pages {
		t.Rows = append(t.Rows, []string{
			s.Page, bench.Figure(s.First), bench.Figure(s.Largest), bench.Figure(s.Blocked), bench.Figure(s.Shift),
			bench.Figure(s.Elements),
		})
	}
	return t
}
