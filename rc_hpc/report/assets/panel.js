
/* One structure: its views with phantoms, why they are there, and what each subset reads. */
const LISTED = 200;
let chosen = null;

function drawSvg(k, camera, marks, rings, span) {
  const svg = document.createElementNS(SVG, "svg"), discs = discsOf(k, camera);
  const { scale, x, y } = frameOf(discs, marks, VIEW, span);
  const add = (tag, attributes) => {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    svg.append(element);
  };
  for (const [name, value] of [["width", VIEW], ["height", VIEW], ["viewBox", `0 0 ${VIEW} ${VIEW}`]])
    svg.setAttribute(name, value);
  for (const { u, v, r, colour } of discs)
    add("circle", { cx: x(u).toFixed(2), cy: y(v).toFixed(2), r: (scale * r).toFixed(2), fill: colour, stroke: "black", "stroke-width": 0.8 });
  const [h, line, halo] = markOf(marks);
  for (const { u, v } of marks) {
    const [px, py] = [x(u), y(v)];
    const d = `M${px - h} ${py - h}L${px + h} ${py + h}M${px - h} ${py + h}L${px + h} ${py - h}`;
    add("path", { d, stroke: "white", "stroke-width": halo, fill: "none" });
    add("path", { d, stroke: "#b23c00", "stroke-width": line, fill: "none", class: "phantom" });
  }
  for (const { u, v, r } of rings)
    for (const [colour, width] of [["white", 5], ["black", 2]])
      add("circle", { cx: x(u), cy: y(v), r: scale * r, fill: "none", stroke: colour, "stroke-width": width, class: "ring" });
  return svg;
}

/* A length of the file's codes, angstrom: three digits, rounded down. */
function lengthOf(code) {
  if (!code) return 0;
  const power = Math.floor((code - 1) / 900) + data.leastPower;
  return Number(((((code - 1) % 900) + 100) * 10 ** (power - 2)).toPrecision(3));
}

const belowOf = (k, s) => lengthOf(data.below[at(k, s)]);
const plural = (n) => `${n} phantom${n === 1 ? "" : "s"}`;
const labelRead = (k, s) => data.labels[data.read[at(k, s)]] ?? (read(k, s) ? "no label" : "not labelled");

function certificate(k) {
  const full = fullOf();
  if (full < 0) return "all cameras together were not computed";
  const below = belowOf(k, full), n = data.phantoms[at(k, full)];
  const near = below < data.delta && data.certified[at(k, full)] ? " (between the two a phantom may come and go)" : "";
  const also = below ? `${data.certified[at(k, full)] ? ", and so" : "; certified"} at every delta below ${below} Å${near}` : "";
  const said = data.certified[at(k, full)] ? "certified" : "not certified";
  return `all ${data.views.length} cameras together: ${labelRead(k, full)}, ${said} at delta ${data.delta} Å`
    + `${data.certified[at(k, full)] || !n ? "" : ` (${plural(n)})`}${also}`;
}

function open(k, keep = false) {
  selected = k;
  if (!keep) { subset = worst(k); chosen = null; }
  history.replaceState(null, "", `#${encodeURIComponent(data.id[k])}`);
  const one = $("one");
  one.replaceChildren(make("h2", `${data.id[k]}: ${data.formula[k]}`));
  if (!computed(k)) {
    one.append(make("p", `status: ${data.status[k]}`, "bad"), make("p", data.message[k]));
    paint();
    return;
  }
  const label = data.number[k] ? `${data.system[k]}, space group ${data.number[k]}` : `${data.noun} ${data.system[k]}`;
  one.append(make("p", `truth: ${label}; ${data.atoms[k]} atoms drawn`), make("p", certificate(k)));
  if (data.short[k]) one.append(make("p", `doubtful: its closest atoms are at ${data.short[k]}`, "bad"));
  if (data.quarantine[k]) one.append(make("p", `quarantined: ${data.quarantine[k]}`, "bad"));
  const listed = listedOf(k);
  if (!chosen && listed.length) chosen = listed[0];
  one.append(make("p", said(k, subset), right(k, subset) || !read(k, subset) ? "said" : "said bad"));
  one.append(viewsOf(k), legendOf(k));
  if (listed.length) one.append(phantomList(k, listed));
  one.append(subsetTable(k));
  one.append(make("p", "All views are drawn at one scale; those outside the chosen subset are faded. "
    + "Crosses: the phantoms of the chosen subset. Rings: the atoms whose rays make the chosen phantom.", "caption"));
  paint();
}

function said(k, s) {
  const verdict = !read(k, s) ? "was not labelled"
    : right(k, s) ? `reads the true ${data.noun}`
      : data.read[at(k, s)] ? `reads another ${data.noun}` : "gives what has no label";
  const label = data.read[at(k, s)] ? ` (${labelRead(k, s)})` : "";
  const proof = data.certified[at(k, s)] ? ", certified" : ", not certified";
  return `${data.subsets[s]} ${verdict}${label}${proof}; ${plural(data.phantoms[at(k, s)])} (×)`;
}

function viewsOf(k) {
  const views = make("div");
  views.id = "views";
  const span = spanOf(k, subset);
  data.views.forEach((name, camera) => {
    const figure = make("figure"), marks = marksOf(k, camera, subset), rings = ringsOf(k, camera);
    if (!(data.masks[subset] >> camera & 1)) figure.className = "faded";
    if (data.atoms[k] > CANVAS_ABOVE) {
      const canvas = make("canvas");
      canvas.width = canvas.height = VIEW;
      drawCanvas(canvas, k, camera, marks, span, rings);
      figure.append(canvas);
    } else figure.append(drawSvg(k, camera, marks, rings, span));
    figure.append(make("figcaption", name));
    views.append(figure);
  });
  return views;
}

/* The two atoms of a phantom: [camera, atom] of each ray. */
function raysOf({ pair }) {
  const [a, b] = camerasOf(data.pair[pair]);
  return [[a, data.atomA[pair]], [b, data.atomB[pair]]];
}

function ringsOf(k, camera) {
  if (!chosen) return [];
  return raysOf(chosen).filter(([own]) => own === camera).map(([, atom]) => {
    const a = data.atomStart[k] + atom, [u, v, , scale] = screen(camera, placed(data.positions, k, a, 1));
    return { u, v, r: data.radius[data.numbers[a]] * scale };
  });
}

/* The phantoms of the subset, those farthest from every atom of their element first. */
function listedOf(k) {
  const found = phantomsOf(k, subset), first = data.atomStart[k];
  for (const one of found) {
    const z = data.numbers[first + data.atomA[one.pair]];
    one.z = z;
    one.distance = Infinity;
    for (let a = first; a < data.atomStart[k + 1]; a++)
      if (data.numbers[a] === z)
        one.distance = Math.min(one.distance, Math.hypot(...placed(data.positions, k, a, 1).map((x, c) => x - one.place[c])));
  }
  return found.sort((a, b) => (Math.abs(b.distance - a.distance) > 0.02 ? b.distance - a.distance : a.pair - b.pair));
}

function phantomList(k, listed) {
  const box = make("div", undefined, "phantoms");
  const more = listed.length > LISTED ? `, ${LISTED} of ${listed.length}` : "";
  box.append(make("h3", `Why: the rays that meet where no atom is${more}`));
  const list = make("ol");
  list.id = "phantoms";
  for (const one of listed.slice(0, LISTED)) {
    const symbol = data.symbol[one.z];
    const seen = raysOf(one).map(([camera, atom]) => `${data.views[camera]} sees ${symbol} ${atom + 1}`);
    const place = one.place.map((x) => (Math.round(100 * x) / 100 + 0).toFixed(2)).join(", ");
    const button = make("button", `${seen.join(" and ")}: × at (${place}) Å, the nearest ${symbol} ${one.distance.toFixed(2)} Å away`);
    button.setAttribute("aria-pressed", String(one.pair === chosen.pair));
    button.addEventListener("click", () => {
      chosen = one;
      $("views").replaceWith(viewsOf(k));
      for (const other of list.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
    });
    const item = make("li");
    item.append(button);
    list.append(item);
  }
  box.append(list);
  return box;
}

function legendOf(k) {
  const box = make("p", undefined, "legend");
  const its = data.numbers.subarray(data.atomStart[k], data.atomStart[k + 1]);
  for (const z of [...new Set(its)].sort((a, b) => a - b)) {
    const svg = document.createElementNS(SVG, "svg"), disc = document.createElementNS(SVG, "circle");
    for (const [name, value] of [["width", 16], ["height", 16]]) svg.setAttribute(name, value);
    for (const [name, value] of [["cx", 8], ["cy", 8], ["r", 7], ["fill", data.colour[z]], ["stroke", "black"]])
      disc.setAttribute(name, value);
    svg.append(disc);
    const entry = make("span");
    entry.append(svg, ` ${data.symbol[z]}`);
    box.append(entry);
  }
  return box;
}

function worst(k) {
  const wrong = (s) => read(k, s) && !right(k, s) ? 1 : 0;  // these first, then by phantoms
  let most = Math.max(0, fullOf());  // without any: all cameras
  for (let s = 0; s < data.subsets.length; s++) {
    const more = wrong(s) - wrong(most) || data.phantoms[at(k, s)] - data.phantoms[at(k, most)];
    if (more > 0) most = s;
  }
  return most;
}

function subsetTable(k) {
  const box = make("div", undefined, "scroll"), table = make("table"), head = make("tr"), body = make("tbody");
  table.id = "subsets";
  for (const [title, className] of [["subset"], ["read as"], ["phantoms", "number"], ["certified below", "number"]])
    head.append(make("th", title, className));
  table.append(make("thead"), body);
  table.tHead.append(head);
  data.subsets.forEach((name, s) => {
    const row = make("tr", undefined, right(k, s) || !read(k, s) ? "" : "wrong"), cell = make("td");
    const button = make("button", name.replaceAll("+", "+\u200b"));
    button.setAttribute("aria-pressed", String(s === subset));
    cell.append(button);
    const proof = belowOf(k, s);
    row.append(cell, make("td", `${labelRead(k, s)}${right(k, s) || !read(k, s) ? "" : " — wrong"}`),
      make("td", data.phantoms[at(k, s)], "number"), make("td", proof ? `${proof} Å` : "no delta", "number"));
    row.addEventListener("click", () => { subset = s; chosen = null; open(k, true); });
    body.append(row);
  });
  box.append(table);
  return box;
}

start();
