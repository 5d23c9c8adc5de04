import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import {
  type Answer,
  call,
  type Failed,
  failedOf,
  type Given,
  type OperationName,
} from '../api/client.ts';

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
      const failed = failedOf(error);
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

/** Reads the list of that name in the answers of an operation. `cursor` is the parameter that continues it. */
export function useList<Name extends OperationName, List extends keyof Answer<Name>>(
  name: Name,
  list: List,
  given: Given<Name>,
  cursor: 'after' | 'before' = 'after',
): Paged<ItemOf<Answer<Name>[List]>> {
  return usePages(`${name} ${JSON.stringify(given)}`, async (at) => {
    const { query } = given as { readonly query?: object };
    const asked = { ...given, query: { ...query, [cursor]: at } } as Given<Name>;
    const answer = (await call(name, asked)) as Page<Name, List>;
    return { items: answer[list], next: answer.next };
  });
}

type ItemOf<Items> = Items extends readonly (infer Item)[] ? Item : never;
type Page<Name extends OperationName, List extends keyof Answer<Name>> = {
  readonly [Part in List]: readonly ItemOf<Answer<Name>[List]>[];
} & { readonly next: string | null };
