"use strict";
(() => {
  const start = (board) => {
    const body = board.querySelector("tbody");
    const rows = [...body.rows];
    const search = board.querySelector(".sw-search");
    const top = board.querySelector(".sw-top");
    const heads = [...board.querySelectorAll("thead button")];
    const names = rows.map((row) => row.dataset.name.toLowerCase());
    const more = board.querySelector(".sw-more");
    const FIRST = 30;
    let all = false;
    let state = { q: "", top: "", sort: "rank", down: "", system: "" };

    // a number where it is one, so that 9 comes before 10; what is not known comes last
    const value = (row, key) => {
      const text = row.querySelector(`[data-${key}]`).dataset[key];
      const number = Number(text);
      return text === "" ? null : key === "name" || key === "group" || Number.isNaN(number) ? text : number;
    };
    const before = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);

    const show = () => {
      const wanted = state.q.trim().toLowerCase();
      const key = heads.some((head) => head.dataset.key === state.sort) ? state.sort : "rank";
      const sign = state.down ? -1 : 1;
      const found = rows.map((row, k) => [value(row, key), k]);
      found.sort(([a, i], [b, j]) => (a === null) - (b === null) || (a === null ? 0 : sign * before(a, b)) || i - j);
      body.append(...found.map(([, k]) => rows[k]));
      let n = 0;
      for (const [, k] of found) {
        const row = rows[k];
        row.hidden = !names[k].includes(wanted) || (state.top !== "" && row.dataset.top === undefined);
        row.classList.toggle("sw-chosen", state.system !== "" && row.dataset.name === state.system);
        n += !row.hidden;
        row.classList.toggle("sw-later", !all && n > FIRST);
        if (row.matches(".sw-chosen.sw-later:not([hidden])")) all = true;
      }
      if (all) rows.forEach((row) => row.classList.remove("sw-later"));
      more.hidden = all || n <= FIRST;
      more.textContent = `Show all ${n.toLocaleString("en")} ${board.dataset.nouns}`;
      for (const head of heads) {
        const own = head.parentElement;
        if (head.dataset.key === key) own.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        else own.removeAttribute("aria-sort");
      }
      const { noun, nouns } = board.dataset;
      const total = rows.length.toLocaleString("en");
      board.querySelector(".sw-found").textContent =
        n === rows.length ? `${total} ${n === 1 ? noun : nouns}` : `${n.toLocaleString("en")} of ${total} ${nouns}`;
      search.value = state.q;
      top.checked = state.top !== "";
    };

    // the address says what is shown, so that it can be sent to somebody
    const link = () => {
      const said = new URLSearchParams(Object.entries(state).filter(([key, text]) => text !== "" && !(key === "sort" && text === "rank")));
      const hash = String(said) ? `#${board.id}?${said}` : "";
      try {
        history.replaceState(null, "", hash || location.pathname + location.search);
      } catch {
        // a page inside another may not change its address
      }
    };
    const change = (said) => {
      state = { ...state, ...said };
      show();
      link();
    };
    const follow = () => {
      const [id, said] = [...location.hash.slice(1).split("?"), ""];
      if (id !== board.id) return;
      state = { q: "", top: "", sort: "rank", down: "", system: "", ...Object.fromEntries(new URLSearchParams(said)) };
      show();
      board.querySelector("tr.sw-chosen")?.scrollIntoView({ block: "center" });
    };

    search.addEventListener("input", () => change({ q: search.value }));
    search.addEventListener("keydown", (event) => event.key === "Escape" && change({ q: "" }));
    top.addEventListener("change", () => change({ top: top.checked ? "1" : "" }));
    for (const head of heads) {
      head.addEventListener("click", () => {
        const key = head.dataset.key;
        const up = head.dataset.first === "up";
        change(state.sort === key ? { down: state.down ? "" : "1" } : { sort: key, down: up ? "" : "1" });
      });
    }
    body.addEventListener("click", (event) => {
      const name = event.target.closest(".sw-name");
      if (name === null) return;
      event.preventDefault();
      const own = name.closest("tr").dataset.name;
      change({ system: state.system === own ? "" : own });
    });
    more.addEventListener("click", () => {
      const next = body.querySelector("tr.sw-later:not([hidden]) .sw-name");
      all = true;
      show();
      next?.focus();
    });
    addEventListener("hashchange", follow);
    show();
    follow();
    board.dataset.ready = "";
  };
  document.querySelectorAll(".sw-board:not([data-ready])").forEach(start);
})();
