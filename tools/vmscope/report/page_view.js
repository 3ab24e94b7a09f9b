// SPDX-License-Identifier: MIT
// The page: canvases, slider, search and tables.
"use strict";

const COLORS = ["#2f5f8f", "#a9c6e3", "#e8973a", "#c8423f", "#6aab5e", "#8e2f8e", "#7d6bb0",
                "#d8b93c", "#dededa", "#67b7c4", "#9a9a9a"];
const GAP = 12, SMALL_GAP = 2, WIDE = 1 << 20;  // of what is not used: pixels, and bytes
const MATCHES = 100;  // shown in the list
const $ = (id) => document.getElementById(id);

const view = {space: null, moment: 0, byTime: data.timed, x0: 0, x1: 1, y0: 0, y1: 1, matches: null,
              marked: null, drawn: 0, skipped: 0};

// ---- scales -------------------------------------------------------------------------------------

// Gives each area of a space its place from the top: unused ranges take little room, and used ones
// the logarithm of their size.
function makeScale(space) {
  if (space.height) return;
  const borders = [...new Set(space.list.flatMap((a) => [a.start, a.end]))].sort((a, b) => a - b);
  const index = new Map(borders.map((addr, i) => [addr, i]));
  const change = new Int32Array(borders.length + 1);
  for (const area of space.list) {
    change[index.get(area.start)]++;
    change[index.get(area.end)]--;
  }
  const tops = new Float64Array(borders.length + 1);
  let users = 0, height = 0;
  for (let i = 0; i + 1 < borders.length; i++) {
    const bytes = borders[i + 1] - borders[i];
    users += change[i];
    height += users ? 3 + 1.4 * Math.log2(bytes / PAGE + 1) : bytes >= WIDE ? GAP : SMALL_GAP;
    tops[i + 1] = height;
  }
  space.height = height || 1;
  space.borders = borders;
  space.tops = tops;
  for (const area of space.list) {
    area.top = 1 - tops[index.get(area.end)] / space.height;
    area.bottom = 1 - tops[index.get(area.start)] / space.height;
  }
}

// Where an address is from the top, 0 to 1; NaN: outside of all areas.
function placeOf(space, addr) {
  let low = 0, high = space.borders.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (space.borders[middle] <= addr) low = middle + 1;
    else high = middle;
  }
  if (low === 0 || low === space.borders.length) return NaN;
  const share = (addr - space.borders[low - 1]) / (space.borders[low] - space.borders[low - 1]);
  return 1 - (space.tops[low - 1] + share * (space.tops[low] - space.tops[low - 1])) / space.height;
}

function xValue(moment) {
  const last = moments.count - 1;
  const at = Math.min(moment, last);
  if (view.byTime) return moments.times[at];
  return moment > last ? moments.lines[last] + 1 : moments.lines[at];
}

// The life of a space, in the units of the axis.
function lifeOf(space) {
  const from = xValue(space.begin), to = xValue(space.until);
  return [from, to > from ? to : from + (view.byTime ? 1e-6 : 1)];
}

// ---- drawing ------------------------------------------------------------------------------------

function context(canvas) {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const to = canvas.getContext("2d");
  to.fillStyle = "#fff";
  to.fillRect(0, 0, canvas.width, canvas.height);
  return to;
}

// Where an area is on the canvas, in pixels; null: outside.
function boxOf(area, width, height) {
  const [from, to] = lifeOf(view.space);
  const scaleX = width / (view.x1 - view.x0), scaleY = height / (view.y1 - view.y0);
  const left = ((xValue(area.begin) - from) / (to - from) - view.x0) * scaleX;
  const right = ((xValue(area.until) - from) / (to - from) - view.x0) * scaleX;
  const top = (area.top - view.y0) * scaleY, bottom = (area.bottom - view.y0) * scaleY;
  return right < 0 || left > width || bottom < 0 || top > height ? null :
    {left, top, width: right - left, height: bottom - top};
}

function drawAreas() {
  const canvas = $("areas"), to = context(canvas), {width, height} = canvas;
  // Of areas that are smaller than a pixel the first one is drawn: the level of detail.
  const painted = new Uint8Array(width * height);
  view.drawn = view.skipped = 0;
  for (const area of view.space.list) {
    const box = boxOf(area, width, height);
    if (!box) continue;
    if (box.width < 1 && box.height < 1) {
      const at = Math.max(0, Math.floor(box.top)) * width + Math.max(0, Math.floor(box.left));
      if (painted[at]) {
        view.skipped++;
        continue;
      }
      painted[at] = 1;
    }
    const faint = view.matches && !view.matches.has(area);
    to.globalAlpha = faint ? 0.2 : 1;
    to.fillStyle = COLORS[area.kind];
    // Whole pixels, so that no background shows between two areas but for a line where there is
    // room for it.
    const left = Math.floor(box.left), top = Math.floor(box.top);
    const right = Math.max(Math.ceil(box.left + box.width), left + 1);
    const bottom = box.height > 4 ? Math.floor(box.top + box.height) - 1 : Math.ceil(box.top + box.height);
    to.fillRect(left, top, right - left, Math.max(bottom - top, 1));
    view.drawn++;
  }
  to.globalAlpha = 1;
  drawMarked(to, width, height);
  drawMoment(to, width, height);
}

function drawMarked(to, width, height) {
  const box = view.marked && boxOf(view.marked, width, height);
  if (!box) return;
  to.strokeStyle = "#000";
  to.lineWidth = 2;
  to.strokeRect(box.left, box.top, Math.max(box.width, 2), Math.max(box.height, 2));
}

function xPixel(moment, width) {
  const [from, to] = lifeOf(view.space);
  return ((xValue(moment) - from) / (to - from) - view.x0) * width / (view.x1 - view.x0);
}

function drawMoment(to, width, height) {
  to.strokeStyle = "#111";
  to.lineWidth = 1;
  const x = Math.round(xPixel(view.moment, width)) + 0.5;
  to.beginPath();
  to.moveTo(x, 0);
  to.lineTo(x, height);
  to.stroke();
  to.fillStyle = "#111";
  for (const fork of view.space.forks) {
    const at = xPixel(fork[0], width);
    to.fillRect(at - 1, 0, 2, 8);
  }
}

function drawCounts() {
  const canvas = $("counts"), to = context(canvas), {width, height} = canvas, space = view.space;
  const near = space.limit <= space.peak * 5;
  const unit = (height - 14) / Math.max(near ? space.limit : space.peak, 1);
  to.strokeStyle = "#2c3e50";
  to.lineWidth = 1.5;
  to.beginPath();
  let y = height;
  for (const count of space.course) {
    const x = xPixel(count.moment, width);
    to.lineTo(x, y);
    y = height - count.areas * unit;
    to.lineTo(x, y);
  }
  to.lineTo(xPixel(space.until, width), y);
  to.stroke();
  if (near) {
    to.strokeStyle = "#c0392b";
    to.strokeRect(-2, height - space.limit * unit, width + 4, height + 4);
  }
  to.fillStyle = "#333";
  to.font = `${11 * (window.devicePixelRatio || 1)}px Helvetica, Arial, sans-serif`;
  to.fillText(`number of areas: at most ${space.peak} of ${space.limit}`, 6, 12);
  drawMoment(to, width, height);
}

let queued = false;
function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    drawAreas();
    drawCounts();
  });
}

// ---- what is told -------------------------------------------------------------------------------

function neighbourText(side, verdict) {
  return verdict > 2 ? `  not merged with the one ${side}: ${data.verdicts[verdict]}\n` : "";
}

function describe(area) {
  const [call, stack] = data.causes[area.cause].split("\t");
  const until = area.until === OPEN ? "the end" : `${timeText(area.until)}line ${moments.lines[Math.min(area.until, moments.count - 1)]}`;
  return `${mapsLine(area).trimEnd()}\n  ${data.kinds[area.kind]}, ${sizeText(area.end - area.start)}; ` +
    `from ${timeText(area.begin)}line ${area.line} to ${until}\n` +
    `  made by thread ${area.tid}: ${call}\n` +
    neighbourText("below", area.left) + neighbourText("above", area.right) +
    (stack ? stack.split(";").reverse().map((frame) => `    ${frame}\n`).join("") : "");
}

function showState() {
  const space = view.space, moment = view.moment;
  $("when").textContent = `${timeText(moment)}line ${moments.lines[moment]}`;
  const lines = isThere(space, moment) ? linesAt(space, moment) : [];
  $("state").textContent = `# process ${space.pid} (${space.command || "?"})\n` +
    lines.slice(0, 5000).map((line) => line + "\n").join("") +
    (lines.length > 5000 ? `... and ${lines.length - 5000} more\n` : "");
}

function setMoment(moment) {
  view.moment = Math.max(0, Math.min(moment, moments.count - 1));
  $("slider").value = view.moment;
  showState();
  redraw();
}

// In the list of processes, which may be longer than its window.
function bringIntoView(button) {
  const list = button.closest("nav"), above = button.offsetTop - list.scrollTop;
  if (above >= 0 && above + button.offsetHeight <= list.clientHeight) return;
  list.scrollTop = button.offsetTop - list.clientHeight / 2;
}

function showSpace(space) {
  if (view.space) view.space.button.setAttribute("aria-current", "false");
  view.space = space;
  space.button.setAttribute("aria-current", "true");
  bringIntoView(space.button);
  makeScale(space);
  $("head").textContent = `${space.command || "?"}, process ${space.pid}, address space ${space.id}: ` +
    `${space.calls} calls; ${space.atEnd} areas at the end, at most ${space.peak} of ${space.limit}` +
    (space.from ? `; begun by a fork of process ${(spaceById.get(space.from) || {pid: "?"}).pid}` : "") +
    (space.incomplete ? "; areas that were there before are not in the log" : "") +
    (space.differs ? "; libvmspace and the log differ" : "");
  view.matches = view.marked = null;
  if ($("search").value) search($("search").value);
  showAll();
  setMoment(isThere(space, view.moment) ? view.moment :
            Math.min(space.until === OPEN ? moments.count - 1 : space.until - 1, moments.count - 1));
}

// ---- zoom ---------------------------------------------------------------------------------------

function zoomRange(low, high, factor, centre) {
  const width = Math.min(1, Math.max((high - low) * factor, 1e-7));
  let from = centre - (centre - low) / (high - low) * width;
  from = Math.max(0, Math.min(from, 1 - width));
  return [from, from + width];
}

// By a factor < 1 nearer, around a point of the canvas, 0 to 1; addresses or time.
function zoom(factor, x, y, addresses) {
  const v = view;
  if (addresses) [v.y0, v.y1] = zoomRange(v.y0, v.y1, factor, v.y0 + y * (v.y1 - v.y0));
  else [v.x0, v.x1] = zoomRange(v.x0, v.x1, factor, v.x0 + x * (v.x1 - v.x0));
  redraw();
}

function showAll() {
  [view.x0, view.x1, view.y0, view.y1] = [0, 1, 0, 1];
  redraw();
}

// Shows an area in the middle, as large as a third of the canvas or larger.
function showArea(area) {
  view.marked = area;
  const [from, to] = lifeOf(view.space);
  const left = (xValue(area.begin) - from) / (to - from);
  const right = (xValue(area.until) - from) / (to - from);
  const around = (low, high) => {
    const width = Math.min(1, Math.max((high - low) * 3, 1e-4));
    const begin = Math.max(0, Math.min((low + high - width) / 2, 1 - width));
    return [begin, begin + width];
  };
  [view.x0, view.x1] = around(left, Math.min(right, 1));
  [view.y0, view.y1] = around(area.top, area.bottom);
  $("hover").textContent = describe(area);
  setMoment(area.begin);
}

// The area at a point of the canvas, in its pixels; the smallest one.
function areaAt(x, y) {
  const {width, height} = $("areas");
  let best = null, size = Infinity;
  for (const area of view.space.list) {
    const box = boxOf(area, width, height);
    if (!box || x < box.left - 1 || x > box.left + box.width + 1 || y < box.top - 0.5 ||
        y > box.top + box.height + 0.5 || box.width * box.height >= size) continue;
    best = area;
    size = box.width * box.height;
  }
  return best;
}

// ---- search -------------------------------------------------------------------------------------

// By an address, which is hexadecimal, or by a part of a name or of the kind. Returns the areas.
function search(text) {
  const wanted = text.trim();
  const isAddress = /^(0x[0-9a-f]+|[0-9a-f]{6,16})$/i.test(wanted);
  const addr = isAddress ? parseInt(wanted, 16) : 0;
  const matches = !wanted ? [] : view.space.list.filter((area) => isAddress ?
    area.start <= addr && addr < area.end :
    nameOf(area).includes(wanted) || data.kinds[area.kind] === wanted);
  view.matches = wanted ? new Set(matches) : null;
  $("found").textContent = !wanted ? "" : `${matches.length} areas`;
  $("matches").replaceChildren(...matches.slice(0, MATCHES).map((area) => {
    const item = document.createElement("li"), button = document.createElement("button");
    button.textContent = `${mapsLine(area).trimEnd()}, from ${timeText(area.begin)}line ${area.line}` +
      (isThere(area, view.moment) ? " (now)" : "");
    button.onclick = () => showArea(area);
    item.append(button);
    return item;
  }));
  redraw();
  return matches;
}

// ---- the rest of the page -----------------------------------------------------------------------

function makeTable(table, rows, what) {
  const titles = ["calls", "+areas", "-areas", "splits", "merges", what];
  let sorted = 1;
  const show = () => {
    const order = [...rows].sort((a, b) => sorted === 5 ? (a[5] < b[5] ? -1 : 1) : b[sorted] - a[sorted]);
    const head = document.createElement("tr");
    head.append(...titles.map((title, i) => {
      const cell = document.createElement("th");
      cell.textContent = title;
      cell.onclick = () => {
        sorted = i;
        show();
      };
      return cell;
    }));
    table.replaceChildren(head, ...order.map((row) => {
      const line = document.createElement("tr");
      line.append(...row.map((value) => {
        const cell = document.createElement("td");
        cell.textContent = value;
        return cell;
      }));
      return line;
    }));
  };
  show();
}

// Forks, and what executed another program under what it was before, or, by vfork, under its parent.
function makeTree() {
  const children = new Map();
  const last = new Map(), seen = new Map(); // by process, by number: of those before, so there is no circle
  for (const space of data.spaces) {
    const number = space.from || space.maker, parent = (number ? seen.get(number) : last.get(space.pid)) || null;
    space.how = space.from ? "fork" : !parent ? "began" : parent.pid === space.pid ? "exec" : "vfork and exec";
    children.set(parent, [...(children.get(parent) || []), space]);
    last.set(space.pid, space);
    seen.set(space.id, space);
  }
  const list = $("tree"), signs = { exec: "→", began: "•" };
  const add = (parent, depth) => {
    for (const space of children.get(parent) || []) {
      const item = document.createElement("li"), button = document.createElement("button");
      button.style.paddingLeft = `${4 + Math.min(depth, 20) * 10}px`;
      button.textContent = `${signs[space.how] || "└"} ${space.pid} ${space.command || "?"} (${space.peak})`;
      button.title = space.leftOut ? "Its areas were left out" :
        `${space.how}, ${space.calls} calls, at most ${space.peak} areas`;
      button.disabled = space.leftOut;
      button.onclick = () => showSpace(space);
      space.button = button;
      item.append(button);
      list.append(item);
      add(space, depth + 1);
    }
  };
  add(null, 0);
}

function makeLegend() {
  $("legend").append(...data.kinds.map((kind, i) => {
    const item = document.createElement("span"), color = document.createElement("i");
    color.style.background = COLORS[i];
    item.append(color, kind);
    return item;
  }));
}

function listen() {
  const canvas = $("areas");
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY + event.deltaX < 0 ? 0.8 : 1.25, ...at(event), event.shiftKey);
  }, {passive: false});
  let dragged = null;
  canvas.addEventListener("mousedown", (event) => { dragged = {at: at(event), moved: false}; });
  window.addEventListener("mouseup", () => { dragged = null; });
  canvas.addEventListener("mousemove", (event) => {
    const [x, y] = at(event), v = view;
    if (dragged) {
      const dx = (dragged.at[0] - x) * (v.x1 - v.x0), dy = (dragged.at[1] - y) * (v.y1 - v.y0);
      const mx = Math.max(-v.x0, Math.min(dx, 1 - v.x1)), my = Math.max(-v.y0, Math.min(dy, 1 - v.y1));
      [v.x0, v.x1, v.y0, v.y1] = [v.x0 + mx, v.x1 + mx, v.y0 + my, v.y1 + my];
      dragged.at = [x, y];
      redraw();
      return;
    }
    const area = areaAt(x * canvas.width, y * canvas.height);
    if (area) $("hover").textContent = describe(area);
  });
  canvas.addEventListener("dblclick", showAll);
  $("slider").addEventListener("input", () => setMoment(Number($("slider").value)));
  $("search").addEventListener("input", () => search($("search").value));
  $("in").onclick = () => zoom(0.5, 0.5, 0.5, false);
  $("out").onclick = () => zoom(2, 0.5, 0.5, false);
  $("all").onclick = showAll;
  $("axis").onchange = () => {
    view.byTime = $("axis").value === "time";
    showAll();
  };
  window.addEventListener("resize", redraw);
}

function start() {
  const shown = data.spaces.filter((space) => !space.leftOut);
  $("page").hidden = false;
  $("about").textContent = data.about;
  $("summarised").textContent = data.summarised;
  $("slider").max = moments.count - 1;
  $("axis").value = view.byTime ? "time" : "lines";
  $("axis").disabled = !data.timed;
  makeTree();
  makeLegend();
  makeTable($("calls"), data.calls, "call");
  makeTable($("threads"), data.threads, "thread");
  listen();
  view.moment = moments.count - 1;
  showSpace(shown.reduce((a, b) => b.peak > a.peak ? b : a));
}

start();
