import { type Command, integerOf } from '../keyspace.ts';

export const LIST_COMMANDS: Readonly<Record<string, Command>> = {
  RPUSH: {
    arity: -3,
    run: (keys, [key = '', ...values]) => keys.listToWrite(key).push(...values),
  },
  LPOP: {
    arity: 2,
    run: (keys, [key = '']) => {
      const value = keys.list(key)?.shift() ?? null;
      keys.dropEmpty(key);
      return value;
    },
  },
  LLEN: { arity: 2, run: (keys, [key = '']) => keys.list(key)?.length ?? 0 },
  LINDEX: {
    arity: 3,
    run: (keys, [key = '', index]) => keys.list(key)?.at(integerOf(index)) ?? null,
  },
  LRANGE: {
    arity: 4,
    run: (keys, [key = '', first, last]) => {
      const [from, to] = [integerOf(first), integerOf(last)];
      return rangeOf(keys.list(key) ?? [], from, to);
    },
  },
};

/** The items from one place to another, both included. Negative places count from the end. */
export function rangeOf<Item>(items: readonly Item[], from: number, to: number): readonly Item[] {
  const begin = Math.max(0, from < 0 ? from + items.length : from);
  const end = to < 0 ? to + items.length : to;
  return items.slice(begin, Math.max(begin, end + 1));
}
