// What the server cannot do alone: send files, show progress as it comes, and choose what a frame shows.
(() => {
  "use strict";
  const { content: csrf, dataset: { root } } = document.querySelector("meta[name=csrf]");
  const $ = (id) => document.getElementById(id);

  async function ask(method, path, body) {
    const headers = { "x-csrf-token": csrf };
    if (body !== undefined && !(body instanceof Blob)) { headers["content-type"] = "application/json"; body = JSON.stringify(body); }
    const answer = await fetch(root + path, { method, headers, body, redirect: "error" });
    const told = answer.status === 204 ? {} : await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(told.error || `The server answered ${answer.status}.`);
    return told;
  }

  // files: each is sent as it is, one after the other, and the server streams it to the disk
  async function send(files) {
    if (!files.length) return;
    const limit = Number($("drop").dataset.limit);
    const total = files.reduce((sum, one) => sum + one.file.size, 0);
    $("refused").hidden = true;
    $("sending").hidden = false;
    let made = null;
    try {
      if (total > limit) throw new Error(`The files have ${Math.ceil(total / 1048576)} MB, and this server takes ${Math.floor(limit / 1048576)} MB for one analysis: leave some out, or start shardwise serve with a larger --limit.`);
      made = await ask("POST", "/api/analyses", {});
      let done = 0;
      for (const { file, name } of files) {
        $("said").textContent = `sending ${name}`;
        await ask("PUT", `/api/analyses/${made.id}/inputs/${name.split("/").map(encodeURIComponent).join("/")}`, file);
        done += file.size;
        $("sent").value = total ? done / total : 1;
      }
      await ask("POST", `/api/analyses/${made.id}/read`, {});
      location.assign(`${root}/a/${made.id}`);
    } catch (error) {
      $("refused").textContent = error.message;
      $("refused").hidden = false;
      $("sending").hidden = true;
      if (made) ask("DELETE", `/api/analyses/${made.id}`).catch(() => {});
    }
  }

  const named = (file) => ({ file, name: file.webkitRelativePath || file.name });
  const visible = (one) => !one.name.split("/").pop().startsWith(".");

  async function entries(entry, path = "") {
    if (entry.isFile) return [{ file: await new Promise((yes, no) => entry.file(yes, no)), name: path + entry.name }];
    const reader = entry.createReader(), found = [];
    for (let some; (some = await new Promise((yes, no) => reader.readEntries(yes, no))).length;) found.push(...some);
    return (await Promise.all(found.map((one) => entries(one, `${path}${entry.name}/`)))).flat();
  }

  const drop = $("drop");
  if (drop) {
    for (const id of ["files", "tree"]) $(id).addEventListener("change", (e) => send([...e.target.files].map(named).filter(visible)));
    drop.addEventListener("submit", (e) => e.preventDefault());
    drop.addEventListener("dragover", (e) => { e.preventDefault(); drop.classList.add("over"); });
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", async (e) => {
      e.preventDefault();
      drop.classList.remove("over");
      const dropped = [...e.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
      send((await Promise.all(dropped.map((one) => entries(one)))).flat().filter(visible));
    });
  }

  // progress: events of the server move the bar; the last one brings what comes next into its place
  let source = null;
  function follow() {
    const place = document.querySelector("[data-events]");
    if (source) { source.close(); source = null; }
    if (!place) return;
    const bar = place.querySelector(".bar"), doing = place.querySelector(".doing");
    source = new EventSource(place.dataset.events);
    source.onmessage = (event) => {
      const told = JSON.parse(event.data);
      // an answer that is there is shown at once, whatever is still simulated
      if (place.dataset.into === "#stage" && !["reading", "queued", "running"].includes(told.state)) return show();
      if (told.total > 0) bar.value = told.done / told.total; else bar.removeAttribute("value");
      const ahead = told.ahead > 0 ? `, ${told.ahead} before it` : "";
      const count = told.total > 0 ? `: ${told.done} of ${told.total}` : "";
      const text = `${told.doing || "starting"}${count}${ahead}`;
      if (doing.textContent !== text) doing.textContent = text;
      const some = $("partial");
      if (some && told.partial && some.dataset.seen !== String(told.partial)) {
        some.dataset.seen = told.partial;
        htmx.ajax("GET", some.dataset.src, "#partial");
      }
    };
    const show = () => {
      if (source) { source.close(); source = null; }
      htmx.ajax("GET", place.dataset.then, { target: place.dataset.into, swap: "innerHTML" });
    };
    source.addEventListener("end", show);
  }
  follow();
  document.addEventListener("htmx:afterSettle", (event) => {
    if (!["stage", "trust"].includes(event.target.id)) return;
    follow();
    if (event.target.id !== "stage") return;
    const head = document.querySelector("#stage h1");
    if (head) { head.focus(); document.title = head.textContent; }
    choose(location.hash);
  });

  // what is shown of an answer: the table of the page itself, or a file in the frame
  function choose(hash) {
    const name = hash.startsWith("#item=") ? "items" : hash.slice(1);
    const view = document.querySelector(`button.view[data-view="${CSS.escape(name)}"]`);
    if (view) show_view(view);
  }
  function show_view(view) {
    const frame = $("shown"), native = $("native"), items = $("items"), part = view.dataset.part;
    for (const one of document.querySelectorAll("button.view")) one.setAttribute("aria-pressed", String(one.dataset.view === view.dataset.view));
    frame.hidden = !view.dataset.src;
    items.hidden = !part;
    native.hidden = view.dataset.view !== "answer";
    if (part && items.dataset.part !== part) {
      items.dataset.part = part;
      htmx.ajax("GET", part, { target: "#items", swap: "innerHTML" });
    }
    if (view.dataset.src && frame.getAttribute("src") !== view.dataset.src) frame.src = view.dataset.src;
    frame.title = view.textContent;
    if (!(part && location.hash.startsWith("#item="))) history.replaceState(null, "", view.dataset.view === "answer" ? location.pathname : `#${view.dataset.view}`);
  }
  choose(location.hash);

  async function copy(button) {
    const address = new URL(button.dataset.copy, location.href);
    if (address.pathname === location.pathname) address.hash = location.hash;
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(address.href);
    } catch {
      // a page that came by plain HTTP from another machine has no clipboard
      const field = Object.assign(document.createElement("textarea"), { value: address.href });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = words; }, 1500);
  }

  // two analyses, no more and no fewer, can be compared
  const two = $("two");
  function count_ticked() {
    const boxes = [...two.querySelectorAll("input[name=with]")], ticked = boxes.filter((one) => one.checked);
    for (const box of boxes) box.disabled = ticked.length >= 2 && !box.checked;
    $("pair").disabled = ticked.length !== 2;
    $("ticked").textContent = ["Tick two analyses.", "Tick one more.", ""][ticked.length] || "";
  }
  if (two && $("pair")) {
    two.addEventListener("change", count_ticked);
    count_ticked();
  }

  // a choice of something implies the choice that it belongs to
  document.addEventListener("change", (event) => {
    const [name, value] = (event.target.dataset.checks || "").split("=");
    if (!name) return;
    const radio = document.querySelector(`input[name="${name}"][value="${event.target.value ? value : "all"}"]`);
    if (radio) radio.checked = true;
  });

  document.addEventListener("input", (event) => {
    const shown = event.target.id && document.querySelector(`output[for="${event.target.id}"]`);
    if (shown) shown.textContent = event.target.value;
  });

  document.addEventListener("click", (event) => {
    const view = event.target.closest("button.view"), copied = event.target.closest("button[data-copy]");
    if (view) show_view(view);
    if (copied) copy(copied);
  });

  // another analysis to plan with brings its own figures
  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-go]")) location.assign(event.target.dataset.go + encodeURIComponent(event.target.value));
  });
})();
