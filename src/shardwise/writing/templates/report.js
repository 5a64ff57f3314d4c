"use strict";
(async () => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { systems, claims, decimals } = data;
  const { means } = claims[0];
  const R = systems.length;
  const $ = (id) => document.getElementById(id);

  const unpack = async (packed) => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  // very many pairs come as two bytes each: the decision, and the p-value to a twentieth of its decade
  for (const one of claims)
    if (one.packed) {
      const bytes = new Uint8Array(await unpack(one.packed));
      one.signs = bytes.subarray(0, bytes.length / 2);
      one.decades = bytes.subarray(bytes.length / 2);
    }
  const sign = (one, k) => (one.packed ? one.signs[k] - 1 : { "+": 1, "-": -1, 0: 0 }[one.differs[k]]);
  const pOf = (one, k) => (!one.packed ? one.p[k] : one.decades[k] === 255 ? null : 10 ** (-one.decades[k] / 20));

  // pairs are stored row by row above the diagonal
  const at = (i, j) => {
    const a = Math.min(i, j), b = Math.max(i, j);
    return a * R - (a * (a + 1)) / 2 + b - a - 1;
  };
  // 1 where the system of the row is told to be better, -1 where it is worse, 0 where neither
  const told = (c, i, j) => sign(claims[c], at(i, j)) * (i < j ? 1 : -1);
  const differs = (c, i, j) => told(c, i, j) !== 0;
  const compared = (c, i, j) => pOf(claims[c], at(i, j)) !== null;
  const half = (c, i, j) => (Array.isArray(claims[c].half) ? claims[c].half[at(i, j)] : claims[c].half);
  const num = (x) => x.toFixed(decimals).replace(/^-(?=0\.?0*$)/, "").replace("-", "−");
  const pval = (one, k) => {
    const { least } = one, p = pOf(one, k);
    if (p !== null && p <= least * (one.packed ? 1.06 : 1.0001) && least > 0) return `≤ ${Number(least.toPrecision(1))}`;
    return one.packed && p >= 0.0001 ? `≈ ${Number(p.toPrecision(1))}` : exactly(p);
  };
  const exactly = (p) => (p === null ? "–" : p < 0.0001 ? "< 0.0001" : p < 0.001 ? p.toPrecision(2) : p < 0.1 ? p.toFixed(3) : p.toFixed(2));
  // names that fit into a line, and beside the matrix; no two are alike
  const [labels, short] = data.labels.map((cut) => cut || systems);

  const verdict = (i, j) => {
    if (!compared(0, i, j)) return "not compared";
    const found = claims.map((_, c) => told(c, i, j));
    if (!found.some(Boolean)) return "tied";
    const word = (sign) => (sign > 0 ? "significantly better" : "significantly worse");
    if (found.every((sign) => sign === found[0])) return word(found[0]) + (claims.length > 1 ? ", both claims" : "");
    return claims.flatMap((one, c) => (found[c] ? [`${word(found[c])}, ${one.name} only`] : [])).join("; ");
  };

  // --- systems: search and choice
  const rows = [...document.querySelectorAll("#board tbody tr")];
  const folded = systems.map((name) => name.toLowerCase());
  let chosen = -1;
  const MOST = 30; // rows that are shown at first

  const unfoldRows = (table) => {
    table.classList.add("all");
    for (const button of document.querySelectorAll(`button.all[data-table="${table.id}"]`)) {
      button.setAttribute("aria-expanded", "true");
      button.parentElement.hidden = true;
    }
  };
  document.querySelectorAll("button.all").forEach((button) => button.addEventListener("click", () => unfoldRows($(button.dataset.table))));

  const search = () => {
    const wanted = $("search").value.trim().toLowerCase();
    let n = 0;
    rows.forEach((row, k) => {
      row.hidden = wanted !== "" && !folded[k].includes(wanted);
      n += row.hidden ? 0 : 1;
    });
    $("board").classList.toggle("searching", wanted !== "");
    $("found").textContent = wanted === "" ? "" : `${n} of ${R} ${data.nouns}`;
  };
  if ($("search")) $("search").addEventListener("input", search);
  if ($("search")) $("search").addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const k = rows.findIndex((row) => !row.hidden);
      if (k >= 0) choose(k);
    } else if (event.key === "Escape") {
      $("search").value = "";
      search();
    }
  });

  const cell = (kind, text, name) => {
    const made = document.createElement(kind);
    made.textContent = text;
    if (name) made.className = name;
    return made;
  };

  const choose = (k) => {
    chosen = k === chosen ? -1 : k;
    rows.forEach((row, i) => {
      const alike = chosen >= 0 && i !== chosen && !claims.every((_, c) => differs(c, i, chosen));
      const fully = alike && !claims.some((_, c) => differs(c, i, chosen));
      row.classList.toggle("chosen", i === chosen);
      row.classList.toggle("alike", alike);
      row.classList.toggle("fully", fully);
      row.querySelector(".pick").setAttribute("aria-pressed", String(i === chosen));
    });
    $("clear").disabled = chosen < 0;
    $("chosen").hidden = chosen < 0;
    if (chosen >= 0) describe();
    markScrolling();
    draw();
  };

  const describe = () => {
    const alike = claims.map((_, c) => systems.filter((_, i) => i !== chosen && !differs(c, i, chosen)).length);
    $("chosen-h").textContent = `${labels[chosen]} against all others`;
    $("chosen-p").textContent =
      "Tied with it: " + claims.map((one, c) => `${alike[c]} of ${R - 1} ${one.about}`).join(", ") +
      (!alike.some(Boolean) ? "." : claims.length > 1
        ? ". Marked ≈ in the table, orange where they differ significantly for one claim."
        : ". Marked ≈ in the table.");
    const body = document.querySelector("#against tbody");
    const folded = document.querySelector('button.all[data-table="against"]');
    $("against").classList.toggle("all", R - 1 <= MOST);
    folded.parentElement.hidden = R - 1 <= MOST;
    let n = 0;
    body.replaceChildren(
      ...systems.flatMap((name, i) => {
        if (i === chosen) return [];
        const row = document.createElement("tr");
        if (++n > MOST) row.className = "rest";
        const head = cell("th", labels[i]);
        head.scope = "row";
        head.title = name;
        row.append(head, cell("td", num(means[chosen] - means[i]), "num"));
        claims.forEach((one) => row.append(cell("td", pval(one, at(chosen, i)), "num")));
        row.append(cell("td", verdict(chosen, i)));
        return [row];
      }),
    );
  };
  if ($("clear")) {
    rows.forEach((row, k) => row.querySelector(".pick").addEventListener("click", () => choose(k)));
    $("clear").addEventListener("click", () => choose(chosen));
  }

  document.querySelectorAll(".chip").forEach((chip) =>
    chip.addEventListener("click", () => {
      const k = Number(chip.dataset.k);
      if (chosen !== k) choose(k);
      rows[k].hidden = false;
      if (rows[k].classList.contains("rest")) unfoldRows($("board"));
      rows[k].scrollIntoView({ block: "center" });
    }),
  );

  // --- tables wider than the page say so
  const markScrolling = () => {
    for (const box of document.querySelectorAll(".scroll, .chart")) {
      if (box.scrollWidth > box.clientWidth + 1) box.dataset.more = "Wider than the page: scroll sideways →";
      else delete box.dataset.more;
    }
  };
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", markScrolling));

  // --- what is folded opens where a link leads to it, and on paper
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const fold = target && (target.querySelector(":scope > details:first-child") || target.closest("details"));
    if (fold) fold.open = true;
  };
  document.querySelectorAll('a[href^="#"]').forEach((link) =>
    // a second click on the same link changes no hash
    link.addEventListener("click", () => setTimeout(unfold)),
  );
  window.addEventListener("hashchange", unfold);
  unfold();

  // --- the matrix of pairs
  const canvas = $("matrix") || document.createElement("canvas"); // two systems have none
  const pen = canvas.getContext("2d");
  const view = { size: 0, whole: 0, x: 0, y: 0, show: "both" };
  let cursor = null;
  let colours = {};

  const palette = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["win", "win-soft", "none", "lose-soft", "lose", "ink", "muted", "bg", "line", "panel"])
      colours[name] = style.getPropertyValue("--" + name).trim();
  };

  const kind = (i, j) => {
    if (!compared(view.show === "both" ? 0 : Number(view.show), i, j)) return "panel";
    const shown = view.show === "both" ? claims.map((_, c) => told(c, i, j)) : [told(Number(view.show), i, j)];
    const found = shown.filter(Boolean);
    // claims that contradict each other show as the one that leads
    return found.length === 0 ? "none" : (found[0] > 0 ? "win" : "lose") + (found.length < shown.length ? "-soft" : "");
  };

  const font = (px) => `${px}px system-ui, sans-serif`;
  const layout = () => {
    const room = Math.min(canvas.parentElement.clientWidth || 700, 820);
    pen.font = font(12);
    const longest = Math.max(...short.map((name) => pen.measureText(name).width));
    view.wide = Math.ceil(Math.min(longest + 12, room * 0.3));
    view.gutter = view.wide;
    view.total = Math.floor(Math.min(room - view.wide, R * 44)) + view.wide;
    view.side = view.total - view.gutter;
    // what was seen whole stays whole when the window changes
    const zoomed = view.size > view.whole;
    view.whole = view.side / R;
    view.size = zoomed ? Math.max(view.size, view.whole) : view.whole;
    const dpr = Math.max(window.devicePixelRatio || 1, 2);
    canvas.style.width = canvas.style.height = `${view.total}px`;
    canvas.width = canvas.height = Math.round(view.total * dpr);
    pen.setTransform(dpr, 0, 0, dpr, 0, 0);
    clamp();
  };
  const clamp = () => {
    const most = R * view.size - view.side;
    view.x = Math.min(Math.max(view.x, 0), Math.max(most, 0));
    view.y = Math.min(Math.max(view.y, 0), Math.max(most, 0));
  };

  // very many cells are drawn from a picture with a pixel each: shrunk, it shows the share of significant pairs
  const MANY = 40000;
  const picture = document.createElement("canvas");
  const paint = () => {
    const brush = picture.getContext("2d", { willReadFrequently: true });
    picture.width = picture.height = R;
    const pixel = {};
    for (const name of ["win", "win-soft", "none", "lose-soft", "lose", "panel"]) {
      brush.fillStyle = colours[name];
      brush.fillRect(0, 0, 1, 1);
      pixel[name] = new Uint32Array(brush.getImageData(0, 0, 1, 1).data.buffer)[0];
    }
    const image = brush.createImageData(R, R);
    const cells = new Uint32Array(image.data.buffer);
    for (let i = 0; i < R; i++) for (let j = 0; j < R; j++) if (i !== j) cells[i * R + j] = pixel[kind(i, j)];
    brush.putImageData(image, 0, 0);
  };
  let painted = false;

  const draw = () => {
    const { gutter, side, size } = view;
    pen.clearRect(0, 0, side + gutter, side + gutter);
    const i0 = Math.floor(view.y / size), i1 = Math.min(R - 1, Math.floor((view.y + side) / size));
    const j0 = Math.floor(view.x / size), j1 = Math.min(R - 1, Math.floor((view.x + side) / size));
    const gap = size > 6 ? 1 : 0;
    pen.save();
    pen.beginPath();
    pen.rect(gutter, gutter, side, side);
    pen.clip();
    const many = (i1 - i0) * (j1 - j0) > MANY;
    if (many) {
      if (!painted) paint();
      painted = true;
      pen.imageSmoothingEnabled = size < 1;
      pen.drawImage(picture, view.x / size, view.y / size, side / size, side / size, gutter, gutter, side, side);
    }
    for (let i = i0; i <= i1 && !many; i++) {
      const top = gutter + i * size - view.y;
      for (let j = j0; j <= j1; j++) {
        if (i === j) continue;
        pen.fillStyle = colours[kind(i, j)];
        // whole pixels, lest seams show between cells without gaps
        const x = Math.round(gutter + j * size - view.x), y = Math.round(top);
        pen.fillRect(x, y, Math.round(gutter + (j + 1) * size - view.x) - x - gap, Math.round(top + size) - y - gap);
      }
    }
    pen.strokeStyle = colours.ink;
    const frame = (i, j, w, h, width) => {
      pen.lineWidth = width;
      pen.strokeRect(gutter + j * size - view.x - 0.5, gutter + i * size - view.y - 0.5, w * size, h * size);
    };
    if (chosen >= 0) {
      frame(chosen, 0, R, 1, 1.5);
      frame(0, chosen, 1, R, 1.5);
    }
    if (cursor) frame(cursor.i, cursor.j, 1, 1, 2.5);
    pen.restore();
    nameAxes(i0, i1, j0, j1);
  };

  // every name where it fits, else every second, fifth, … and that under the cursor
  const nameAxes = (i0, i1, j0, j1) => {
    const { gutter, side, size } = view;
    const high = Math.min(12, Math.max(9, size - 1));
    const step = [1, 2, 5, 10, 20, 50, 100].find((n) => n * size >= high + 1) || 200;
    pen.font = font(high);
    pen.textBaseline = "middle";
    const name = (k, far, turned) => {
      if (far < high / 2 - 1 || far > side - high / 2 + 1) return;
      pen.save();
      pen.fillStyle = k === chosen || (cursor && k === (turned ? cursor.j : cursor.i)) ? colours.ink : colours.muted;
      if (turned) {
        pen.translate(gutter + far, gutter - 5);
        pen.rotate(-Math.PI / 2);
      } else pen.translate(gutter - 5, gutter + far);
      pen.textAlign = turned ? "left" : "right";
      pen.fillText(short[k], 0, 0, gutter - 8);
      pen.restore();
    };
    for (let i = Math.ceil(i0 / step) * step; i <= i1; i += step) name(i, (i + 0.5) * size - view.y, false);
    for (let j = Math.ceil(j0 / step) * step; j <= j1; j += step) name(j, (j + 0.5) * size - view.x, true);
  };

  const under = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left - view.gutter, y = event.clientY - box.top - view.gutter;
    if (x < 0 || y < 0 || x >= view.side || y >= view.side) return null;
    const j = Math.floor((x + view.x) / view.size), i = Math.floor((y + view.y) / view.size);
    return i < R && j < R ? { i, j } : null;
  };

  const tell = (i, j) => {
    if (i === j) return `${i + 1}. ${labels[i]}: mean ${num(means[i])}`;
    const difference = means[i] - means[j];
    const said = verdict(i, j);
    const parts = claims.flatMap((one, c) => {
      if (!compared(c, i, j)) return [];
      const h = half(c, i, j), d = one.means[i] - one.means[j];
      const between = h === null ? "" : `${num(d - h)} to ${num(d + h)}, `;
      return [`${one.name}: ${between}p ${pval(one, at(i, j)).replace(/^(?![<≤≈])/, "= ")}`];
    });
    return `${i + 1}. ${labels[i]} (${num(means[i])}) against ${j + 1}. ${labels[j]} (${num(means[j])}): ${[`difference ${num(difference)}`, ...parts].join("; ")}. ${said[0].toUpperCase()}${said.slice(1)}.`;
  };

  const move = (place) => {
    if (place && cursor && place.i === cursor.i && place.j === cursor.j) return;
    cursor = place;
    $("cell").textContent = place ? tell(place.i, place.j) : "\u00a0";
    draw();
  };
  const zoom = (factor, px = view.side / 2, py = view.side / 2) => {
    const before = view.size;
    view.size = Math.min(Math.max(view.size * factor, view.whole), Math.max(44, view.whole));
    view.x = ((view.x + px) * view.size) / before - px;
    view.y = ((view.y + py) * view.size) / before - py;
    clamp();
    draw();
  };
  const follow = () => {
    // keep the cursor in sight when it moves by keys
    for (const [axis, k] of [["x", cursor.j], ["y", cursor.i]])
      view[axis] = Math.min(Math.max(view[axis], (k + 1) * view.size - view.side), k * view.size);
    clamp();
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, y: event.clientY, vx: view.x, vy: view.y, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag && view.size > view.whole) {
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (Math.abs(dx) + Math.abs(dy) > 4) drag.moved = true;
      if (drag.moved) {
        view.x = drag.vx - dx;
        view.y = drag.vy - dy;
        clamp();
        draw();
        return;
      }
    }
    move(under(event));
  });
  canvas.addEventListener("pointerup", (event) => {
    const place = under(event);
    if (drag && !drag.moved && place) choose(place.i);
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => move(null));
  canvas.addEventListener(
    "wheel",
    (event) => {
      // the wheel scrolls the page unless the reader is at work here
      if (!event.ctrlKey && document.activeElement !== canvas) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left - view.gutter, event.clientY - box.top - view.gutter);
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (steps[event.key]) {
      const [di, dj] = steps[event.key];
      const from = cursor || { i: 0, j: 0 };
      move({ i: Math.min(Math.max(from.i + di, 0), R - 1), j: Math.min(Math.max(from.j + dj, 0), R - 1) });
      follow();
      draw();
    } else if (event.key === "Enter" && cursor) choose(cursor.i);
    else if (event.key === "+" || event.key === "=") zoom(1.5);
    else if (event.key === "-") zoom(1 / 1.5);
    else if (event.key === "0") zoom(0);
    else return;
    event.preventDefault();
  });
  $("zoom-in")?.addEventListener("click", () => zoom(1.6));
  $("zoom-out")?.addEventListener("click", () => zoom(1 / 1.6));
  $("zoom-reset")?.addEventListener("click", () => zoom(0));
  if ($("view"))
    $("view").addEventListener("change", () => {
      view.show = $("view").value;
      painted = false;
      draw();
    });

  const redraw = () => {
    markScrolling();
    if (!$("matrix")) return;
    palette();
    layout();
    painted = false;
    draw();
  };
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", redraw);
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const fold of closed) fold.open = true;
    redraw();
  });
  window.addEventListener("afterprint", () => {
    for (const fold of closed) fold.open = false;
  });
  window.addEventListener("afterprint", redraw);
  let waiting = 0;
  window.addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(redraw);
  });

  // --- numbers of the drawings under the pointer
  const tip = $("tip");
  document.querySelectorAll(".chart svg, .board td.plot svg").forEach((svg) => {
    svg.addEventListener("pointermove", (event) => {
      const mark = event.target.closest("[aria-label]");
      const inner = mark && (mark !== svg || svg.closest(".board"));
      const axis = mark && mark.getAttribute("aria-roledescription");
      tip.hidden = !inner || axis === "axis" || axis === "legend";
      if (tip.hidden) return;
      tip.textContent = mark.getAttribute("aria-label").replaceAll("; ", "\n").trim();
      const wide = tip.offsetWidth;
      tip.style.left = `${Math.min(event.clientX + 14, innerWidth - wide - 8)}px`;
      tip.style.top = `${event.clientY + 16}px`;
    });
    svg.addEventListener("pointerleave", () => (tip.hidden = true));
  });

  // --- files inside the page
  document.querySelectorAll(".file").forEach((button) =>
    button.addEventListener("click", async () => {
      const file = data.files[Number(button.dataset.file)];
      const url = URL.createObjectURL(new Blob([await unpack(file.packed)], { type: file.kind }));
      const link = document.createElement("a");
      link.href = url;
      link.download = file.name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    }),
  );
  document.querySelectorAll(".copy").forEach((button) =>
    button.addEventListener("click", async () => {
      const source = $(button.dataset.from);
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    }),
  );

  redraw();
  document.documentElement.dataset.ready = "true";
})();
