"use strict";
/* The page's data and small helpers. Text only ever enters the page as text, never as markup. */
document.documentElement.classList.add("js");
const D = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);

function say(key, values) {
  return D.text[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

function num(value, digits = 2) {
  const text = value.toFixed(digits);
  return D.lang === "tr" ? text.replace(".", ",") : text;
}

function chance(value) {
  if (value === null) return D.text.none;
  if (value > 0 && value < 0.0005) return "<" + num(0.001, 3);
  if (value >= 0.9995 && value < 1) return ">" + num(0.999, 3);
  return num(value, 3);
}

function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (char) => {
    if (char === "\n") return "↵";
    if (char === "\t") return "⇥";
    const code = char.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : "\\x" + code.toString(16);
  });
}

function word(number, className = "") {
  return el("bdi", "word " + className, visible(D.words[number]));
}

/* Put a node where a sentence has {word}. */
function sentence(key, node) {
  const [before, after] = D.text[key].split("{word}");
  return el("span", "", before, node, after || "");
}

function cell(className, ...children) {
  return el("td", className, ...children);
}

function head(labels) {
  const row = el("tr");
  for (const [className, label] of labels) {
    const th = el("th", className, label);
    th.scope = "col";
    row.append(th);
  }
  return el("thead", "", row);
}

/* A round: drafter, way, baseline, guesses, written, tokens, ms of draft and target. */
const ROUNDS = D.rounds.map(([drafter, way, baseline, guesses, written, tokens, draft, verify]) => ({
  drafter, way, baseline, written, tokens, draft, verify,
  guesses: guesses.map(([text, p, q, chance, draw, judged, accepted]) => (
    { text, p, q, chance, draw, judged, accepted })),
}));
const STARTS = [];
const ROUND_OF = [];
ROUNDS.forEach((round, number) => {
  STARTS.push(ROUND_OF.length);
  for (let i = 0; i < round.tokens; i++) ROUND_OF.push(number);
});
const TOTAL = ROUND_OF.length;
const listeners = [];

/* Choose a place of the answer; every figure that shows places follows. */
function choose(place, source) {
  for (const listen of listeners) listen(place, source);
}
