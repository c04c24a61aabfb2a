"use strict";
// Keys for what the page has as links and buttons: whatever carries data-key is clicked.

const form = document.getElementById("decision");
const reason = document.getElementById("reason");
const hint = document.getElementById("hint");
const keys = document.getElementById("keys");
let waiting = null; // the answer that was asked for and lacks a reason
let sent = false; // a key before the next page is there answers nothing

if (keys) {
  keys.checked = localStorage.getItem("keys") !== "off";
  keys.addEventListener("change", () => localStorage.setItem("keys", keys.checked ? "on" : "off"));
}

for (const text of document.querySelectorAll("pre")) {
  const mark = text.querySelector("mark");
  if (mark) text.scrollTop = mark.offsetTop - text.clientHeight / 3;
}

function unfold() { // a link to a folded step opens it
  const step = document.getElementById(location.hash.slice(1));
  if (step && step.localName === "details") step.open = true;
}
window.addEventListener("hashchange", unfold);
unfold();

document.addEventListener("submit", (event) => {
  if (sent) event.preventDefault();
  sent = true;
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link && !link.hash && !event.ctrlKey && !event.metaKey && !event.shiftKey) sent = true;
});
window.addEventListener("pageshow", () => { sent = false; });

if (form) {
  form.addEventListener("click", (event) => { waiting = event.target.closest("button") || waiting; });
  reason.addEventListener("invalid", () => {
    if (waiting) hint.textContent = `Write a reason; Enter sends “${waiting.firstChild.data.trim()}”.`;
  });
}

function typed(event) {
  if (event.key === "Escape") reason.blur();
  if (event.key !== "Enter" || event.shiftKey || !waiting) return;
  event.preventDefault();
  form.requestSubmit(waiting);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat) return;
  if (event.target === reason) return typed(event);
  if (localStorage.getItem("keys") === "off" || sent) return;
  const key = event.key.toLowerCase();
  const target = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!target && !(key === "r" && reason)) return;
  event.preventDefault();
  if (target) target.click();
  else reason.focus();
});
