import { type Command, integerOf, type Keyspace, sumOf, word } from '../keyspace.ts';
import { Failure, OK, type Reply, SYNTAX } from '../reply.ts';

export const STRING_COMMANDS: Readonly<Record<string, Command>> = {
  GET: { arity: 2, run: (keys, [key = '']) => keys.text(key) ?? null },
  SET: { arity: -3, run: set },
  APPEND: {
    arity: 3,
    run: (keys, [key = '', more = '']) => {
      const text = (keys.text(key) ?? '') + more;
      keys.setText(key, text);
      return text.length;
    },
  },
  STRLEN: { arity: 2, run: (keys, [key = '']) => keys.text(key)?.length ?? 0 },
  GETRANGE: {
    arity: 4,
    run: (keys, [key = '', first, last]) => {
      const [from, to] = [integerOf(first), integerOf(last)];
      const text = keys.text(key) ?? '';
      if (from < 0 && to < 0 && from > to) return '';
      const begin = Math.max(0, from < 0 ? from + text.length : from);
      const end = Math.max(0, to < 0 ? to + text.length : to);
      return text.slice(begin, end + 1);
    },
  },
  INCR: { arity: 2, run: (keys, [key = '']) => add(keys, key, 1) },
  DECR: { arity: 2, run: (keys, [key = '']) => add(keys, key, -1) },
  INCRBY: { arity: 3, run: (keys, [key = '', by]) => add(keys, key, integerOf(by)) },
  DECRBY: { arity: 3, run: (keys, [key = '', by]) => add(keys, key, -integerOf(by)) },
};

function add(keys: Keyspace, key: string, by: number): number {
  const sum = sumOf(integerOf(keys.text(key) ?? '0'), by);
  keys.setText(key, String(sum));
  return sum;
}

function set(keys: Keyspace, words: readonly string[]): Reply {
  const [key, value] = [word(words, 0), word(words, 1)];
  const flags = new Set<string>();
  let lifetime: readonly [amount: string, unitMs: number] | undefined;
  for (let at = 2; at < words.length; at += 1) {
    const flag = word(words, at).toUpperCase();
    if (flag === 'EX' || flag === 'PX') {
      at += 1;
      lifetime = [word(words, at), flag === 'EX' ? 1000 : 1];
    } else if (flag === 'NX' || flag === 'XX' || flag === 'GET') flags.add(flag);
    else throw new Failure(SYNTAX);
  }
  if (flags.has('NX') && flags.has('XX')) throw new Failure(SYNTAX);
  const endsAtMs = lifetime === undefined ? undefined : keys.nowMs + millisecondsOf(...lifetime);
  const before = flags.has('GET') ? (keys.text(key) ?? null) : null;
  const isRefused = keys.has(key) ? flags.has('NX') : flags.has('XX');
  if (!isRefused) keys.replace(key, value, endsAtMs);
  if (flags.has('GET')) return before;
  return isRefused ? null : OK;
}

function millisecondsOf(amount: string, unitMs: number): number {
  const read = integerOf(amount);
  if (read <= 0) throw new Failure("ERR invalid expire time in 'set' command");
  return read * unitMs;
}
