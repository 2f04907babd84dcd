/** Draws what is to be seen of a trace: an overview, the axis, and the rows between two edges. */

import { duration } from "../lib/format.ts";
import { bar, density, indent, ticks, type Window } from "./layout.ts";
import { type Columns, word } from "./model.ts";
import { ERROR, RUNNING, WAITING } from "./table.ts";

export const ROW = 24;
export const OVERVIEW = 30;
export const AXIS = 22;
export const HEAD = OVERVIEW + AXIS;
const TWISTY = 16;

export interface Colors {
  background: string;
  raised: string;
  line: string;
  text: string;
  muted: string;
  accent: string;
  selected: string;
  hover: string;
  error: string;
  wait: string;
  running: string;
  cancelled: string;
  servers: string[];
  font: string;
}

export function colorsOf(element: Element): Colors {
  const style = getComputedStyle(element);
  const read = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: read("--background"),
    raised: read("--raised"),
    line: read("--line"),
    text: read("--text"),
    muted: read("--muted"),
    accent: read("--accent"),
    selected: read("--selected"),
    hover: read("--hover"),
    error: read("--error"),
    wait: read("--wait"),
    running: read("--running"),
    cancelled: read("--cancelled"),
    servers: [1, 2, 3, 4, 5, 6].map((number) => read(`--server-${number}`)),
    font: read("--font"),
  };
}

export interface Picture {
  columns: Columns;
  rows: Uint32Array;
  collapsed: ReadonlySet<number>;
  matches: Uint8Array | null;
  window: Window;
  selected: number;
  hovered: number;
  /** Width of the tree; the bars have the rest. */
  split: number;
  scroll: number;
  width: number;
  height: number;
  colors: Colors;
  overview: HTMLCanvasElement | null;
}

export function isTwisty(depth: number, split: number, x: number): boolean {
  const { left } = indent(depth, split);
  return x >= left - 2 && x < left + TWISTY;
}

/** The colour of a span's server, always the same within a trace. */
function serverColor(picture: Picture, row: number): string {
  const { columns, colors } = picture;
  const who = columns.peer[row] || columns.agent[row] || 0;
  return colors.servers[who % colors.servers.length] ?? colors.accent;
}

export function draw(context: CanvasRenderingContext2D, picture: Picture): void {
  const { width, height, colors, split } = picture;
  context.fillStyle = colors.background;
  context.fillRect(0, 0, width, height);
  const first = Math.max(0, Math.floor(picture.scroll / ROW));
  const last = Math.min(picture.rows.length, Math.ceil((picture.scroll + height - HEAD) / ROW));
  const marks = ticks(picture.window, split, width - split - 8);
  drawGrid(context, picture, marks.map((mark) => mark.x));
  context.textBaseline = "middle";
  for (let i = first; i < last; i++) drawBar(context, picture, i);
  context.save();
  context.beginPath();
  context.rect(0, HEAD, split - 6, height - HEAD);
  context.clip();
  for (let i = first; i < last; i++) drawName(context, picture, i);
  context.restore();
  context.fillStyle = colors.line;
  context.fillRect(split - 1, 0, 1, height);
  drawHead(context, picture, marks);
}

function drawGrid(context: CanvasRenderingContext2D, picture: Picture, marks: number[]): void {
  context.fillStyle = picture.colors.line;
  context.globalAlpha = 0.5;
  for (const x of marks) context.fillRect(Math.round(x), HEAD, 1, picture.height);
  context.globalAlpha = 1;
}

function drawBar(context: CanvasRenderingContext2D, picture: Picture, index: number): void {
  const { columns, colors, split, width } = picture;
  const row = picture.rows[index] as number;
  const y = HEAD + index * ROW - picture.scroll;
  if (row === picture.selected || row === picture.hovered) {
    context.fillStyle = row === picture.selected ? colors.selected : colors.hover;
    context.fillRect(0, y, width, ROW);
  }
  const status = columns.status[row];
  const start = columns.start[row] as number;
  const known = columns.duration[row] as number;
  const isOpen = status === RUNNING || status === WAITING;
  const lasts = known >= 0 ? known : isOpen ? columns.end - start : 0;
  const room = width - split - 8;
  const found = bar(picture.window, split, room, start, lasts, columns.waited[row] as number);
  if (found === null) return;
  const isFaint = picture.matches !== null && picture.matches[row] === 0;
  context.globalAlpha = isFaint ? 0.25 : 1;
  context.fillStyle =
    status === ERROR ? colors.error : status === 4 ? colors.cancelled : serverColor(picture, row);
  const top = y + 5;
  const tall = ROW - 10;
  context.fillRect(found.x, top, found.width, tall);
  if (found.waitWidth >= 1) {
    // What it waited for somebody is at the end of the bar, as much as it was.
    context.fillStyle = colors.wait;
    context.fillRect(found.x + found.width - found.waitWidth, top + tall - 3, found.waitWidth, 5);
  }
  if (isOpen) {
    context.fillStyle = status === WAITING ? colors.wait : colors.running;
    context.fillRect(found.x + found.width - 3, top - 2, 3, tall + 4);
  }
  drawLabel(context, picture, row, found.x, found.width, y, isOpen && known < 0 ? -1 : lasts, room);
  context.globalAlpha = 1;
}

function drawLabel(
  context: CanvasRenderingContext2D,
  picture: Picture,
  row: number,
  x: number,
  wide: number,
  y: number,
  lasts: number,
  room: number,
): void {
  const { colors, columns, split } = picture;
  const time = lasts < 0 ? (columns.status[row] === WAITING ? "waits" : "runs") : duration(lasts);
  const label = columns.status[row] === ERROR ? `✕ ${time}` : time;
  const needs = label.length * 6.5 + 8;
  context.font = `11px ${colors.font}`;
  context.fillStyle = columns.status[row] === ERROR ? colors.error : colors.muted;
  if (x + wide + needs <= split + room) {
    context.textAlign = "left";
    context.fillText(label, x + wide + 6, y + ROW / 2 + 0.5);
  } else if (x - needs >= split) {
    context.textAlign = "right";
    context.fillText(label, x - 6, y + ROW / 2 + 0.5);
  } else {
    context.textAlign = "right";
    context.fillStyle = colors.background;
    context.fillText(label, x + wide - 6, y + ROW / 2 + 0.5);
  }
  context.textAlign = "left";
}

function drawName(context: CanvasRenderingContext2D, picture: Picture, index: number): void {
  const { columns, colors } = picture;
  const row = picture.rows[index] as number;
  const y = HEAD + index * ROW - picture.scroll;
  const depth = columns.depth[row] as number;
  const { left, isDeeper } = indent(depth, picture.split);
  const middle = y + ROW / 2 + 0.5;
  const isFaint = picture.matches !== null && picture.matches[row] === 0;
  context.globalAlpha = isFaint ? 0.4 : 1;
  if (columns.below[row] !== 0) {
    const isClosed = picture.collapsed.has(row);
    context.fillStyle = isClosed && columns.failed[row] === 1 ? colors.error : colors.muted;
    context.beginPath();
    if (isClosed) {
      context.moveTo(left + 4, middle - 4.5);
      context.lineTo(left + 9.5, middle - 0.5);
      context.lineTo(left + 4, middle + 3.5);
    } else {
      context.moveTo(left + 2.5, middle - 3);
      context.lineTo(left + 10.5, middle - 3);
      context.lineTo(left + 6.5, middle + 2.5);
    }
    context.fill();
  }
  context.fillStyle = columns.status[row] === ERROR ? colors.error : serverColor(picture, row);
  context.fillRect(left + TWISTY, y + 6, 3, ROW - 12);
  context.font = `12.5px ${colors.font}`;
  context.fillStyle = columns.status[row] === ERROR ? colors.error : colors.text;
  const name = word(columns, columns.name[row]).slice(0, 120);
  let from = left + TWISTY + 8;
  if (isDeeper) {
    // Where it stands does not say any more how deep it is.
    const level = String(depth + 1);
    context.fillStyle = colors.muted;
    context.fillText(level, from, middle);
    from += context.measureText(level).width + 6;
    context.fillStyle = columns.status[row] === ERROR ? colors.error : colors.text;
  }
  context.fillText(name, from, middle);
  const operation = word(columns, columns.operation[row]).slice(0, 80);
  const peer = word(columns, columns.peer[row]).slice(0, 60);
  const more = [operation && !name.includes(operation) ? operation : "", peer].filter(Boolean).join(" · ");
  if (more) {
    const wide = context.measureText(name).width;
    if (from + wide < picture.split - 30) {
      context.font = `11.5px ${colors.font}`;
      context.fillStyle = colors.muted;
      context.fillText(more, from + wide + 8, middle);
    }
  }
  context.globalAlpha = 1;
}

function drawHead(context: CanvasRenderingContext2D, picture: Picture, marks: { x: number; at: number }[]): void {
  const { colors, split, width, columns, window } = picture;
  const room = width - split - 8;
  context.fillStyle = colors.raised;
  context.fillRect(0, 0, width, HEAD);
  if (picture.overview) context.drawImage(picture.overview, split, 4, room, OVERVIEW - 6);
  const scale = room / Math.max(columns.end, 1);
  context.fillStyle = colors.background;
  context.globalAlpha = 0.7;
  context.fillRect(split, 2, window.from * scale, OVERVIEW - 2);
  context.fillRect(split + window.to * scale, 2, room - window.to * scale, OVERVIEW - 2);
  context.globalAlpha = 1;
  context.strokeStyle = colors.accent;
  context.strokeRect(split + window.from * scale + 0.5, 2.5, Math.max(2, (window.to - window.from) * scale - 1), OVERVIEW - 4);
  context.font = `11px ${colors.font}`;
  context.fillStyle = colors.muted;
  for (const { x, at } of marks) {
    const label = at === 0 ? "0" : duration(at);
    context.textAlign = x + label.length * 6 > width - 8 ? "right" : "left";
    context.fillText(label, context.textAlign === "right" ? x - 4 : x + 4, OVERVIEW + AXIS / 2);
  }
  context.textAlign = "left";
  context.fillStyle = colors.muted;
  context.fillText("Span", 12, OVERVIEW + AXIS / 2);
  context.fillStyle = colors.line;
  context.fillRect(0, HEAD - 1, width, 1);
}

/** The whole trace in a strip: how much runs together, and where it failed. Drawn once for each trace and width. */
export function drawOverview(columns: Columns, colors: Colors, width: number): HTMLCanvasElement | null {
  const buckets = Math.max(1, Math.floor(width / 2));
  const strip = document.createElement("canvas");
  strip.width = buckets;
  strip.height = OVERVIEW - 6;
  const context = strip.getContext("2d");
  if (!context) return null;
  const { running, errors, most } = density(
    columns.start,
    columns.duration,
    columns.status,
    ERROR,
    columns.end,
    buckets,
  );
  for (let i = 0; i < buckets; i++) {
    const tall = Math.max(running[i] === 0 ? 0 : 1, Math.round(((running[i] as number) / Math.max(most, 1)) * strip.height));
    context.fillStyle = colors.accent;
    context.globalAlpha = 0.45;
    context.fillRect(i, strip.height - tall, 1, tall);
    if (errors[i] === 1) {
      context.fillStyle = colors.error;
      context.globalAlpha = 1;
      context.fillRect(i, strip.height - 5, 1, 5);
    }
  }
  return strip;
}
