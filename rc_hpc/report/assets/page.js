"use strict";
const $ = (id) => document.getElementById(id);
const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const SVG = "http://www.w3.org/2000/svg";
const ROW = 40, MOST = 8e6, CANVAS_ABOVE = 500, CROWD = 60, VIEW = 190;
const KINDS = { u1: Uint8Array, u2: Uint16Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array };
let data = null, shown = [], selected = -1, sorting = { key: "wrong", down: true }, subset = 0;

function starts(sizes) {
  const found = new Uint32Array(sizes.length + 1);
  for (let k = 0; k < sizes.length; k++) found[k + 1] = found[k] + sizes[k];
  return found;
}

/* Place number n of a structure, in angstrom: whole steps from the corner of its box. */
function placed(steps, k, n, width) {
  const count = steps.length / 3, step = data.step[k] * width;
  return [0, 1, 2].map((c) => data.low[3 * k + c] + step * steps[c * count + n]);
}

async function decode(element) {
  const text = element.textContent.trim();
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text)
    : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const file = { ...head.plain };
  for (const [name, [kind, start, count]] of Object.entries(head.arrays)) {
    const width = KINDS[kind].BYTES_PER_ELEMENT;
    const planes = new Uint8Array(buffer, 4 + length + start, count * width);
    if (width === 1) { file[name] = planes; continue; }
    const bytes = new Uint8Array(count * width);
    for (let b = 0; b < width; b++)
      for (let k = 0; k < count; k++) bytes[k * width + b] = planes[b * count + k];
    file[name] = new KINDS[kind](bytes.buffer);
  }
  file.n = file.id.length;
  file.atomStart = starts(file.atoms);
  file.pointStart = starts(file.nPoints);
  file.pairStart = starts(file.nPairs);
  file.lower = file.id.map((id, k) => `${id} ${file.formula[k]} ${file.system[k]}`.toLowerCase());
  return file;
}

const at = (k, s) => k * data.subsets.length + s;
const computed = (k) => data.status[k] === "ok";
const right = (k, s) => data.right[at(k, s)] === 1;
const read = (k, s) => data.right[at(k, s)] !== 2;
const pairPhantoms = (k) => {
  let most = 0;
  for (const s of data.pairs) most = Math.max(most, data.phantoms[at(k, s)]);
  return most;
};
const wrongCount = (k) => {
  let n = 0;
  for (let s = 0; s < data.subsets.length; s++) n += data.right[at(k, s)] === 0;
  return n;
};

const openCount = (k) => {
  let n = 0;
  for (let s = 0; s < data.subsets.length; s++) n += !data.certified[at(k, s)];
  return n;
};
const fullOf = () => data.sizes.indexOf(data.views.length);

/* What fails, the worst first, as in the list of failures: refused, then wrong on all cameras, then
   on most subsets; then not certified, likewise; then quarantined. */
const failing = (k) => {
  if (data.status[k] === "quarantined") return 0.1;
  if (!computed(k)) return 1e6;
  const full = fullOf(), n = data.subsets.length, wrong = wrongCount(k);
  if (wrong) return 1 + wrong + (full >= 0 && data.right[at(k, full)] === 0 ? n : 0);
  const open = openCount(k) + (full >= 0 && !data.certified[at(k, full)] ? n : 0);
  return open ? 0.2 + open / (3 * n) : data.quarantine[k] ? 0.1 : 0;
};

const KEYS = {
  id: (k) => data.id[k], formula: (k) => data.formula[k], atoms: (k) => data.atoms[k],
  system: (k) => data.number[k] || data.system[k], wrong: failing,
  phantoms: (k) => computed(k) ? pairPhantoms(k) : -1,
};
const NUMBERS = {
  atoms: KEYS.atoms, sg: (k) => data.number[k], phantoms: KEYS.phantoms,
  wrong: (k) => computed(k) ? wrongCount(k) : NaN,
};

function matcher(query) {
  const tests = query.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const number = word.match(/^(atoms|sg|phantoms|wrong)([<>=:]=?)(\d+(?:\.\d+)?)$/);
    if (number) {
      const [, name, sign, text] = number, limit = Number(text), value = NUMBERS[name];
      return (k) => {
        const x = value(k);
        if (sign[0] === "<") return sign[1] ? x <= limit : x < limit;
        if (sign[0] === ">") return sign[1] ? x >= limit : x > limit;
        return x === limit;
      };
    }
    const wrong = word.match(/^wrong:(.+)$/);
    if (wrong) {
      const cameras = wrong[1].split("+").sort().join("+");
      const s = data.subsets.findIndex((name) => name.toLowerCase().split("+").sort().join("+") === cameras);
      return (k) => s >= 0 && data.right[at(k, s)] === 0;
    }
    const exact = word.match(/^(status|system|group):(.+)$/);
    if (exact) return (k) => data[exact[1] === "group" ? "system" : exact[1]][k].toLowerCase() === exact[2];
    if (word === "doubtful") return (k) => data.short[k] !== "";
    if (word === "uncertified") {
      const full = fullOf();
      return (k) => computed(k) && (full < 0 ? openCount(k) > 0 : !data.certified[at(k, full)]);
    }
    if (word === "quarantined") return (k) => data.quarantine[k] !== "";
    return (k) => data.lower[k].includes(word);
  });
  return (k) => tests.every((test) => test(k));
}

function find() {
  const match = matcher($("search").value);
  shown = [];
  for (let k = 0; k < data.n; k++) if (match(k)) shown.push(k);
  const value = KEYS[sorting.key], sign = sorting.down ? -1 : 1;
  const of = Array.from({ length: data.n }, (_, k) => value(k));
  shown.sort((a, b) => (of[a] < of[b] ? -sign : of[a] > of[b] ? sign : a - b));
  $("count").textContent = `${shown.length} of ${data.n} structures`;
  $("height").style.height = `${Math.min(shown.length * ROW, MOST)}px`;
  $("rows").scrollTop = 0;
  paint();
}

const stretch = () => {
  const most = Math.min(shown.length * ROW, MOST) - $("rows").clientHeight;
  return most > 0 ? (shown.length * ROW - $("rows").clientHeight) / most : 1;
};

function paint() {
  const rows = $("rows"), factor = stretch();
  const top = rows.scrollTop * factor, first = Math.max(0, Math.floor(top / ROW) - 3);
  for (const old of rows.querySelectorAll(".row")) old.remove();
  const many = Math.ceil(rows.clientHeight / ROW) + 6;
  for (let place = first; place < Math.min(first + many, shown.length); place++) {
    const k = shown[place], row = make("div", undefined, "row");
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(k === selected));
    row.style.top = `${place * ROW - top + rows.scrollTop}px`;
    const canvas = make("canvas");
    canvas.width = canvas.height = 38;
    row.append(canvas);
    for (const [text, className] of cellsOf(k)) {
      row.append(make("span", text, className));
      row.lastChild.title = text;  // which may be cut
    }
    row.addEventListener("click", () => open(k));
    rows.append(row);
    if (computed(k)) drawCanvas(canvas, k, 0, []);
  }
}

const labelOf = (k) => data.number[k] ? `${data.number[k]} ${data.system[k]}` : data.system[k];

function cellsOf(k) {
  if (!computed(k)) return [[data.id[k]], [data.formula[k]], [data.atoms[k] || ""], ["", "wide"], [data.status[k], "bad status"]];
  const wrong = wrongCount(k), phantoms = pairPhantoms(k);
  return [
    [data.id[k]], [data.formula[k]], [data.atoms[k]], [labelOf(k), "wide"],
    [`${wrong}/${data.subsets.length}`, wrong ? "bad" : ""], [phantoms, phantoms ? "many" : ""],
  ];
}

function screen(camera, point) {
  const rotation = data.rotations;
  const m = camera * 9, [x, y, z] = point;
  const along = (c) => x * rotation[m + c] + y * rotation[m + 3 + c] + z * rotation[m + 6 + c];
  if (!data.pinhole[camera]) return [along(0), along(1), along(2), 1];
  const c = camera * 3, moved = [x - data.centres[c], y - data.centres[c + 1], z - data.centres[c + 2]];
  const of = (q) => moved[0] * rotation[m + q] + moved[1] * rotation[m + 3 + q] + moved[2] * rotation[m + 6 + q];
  const depth = of(2), scale = data.focal[camera] / -depth;
  return [of(0) * scale, of(1) * scale, depth, scale];
}

function discsOf(k, camera) {
  const discs = [];
  for (let a = data.atomStart[k]; a < data.atomStart[k + 1]; a++) {
    const [u, v, depth, scale] = screen(camera, placed(data.positions, k, a, 1));
    const z = data.numbers[a];
    discs.push({ u, v, depth, r: data.radius[z] * scale, colour: data.colour[z], z });
  }
  return discs.sort((a, b) => a.depth - b.depth);
}

function marksOf(k, camera, s) {
  return phantomsOf(k, s).map(({ place }) => {
    const [u, v] = screen(camera, place);
    return { u, v };
  });
}

/* The phantoms of a structure on a subset: their places, and of each the first pair of its rays. */
function phantomsOf(k, s) {
  const found = [], mask = data.masks[s];
  for (let n = data.pointStart[k]; n < data.pointStart[k + 1]; n++) {
    let first = -1;
    for (let p = data.pairStart[n]; p < data.pairStart[n + 1]; p++) {
      const pair = data.pair[p];
      if ((pair & mask) !== pair || (data.seen[p] & mask) !== mask) continue;
      if (first < 0 || earlier(pair, data.pair[first])) first = p;
    }
    if (first >= 0) found.push({ place: placed(data.points, k, n, data.phantomSteps), pair: first });
  }
  return found;
}

/* Cameras of a pair, from its mask; pairs come by their first camera, then by their second. */
const camerasOf = (mask) => data.views.flatMap((_, camera) => mask >> camera & 1 ? [camera] : []);
function earlier(pair, other) {
  const [[a, b], [c, d]] = [camerasOf(pair), camerasOf(other)];
  return a < c || (a === c && b < d);
}

/* Size of all views of a structure: they are drawn at one scale. */
const spanOf = (k, s) => Math.max(...data.views.map((_, camera) => {
  const [a, b, c, d] = boxOf(discsOf(k, camera), marksOf(k, camera, s));
  return Math.max(c - a, d - b);
}));

function boxOf(discs, marks) {
  let [a, b, c, d] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const { u, v, r = 0.3 } of [...discs, ...marks]) {
    a = Math.min(a, u - r); b = Math.min(b, v - r); c = Math.max(c, u + r); d = Math.max(d, v + r);
  }
  return [a, b, c, d];
}

function frameOf(discs, marks, size, span) {
  const [a, b, c, d] = boxOf(discs, marks);
  const scale = (size - 6) / Math.max(span ?? Math.max(c - a, d - b), 1e-6);
  const x0 = (size - scale * (a + c)) / 2, y0 = (size + scale * (b + d)) / 2;
  return { scale, x: (u) => x0 + scale * u, y: (v) => y0 - scale * v };
}

/* Half the size of a mark, its width and that of the white around it: of many they are small. */
const markOf = (marks) => marks.length > CROWD ? [1.5, 1, 1.5] : [4, 2, 5];

function drawCanvas(canvas, k, camera, marks, span, rings = []) {
  const pen = canvas.getContext("2d"), discs = discsOf(k, camera);
  const { scale, x, y } = frameOf(discs, marks, canvas.width, span);
  for (const { u, v, r, colour } of discs) {
    pen.beginPath();
    pen.arc(x(u), y(v), Math.max(scale * r, 0.5), 0, 7);
    pen.fillStyle = colour;
    pen.fill();
    pen.lineWidth = canvas.width > 100 ? 1 : 0.5;
    pen.stroke();
  }
  const [h, line, halo] = markOf(marks);
  for (const [width, colour] of [[halo, "white"], [line, "#b23c00"]])
    for (const { u, v } of marks) {
      pen.beginPath();
      pen.moveTo(x(u) - h, y(v) - h); pen.lineTo(x(u) + h, y(v) + h);
      pen.moveTo(x(u) - h, y(v) + h); pen.lineTo(x(u) + h, y(v) - h);
      pen.lineWidth = width; pen.strokeStyle = colour; pen.stroke();
    }
  for (const { u, v, r } of rings)
    for (const [colour, width] of [["white", 5], ["black", 2]]) {
      pen.beginPath();
      pen.arc(x(u), y(v), scale * r, 0, 7);
      pen.lineWidth = width; pen.strokeStyle = colour; pen.stroke();
    }
}

function page(name) {
  for (const each of ["overview", "structures"]) {
    $(each).hidden = each !== name;
    if (each === name) $(`to-${each}`).setAttribute("aria-current", "page");
    else $(`to-${each}`).removeAttribute("aria-current");
  }
  if (name === "structures" && data) paint();
}

function route() {
  const wanted = decodeURIComponent(location.hash.slice(1));
  if (!wanted || !data) return page("overview");
  page("structures");
  const k = data.id.indexOf(wanted);
  if (k >= 0) {
    open(k);
    const place = shown.indexOf(k);
    if (place >= 0) { $("rows").scrollTop = (place * ROW - 60) / stretch(); paint(); }
  }
}

async function start() {
  const payloads = [...document.querySelectorAll("script[data-file]")];
  if (!payloads.length) {
    $("to-structures").hidden = true;
    document.body.dataset.ready = "yes";
    return route();
  }
  const load = async (place) => {
    data = await decode(payloads[place]);
    data.pairs = [...data.sizes.keys()].filter((s) => data.sizes[s] === 2);
    find();
  };
  payloads.forEach((each, place) => $("file").append(new Option(each.dataset.file, place)));
  $("file").parentElement.hidden = payloads.length < 2;
  const titles = { id: "id", formula: "formula", atoms: "atoms", system: "label", wrong: "wrong", phantoms: "phantoms" };
  $("heads").append(make("span"));
  for (const [key, title] of Object.entries(titles)) {
    const mark = key === sorting.key ? " ▼" : "";
    const button = make("button", title + mark, key === "system" ? "wide" : "");
    button.addEventListener("click", () => {
      sorting = { key, down: sorting.key === key && !sorting.down };
      for (const other of $("heads").querySelectorAll("button")) other.textContent = other.textContent.replace(/ [▲▼]$/, "");
      button.textContent = `${title} ${sorting.down ? "▼" : "▲"}`;
      find();
    });
    $("heads").append(button);
  }
  await load(0);
  $("file").addEventListener("change", async (event) => { await load(Number(event.target.value)); $("one").replaceChildren(); });
  $("search").addEventListener("input", find);
  $("rows").addEventListener("scroll", paint);
  $("rows").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (!step || !shown.length) return;
    event.preventDefault();
    const place = Math.min(Math.max(shown.indexOf(selected) + step, 0), shown.length - 1);
    open(shown[place]);
    $("rows").scrollTop = Math.max(0, place * ROW - $("rows").clientHeight / 2) / stretch();
    paint();
  });
  addEventListener("resize", () => { if (!$("structures").hidden) paint(); });
  for (const link of document.querySelectorAll("a[data-place]"))
    link.addEventListener("click", async (event) => {
      event.preventDefault();
      if ($("file").value !== link.dataset.place) {
        $("file").value = link.dataset.place;
        await load(Number(link.dataset.place));
      }
      history.pushState(null, "", link.hash);
      route();
    });
  addEventListener("hashchange", route);
  route();
  document.body.dataset.ready = "yes";
}
