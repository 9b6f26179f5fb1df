/* Figure c: one place of the answer, its p as accepted guesses and replacements; 10,000 draws. */
const DRAWS = 10000;

/* Give the lines of a place: tokens, then all others as one. p sums to 1, q too where there is one.
   accepted = q min(1, p/q); replaced = the rejected share times the residual. */
function lawOf(place) {
  const [texts, p, q, restBoth] = D.laws[place];
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const lines = texts.map((text, i) => ({ text, p: p[i], q: q ? q[i] : 0 }));
  lines.push({ text: null, p: Math.max(1 - sum(p), 0), q: q ? Math.max(1 - sum(q), 0) : 0 });
  lines.forEach((line) => {
    line.accepted = line.q > 0 ? line.q * Math.min(1, line.p / line.q) : 0;
    line.left = Math.max(line.p - line.q, 0);
  });
  const rest = lines[lines.length - 1];
  rest.accepted = q ? Math.min(restBoth, rest.p, rest.q) : 0;
  rest.left = rest.p - rest.accepted;
  const rejected = 1 - sum(lines.map((line) => line.accepted));
  const mass = sum(lines.map((line) => line.left));
  for (const line of lines) line.replaced = mass > 0 ? (rejected * line.left) / mass : 0;
  return { lines: merged(lines), guessed: Boolean(q) };
}

/* Put what cannot be seen into the last line. */
function merged(lines) {
  const small = (line) => line.text === null || (line.p < 0.0005 && line.q < 0.0005);
  const others = { text: null, p: 0, q: 0, accepted: 0, left: 0, replaced: 0 };
  for (const line of lines.filter(small)) {
    for (const name of ["p", "q", "accepted", "left", "replaced"]) others[name] += line[name];
  }
  return [...lines.filter((line) => !small(line)), others];
}

(() => {
  if (!TOTAL) return;
  const spans = [...$("answer").children];
  let place = D.start;
  let seed = 20240229;

  function random() { /* mulberry32: the same page gives the same draws */
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  }

  /* One die for every draw, spread evenly over [0, 1) and shuffled. */
  function dice() {
    const values = Array.from({ length: DRAWS }, (_, i) => (i + random()) / DRAWS);
    for (let i = DRAWS - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [values[i], values[j]] = [values[j], values[i]];
    }
    return values;
  }

  function pick(weights, u) {
    let left = u * weights.reduce((a, b) => a + b, 0);
    for (let i = 0; i < weights.length; i++) {
      left -= weights[i];
      if (left < 0) return i;
    }
    return weights.length - 1;
  }

  /* Guess from q, accept with accepted/q, else draw from the residual: as the loop does. */
  function simulate({ lines, guessed }) {
    const counts = lines.map(() => 0);
    const [guess, accept, residual] = [dice(), dice(), dice()];
    const [p, q, left] = ["p", "q", "left"].map((name) => lines.map((line) => line[name]));
    let kept = 0;
    for (let i = 0; i < DRAWS; i++) {
      if (!guessed) { counts[pick(p, guess[i])] += 1; continue; }
      const x = pick(q, guess[i]);
      const stands = accept[i] < lines[x].accepted / lines[x].q;
      counts[stands ? x : pick(left, residual[i])] += 1;
      kept += stands;
    }
    return { counts, kept };
  }

  function bar(parts, most) {
    const node = el("div", "bar");
    for (const [name, value] of parts) {
      const part = el("i", name);
      part.style.width = (100 * value) / most + "%";
      node.append(part);
    }
    return node;
  }

  function line(one, law, most, drawn) {
    const th = el("th", "", one.text === null ? D.text.c_rest : word(one.text));
    th.scope = "row";
    const pair = el("div", "pair");
    pair.setAttribute("aria-hidden", "true");
    if (law.guessed) pair.append(bar([["is-q", one.q]], most));
    pair.append(bar([["is-draft", one.accepted], ["is-target", one.replaced]], most));
    const cells = [cell("wide", pair)];
    if (law.guessed) {
      cells.push(cell("num phone-off", chance(one.q)), cell("num", el("b", "", chance(one.p)), " ",
        el("span", "split", "= ", el("span", "a-draft", chance(one.accepted)), " + ",
          el("span", "a-target", chance(one.replaced)))));
    } else cells.push(cell("num", el("b", "", chance(one.p))));
    if (drawn !== undefined) cells.push(cell("num", num(drawn / DRAWS, 3)));
    return el("tr", "", th, ...cells);
  }

  function table(law, counts) {
    const labels = [["", D.text.c_token], ["wide", D.text[law.guessed ? "c_bars" : "c_bars_p"]]];
    if (law.guessed) labels.push(["num phone-off", "q"]);
    labels.push(["num", D.text[law.guessed ? "c_sum" : "c_p"]]);
    if (counts) labels.push(["num", D.text.c_drawn]);
    const most = Math.max(0.01, ...law.lines.map((one) => Math.max(one.p, one.q)));
    const body = el("tbody");
    law.lines.forEach((one, i) => {
      if (one.text === null && one.p < 1e-6 && one.q < 1e-6) return;
      body.append(line(one, law, most, counts ? counts[i] : undefined));
    });
    const caption = el("caption", "", say("c_caption", { n: place + 1, of: TOTAL }));
    return el("table", "laws", caption, head(labels), body);
  }

  function totals(law) {
    const sum = (name) => law.lines.reduce((total, one) => total + one[name], 0);
    return law.guessed
      ? say("c_totals", { accepted: chance(sum("accepted")), replaced: chance(sum("replaced")) })
      : D.text.c_no_q;
  }

  function around() {
    const text = (from, to) => spans.slice(Math.max(from, 0), to).map((span) => (
      span.classList.contains("x") ? el("bdi", "", span.textContent) : span.textContent));
    const kind = spans[place].classList.contains("d") ? "d" : "t";
    $("around").replaceChildren("… ", ...text(place - 14, place),
      el("mark", kind, visible(spans[place].textContent)), ...text(place + 1, place + 9), " …");
  }

  function show(counts) {
    const law = lawOf(place);
    around();
    $("law-area").replaceChildren(table(law, counts));
    $("law-totals").textContent = totals(law);
    $("law-slider").value = place + 1;
    $("law-slider").setAttribute("aria-valuetext", `${place + 1}: ${spans[place].textContent}`);
    $("law-back").disabled = place === 0;
    $("law-next").disabled = place === TOTAL - 1;
    if (!counts) $("law-drawn").textContent = "";
  }

  function nextRejection() {
    for (let step = 1; step <= TOTAL; step++) {
      const at = (place + step) % TOTAL;
      const round = ROUNDS[ROUND_OF[at]];
      const within = at - STARTS[ROUND_OF[at]];
      if (within < round.guesses.length && !round.guesses[within].accepted) return at;
    }
    return place;
  }

  $("law-back").onclick = () => choose(Math.max(place - 1, 0), "law");
  $("law-next").onclick = () => choose(Math.min(place + 1, TOTAL - 1), "law");
  $("law-telling").onclick = () => choose(nextRejection(), "law");
  $("law-slider").oninput = (event) => choose(event.target.value - 1, "law");
  $("law-draw").onclick = () => {
    const law = lawOf(place);
    const { counts, kept } = simulate(law);
    const worst = Math.max(...law.lines.map((one, i) => Math.abs(counts[i] / DRAWS - one.p)));
    const values = { accepted: kept, replaced: DRAWS - kept, points: num(100 * worst, 2) };
    show(counts);
    $("law-drawn").textContent = say(law.guessed ? "c_drawn_result" : "c_drawn_plain", values);
  };
  listeners.push((next) => { place = next; show(); });
  choose(place, "start");
})();
