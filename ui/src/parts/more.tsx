import { useEffect, useRef } from "preact/hooks";
import type { Paged } from "./paged.ts";

/** Loads the next page when it comes into view, or is pressed. */
export function More<T>({ paged }: { paged: Paged<T> }) {
  const button = useRef<HTMLButtonElement>(null);
  const latest = useRef(paged.more);
  latest.current = paged.more;
  useEffect(() => {
    if (!button.current) return;
    const observer = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && latest.current());
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [paged.hasMore, paged.rows.length]);
  if (!paged.hasMore) return null;
  return (
    <button ref={button} type="button" class="more" data-row onClick={paged.more}>
      {paged.isLoading ? "Loading …" : "Load more"}
    </button>
  );
}
