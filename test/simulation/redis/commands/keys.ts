import { type Command, integerOf, type Keyspace, word } from '../keyspace.ts';
import { Failure, OK } from '../reply.ts';

export const KEY_COMMANDS: Readonly<Record<string, Command>> = {
  DEL: { arity: -2, run: (keys, names) => names.filter((name) => keys.delete(name)).length },
  EXISTS: { arity: -2, run: (keys, names) => names.filter((name) => keys.has(name)).length },
  EXPIRE: { arity: -3, run: (keys, words) => expire(keys, words, 1000) },
  PEXPIRE: { arity: -3, run: (keys, words) => expire(keys, words, 1) },
  PTTL: {
    arity: 2,
    run: (keys, [key = '']) => {
      if (!keys.has(key)) return -2;
      const endsAtMs = keys.endsAtMs(key);
      return endsAtMs === undefined ? -1 : endsAtMs - keys.nowMs;
    },
  },
  RENAME: {
    arity: 3,
    run: (keys, [from = '', to = '']) => {
      if (!keys.rename(from, to)) throw new Failure('ERR no such key');
      return OK;
    },
  },
  TIME: { arity: 1, run: (keys) => keys.time.map(String) },
};

function expire(keys: Keyspace, words: readonly string[], unitMs: number): number {
  const key = word(words, 0);
  const flag = words[2]?.toUpperCase();
  if (flag !== undefined && flag !== 'NX') throw new Failure(`ERR Unsupported option ${words[2]}`);
  const endsAtMs = keys.nowMs + integerOf(words[1]) * unitMs;
  if (!keys.has(key) || (flag === 'NX' && keys.endsAtMs(key) !== undefined)) return 0;
  keys.endAt(key, endsAtMs);
  return 1;
}
