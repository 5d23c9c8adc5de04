import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Failed } from '../api/client.ts';

/** A list that is read page by page. */
export interface Paged<Item> {
  readonly items: readonly Item[] | undefined;
  readonly hasMore: boolean;
  readonly failed: Failed | undefined;
  readonly isAsking: boolean;
  readonly more: () => void;
  readonly reload: () => void;
}

/** The limit of items that a page keeps. */
const KEPT_MAX = 20_000;

/** Reads a list from its beginning when `asked` changes, and continues with `more`. */
export function usePages<Item>(
  asked: string,
  read: (
    after: string | undefined,
  ) => Promise<{ readonly items: readonly Item[]; readonly next: string | null }>,
): Paged<Item> {
  const [state, setState] = useState<{
    readonly items: readonly Item[] | undefined;
    readonly next: string | null;
    readonly failed: Failed | undefined;
  }>({ items: undefined, next: null, failed: undefined });
  const [isAsking, setAsking] = useState(false);
  const latest = useRef(read);
  latest.current = read;
  // Answers to an earlier question are not shown.
  const question = useRef(0);

  const ask = useCallback(async (before: readonly Item[], after: string | undefined) => {
    const mine = ++question.current;
    setAsking(true);
    try {
      const { items, next } = await latest.current(after);
      if (mine !== question.current) return;
      const all = [...before, ...items];
      setState({ items: all, next: all.length < KEPT_MAX ? next : null, failed: undefined });
    } catch (error) {
      if (mine !== question.current) return;
      const failed = error instanceof Failed ? error : new Failed(0, String(error));
      setState((known) => ({ ...known, failed }));
    }
    setAsking(false);
  }, []);

  useEffect(() => {
    setState({ items: undefined, next: null, failed: undefined });
    void ask([], undefined);
  }, [asked, ask]);
  return {
    items: state.items,
    hasMore: state.next !== null,
    failed: state.failed,
    isAsking,
    more: () => {
      if (!isAsking && state.next !== null) void ask(state.items ?? [], state.next);
    },
    reload: () => void ask([], undefined),
  };
}
