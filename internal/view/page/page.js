"use strict";
(() => {
  const tools = document.getElementById("tools");
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const selects = [...tools.querySelectorAll("select")];
  const changes = [...document.querySelectorAll(".change")];
  const parts = [...document.querySelectorAll(".part")];
  const texts = new WeakMap();

  const text = (element) => {
    let t = texts.get(element);
    if (t === undefined) {
      t = element.textContent.toLowerCase();
      texts.set(element, t);
    }
    return t;
  };

  // hide keeps elements in reach of the browser's own search, which shows them again.
  const hide = (element, hidden) => {
    if (hidden) {
      element.setAttribute("hidden", "until-found");
    } else {
      element.removeAttribute("hidden");
    }
  };

  const fits = (change, words) =>
    selects.every((s) => s.value === "" || (change.dataset[s.name] ?? "").split("\n").includes(s.value.slice(1))) &&
    words.every((w) => text(change).includes(w));

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const change of changes) {
      const ok = fits(change, words);
      hide(change, !ok);
      shown += ok ? Number(change.dataset.count) : 0;
    }
    const selected = selects.some((s) => s.value !== "");
    for (const part of parts) {
      const facts = !part.querySelector(".change"); // outputs, checks, leases and others
      const ok = facts ? !selected && words.every((w) => text(part).includes(w)) : part.querySelector(".change:not([hidden])");
      hide(part, (selected || words.length > 0) && !ok);
    }
    found.value = shown + " of " + tools.dataset.total + " changes shown";
  };

  let waiting = 0;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, 120);
  };

  const openAll = (open) => {
    for (const change of changes) {
      if (!change.hasAttribute("hidden")) {
        change.open = open;
      }
    }
  };

  const reset = () => {
    search.value = "";
    for (const s of selects) {
      s.value = "";
    }
    filter();
  };

  // show opens the change that the address of the page names.
  const show = () => {
    let id = location.hash.slice(1);
    try {
      id = decodeURIComponent(id);
    } catch {
      // the text is not encoded
    }
    const target = id && document.getElementById(id);
    const change = target && target.closest(".change");
    if (!change) {
      return;
    }
    if (change.hasAttribute("hidden")) {
      reset();
    }
    change.open = true;
    target.scrollIntoView();
  };

  const closed = [];
  addEventListener("beforeprint", () => {
    for (const change of changes) {
      if (!change.open) {
        closed.push(change);
        change.open = true;
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const change of closed.splice(0)) {
      change.open = false;
    }
  });

  tools.addEventListener("submit", (e) => {
    e.preventDefault();
    filter();
  });
  search.addEventListener("input", later);
  search.addEventListener("keydown", (e) => {
    if (e.key === "Escape") {
      search.value = "";
      filter();
    }
  });
  for (const s of selects) {
    s.addEventListener("change", filter);
  }
  document.getElementById("open").addEventListener("click", () => openAll(true));
  document.getElementById("close").addEventListener("click", () => openAll(false));
  document.getElementById("reset").addEventListener("click", reset);
  addEventListener("hashchange", show);
  tools.hidden = false;
  show();
})();
