// Follows what happens: when the coordinator says that something changed, the page is fetched again, and the parts of it that
// differ are replaced. Without this script a page shows what was so when it was opened. A form that is checked while one types
// does the same with its own address.
"use strict";

// ms between two refreshes; a page that takes long is fetched less often
const leastPause = 2000, mostPause = 30000, pauseFactor = 20;
// ms after a page was opened or fetched for the last change, and after the fetch that follows
const settlePauses = [4000, 37000];
const note = document.getElementById("live");
const typingPause = 300; // ms without a key before a form is checked
note.append(document.createTextNode(""));
let paused = false, last = 0, pause = leastPause, waiting = 0, settling = 0, asked = 0, source = null;

function say(text) { note.firstChild.textContent = text + " "; }

// open details stay open, and a part in which somebody types or selects text is left alone
function replace(part, fresh) {
  const selected = document.getSelection();
  const busy = part.contains(document.activeElement) && document.activeElement !== document.body ||
    !selected.isCollapsed && part.contains(selected.anchorNode);
  if (busy || part.innerHTML === fresh.innerHTML) return;
  const open = [...part.querySelectorAll("details[open] > summary")].map((s) => s.textContent);
  part.replaceChildren(...fresh.childNodes);
  for (const s of part.querySelectorAll("details > summary")) s.parentNode.open = open.includes(s.textContent);
}

async function refresh() {
  waiting = 0;
  last = Date.now();
  const mine = ++asked;
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  const text = await response.text();
  pause = Math.min(mostPause, Math.max(leastPause, pauseFactor * (Date.now() - last)));
  if (mine !== asked) return; // a later answer is on its way
  if (!response.ok) { say("This page cannot be renewed: " + response.status + "."); return; }
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of document.querySelectorAll("[data-part]")) {
    const other = fresh.querySelector('[data-part="' + CSS.escape(part.dataset.part) + '"]');
    if (other) replace(part, other);
  }
  say(source ? "Live." : "Checked.");
}

// What people share may be older than the last change, even the page as it was opened: it is fetched after each of these times.
function settle(later) {
  clearTimeout(settling);
  if (!later.length) return;
  settling = setTimeout(() => {
    if (document.hidden) last = -1;
    else if (!paused) renew(later.slice(1));
  }, Math.max(later[0], pause));
}

function renew(later) {
  settle(later);
  refresh().catch(() => say("No connection."));
}

function changed() {
  if (paused || waiting || document.hidden) { if (document.hidden) last = -1; return; }
  clearTimeout(settling);
  waiting = setTimeout(() => renew(settlePauses), Math.max(0, last + pause - Date.now()));
}

function follow() {
  source = new EventSource(document.body.dataset.events);
  source.addEventListener("changed", changed);
  source.onopen = () => say("Live.");
  source.onerror = () => say("No connection; trying again.");
}

if (document.body.dataset.events) {
  const button = document.createElement("button");
  button.className = "plain";
  button.textContent = "Pause";
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Follow" : "Pause";
    say(paused ? "Paused." : "Live.");
    if (!paused) changed();
  });
  note.after(button);
  document.addEventListener("visibilitychange", () => { if (!document.hidden && last < 0) { last = 0; changed(); } });
  // A page that was left is kept for the way back; its connection is not: a browser has six of them for all pages of a site.
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => { if (event.persisted) { follow(); changed(); } });
  follow();
  settle(settlePauses);
}

const checked = document.querySelector("form[data-check]");
if (checked) {
  checked.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      history.replaceState(null, "", checked.action + "?" + new URLSearchParams(new FormData(checked)));
      renew([]);
    }, typingPause);
  });
}
