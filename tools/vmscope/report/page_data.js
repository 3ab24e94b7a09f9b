// SPDX-License-Identifier: MIT
// What the report knows: decoding it, and the state at any moment.
"use strict";

// Numbers of seven bits a byte, the lowest first; they may be larger than 32 bits.
class Numbers {
  constructor(text) {
    this.bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    this.at = 0;
  }
  next() {
    let value = 0, unit = 1, byte;
    do {
      byte = this.bytes[this.at++];
      value += (byte & 127) * unit;
      unit *= 128;
    } while (byte & 128);
    return value;
  }
  signed() {
    const value = this.next();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  get more() {
    return this.at < this.bytes.length;
  }
}

const data = JSON.parse(document.getElementById("data").textContent);
const OPEN = 0x7fffffff;  // until: it is still there at the end of the log
const PAGE = 4096;

const moments = (() => {
  const lines = [], times = [];
  const l = new Numbers(data.lines), t = new Numbers(data.times);
  for (let line = 0, time = 0; l.more;) {
    lines.push(line += l.next());
    times.push((time += t.signed()) / 1e6);
  }
  return {lines, times, count: lines.length};
})();

// An area for each index of the columns.
function decodeAreas(space) {
  const n = new Numbers(space.areas), areas = [];
  let start = 0, begin = 0;
  while (n.more) {
    const area = {};
    area.start = start += n.signed() * PAGE;
    area.end = area.start + n.next() * PAGE;
    area.begin = begin += n.signed();
    const lasts = n.next();
    area.until = lasts ? area.begin + lasts : OPEN;
    area.what = n.next();
    area.offset = n.next() * PAGE;
    area.line = moments.lines[area.begin] - n.signed();
    area.tid = space.pid + n.signed();
    area.cause = n.next();
    const bits = n.next();
    area.kind = bits % 16;
    area.left = Math.floor(bits / 16) % 32;
    area.right = Math.floor(bits / 512);
    areas.push(area);
  }
  return areas;
}

function decodeCounts(space) {
  const n = new Numbers(space.counts), counts = [];
  let moment = 0;
  while (n.more) {
    moment += n.next();
    counts.push({moment, areas: n.next()});
  }
  return counts;
}

for (const space of data.spaces) {
  space.until = space.until < 0 ? OPEN : space.until;
  space.list = decodeAreas(space);
  space.course = decodeCounts(space);
  space.areas = space.counts = null;
}
const spaceById = new Map(data.spaces.map((space) => [space.id, space]));

const whatOf = (area) => data.whats[area.what];
const nameOf = (area) => whatOf(area).slice(whatOf(area).indexOf("\t") + 1);
const permsOf = (area) => whatOf(area).slice(0, 4);
const hex = (n) => n.toString(16).padStart(8, "0");

// The line of an area as in /proc/PID/maps.
function mapsLine(area) {
  const [fixed, name] = whatOf(area).split("\t");
  const [perms, device, inode] = fixed.split(" ");
  const head = `${hex(area.start)}-${hex(area.end)} ${perms} ${hex(area.offset)} ${device} ${inode} `;
  return name ? head.padEnd(73) + name : head;
}

const isThere = (what, moment) => what.begin <= moment && moment < what.until;

// The areas of a space at a moment, in order.
function areasAt(space, moment) {
  return space.list.filter((area) => isThere(area, moment)).sort((a, b) => a.start - b.start);
}

// The lines of maps of a space at a moment; [vsyscall], which is no area, has the last one.
function linesAt(space, moment) {
  return areasAt(space, moment).map(mapsLine).concat(space.gate || []);
}

// The last moment whose line is not later; -1: the first one is.
function momentOfLine(line) {
  let low = 0, high = moments.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (moments.lines[middle] <= line) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// All address spaces of a moment, as vmscope replay --until prints them, without their commands.
function stateAt(line) {
  const moment = momentOfLine(line);
  return data.spaces.filter((space) => isThere(space, moment) && !space.leftOut)
    .map((space) => `# process ${space.pid}\n` +
         linesAt(space, moment).map((line) => line + "\n").join("")).join("\n");
}

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit < 5) {
    bytes /= 1024;
    unit++;
  }
  return `${bytes < 10 && bytes % 1 ? bytes.toFixed(1) : Math.round(bytes)} ${units[unit]}`;
}

const timeText = (moment) => !data.timed ? "" :
  `${moments.times[Math.min(moment, moments.count - 1)].toFixed(6)} s, `;
