"use strict";
(() => {
  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };

  // integers are stored with their bytes of the same weight together; value = (integer + low) / scale
  const readNumbers = async (table) => {
    const planes = new Uint8Array(await unpack(table.packed));
    const count = planes.length / table.bytes;
    const codes = new Float64Array(count);
    for (let b = table.bytes - 1; b >= 0; b--)
      for (let k = 0; k < count; k++) codes[k] = codes[k] * 256 + planes[b * count + k];
    const none = 256 ** table.bytes - 1;
    return { codes, none, value: (k) => (codes[k] === none ? NaN : (codes[k] + table.low) / table.scale) };
  };

  const start = async (root) => {
    root.dataset.started = "";
    const data = JSON.parse(root.querySelector(".si-data").textContent);
    const facts = JSON.parse(new TextDecoder().decode(await unpack(data.names)));
    const scores = await readNumbers(data.scores);
    const errors = data.errors ? await readNumbers(data.errors) : null;
    const { systems, constants, sentences } = data;
    const { items, order } = facts;
    const N = items.length, R = systems.length;
    const $ = (name) => root.querySelector("." + name);
    const long = { systems: data.labels["60"] || systems, items: facts.labels["60"] || items };
    const valueOf = (s, t) => scores.value(s * N + t);
    const fail = new Set(facts.all_fail), solve = new Set(facts.all_solve);

    // --- numbers as sentences have them: half to even as in Python, a true minus, no negative zero
    const num = (x, digits = data.decimals) => {
      if (!Number.isFinite(x)) return "–";
      let text = Math.abs(x).toFixed(digits);
      if (digits < 40 && /^50*$/.test(Math.abs(x).toFixed(60).split(".")[1].slice(digits)) && /[13579]$/.test(text))
        text = (Number(text) - 10 ** -digits).toFixed(digits);
      return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
    };
    const signed = (x) => (x > 0 && Number(num(x)) !== 0 ? "+" : "") + num(x);
    const whole = (n) => n.toLocaleString("en-US");
    const count = (n, noun, nouns) => `${whole(n)} ${n === 1 ? noun : nouns}`;
    const countItems = (n) => count(n, data.item, data.items);
    const fill = (pattern, values) => pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]);
    const make = (tag, text, name) => {
      const element = document.createElement(tag);
      if (text !== undefined) element.textContent = text;
      if (name) element.className = name;
      return element;
    };
    const draw = (tag, attributes) => {
      const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const name in attributes) element.setAttribute(name, attributes[name]);
      return element;
    };

    // --- the items behind the difference of two systems, field by field as Analysis.items has them
    let largest = 0;
    for (let k = 0; k < N * R; k++) {
      const x = Math.abs(scores.value(k));
      if (x > largest) largest = x;
    }
    const rounding = constants.rounding * largest;
    const median = (values) => {
      const sorted = Float64Array.from(values).sort(), n = sorted.length;
      return n % 2 ? sorted[(n - 1) / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
    };
    const markOutliers = (rows) => {
      const known = rows.filter((row) => row.outcome !== "missing");
      if (data.two_valued || !known.length) return;
      const middle = median(known.map((row) => row.difference));
      const distances = known.map((row) => Math.abs(row.difference - middle));
      let spread = median(distances), factor = constants.median;
      if (spread === 0) {
        spread = distances.reduce((sum, x) => sum + x, 0) / distances.length;
        factor = constants.mean;
      }
      known.forEach((row, k) => (row.outlier = factor * distances[k] > constants.outlying * spread));
    };
    // the slice to which the view is confined: its column and the number of its label
    let part = null;
    const isInside = (t) => !part || facts.slices[part[0]].codes[t] === part[1];
    const compareItems = (a, b) => {
      const codes = facts.task ? facts.task.codes : null;
      const sizes = new Map();
      const rows = [...items.keys()].filter(isInside).map((t) => {
        const item = items[t];
        const ka = scores.codes[a * N + t], kb = scores.codes[b * N + t];
        const missing = ka === scores.none || kb === scores.none;
        const apart = Math.abs(ka - kb) > data.scores.same;
        const difference = missing ? NaN : apart ? (ka - kb) / data.scores.scale : 0;
        const gain = data.lower ? -difference : difference;
        if (!missing) sizes.set(codes ? codes[t] : 0, (sizes.get(codes ? codes[t] : 0) || 0) + 1);
        const row = {
          t, item, score_a: valueOf(a, t), score_b: valueOf(b, t), difference,
          outcome: missing ? "missing" : gain > rounding ? "win" : gain < -rounding ? "loss" : "tie",
          carries_half: false, outlier: false, all_fail: fail.has(t), all_solve: solve.has(t),
        };
        for (const name of ["task", "cluster"]) if (facts[name]) row[name] = facts[name].levels[facts[name].codes[t]];
        if (errors) row.se = Math.sqrt(errors.value(a * N + t) ** 2 + errors.value(b * N + t) ** 2);
        return row;
      });
      let total = 0;
      for (const row of rows) {
        row.contribution = row.difference * (1 / (sizes.size * sizes.get(codes ? codes[row.t] : 0)));
        if (row.outcome !== "missing") total += row.contribution;
      }
      if (Math.abs(total) <= rounding) total = 0;
      const towards = (row) => (row.outcome === "missing" ? -Infinity : Math.sign(total) * row.contribution);
      let sum = 0;
      if (total)
        for (const row of [...rows].sort((p, q) => towards(q) - towards(p))) {
          row.carries_half = true;
          sum += Math.max(towards(row), 0);
          if (sum >= 0.5 * Math.abs(total) * (1 - constants.rounding)) break;
        }
      markOutliers(rows);
      const key = (row) => (row.outcome === "missing" ? -Infinity : data.lower ? -row.difference : row.difference);
      const table = rows.sort((p, q) => (key(p) === key(q) ? 0 : key(q) - key(p)));
      const counts = { win: 0, tie: 0, loss: 0, missing: 0 };
      for (const row of table) counts[row.outcome] += 1;
      const of = (outcome, reversed) => {
        const some = table.filter((row) => row.outcome === outcome);
        return reversed ? some.reverse() : some;
      };
      return {
        a: systems[a], b: systems[b], difference: total, counts, table,
        fixes: of("win", false),
        regressions: of("loss", true),
        carriers: table.filter((row) => row.carries_half).sort((p, q) => Math.abs(q.contribution) - Math.abs(p.contribution)),
        outliers: table.filter((row) => row.outlier).sort((p, q) => Math.abs(q.difference) - Math.abs(p.difference)),
        all_fail: table.filter((row) => row.all_fail),
        all_solve: table.filter((row) => row.all_solve),
      };
    };
    root.compareItems = (a, b) => compareItems(systems.indexOf(a), systems.indexOf(b));

    // --- what is chosen, and a link to it
    let [a, b] = data.first, shown = null, item = -1, cursor = -1;
    const link = (t) =>
      "#" + [...(t >= 0 ? [["item", items[t]]] : []), ["a", systems[a]], ["b", systems[b]]]
        .map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    const keepLink = () => {
      try {
        history.replaceState(null, "", link(item));
      } catch {
        // a page without an address of its own has no links either
      }
    };

    const writeLines = () => {
      const { counts } = shown;
      const lines = [fill(sentences.counts, {
        a: long.systems[a], b: long.systems[b], wins: countItems(counts.win), losses: whole(counts.loss), ties: whole(counts.tie),
        items: whole(shown.table.length), difference: signed(shown.difference),
        missing: counts.missing ? fill(sentences.missing, { n: whole(counts.missing) }) : "",
      })];
      for (const key of ["carriers", "outliers", "all_fail", "all_solve"]) {
        const rows = shown[key];
        if (!rows.length) continue;
        const names = rows.slice(0, data.few).map((row) => long.items[row.t]).join(", ");
        lines.push(fill((rows.length === 1 && sentences[key + "_single"]) || sentences[key], {
          n: countItems(rows.length), systems: data.plural, names: names + (rows.length > data.few ? fill(sentences.more, { n: whole(rows.length - data.few) }) : ""),
        }));
      }
      $("si-lines").replaceChildren(...lines.map((line) => make("p", line)));
    };

    // --- the strip: one bar an item, the largest difference first
    const bars = $("si-bars");
    const drawStrip = () => {
      const known = shown.table.filter((row) => row.outcome !== "missing");
      const n = Math.max(known.length, 1);
      const high = Math.max(0, ...known.slice(0, 1).map((row) => row.difference));
      const low = Math.min(0, ...known.slice(-1).map((row) => row.difference));
      const y = (d) => (high > low ? (100 * (high - d)) / (high - low) : 50).toFixed(2);
      const wide = n <= 100 ? 0.86 : 1;
      const paths = { win: "", loss: "", tie: "" };
      known.forEach((row, k) => (paths[row.outcome] += `M${k},${y(0)}V${y(row.difference)}h${wide}V${y(0)}z`));
      bars.setAttribute("viewBox", `0 0 ${n} 100`);
      bars.querySelector(".si-win").setAttribute("d", paths.win);
      bars.querySelector(".si-loss").setAttribute("d", paths.loss);
      const zero = bars.querySelector(".si-zero");
      for (const [name, value] of [["x1", 0], ["x2", n], ["y1", y(0)], ["y2", y(0)]]) zero.setAttribute(name, value);
      bars.setAttribute("aria-valuemax", known.length);
      $("si-high").textContent = high > 0 ? signed(high) : "";
      $("si-low").textContent = low < 0 ? signed(low) : "";
      // the zero is not written over the ends
      const far = Number(y(0));
      $("si-nil").style.top = `calc(${far}% - .5em)`;
      $("si-nil").hidden = high > low && (far < 12 || far > 88);
      $("si-caption").textContent = `Difference in ${data.measure} on each ${data.item}: ${long.systems[a]} − ${long.systems[b]}`;
      const { counts } = shown;
      $("si-of-win").textContent = `better on ${countItems(counts.win)}`;
      $("si-of-tie").textContent = `equal on ${whole(counts.tie)}` + (counts.missing ? `, ${whole(counts.missing)} without a score` : "");
      $("si-of-loss").textContent = `worse on ${whole(counts.loss)}`;
      point(-1);
    };
    const tellRow = (row) => {
      const notes = [{ win: "better", loss: "worse", tie: "equal", missing: "no score" }[row.outcome]];
      if (row.carries_half) notes.push("among those that make up half of the gap");
      if (row.outlier) notes.push("outlier");
      const se = errors && Number.isFinite(row.se) ? `, standard error ${num(row.se)}` : "";
      return `${long.items[row.t]}: ${signed(row.difference)} (${num(row.score_a)} and ${num(row.score_b)}${se}); ${notes.join(", ")}`;
    };
    const point = (k) => {
      cursor = k;
      const mark = bars.querySelector(".si-cursor"), n = Number(bars.getAttribute("aria-valuemax"));
      mark.toggleAttribute("hidden", k < 0);
      const text = k < 0 ? "" : tellRow(shown.table[k]);
      bars.setAttribute("aria-valuenow", Math.max(k, 0) + 1);
      bars.setAttribute("aria-valuetext", text || "no " + data.item + " chosen");
      $("si-told").textContent = text;
      if (k < 0) return;
      const wide = Math.max(1, n / 250);
      mark.setAttribute("x", k + 0.5 - wide / 2);
      mark.setAttribute("width", wide);
    };
    const underPointer = (event) => {
      const box = bars.getBoundingClientRect(), n = Number(bars.getAttribute("aria-valuemax"));
      return Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * n), 0), n - 1);
    };
    bars.addEventListener("pointermove", (event) => point(underPointer(event)));
    bars.addEventListener("click", (event) => {
      point(underPointer(event));
      if (cursor >= 0) openItem(shown.table[cursor].t, true);
    });
    bars.addEventListener("keydown", (event) => {
      const n = Number(bars.getAttribute("aria-valuemax"));
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: 10, PageUp: -10, Home: -n, End: n };
      if (event.key in steps && n) point(Math.min(Math.max((cursor < 0 && steps[event.key] > 0 ? -1 : cursor) + steps[event.key], 0), n - 1));
      else if (event.key === "Enter" && cursor >= 0) openItem(shown.table[cursor].t, true);
      else return;
      event.preventDefault();
    });

    // --- lists of items that matter
    const FIRST = 8;
    const listItems = (box, heading, rows) => {
      box.querySelector("h3").textContent = heading;
      box.hidden = !rows.length;
      const list = box.querySelector("ol"), more = box.querySelector("button");
      const show = (n) => {
        list.replaceChildren(...rows.slice(0, n).map((row) => {
          const line = make("li"), anchor = make("a", long.items[row.t]);
          anchor.href = link(row.t);
          anchor.title = items[row.t];
          anchor.addEventListener("click", (event) => {
            event.preventDefault();
            openItem(row.t, true);
          });
          line.append(anchor, make("span", signed(row.difference)));
          return line;
        }));
        more.hidden = rows.length <= n;
      };
      more.textContent = `Show all ${whole(rows.length)}`;
      more.onclick = () => show(rows.length);
      show(FIRST);
    };

    // --- one item: the scores of all systems, best first
    const SHOWN = 12;
    let unfolded = false;
    const difficulty = new Int32Array(N);
    order.forEach((t, k) => (difficulty[t] = k));
    const meanOf = (t) => {
      let sum = 0, n = 0;
      for (let s = 0; s < R; s++) {
        const x = valueOf(s, t);
        if (x === x) (sum += x), (n += 1);
      }
      return n ? sum / n : NaN;
    };
    const openItem = (t, go) => {
      item = t;
      root.querySelector(".si-panel").classList.add("si-open");
      $("si-item").value = items[t];
      $("si-link").href = link(t);
      const known = systems.map((_, s) => [s, valueOf(s, t)]).filter(([, x]) => x === x);
      const missing = R - known.length;
      known.sort(([, x], [, y]) => (data.lower ? x - y : y - x));
      const about = [`${long.items[t]}: mean ${num(meanOf(t))} over ${count(known.length, data.system, data.plural)}`];
      for (const name of ["task", "cluster"]) if (facts[name]) about.push(`${name} ${facts[name].levels[facts[name].codes[t]]}`);
      about.push(`difficulty ${whole(difficulty[t] + 1)} of ${whole(N)} (1 is hardest)`);
      if (missing) about.push(`${count(missing, data.system, data.plural)} without a score`);
      if (fail.has(t)) about.push(`all ${data.plural} fail it`);
      if (solve.has(t)) about.push(`all ${data.plural} solve it`);
      $("si-about").textContent = about.join("; ") + ".";
      $("si-score").textContent = data.measure;
      root.querySelector(".si-error").hidden = !errors;
      const low = Math.min(0, span.low), high = Math.max(0, span.high), room = high - low || 1;
      const x = (value) => (100 * (Math.min(Math.max(value, low), high) - low)) / room;
      const rows = known.flatMap(([s, value], k) => {
        if (!unfolded && k >= SHOWN && s !== a && s !== b) return [];
        const row = make("tr", undefined, s === a || s === b ? "si-chosen" : "");
        const head = make("th", long.systems[s]);
        head.scope = "row";
        head.title = systems[s];
        row.append(make("td", whole(k + 1), "si-num"), head, make("td", num(value), "si-num"));
        const se = errors ? errors.value(s * N + t) : NaN;
        if (errors) row.append(make("td", num(se), "si-num"));
        const cell = make("td", undefined, "si-bar"), svg = draw("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
        svg.append(draw("rect", { x: Math.min(x(0), x(value)), y: 2, width: Math.max(Math.abs(x(value) - x(0)), 0.4), height: 6 }));
        if (se > 0) svg.append(draw("line", { x1: x(value - se), x2: x(value + se), y1: 5, y2: 5 }));
        cell.append(svg);
        row.append(cell);
        return [row];
      });
      root.querySelector(".si-scores tbody").replaceChildren(...rows);
      root.querySelector(".si-scores").hidden = false;
      const all = $("si-all");
      all.hidden = unfolded || rows.length === known.length;
      all.textContent = `Show all ${count(known.length, data.system, data.plural)}`;
      $("si-harder").disabled = difficulty[t] === 0;
      $("si-easier").disabled = difficulty[t] === N - 1;
      spot = { s: spot ? spot.s : a, k: difficulty[t] };
      paint();
      if (!go) return;
      keepLink();
      reveal($("si-panel"));
    };
    const reveal = (element) => {
      for (let fold = root.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      element.scrollIntoView({ block: "nearest" });
      element.focus({ preventScroll: true });
    };
    $("si-all").addEventListener("click", () => {
      unfolded = true;
      openItem(item, false);
    });
    const names = root.querySelector("datalist");
    $("si-item").addEventListener("focus", () => {
      if (!names.children.length) names.replaceChildren(...items.map((name) => Object.assign(make("option"), { value: name })));
    });
    $("si-item").addEventListener("change", () => {
      const t = items.indexOf($("si-item").value);
      if (t >= 0) openItem(t, false), keepLink();
      else $("si-about").textContent = `No ${data.item} has this name.`;
    });
    const step = (by) => {
      openItem(order[Math.min(Math.max((item < 0 ? 0 : difficulty[item]) + by, 0), N - 1)], false);
      keepLink();
    };
    $("si-harder").addEventListener("click", () => step(-1));
    $("si-easier").addEventListener("click", () => step(item < 0 ? 0 : 1));

    // --- the heat map: systems in rows, the best first; items in columns, the hardest first
    const canvas = root.querySelector("canvas"), pen = canvas.getContext("2d");
    const span = { low: Infinity, high: -Infinity };
    for (let k = 0; k < N * R; k++) {
      const x = scores.value(k);
      if (x < span.low) span.low = x;
      if (x > span.high) span.high = x;
    }
    // what is in sight: items from k on, systems from s on, as fractions of a cell
    const view = { k: 0, n: N, s: 0, r: R, width: 0, height: 0, left: 0, top: 0 };
    let spot = null, colours = null;
    const readColours = () => {
      const style = getComputedStyle(root), brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const rgb = (name) => {
        brush.fillStyle = style.getPropertyValue(name).trim();
        brush.fillRect(0, 0, 1, 1);
        return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      colours = { ramp: ["a", "b", "c"].map((end) => rgb("--si-heat-" + end)), none: rgb("--si-none"), ink: style.color, muted: style.getPropertyValue("--si-muted").trim() };
    };
    const colourOf = (x) => {
      if (x !== x) return colours.none;
      let share = span.high > span.low ? (x - span.low) / (span.high - span.low) : 0.5;
      if (data.lower) share = 1 - share;
      const half = share < 0.5 ? 0 : 1, within = 2 * share - half;
      return colours.ramp[half].map((c, i) => Math.round(c + (colours.ramp[half + 1][i] - c) * within));
    };
    const brief = facts.labels["14"] || items;
    const named = () => view.width / view.n >= 11;
    const layOut = () => {
      const room = Math.floor(canvas.parentElement.clientWidth);
      if (!room) return false;
      const dpr = Math.max(window.devicePixelRatio || 1, 2);
      view.labels = (room > 560 ? data.labels["24"] : data.labels["14"]) || systems;
      pen.font = "12px system-ui, sans-serif";
      const longest = Math.max(...view.labels.map((text) => pen.measureText(text).width));
      view.left = Math.ceil(Math.min(longest + 10, room * 0.36));
      view.width = room - view.left;
      // columns of few items are not wider than a square of some size
      view.width = Math.min(view.width, N * 48);
      pen.font = "11px system-ui, sans-serif";
      const tallest = Math.max(...(N > 400 ? items.slice(0, 400) : items).map((_, t) => pen.measureText(brief[t]).width));
      view.namesHigh = Math.ceil(Math.min(Math.max(tallest, 10), 88)) + 10;
      view.total = Math.min(Math.max(R * 20, 60), 620) + view.namesHigh;
      place();
      canvas.style.width = `${view.left + view.width}px`;
      canvas.style.height = `${view.total}px`;
      canvas.width = Math.round((view.left + view.width) * dpr);
      canvas.height = Math.round(view.total * dpr);
      pen.setTransform(dpr, 0, 0, dpr, 0, 0);
      return true;
    };
    const place = () => {
      view.n = Math.min(Math.max(view.n, Math.min(N, 8)), N);
      view.r = Math.min(Math.max(view.r, Math.min(R, 8)), R);
      view.k = Math.min(Math.max(view.k, 0), N - view.n);
      view.s = Math.min(Math.max(view.s, 0), R - view.r);
      view.top = named() ? view.namesHigh : 22;
      view.height = view.total - view.top;
    };
    const picture = document.createElement("canvas");
    const paint = () => {
      if (!view.width || !colours) return;
      place();
      const { left, top, width, height } = view;
      pen.clearRect(0, 0, left + width, view.total);
      // one pixel of the picture a cell, or the mean of the cells that share a pixel of the screen
      const s0 = Math.floor(view.s), s1 = Math.min(R, Math.ceil(view.s + view.r));
      const k0 = Math.floor(view.k), k1 = Math.min(N, Math.ceil(view.k + view.n));
      const columns = Math.min(k1 - k0, Math.floor(width)), rows = Math.min(s1 - s0, Math.floor(height));
      picture.width = columns;
      picture.height = rows;
      const brush = picture.getContext("2d"), image = brush.createImageData(columns, rows);
      for (let y = 0; y < rows; y++) {
        const sa = s0 + Math.floor((y * (s1 - s0)) / rows), sb = s0 + Math.floor(((y + 1) * (s1 - s0)) / rows);
        for (let x = 0; x < columns; x++) {
          const ka = k0 + Math.floor((x * (k1 - k0)) / columns), kb = k0 + Math.floor(((x + 1) * (k1 - k0)) / columns);
          let sum = 0, n = 0;
          for (let s = sa; s < sb; s++)
            for (let k = ka; k < kb; k++) {
              const value = valueOf(s, order[k]);
              if (value === value) (sum += value), (n += 1);
            }
          const at = 4 * (y * columns + x);
          image.data.set(colourOf(n ? sum / n : NaN), at);
          image.data[at + 3] = 255;
        }
      }
      brush.putImageData(image, 0, 0);
      const cellWide = width / view.n, cellHigh = height / view.r;
      pen.save();
      pen.beginPath();
      pen.rect(left, top, width, height);
      pen.clip();
      pen.imageSmoothingEnabled = false;
      pen.drawImage(picture, left + (k0 - view.k) * cellWide, top + (s0 - view.s) * cellHigh, (k1 - k0) * cellWide, (s1 - s0) * cellHigh);
      pen.strokeStyle = colours.ink;
      if (spot) {
        pen.lineWidth = 2;
        const x = left + (spot.k - view.k) * cellWide, y = top + (spot.s - view.s) * cellHigh;
        pen.strokeRect(x - 1, y - 1, Math.max(cellWide, 3) + 2, Math.max(cellHigh, 3) + 2);
      }
      pen.restore();
      label(s0, s1, k0, k1, cellWide, cellHigh);
      const each = Math.ceil((k1 - k0) / columns), several = Math.ceil((s1 - s0) / rows);
      const joined = [...(each > 1 ? [`${each} ${data.items}`] : []), ...(several > 1 ? [`${several} ${data.plural}`] : [])].join(" and ");
      $("si-what").textContent =
        `${data.plural[0].toUpperCase() + data.plural.slice(1)} in rows, best first; ${data.items} in columns, hardest first.` +
        (joined ? ` Each pixel is the mean of up to ${joined}; zoom in for single ones.` : "");
      $("si-out").disabled = $("si-whole").disabled = view.n === N && view.r === R;
      $("si-in").disabled = view.n === Math.min(N, 8) && view.r === Math.min(R, 8);
    };
    const label = (s0, s1, k0, k1, cellWide, cellHigh) => {
      const { left, top, width, height } = view;
      pen.textBaseline = "middle";
      const size = Math.min(12, Math.max(9, cellHigh - 1));
      pen.font = `${size}px system-ui, sans-serif`;
      // every name where it fits, else every second, fifth, …
      const apart = [1, 2, 5, 10, 20, 50, 100, 200].find((n) => n * cellHigh >= size + 1) || 500;
      pen.textAlign = "right";
      for (let s = Math.ceil(s0 / apart) * apart; s < s1; s += apart) {
        const y = top + (s + 0.5 - view.s) * cellHigh;
        if (y < top + size / 2 - 1 || y > top + height - size / 2 + 1) continue;
        pen.fillStyle = spot && spot.s === s ? colours.ink : colours.muted;
        pen.fillText(view.labels[s], left - 5, y, left - 8);
      }
      if (named()) {
        pen.textAlign = "left";
        pen.font = "11px system-ui, sans-serif";
        for (let k = k0; k < k1; k++) {
          const x = left + (k + 0.5 - view.k) * cellWide;
          if (x < left + 4 || x > left + width - 4) continue;
          pen.save();
          pen.translate(x, top - 5);
          pen.rotate(-Math.PI / 2);
          pen.fillStyle = spot && spot.k === k ? colours.ink : colours.muted;
          pen.fillText(brief[order[k]], 0, 0, view.namesHigh - 8);
          pen.restore();
        }
      } else {
        pen.font = "12px system-ui, sans-serif";
        pen.fillStyle = colours.muted;
        pen.textAlign = "left";
        pen.fillText(view.k < 1 ? "hardest" : `from ${whole(k0 + 1)}`, left, 11, width / 2 - 4);
        pen.textAlign = "right";
        pen.fillText(view.k + view.n > N - 1 ? "easiest" : `to ${whole(k1)}`, left + width, 11, width / 2 - 4);
      }
    };
    const tellSpot = () => {
      const t = order[spot.k], value = valueOf(spot.s, t), se = errors ? errors.value(spot.s * N + t) : NaN;
      $("si-cell").textContent =
        `${long.items[t]}, ${long.systems[spot.s]}: ${value === value ? num(value) : "no score"}` +
        (se === se ? ` (standard error ${num(se)})` : "") + `; mean of the ${data.item} ${num(meanOf(t))}, difficulty ${whole(spot.k + 1)} of ${whole(N)}`;
    };
    const moveTo = (next) => {
      spot = next;
      if (spot) tellSpot();
      paint();
    };
    const cellUnder = (event) => {
      const box = canvas.getBoundingClientRect();
      const x = event.clientX - box.left - view.left, y = event.clientY - box.top - view.top;
      if (x < 0 || y < 0 || x >= view.width || y >= view.height) return null;
      return { k: Math.min(N - 1, Math.floor(view.k + (x / view.width) * view.n)), s: Math.min(R - 1, Math.floor(view.s + (y / view.height) * view.r)) };
    };
    const zoom = (factor, middle = spot) => {
      const k = middle ? middle.k + 0.5 : view.k + view.n / 2, s = middle ? middle.s + 0.5 : view.s + view.r / 2;
      const [n, r] = [view.n, view.r];
      view.n /= factor;
      view.r /= factor;
      place();
      view.k = k - ((k - view.k) * view.n) / n;
      view.s = s - ((s - view.s) * view.r) / r;
      paint();
    };
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, k: view.k, s: view.s, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
        drag.moved = drag.moved || Math.abs(dx) + Math.abs(dy) > 4;
        if (drag.moved) {
          view.k = drag.k - (dx / view.width) * view.n;
          view.s = drag.s - (dy / view.height) * view.r;
          return paint();
        }
      }
      const next = cellUnder(event);
      if (next && (!spot || next.k !== spot.k || next.s !== spot.s)) moveTo(next);
    });
    canvas.addEventListener("pointerup", (event) => {
      const next = cellUnder(event);
      if (drag && !drag.moved && next) {
        moveTo(next);
        openItem(order[next.k], false);
        keepLink();
      }
      drag = null;
    });
    canvas.addEventListener("wheel", (event) => {
      // the wheel scrolls the page unless the reader is at work here
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), cellUnder(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0], Home: [-N, 0], End: [N, 0] };
      if (steps[event.key]) {
        const [dk, ds] = spot ? steps[event.key] : [0, 0], from = spot || { k: Math.floor(view.k), s: Math.floor(view.s) };
        const next = { k: Math.min(Math.max(from.k + dk, 0), N - 1), s: Math.min(Math.max(from.s + ds, 0), R - 1) };
        view.k = Math.min(Math.max(view.k, next.k + 1 - view.n), next.k);
        view.s = Math.min(Math.max(view.s, next.s + 1 - view.r), next.s);
        moveTo(next);
      } else if (event.key === "Enter" && spot) openItem(order[spot.k], true);
      else if (event.key === "+" || event.key === "=") zoom(1.6);
      else if (event.key === "-") zoom(1 / 1.6);
      else if (event.key === "0") zoom(0);
      else return;
      event.preventDefault();
    });
    $("si-in").addEventListener("click", () => zoom(1.6));
    $("si-out").addEventListener("click", () => zoom(1 / 1.6));
    $("si-whole").addEventListener("click", () => zoom(0));

    // --- all of it
    const selects = [$("si-a"), $("si-b")];
    for (const select of selects)
      select.replaceChildren(...systems.map((name, s) => Object.assign(make("option", long.systems[s]), { value: s, title: name })));
    const compare = () => {
      shown = compareItems(a, b);
      selects[0].value = a;
      selects[1].value = b;
      writeLines();
      drawStrip();
      const who = long.systems[a];
      listItems($("si-carriers"), `Make up half of the gap: ${countItems(shown.carriers.length)}`, shown.carriers);
      listItems($("si-fixes"), `Fixes: ${who} is better on ${countItems(shown.counts.win)}`, shown.fixes);
      listItems($("si-regressions"), `Regressions: ${who} is worse on ${countItems(shown.counts.loss)}`, shown.regressions);
      if (item >= 0) openItem(item, false);
    };
    // the other system gives way where both would be the same
    const choose = (k) => {
      const chosen = Number(selects[k].value);
      const [before, other] = k === 0 ? [a, b] : [b, a];
      [a, b] = k === 0 ? [chosen, chosen === other ? before : other] : [chosen === other ? before : other, chosen];
      compare();
      keepLink();
    };
    selects.forEach((select, k) => select.addEventListener("change", () => choose(k)));
    const parts = Object.entries(facts.slices || {}).flatMap(([name, { levels }]) => levels.map((level, k) => [name, k, level]));
    const filter = $("si-slice");
    filter.parentElement.hidden = !parts.length;
    filter.append(...parts.map(([name, , level], k) => Object.assign(make("option", `${name}: ${level}`), { value: k })));
    filter.addEventListener("change", () => {
      part = filter.value ? parts[Number(filter.value)] : null;
      compare();
    });
    $("si-swap").addEventListener("click", () => {
      [a, b] = [b, a];
      compare();
      keepLink();
    });

    $("si-worst").textContent = `worst ${num(data.lower ? span.high : span.low)}`;
    $("si-best").textContent = `${num(data.lower ? span.low : span.high)} best`;
    let gaps = false;
    for (let k = 0; k < N * R && !gaps; k++) gaps = scores.codes[k] === scores.none;
    $("si-gap").hidden = !gaps;

    const followLink = () => {
      const wanted = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
      const [first, second] = ["a", "b"].map((name) => systems.indexOf(wanted.get(name)));
      const t = items.indexOf(wanted.get("item"));
      if (first < 0 && second < 0 && t < 0) return;
      const free = (other) => systems.findIndex((_, s) => s !== other);
      if (first >= 0) a = first;
      if (second >= 0) b = second;
      if (a === b) first >= 0 ? (b = free(a)) : (a = free(b));
      compare();
      if (t >= 0) {
        openItem(t, false);
        reveal($("si-panel"));
      } else reveal(selects[0]);
    };
    const redraw = () => {
      readColours();
      if (layOut()) paint();
    };
    compare();
    redraw();
    for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
    new ResizeObserver(redraw).observe(canvas.parentElement);
    window.addEventListener("hashchange", followLink);
    followLink();
    root.dataset.filled = "";
    // what a link below the view leads to has moved while it was filled
    const target = document.querySelector(":target");
    if (target && root.compareDocumentPosition(target) & Node.DOCUMENT_POSITION_FOLLOWING && !root.contains(target)) target.scrollIntoView();
  };

  const startAll = () => document.querySelectorAll(".sw-items:not([data-started])").forEach(start);
  startAll();
  document.addEventListener("htmx:load", startAll);
})();
