/** A call graph in layers from left to right: who calls stands left of who is called. */

import type { Graph, GraphEdge, GraphNode } from "../api/types.ts";

export interface Placed extends GraphNode {
  x: number;
  y: number;
}

export interface Drawn extends GraphEdge {
  path: string;
  labelX: number;
  labelY: number;
}

export interface Layout {
  nodes: Placed[];
  edges: Drawn[];
  width: number;
  height: number;
  nodeWidth: number;
}

/** A place that an edge keeps free in a layer which it only passes. */
interface Slot {
  id: string;
  isNode: boolean;
}

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 44;
const GAP_X = 150;
/** Where there is little room, layers come nearer and nodes become narrower, but no more than this. */
const NODE_WIDTH_MIN = 112;
const GAP_X_MIN = 64;
/** A letter of a label is about so wide, and a line of it so tall. */
const LETTER = 7;
const LINE = 15;
const GAP_Y = 34;
const PASS_HEIGHT = 14;
const MARGIN = 16;
/** Sweeps over the layers that bring connected nodes near each other. */
const SWEEPS = 6;

/** Places everything in so much room from left to right, if it goes. */
export function layout(graph: Graph, room = Infinity): Layout {
  const ids = new Map(graph.nodes.map((node) => [node.id, node]));
  const edges = graph.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to));
  const layer = layersOf(graph.nodes, edges);
  const columns: Slot[][] = [];
  for (const { id } of graph.nodes) (columns[layer.get(id) ?? 0] ??= []).push({ id, isNode: true });
  // A long edge goes through a place of its own in every layer between its ends, so that it crosses no node.
  const passes = edges.map((edge) => {
    const [first, last] = [layer.get(edge.from) ?? 0, layer.get(edge.to) ?? 0];
    const between: string[] = [];
    for (let at = first + 1; at < last; at++) {
      const id = `${edge.from}\n${edge.to}\n${at}`;
      (columns[at] ??= []).push({ id, isNode: false });
      between.push(id);
    }
    return between;
  });
  const links = edges.flatMap((edge, index) => {
    const stops = [edge.from, ...(passes[index] ?? []), edge.to];
    return stops.slice(1).map((to, at): [string, string] => [stops[at] as string, to]);
  });
  order(columns, links);
  const { nodeWidth, gap } = widths(columns.length, room - 2 * MARGIN);
  const tall = (column: Slot[]): number =>
    column.reduce((sum, slot) => sum + (slot.isNode ? NODE_HEIGHT : PASS_HEIGHT), 0) + (column.length - 1) * GAP_Y;
  const height = 2 * MARGIN + Math.max(NODE_HEIGHT, ...columns.map(tall));
  const nodes: Placed[] = [];
  const points = new Map<string, { x: number; y: number }>();
  columns.forEach((column, index) => {
    const x = MARGIN + index * (nodeWidth + gap);
    let y = (height - tall(column)) / 2;
    for (const slot of column) {
      const size = slot.isNode ? NODE_HEIGHT : PASS_HEIGHT;
      points.set(slot.id, { x, y: y + size / 2 });
      const node = ids.get(slot.id);
      if (slot.isNode && node) nodes.push({ ...node, x, y });
      y += size + GAP_Y;
    }
  });
  const amount = (pick: (edge: GraphEdge) => string, id: string): number => edges.filter((edge) => pick(edge) === id).length;
  const labels: Label[] = [];
  return {
    nodes,
    nodeWidth,
    edges: edges.map((edge, index) => {
      const stops = [edge.from, ...(passes[index] ?? []), edge.to].map((id) => points.get(id) as { x: number; y: number });
      // Edges are near each other where many of them meet; the label stands at the other end.
      const isSpread = amount((one) => one.from, edge.from) > amount((one) => one.to, edge.to);
      return drawn(edge, stops, nodeWidth, isSpread, labels);
    }),
    width: 2 * MARGIN + columns.length * nodeWidth + Math.max(0, columns.length - 1) * gap,
    height,
  };
}

/** How wide nodes are, and how far apart, for so many layers. */
function widths(layers: number, room: number): { nodeWidth: number; gap: number } {
  const gaps = Math.max(1, layers - 1);
  const gap = Math.min(GAP_X, Math.max(GAP_X_MIN, (room - layers * NODE_WIDTH) / gaps));
  const nodeWidth = Math.min(NODE_WIDTH, Math.max(NODE_WIDTH_MIN, (room - gaps * gap) / Math.max(1, layers)));
  return { nodeWidth, gap };
}

/** The longest way to a node from where nobody calls. An edge that closes a circle does not count. */
function layersOf(nodes: GraphNode[], edges: GraphEdge[]): Map<string, number> {
  const out = new Map<string, string[]>();
  for (const { from, to } of edges) if (from !== to) out.set(from, [...(out.get(from) ?? []), to]);
  const called = new Set(edges.filter(({ from, to }) => from !== to).map(({ to }) => to));
  const state = new Map<string, "open" | "done">();
  const last: string[] = [];
  const back = new Set<string>();
  const visit = (start: string): void => {
    const stack: { id: string; next: number }[] = [{ id: start, next: 0 }];
    state.set(start, "open");
    while (stack.length > 0) {
      const top = stack[stack.length - 1] as { id: string; next: number };
      const target = out.get(top.id)?.[top.next++];
      if (target === undefined) {
        state.set(top.id, "done");
        last.push(top.id);
        stack.pop();
      } else if (state.get(target) === "open") back.add(`${top.id}\n${target}`);
      else if (!state.has(target)) {
        state.set(target, "open");
        stack.push({ id: target, next: 0 });
      }
    }
  };
  for (const { id } of nodes) if (!called.has(id)) visit(id);
  for (const { id } of nodes) if (!state.has(id)) visit(id);
  const layer = new Map<string, number>();
  for (const id of last.reverse()) {
    const mine = layer.get(id) ?? 0;
    layer.set(id, mine);
    for (const target of out.get(id) ?? []) {
      if (!back.has(`${id}\n${target}`)) layer.set(target, Math.max(layer.get(target) ?? 0, mine + 1));
    }
  }
  return layer;
}

/** Puts each node where its neighbours are in the middle, from left to right and back. */
function order(columns: Slot[][], links: [string, string][]): void {
  const neighbours = new Map<string, string[]>();
  for (const [from, to] of links) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const position = new Map<string, number>();
  const note = (column: Slot[]): void => column.forEach(({ id }, index) => position.set(id, index / Math.max(1, column.length - 1)));
  columns.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const list = sweep % 2 === 0 ? columns : [...columns].reverse();
    for (const column of list) {
      const middle = new Map(
        column.map(({ id }): [string, number] => {
          const near = (neighbours.get(id) ?? []).map((other) => position.get(other) ?? 0);
          return [id, near.length === 0 ? (position.get(id) ?? 0) : near.reduce((sum, one) => sum + one, 0) / near.length];
        }),
      );
      column.sort((a, b) => (middle.get(a.id) ?? 0) - (middle.get(b.id) ?? 0));
      note(column);
    }
  }
}

interface Point {
  x: number;
  y: number;
}

interface Label extends Point {
  wide: number;
}

/** Where a label may stand along its edge, the best place first. */
const PLACES = [0.34, 0.5, 0.2, 0.66, 0.8];

/** The first of these places where no other label is, or else the best. */
function free(places: Point[], wide: number, labels: Label[]): Point {
  const isFree = ({ x, y }: Point): boolean => labels.every((one) => Math.abs(one.x - x) >= (one.wide + wide) / 2 || Math.abs(one.y - y) >= LINE);
  const found = places.find(isFree) ?? (places[0] as Point);
  labels.push({ ...found, wide });
  return found;
}

function drawn(edge: GraphEdge, stops: Point[], nodeWidth: number, labelAtEnd: boolean, labels: Label[]): Drawn {
  const from = stops[0] as Point;
  const to = stops[stops.length - 1] as Point;
  if (edge.from === edge.to) {
    const x = from.x + nodeWidth / 2;
    const y = from.y - NODE_HEIGHT / 2;
    const path = `M${x - 20} ${y} C${x - 30} ${y - 26} ${x + 30} ${y - 26} ${x + 20} ${y}`;
    return { ...edge, path, labelX: x, labelY: y - 13 };
  }
  // An edge that leads back goes below those that lead on.
  const isBack = to.x <= from.x;
  const curves: Curve[] = [];
  for (let i = 1; i < stops.length; i++) {
    const [left, right] = [stops[i - 1] as Point, stops[i] as Point];
    const start = { x: isBack ? left.x : left.x + nodeWidth, y: left.y + (isBack ? 12 : 0) };
    const end = { x: isBack ? right.x + nodeWidth : right.x, y: right.y + (isBack ? 12 : 0) };
    curves.push({ start, end, bend: Math.max(40, Math.abs(end.x - start.x) / 2) * (isBack ? -1 : 1) });
  }
  const path = curves
    .map(({ start, end, bend }, index) => {
      // Between two curves it goes straight through the layer.
      const begin = index === 0 ? `M${start.x} ${start.y}` : `L${start.x} ${start.y}`;
      return `${begin} C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x} ${end.y}`;
    })
    .join(" ");
  const places = PLACES.map((t) => (labelAtEnd ? along(curves[curves.length - 1] as Curve, 1 - t) : along(curves[0] as Curve, t)));
  const letters = String(edge.calls).length + (edge.errors > 0 ? String(edge.errors).length + 2 : 0);
  const { x, y } = free(places, letters * LETTER, labels);
  return { ...edge, path, labelX: x, labelY: y };
}

interface Curve {
  start: Point;
  end: Point;
  bend: number;
}

function along({ start, end, bend }: Curve, t: number): Point {
  const mix = (a: number, b: number, c: number, d: number): number =>
    (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t ** 2 * c + t ** 3 * d;
  return { x: mix(start.x, start.x + bend, end.x - bend, end.x), y: mix(start.y, start.y, end.y, end.y) };
}
