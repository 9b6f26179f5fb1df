/* Figure b: the answer by origin, and one round at a time. */
(() => {
  const answer = $("answer");
  const spans = [...answer.children];
  const number = new Map(spans.map((span, i) => [span, i]));
  let current = ROUNDS.length - 1;
  let place = D.start;

  function result(guess) {
    const [tone, sign, key] = guess.accepted ? ["mark a-draft", "✓", "b_accepted"]
      : guess.judged ? ["mark a-bad", "✗", "b_rejected"] : ["dim", "·", "b_unread"];
    const mark = el("span", "", sign);
    mark.setAttribute("aria-hidden", "true");
    return el("span", tone, mark, el("span", "phone-word", " " + D.text[key]));
  }

  function firstFallen(round) {
    return round.guesses.findIndex((guess) => !guess.accepted);
  }

  function table(round) {
    const fallen = firstFallen(round);
    const body = el("tbody");
    round.guesses.forEach((guess, i) => {
      const looked = guess.judged && (fallen < 0 || i <= fallen || round.way === "block");
      const th = el("th", "", word(guess.text, guess.accepted ? "a-draft" : "dim"));
      th.scope = "row";
      body.append(el("tr", "", th,
        cell("num", chance(guess.p)), cell("num", chance(guess.q)),
        cell("num", chance(guess.chance)), cell("num", chance(guess.draw)),
        cell("", result({ ...guess, judged: looked }))));
    });
    return el("table", "rule rounds", head([["", D.text.b_guess], ["num", "p"], ["num", "q"],
      ["num", D.text.b_chance], ["num", D.text.b_draw], ["", el("span", "phone-word", D.text.b_result)]]), body);
  }

  function headline(round) {
    const values = {
      round: current + 1, rounds: ROUNDS.length, drafted: round.guesses.length,
      accepted: round.guesses.filter((guess) => guess.accepted).length,
      drafter: D.text["drafter_" + round.drafter] || round.drafter,
      draft_ms: num(round.draft, 1), verify_ms: num(round.verify, 1),
    };
    return say(round.guesses.length ? "b_head" : round.baseline ? "b_head_baseline" : "b_head_plain", values);
  }

  function ending(round) {
    if (!round.written) return D.text.b_end;
    const text = word(round.written[0], "a-target");
    if (!round.guesses.length) return sentence("b_plain", text);
    return sentence(firstFallen(round) < 0 ? "b_bonus" : "b_replacement", text);
  }

  function show(next) {
    const before = current;
    current = Math.max(0, Math.min(ROUNDS.length - 1, next));
    const round = ROUNDS[current];
    if (!round) return;
    const written = STARTS[current] + round.tokens;
    const complete = current === ROUNDS.length - 1;
    spans.forEach((span, i) => {
      span.classList.toggle("later", i >= written);
      span.classList.toggle("now", !complete && ROUND_OF[i] === current);
    });
    $("count-passes").textContent = current + 1;
    $("count-tokens").textContent = written;
    $("count-runs").textContent = ROUNDS.slice(0, current + 1)
      .reduce((sum, one) => sum + one.guesses.length, 0);
    $("story").replaceChildren(el("p", "", headline(round)), el("p", "", ending(round)));
    $("round-table").replaceChildren(...(round.guesses.length
      ? [table(round), el("p", "source", D.text["b_way_" + round.way])] : []));
    $("round-slider").value = current + 1;
    $("round-first").disabled = $("round-back").disabled = current === 0;
    $("round-next").disabled = $("round-last").disabled = complete;
    if (before !== current) reveal(spans[STARTS[current]]);
  }

  function reveal(span) {
    if (!span) return;
    const top = span.offsetTop;
    if (top < answer.scrollTop || top > answer.scrollTop + answer.clientHeight - 40) {
      answer.scrollTop = top - answer.clientHeight / 2;
    }
  }

  $("round-first").onclick = () => show(0);
  $("round-back").onclick = () => show(current - 1);
  $("round-next").onclick = () => show(current + 1);
  $("round-last").onclick = () => show(ROUNDS.length - 1);
  $("round-slider").oninput = (event) => show(event.target.value - 1);

  answer.onclick = (event) => {
    if (number.has(event.target)) choose(number.get(event.target), "answer");
  };
  const keys = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 10, ArrowUp: -10, Home: -Infinity, End: Infinity };
  answer.onkeydown = (event) => {
    if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(TOTAL - 1, place + keys[event.key])), "answer");
  };

  listeners.push((next, source) => {
    if (spans[place]) spans[place].classList.remove("at");
    place = next;
    if (!spans[place]) return;
    spans[place].classList.add("at");
    if (source === "answer") show(ROUND_OF[place]);
    reveal(spans[place]);
  });
  show(current);
})();
