// Package web serves what a coordinator knows as pages for a browser: what runs, what was found, and what is known about it.
//
// A page is a client of the coordinator like any other: what it shows are answers to calls of proto/misstep/v1, made with the
// credential of whoever looks, in the project that the address names. So roles, projects, rate limits and the audit log hold for
// pages without a line here. Each page has a stable address and, under the same address with .json or .csv behind it, its data.
//
// Everything that a JVM wrote (names of threads and classes, output, error files) is hostile. Pages are made by html/template,
// which escapes each value as its place demands, and are served under a policy that allows no script, style or image but those of
// this package and no address but the page's own. Charts are drawn here, as SVG: a page works without JavaScript, and needs it only
// to follow what happens.
//
// TestInABrowser uses the pages in a real Chromium, and keeps what they look like in build/test/screens: look there after a change.
package web
