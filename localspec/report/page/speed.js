/* Figure d: the papers' curve, the curve with this machine's times, and sliders for both. */
const MOST_GAMMA = 16;

function tokensPerPass(alpha, gamma) {
  return alpha >= 1 ? gamma + 1 : (1 - alpha ** (gamma + 1)) / (1 - alpha);
}

/* The check costs 1 pass in the papers, v(gamma + 1) on this machine: D.times begins with v(1). */
function speedup(alpha, c, gamma, machine) {
  if (!gamma) return 1;
  return tokensPerPass(alpha, gamma) / (gamma * c + (machine ? D.times[gamma] : 1));
}

(() => {
  const machine = D.times !== null;
  const given = () => ({ alpha: +$("s-alpha").value, c: +$("s-c").value, gamma: +$("s-gamma").value });

  function curve(now, which) {
    return Array.from({ length: MOST_GAMMA + 1 }, (_, gamma) => speedup(now.alpha, now.c, gamma, which));
  }

  function path(values, top) {
    return "M" + values.map((value, gamma) => {
      const x = (100 * gamma) / MOST_GAMMA;
      return `${x.toFixed(2)} ${(100 - (100 * value) / top).toFixed(2)}`;
    }).join("L");
  }

  function axis(top) {
    const step = top <= 3 ? 0.5 : top <= 6 ? 1 : 2;
    const nodes = [];
    for (let value = 0; value <= top + 1e-9; value += step) {
      const node = el("em", "", num(value, 1) + "×");
      node.style.top = 100 - (100 * value) / top + "%";
      nodes.push(node);
    }
    $("ticks").replaceChildren(...nodes);
  }

  function dots(top) {
    D.dots.forEach(([, value], i) => {
      $("dots").children[i].style.top = 100 - (100 * value) / top + "%";
    });
  }

  function best(values, now) {
    const fastest = values.reduce((top, value, gamma) => (value > values[top] + 1e-12 ? gamma : top), 0);
    const key = fastest ? (machine ? "d_pays" : "d_pays_paper") : "d_never";
    $("best").textContent = say(key, { gamma: fastest, speedup: num(values[fastest]) });
  }

  function draw() {
    const now = given();
    const paper = curve(now, false);
    const real = machine ? curve(now, true) : paper;
    const most = Math.max(...paper, ...real, ...D.dots.map((dot) => dot[1]));
    const top = Math.max(1.5, Math.ceil((most * 1.06) / 0.5) * 0.5);
    axis(top);
    dots(top);
    $("line-paper").setAttribute("d", path(paper, top));
    if (machine) $("line-machine").setAttribute("d", path(real, top));
    $("line-one").setAttribute("d", `M0 ${100 - 100 / top}H100`);
    const x = (100 * now.gamma) / MOST_GAMMA;
    $("line-guide").setAttribute("d", `M${x} 0V100`);
    $("ring").style.left = x + "%";
    $("ring").style.top = 100 - (100 * real[now.gamma]) / top + "%";
    $("o-alpha").textContent = num(now.alpha);
    $("o-c").textContent = num(now.c);
    $("o-gamma").textContent = now.gamma;
    const values = {
      gamma: now.gamma, tokens: num(tokensPerPass(now.alpha, now.gamma)),
      paper: num(paper[now.gamma]), machine: num(real[now.gamma]),
    };
    $("readout").textContent = say("d_readout", values) + (machine ? say("d_readout_machine", values) : "") + ".";
    best(real, now);
  }

  function set(alpha, c, gamma) {
    $("s-alpha").value = alpha;
    $("s-c").value = c;
    $("s-gamma").value = gamma;
    draw();
  }

  for (const id of ["s-alpha", "s-c", "s-gamma"]) $(id).oninput = draw;
  $("preset-this").onclick = () => set(D.alpha, D.c, D.gamma);
  $("preset-good").onclick = () => set(0.7, 0.1, 4);
  $("preset-bad").onclick = () => set(0.3, 0.5, 4);
  draw();
})();
