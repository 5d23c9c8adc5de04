import { type Command, integerOf, type Keyspace, sumOf, word } from '../keyspace.ts';
import { Failure, type Reply } from '../reply.ts';
import { drawn } from './drawn.ts';

export const HASH_COMMANDS: Readonly<Record<string, Command>> = {
  HSET: {
    arity: -4,
    run: (keys, [key = '', ...pairs]) => {
      if (pairs.length % 2 !== 0) {
        throw new Failure("ERR wrong number of arguments for 'hset' command");
      }
      const hash = keys.hashToWrite(key);
      const before = hash.size;
      for (let at = 0; at < pairs.length; at += 2) hash.set(word(pairs, at), word(pairs, at + 1));
      return hash.size - before;
    },
  },
  HSETNX: {
    arity: 4,
    run: (keys, [key = '', field = '', value = '']) => {
      const hash = keys.hashToWrite(key);
      if (hash.has(field)) return 0;
      hash.set(field, value);
      return 1;
    },
  },
  HGET: {
    arity: 3,
    run: (keys, [key = '', field = '']) => keys.hash(key)?.get(field) ?? null,
  },
  HMGET: {
    arity: -3,
    run: (keys, [key = '', ...fields]) => {
      const hash = keys.hash(key);
      return fields.map((field) => hash?.get(field) ?? null);
    },
  },
  HGETALL: { arity: 2, run: (keys, [key = '']) => [...(keys.hash(key) ?? [])].flat() },
  HEXISTS: {
    arity: 3,
    run: (keys, [key = '', field = '']) => (keys.hash(key)?.has(field) === true ? 1 : 0),
  },
  HLEN: { arity: 2, run: (keys, [key = '']) => keys.hash(key)?.size ?? 0 },
  HDEL: {
    arity: -3,
    run: (keys, [key = '', ...fields]) => {
      const hash = keys.hash(key);
      const deleted = fields.filter((field) => hash?.delete(field) === true).length;
      keys.dropEmpty(key);
      return deleted;
    },
  },
  HINCRBY: {
    arity: 4,
    run: (keys, [key = '', field = '', by]) => {
      const amount = integerOf(by);
      const hash = keys.hash(key);
      const sum = sumOf(
        integerOf(hash?.get(field) ?? '0', 'ERR hash value is not an integer'),
        amount,
      );
      keys.hashToWrite(key).set(field, String(sum));
      return sum;
    },
  },
  HRANDFIELD: { arity: -2, run: randomFields },
};

function randomFields(keys: Keyspace, [key = '', count]: readonly string[]): Reply {
  return drawn(keys.random, () => [...(keys.hash(key)?.keys() ?? [])], count);
}
