import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { duration } from "../lib/format.ts";
import { theme } from "../lib/theme.ts";
import { useSignal } from "../lib/signal.ts";
import { AXIS, colorsOf, draw, drawOverview, HEAD, isTwisty, OVERVIEW, type Picture, ROW } from "./draw.ts";
import { pan, whole, zoom, type Window } from "./layout.ts";
import { type Columns, visible, word } from "./model.ts";
import { STATUSES } from "./table.ts";

interface Props {
  columns: Columns;
  selected: number;
  matches: Uint8Array | null;
  onSelect(row: number): void;
  onOpen(row: number): void;
}

type Drag = { kind: "split" } | { kind: "overview"; from: number } | null;

/** Tree and bars on one canvas, which stays where it is while a tall and empty element scrolls. */
export function Waterfall({ columns, selected, matches, onSelect, onOpen }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const [share, setShare] = useState<number | null>(null);
  const [shown, setShown] = useState<Window | null>(null);
  const hovered = useRef(-1);
  const drag = useRef<Drag>(null);
  const pending = useRef(0);
  const { shown: look } = useSignal(theme);

  const rows = useMemo(() => visible(columns, collapsed), [columns, collapsed]);
  const window_ = shown ?? whole(columns.end);
  const split = Math.round(
    share === null ? Math.min(size.width * (size.width < 600 ? 0.55 : 0.38), 460) : size.width * share,
  );
  const room = Math.max(1, size.width - split - 8);
  const colors = useMemo(
    () => (canvas.current ? colorsOf(canvas.current) : null),
    [look, size.width > 0],
  );
  const overview = useMemo(() => (colors ? drawOverview(columns, colors, room) : null), [columns, colors, room]);

  const picture = useRef<Picture | null>(null);
  picture.current = colors && {
    columns,
    rows,
    collapsed,
    matches,
    window: window_,
    selected,
    hovered: hovered.current,
    split,
    scroll: scroller.current?.scrollTop ?? 0,
    ...size,
    colors,
    overview,
  };

  function paint(): void {
    pending.current = 0;
    const context = canvas.current?.getContext("2d", { alpha: false });
    const now = picture.current;
    if (!context || !now || !scroller.current) return;
    now.scroll = scroller.current.scrollTop;
    now.hovered = hovered.current;
    const ratio = devicePixelRatio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, now);
  }

  function repaint(): void {
    if (pending.current === 0) pending.current = requestAnimationFrame(paint);
  }

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    element.width = Math.round(size.width * devicePixelRatio);
    element.height = Math.round(size.height * devicePixelRatio);
    repaint();
  }, [size]);

  // Everything that is drawn from may have changed.
  useEffect(repaint);
  useEffect(() => () => cancelAnimationFrame(pending.current), []);

  const place = useMemo(() => {
    for (let low = 0, high = rows.length - 1; low <= high; ) {
      const middle = (low + high) >> 1;
      const row = rows[middle] as number;
      if (row === selected) return middle;
      if (row < selected) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }, [rows, selected]);

  // What is selected is to be seen, also if it is selected from elsewhere.
  useEffect(() => {
    if (selected >= 0 && place === -1) {
      const open = new Set(collapsed);
      for (let row = columns.parent[selected] ?? -1; row >= 0; row = columns.parent[row] ?? -1) open.delete(row);
      setCollapsed(open);
      return;
    }
    const element = scroller.current;
    if (!element || place === -1 || size.height === 0) return;
    const top = place * ROW;
    const view = element.clientHeight - HEAD;
    if (top < element.scrollTop) element.scrollTop = Math.max(0, top - ROW);
    else if (top + ROW > element.scrollTop + view) element.scrollTop = top + 2 * ROW - view;
  }, [place, selected, size.height > 0]);

  function toggle(row: number, close?: boolean): void {
    if (columns.below[row] === 0) return;
    const next = new Set(collapsed);
    if (close ?? !next.has(row)) next.add(row);
    else next.delete(row);
    setCollapsed(next);
  }

  function move(to: number): void {
    const row = rows[Math.min(Math.max(to, 0), rows.length - 1)];
    if (row !== undefined) onSelect(row);
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((size.height - HEAD) / ROW) - 1);
    const middle = (window_.from + window_.to) / 2;
    const wide = window_.to - window_.from;
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(place + 1),
      j: () => move(place + 1),
      ArrowUp: () => move(place - 1),
      k: () => move(place - 1),
      PageDown: () => move(place + page),
      PageUp: () => move(place - page),
      Home: () => move(0),
      End: () => move(rows.length - 1),
      ArrowRight: () => {
        if (selected < 0) return;
        if (collapsed.has(selected)) toggle(selected, false);
        else if (columns.below[selected] !== 0) move(place + 1);
      },
      ArrowLeft: () => {
        if (selected < 0) return;
        if (columns.below[selected] !== 0 && !collapsed.has(selected)) toggle(selected, true);
        else if ((columns.parent[selected] ?? -1) >= 0) onSelect(columns.parent[selected] as number);
      },
      Enter: () => selected >= 0 && onOpen(selected),
      " ": () => selected >= 0 && toggle(selected),
      "+": () => setShown(zoom(window_, columns.end, middle, 0.5)),
      "=": () => setShown(zoom(window_, columns.end, middle, 0.5)),
      "-": () => setShown(zoom(window_, columns.end, middle, 2)),
      "0": () => setShown(null),
      "[": () => setShown(pan(window_, columns.end, -wide / 4)),
      "]": () => setShown(pan(window_, columns.end, wide / 4)),
    };
    const action = actions[event.key];
    if (!action) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  }

  function point(event: MouseEvent): { x: number; y: number; row: number } {
    const box = canvas.current?.getBoundingClientRect();
    const x = event.clientX - (box?.left ?? 0);
    const y = event.clientY - (box?.top ?? 0);
    const index = Math.floor((y - HEAD + (scroller.current?.scrollTop ?? 0)) / ROW);
    return { x, y, row: y < HEAD ? -1 : (rows[index] ?? -1) };
  }

  const timeOf = (x: number): number => window_.from + ((x - split) / room) * (window_.to - window_.from);

  function onDown(event: PointerEvent): void {
    const { x, y } = point(event);
    if (Math.abs(x - split) < 6) drag.current = { kind: "split" };
    else if (y < OVERVIEW && x >= split) drag.current = { kind: "overview", from: ((x - split) / room) * columns.end };
    else return;
    canvas.current?.setPointerCapture(event.pointerId);
  }

  function onMove(event: PointerEvent): void {
    const { x, y, row } = point(event);
    const element = canvas.current;
    if (!element) return;
    if (drag.current?.kind === "split") {
      setShare(Math.min(0.8, Math.max(0.15, x / size.width)));
      return;
    }
    if (drag.current?.kind === "overview") {
      const to = Math.min(columns.end, Math.max(0, ((x - split) / room) * columns.end));
      const { from } = drag.current;
      if (Math.abs(to - from) > columns.end / 200) setShown({ from: Math.min(from, to), to: Math.max(from, to) });
      return;
    }
    element.style.cursor = Math.abs(x - split) < 6 ? "col-resize" : y < OVERVIEW && x > split ? "crosshair" : "default";
    if (row !== hovered.current) {
      hovered.current = row;
      repaint();
    }
  }

  function onClick(event: MouseEvent): void {
    if (drag.current) {
      drag.current = null;
      return;
    }
    const { x, row } = point(event);
    if (row < 0 || Math.abs(x - split) < 6) return;
    if (isTwisty(columns.depth[row] as number, split, x) && columns.below[row] !== 0) toggle(row);
    else {
      onSelect(row);
      onOpen(row);
    }
  }

  function onDouble(event: MouseEvent): void {
    const { x, y, row } = point(event);
    if (y < HEAD) setShown(null);
    else if (row >= 0 && x > split) {
      const start = columns.start[row] as number;
      const lasts = Math.max(columns.duration[row] as number, 10);
      setShown(zoom({ from: start - lasts * 0.1, to: start + lasts * 1.1 }, columns.end, start, 1));
    }
  }

  // Not passive, so that the page does not zoom along.
  const wheel = useRef<(event: WheelEvent) => void>(() => undefined);
  wheel.current = (event) => {
    const { x } = point(event);
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      setShown(zoom(window_, columns.end, timeOf(Math.max(split, x)), event.deltaY > 0 ? 1.25 : 0.8));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = (event.deltaX || event.deltaY) / room;
      setShown(pan(window_, columns.end, by * (window_.to - window_.from)));
    }
  };
  useEffect(() => {
    const element = scroller.current;
    const listener = (event: WheelEvent): void => wheel.current(event);
    element?.addEventListener("wheel", listener, { passive: false });
    return () => element?.removeEventListener("wheel", listener);
  }, []);

  const current = selected >= 0 ? describe(columns, selected) : "";
  return (
    <div
      ref={scroller}
      class="waterfall"
      tabIndex={0}
      role="tree"
      aria-label={`${columns.length} spans. Arrow keys move and open, plus and minus zoom.`}
      aria-activedescendant={selected >= 0 ? "waterfall-current" : undefined}
      onScroll={repaint}
      onKeyDown={onKey}
    >
      <canvas
        ref={canvas}
        aria-hidden="true"
        onPointerDown={onDown}
        onPointerMove={onMove}
        onPointerLeave={() => {
          hovered.current = -1;
          repaint();
        }}
        onClick={onClick}
        onDblClick={onDouble}
      />
      <div class="spacer" style={{ height: `${Math.max(0, rows.length * ROW + HEAD + AXIS - size.height)}px` }} />
      {selected >= 0 && (
        <div
          id="waterfall-current"
          class="unseen"
          role="treeitem"
          aria-level={(columns.depth[selected] ?? 0) + 1}
          aria-selected="true"
          aria-expanded={columns.below[selected] === 0 ? undefined : !collapsed.has(selected)}
        >
          {current}
        </div>
      )}
    </div>
  );
}

function describe(columns: Columns, row: number): string {
  const status = STATUSES[columns.status[row] ?? 0] ?? "";
  const lasts = columns.duration[row] ?? -1;
  const parts = [
    word(columns, columns.name[row]),
    word(columns, columns.operation[row]),
    word(columns, columns.peer[row]),
    status,
    lasts >= 0 ? duration(lasts) : "",
  ];
  return parts.filter(Boolean).join(", ");
}
