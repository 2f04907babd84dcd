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
}

export const NODE_WIDTH = 168;
export const NODE_HEIGHT = 44;
const GAP_X = 150;
const GAP_Y = 34;
const MARGIN = 16;
/** Sweeps over the layers that bring connected nodes near each other. */
const SWEEPS = 6;

export function layout(graph: Graph): Layout {
  const ids = new Map(graph.nodes.map((node) => [node.id, node]));
  const edges = graph.edges.filter((edge) => ids.has(edge.from) && ids.has(edge.to));
  const layer = layersOf(graph.nodes, edges);
  const columns: string[][] = [];
  for (const { id } of graph.nodes) (columns[layer.get(id) ?? 0] ??= []).push(id);
  const filled = columns.filter(Boolean);
  order(filled, edges);
  const tallest = Math.max(1, ...filled.map((column) => column.length));
  const height = 2 * MARGIN + tallest * NODE_HEIGHT + (tallest - 1) * GAP_Y;
  const nodes = filled.flatMap((column, x) => {
    const needs = column.length * NODE_HEIGHT + (column.length - 1) * GAP_Y;
    return column.map((id, y): Placed => ({
      ...(ids.get(id) as GraphNode),
      x: MARGIN + x * (NODE_WIDTH + GAP_X),
      y: (height - needs) / 2 + y * (NODE_HEIGHT + GAP_Y),
    }));
  });
  const placed = new Map(nodes.map((node) => [node.id, node]));
  return {
    nodes,
    edges: edges.map((edge) => drawn(edge, placed.get(edge.from) as Placed, placed.get(edge.to) as Placed)),
    width: 2 * MARGIN + filled.length * NODE_WIDTH + Math.max(0, filled.length - 1) * GAP_X,
    height,
  };
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
function order(columns: string[][], edges: GraphEdge[]): void {
  const neighbours = new Map<string, string[]>();
  for (const { from, to } of edges) {
    neighbours.set(from, [...(neighbours.get(from) ?? []), to]);
    neighbours.set(to, [...(neighbours.get(to) ?? []), from]);
  }
  const position = new Map<string, number>();
  const note = (column: string[]): void => column.forEach((id, index) => position.set(id, index / Math.max(1, column.length - 1)));
  columns.forEach(note);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const list = sweep % 2 === 0 ? columns : [...columns].reverse();
    for (const column of list) {
      const middle = new Map(
        column.map((id) => {
          const near = (neighbours.get(id) ?? []).map((other) => position.get(other) ?? 0);
          return [id, near.length === 0 ? (position.get(id) ?? 0) : near.reduce((sum, one) => sum + one, 0) / near.length];
        }),
      );
      column.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0));
      note(column);
    }
  }
}

function drawn(edge: GraphEdge, from: Placed, to: Placed): Drawn {
  const isBack = to.x <= from.x;
  if (edge.from === edge.to) {
    const x = from.x + NODE_WIDTH / 2;
    const path = `M${x - 20} ${from.y} C${x - 30} ${from.y - 26} ${x + 30} ${from.y - 26} ${x + 20} ${from.y}`;
    return { ...edge, path, labelX: x, labelY: from.y - 18 };
  }
  const x1 = isBack ? from.x : from.x + NODE_WIDTH;
  const x2 = isBack ? to.x + NODE_WIDTH : to.x;
  const y1 = from.y + NODE_HEIGHT / 2 + (isBack ? 10 : 0);
  const y2 = to.y + NODE_HEIGHT / 2 + (isBack ? 10 : 0);
  const bend = Math.max(40, Math.abs(x2 - x1) / 2) * (isBack ? -1 : 1);
  const path = `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  // Nearer to where it leads, since edges that leave one node begin in the same place.
  const t = 0.62;
  const mix = (a: number, b: number, c: number, d: number): number =>
    (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t ** 2 * c + t ** 3 * d;
  return { ...edge, path, labelX: mix(x1, x1 + bend, x2 - bend, x2), labelY: mix(y1, y1, y2, y2) };
}
