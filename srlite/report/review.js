"use strict";
// Sorting, filtering and review. The page is whole without it.
//
// A person's judgement is kept apart from the models': under a key of its own in the browser's storage (run and
// evaluation), in columns of its own in the CSV file, in places of its own on the page. Nothing is sent anywhere.

const page = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const cards = new Map(page.cases.map((entry) => [entry.id, byId(entry.id)]));
const key = `srlite-review/${page.run}/${page.evaluation}`;
const state = kept();

const DECISIONS = {pass: "pass", fail: "fail", unable_to_assess: "unable to assess", unscored: "no decision"};
const COLUMNS = [
  "run", "clip", "clip_sha256", "item", "description", "decision",
  "review", "human_decision", "reason", "note", "reads_as", "corrected_description", "reviewer", "when",
];

// ---- what is kept in the browser ----------------------------------------------------------------------------------

function kept() {
  try {
    return JSON.parse(localStorage.getItem(key)) || {reviewer: "", open: false, cases: {}};
  } catch {
    return {reviewer: "", open: false, cases: {}};
  }
}

function keep() {
  try {
    localStorage.setItem(key, JSON.stringify(state));
  } catch {
    say("This browser keeps nothing for files: save the CSV before you close the page.");
  }
}

function say(text) {
  byId("told").textContent = text;
}

// ---- sorting and filtering ----------------------------------------------------------------------------------------

const controls = byId("controls");

// Not elements[name]: "item" is a method of every collection.
function control(name) {
  return controls.elements.namedItem(name);
}

function chosen(name) {
  return control(name).value;
}

function inArm(entry, arm) {
  return entry.arms[arm || page.arm] || {kind: "unreadable", decision: null};
}

function wanted(entry) {
  const found = inArm(entry, chosen("arm"));
  const decision = found.decision || "unscored";
  return [["item", entry.item], ["outcome", entry.outcome], ["decision", decision], ["kind", found.kind]]
    .every(([name, value]) => !chosen(name) || chosen(name) === value);
}

function ordered() {
  const by = chosen("order");
  const compare = (a, b) => a[by].localeCompare(b[by]) || a.clip.localeCompare(b.clip);
  return by ? [...page.cases].sort(compare) : page.cases;
}

function show() {
  const list = byId("cases");
  let count = 0;
  for (const entry of ordered()) {
    const card = cards.get(entry.id);
    card.hidden = !wanted(entry);
    count += card.hidden ? 0 : 1;
    list.append(card);
  }
  for (const part of list.querySelectorAll(".told")) {
    part.hidden = Boolean(chosen("arm")) && part.dataset.arm !== chosen("arm");
  }
  byId("count").textContent = `${count} of ${page.cases.length} shown`;
}

function fill(name, values, words = {}) {
  for (const value of values) {
    control(name).add(new Option(words[value] || value, value));
  }
}

// ---- review -------------------------------------------------------------------------------------------------------

function clone(id) {
  return byId(id).content.firstElementChild.cloneNode(true);
}

function change(entry, values) {
  const before = state.cases[entry.id] || {};
  const now = {...before, ...values, when: new Date().toISOString()};
  const empty = Object.entries(now).every(([name, value]) => name === "when" || !value);
  if (empty) {
    delete state.cases[entry.id];
  } else {
    state.cases[entry.id] = now;
  }
  keep();
  mark(entry);
  tally();
}

// Whoever overrules says why.
function lacksReason(found) {
  return found.review === "overrule" && !found.reason && !(found.note || "").trim();
}

function mark(entry) {
  const found = state.cases[entry.id] || {};
  const words = {agree: "reviewed: agree", overrule: "reviewed: overruled"};
  const wanting = lacksReason(found) ? ", a reason is missing" : "";
  cards.get(entry.id).querySelector(".reviewed").textContent = (words[found.review] || "") + wanting;
}

function tally() {
  byId("reviewed").textContent = `${said().length} of ${page.cases.length} reviewed`;
}

// `review` and `human_decision` of a choice: who agrees has decided as the judge did.
function choice(entry, value) {
  return value === "agree"
    ? {review: "agree", human_decision: inArm(entry, page.arm).decision || ""}
    : {review: "overrule", human_decision: value};
}

function addReadsAs(entry) {
  const place = cards.get(entry.id).querySelector(".reads-as-place");
  if (!place || place.childElementCount) return;
  const label = clone("reads-as-form");
  const select = label.querySelector("select");
  select.value = (state.cases[entry.id] || {}).reads_as || "";
  select.addEventListener("change", () => change(entry, {reads_as: select.value}));
  place.append(label);
}

function addForm(entry) {
  const place = cards.get(entry.id).querySelector(".review-place");
  if (place.childElementCount || !entry.arms[page.arm]) return;
  const form = clone("review-form");
  const found = state.cases[entry.id] || {};
  form.elements.review.value = found.review === "overrule" ? found.human_decision : found.review || "";
  if (!inArm(entry, page.arm).decision) {
    form.querySelector('[value="agree"]').disabled = true; // there is no decision to agree with
  }
  for (const radio of form.elements.review) {
    radio.addEventListener("change", () => change(entry, choice(entry, radio.value)));
  }
  for (const name of ["reason", "note", "corrected_description"]) {
    const field = form.elements[name];
    field.value = found[name] || "";
    field.addEventListener("input", () => change(entry, {[name]: field.value}));
  }
  form.elements.clear.addEventListener("click", () => {
    form.reset();
    for (const name of ["reason", "note", "corrected_description"]) form.elements[name].value = "";
    change(entry, {review: "", human_decision: "", reason: "", note: "", corrected_description: ""});
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  place.append(form);
}

function review(open) {
  state.open = open;
  keep();
  byId("save").hidden = !open;
  byId("review").textContent = open ? "Close the review" : "Review these clips";
  document.body.classList.toggle("reviewing", open);
  if (!open) return;
  for (const entry of page.cases) {
    addReadsAs(entry);
    if (cards.get(entry.id).querySelector("details.decided").open) addForm(entry);
  }
  if (!state.reviewer) byId("save").elements.reviewer.focus();
}

// ---- the CSV file -------------------------------------------------------------------------------------------------

// As srlite/escape.py does it: a spreadsheet must not run a cell as a formula.
function inert(cell) {
  return /^'*[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
}

function cell(value) {
  const text = inert(value === null || value === undefined ? "" : String(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function row(entry) {
  const found = state.cases[entry.id];
  const facts = {...entry, run: page.run, decision: inArm(entry, page.arm).decision, reviewer: state.reviewer};
  return COLUMNS.map((name) => cell(name in facts ? facts[name] : found[name])).join(",");
}

function says(found) {
  return found && (found.review || found.reads_as || found.note || found.corrected_description);
}

// The entries that somebody said something about, in the page's order: what is counted, and what is saved.
function said() {
  return page.cases.filter((entry) => says(state.cases[entry.id]));
}

function csv() {
  return [COLUMNS.join(","), ...said().map(row)].map((line) => `${line}\r\n`).join("");
}

function download() {
  if (!said().length) {
    say("There is nothing to save yet: review a clip, or answer what its description says, then save.");
    return;
  }
  if (!state.reviewer.trim()) {
    say("Write your name first: a review without a name is nobody's.");
    byId("save").elements.reviewer.focus();
    return;
  }
  const without = page.cases.filter((entry) => lacksReason(state.cases[entry.id] || {}));
  if (without.length) {
    const names = without.slice(0, 5).map((entry) => `${entry.item} ${entry.clip}`).join(", ");
    say(`Overruled without a reason or a note: ${names}${without.length > 5 ? ", ..." : ""}. Say why, then save.`);
    cards.get(without[0].id).scrollIntoView();
    return;
  }
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(["\ufeff", csv()], {type: "text/csv"})); // the mark lets a spreadsheet read UTF-8
  link.download = `${page.run.replace(/[^\w.-]+/g, "_")}-review.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
  say("Saved.");
}

// ---- begin --------------------------------------------------------------------------------------------------------

function begin() {
  const of = (name) => [...new Set(page.cases.map((entry) => entry[name]))].sort();
  fill("item", of("item"));
  fill("outcome", of("outcome"));
  fill("decision", Object.keys(DECISIONS), DECISIONS);
  fill("arm", [...new Set(page.cases.flatMap((entry) => Object.keys(entry.arms)))]);
  controls.addEventListener("change", show);
  controls.hidden = false;
  byId("count").textContent = `${page.cases.length} shown`;
  byId("review").addEventListener("click", () => review(!state.open));
  byId("download").addEventListener("click", download);
  const name = byId("save").elements.reviewer;
  name.value = state.reviewer;
  name.addEventListener("input", () => {
    state.reviewer = name.value;
    keep();
  });
  for (const form of [controls, byId("save")]) form.addEventListener("submit", (event) => event.preventDefault());
  for (const entry of page.cases) {
    const details = cards.get(entry.id).querySelector("details.decided");
    details.addEventListener("toggle", () => state.open && details.open && addForm(entry));
    if (state.cases[entry.id]) mark(entry);
  }
  tally();
  if (state.open) review(true);
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((part) => (part.open = true)));
}

begin();
