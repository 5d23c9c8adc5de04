import type { CSSProperties, JSX, TargetedKeyboardEvent } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows that are rendered above and below the visible ones. */
const SPARE = 6;

/** A list of any length that draws only the rows that are seen. All rows have the same height. */
export function VirtualList({
  length,
  rowHeight,
  label,
  row,
  onScroll,
  onKeyDown,
  listRef,
  activeId,
}: {
  readonly length: number;
  readonly rowHeight: number;
  readonly label: string;
  readonly row: (index: number, style: CSSProperties) => JSX.Element;
  readonly onScroll?: (top: number) => void;
  readonly onKeyDown?: (event: TargetedKeyboardEvent<HTMLDivElement>) => void;
  readonly listRef?: { current: HTMLDivElement | null };
  /** The id of the row that the keyboard is on. */
  readonly activeId?: string | undefined;
}) {
  const own = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const list = own.current;
    if (list === null) return undefined;
    if (listRef !== undefined) listRef.current = list;
    const observer = new ResizeObserver(() => {
      setSeen({ top: list.scrollTop, height: list.clientHeight });
    });
    observer.observe(list);
    return () => observer.disconnect();
  }, [listRef]);

  const first = Math.max(0, Math.floor(seen.top / rowHeight) - SPARE);
  const end = Math.min(length, Math.ceil((seen.top + seen.height) / rowHeight) + SPARE);
  const rows = [];
  for (let index = first; index < end; index++) {
    rows.push(row(index, { top: `${index * rowHeight}px`, height: `${rowHeight}px` }));
  }
  return (
    <div
      ref={own}
      class="list"
      role="listbox"
      aria-label={label}
      aria-live="off"
      aria-activedescendant={activeId}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onScroll={({ currentTarget }) => {
        setSeen({ top: currentTarget.scrollTop, height: currentTarget.clientHeight });
        onScroll?.(currentTarget.scrollTop);
      }}
    >
      <div class="whole" role="presentation" style={{ height: `${length * rowHeight}px` }}>
        {rows}
      </div>
    </div>
  );
}
