"use strict";
(() => {
  const graph = document.getElementById("graph"), drawn = document.getElementById("edges"), modules = [...document.querySelectorAll(".module")];
  const edges = [...document.querySelectorAll("#list li")].map(li => {
    const [from, to] = li.textContent.split(" ");
    return { from: document.getElementById("n" + from), to: document.getElementById("n" + to), lease: li.className };
  });
  // The visible element for a node: the outermost folded module around it, or the node.
  const shown = node => {
    let out = node;
    for (let m = node.parentElement.closest(".module"); m; m = m.parentElement.closest(".module")) if (!m.open) out = m;
    return out;
  };
  let near = null;
  const draw = () => {
    const base = graph.getBoundingClientRect(), seen = new Set(), boxes = new Map(), ids = new Map();
    const box = e => {
      if (!boxes.has(e)) {
        const r = e.getBoundingClientRect();
        boxes.set(e, { left: r.left - base.left + graph.scrollLeft, right: r.right - base.left + graph.scrollLeft, y: r.top - base.top + graph.scrollTop + Math.min(r.height, 400) / 2 });
        ids.set(e, ids.size);
      }
      return boxes.get(e);
    };
    drawn.replaceChildren();
    drawn.setAttribute("width", 0);
    drawn.setAttribute("height", 0);
    const width = graph.scrollWidth, height = graph.scrollHeight;
    for (const edge of edges) {
      const from = shown(edge.from), to = shown(edge.to);
      if (from === to) continue;
      const a = box(from), b = box(to), key = ids.get(from) + " " + ids.get(to);
      if (seen.has(key)) continue;
      seen.add(key);
      const bend = Math.max((a.left - b.right) / 2, 24), path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", `M${a.left} ${a.y}C${a.left - bend} ${a.y} ${b.right + bend} ${b.y} ${b.right} ${b.y}`);
      path.setAttribute("class", edge.lease + (near && (from === near || to === near) ? " near" : ""));
      drawn.append(path);
    }
    drawn.setAttribute("width", width);
    drawn.setAttribute("height", height);
  };
  let planned = false;
  const later = () => {
    if (planned) return;
    planned = true;
    requestAnimationFrame(() => { planned = false; draw(); });
  };
  for (const m of modules) m.addEventListener("toggle", later);
  addEventListener("resize", later);
  graph.addEventListener("focusin", e => { near = e.target.closest(".node"); later(); });
  graph.addEventListener("mouseover", e => { const n = e.target.closest(".node"); if (n !== near) { near = n; later(); } });
  const all = open => () => { for (const m of modules) m.open = open; };
  document.getElementById("open").addEventListener("click", all(true));
  document.getElementById("close").addEventListener("click", all(false));
  document.getElementById("tools").hidden = modules.length === 0;
  draw();
})();
