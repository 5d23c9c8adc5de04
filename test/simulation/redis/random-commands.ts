import type { Random } from '../../../testing/random.ts';

/** Makes a random command, mostly one that finds a value of its kind. */
export function randomCommand(random: Random): readonly string[] {
  return random.pick(COMMANDS)(random);
}

type Words = readonly string[];

/** Most keys of a command are of its kind. */
function key(random: Random, kind: 's' | 'h' | 'z' | 'l'): string {
  const of = random.chance(0.03) ? random.pick(['s', 'h', 'z', 'l']) : kind;
  return `${of}${random.between(0, 3)}`;
}

const name = (random: Random) => random.pick(['a', 'b', 'c', 'dd', 'E', 'é', '\n', '', '10', '-5']);
const integer = (random: Random) =>
  random.chance(0.03)
    ? random.pick(['x', '1.5', '', '-0', '+1', '01', ' 1'])
    : String(random.between(-4, 12));
const score = (random: Random) =>
  random.chance(0.04)
    ? random.pick(['inf', '-inf', '+inf', 'x', '', '1e3'])
    : String(random.between(-6, 14) / 2);
const bound = (random: Random) => (random.chance(0.3) ? '(' : '') + score(random);
const names = (random: Random) => Array.from({ length: random.between(1, 3) }, () => name(random));
const pairs = (random: Random) =>
  Array.from({ length: random.between(1, 3) }, () => [name(random), integer(random)]).flat();
const scored = (random: Random) =>
  Array.from({ length: random.between(1, 3) }, () => [score(random), name(random)]).flat();
const flag = (random: Random, ...flags: Words) =>
  random.chance(0.3) ? [random.pick([...flags, ...flags, 'OTHER'])] : [];
const limit = (random: Random) =>
  random.chance(0.3) ? ['LIMIT', integer(random), integer(random)] : [];
/** Long enough not to end while it is looked at, or very short. */
const milliseconds = (random: Random) =>
  random.chance(0.05)
    ? random.pick(['1', '3', '0', '-5', 'x'])
    : String(random.between(1, 9) * 1e6);

/** Commands that answer in an order of their own, or by chance, are compared in another way. */
const COMMANDS: readonly ((random: Random) => Words)[] = [
  (r) => ['GET', key(r, 's')],
  (r) => ['SET', key(r, 's'), name(r)],
  (r) => ['SET', key(r, 's'), integer(r), ...flag(r, 'NX', 'XX'), ...flag(r, 'GET')],
  (r) => ['SET', key(r, 's'), name(r), 'PX', milliseconds(r), ...flag(r, 'NX', 'GET')],
  (r) => ['SET', key(r, 's'), name(r), 'EX', r.pick(['3000', '0', 'x'])],
  (r) => ['APPEND', key(r, 's'), name(r)],
  (r) => ['STRLEN', key(r, 's')],
  (r) => ['GETRANGE', key(r, 's'), integer(r), integer(r)],
  (r) => ['INCR', key(r, 's')],
  (r) => ['DECR', key(r, 's')],
  (r) => ['INCRBY', key(r, 's'), integer(r)],
  (r) => ['DECRBY', key(r, 's'), integer(r)],
  (r) => ['EXISTS', key(r, 's'), key(r, 'h'), key(r, 's')],
  (r) => ['DEL', key(r, r.pick(['s', 'h', 'z', 'l'])), ...flag(r, 's0', 'h0')],
  (r) => ['RENAME', key(r, 's'), key(r, 's')],
  (r) => ['PEXPIRE', key(r, r.pick(['s', 'h', 'z', 'l'])), milliseconds(r), ...flag(r, 'NX')],
  (r) => ['EXPIRE', key(r, r.pick(['s', 'h', 'z', 'l'])), r.pick(['3000', '4000', '0', 'x'])],
  (r) => ['PTTL', key(r, r.pick(['s', 'h', 'z', 'l']))],
  (r) => ['HSET', key(r, 'h'), ...pairs(r)],
  (r) => ['HSET', key(r, 'h'), ...pairs(r), ...flag(r, 'odd')],
  (r) => ['HSETNX', key(r, 'h'), name(r), integer(r)],
  (r) => ['HGET', key(r, 'h'), name(r)],
  (r) => ['HMGET', key(r, 'h'), ...names(r)],
  (r) => ['HGETALL', key(r, 'h')],
  (r) => ['HEXISTS', key(r, 'h'), name(r)],
  (r) => ['HLEN', key(r, 'h')],
  (r) => ['HDEL', key(r, 'h'), ...names(r)],
  (r) => ['HINCRBY', key(r, 'h'), name(r), integer(r)],
  (r) => ['HRANDFIELD', key(r, 'h'), ...(r.chance(0.7) ? [integer(r)] : [])],
  (r) => ['ZADD', key(r, 'z'), ...scored(r)],
  (r) => ['ZADD', key(r, 'z'), ...flag(r, 'NX', 'XX'), ...flag(r, 'NX', 'XX', 'LT'), ...scored(r)],
  (r) => ['ZINCRBY', key(r, 'z'), score(r), name(r)],
  (r) => ['ZSCORE', key(r, 'z'), name(r)],
  (r) => ['ZCARD', key(r, 'z')],
  (r) => ['ZCOUNT', key(r, 'z'), bound(r), bound(r)],
  (r) => ['ZREM', key(r, 'z'), ...names(r)],
  (r) => ['ZRANGE', key(r, 'z'), integer(r), integer(r), ...flag(r, 'WITHSCORES', 'REV')],
  (r) => ['ZRANGE', key(r, 'z'), bound(r), bound(r), 'BYSCORE', ...limit(r), ...flag(r, 'REV')],
  (r) => ['ZRANGE', key(r, 'z'), integer(r), integer(r), ...limit(r)],
  (r) => ['ZREVRANGE', key(r, 'z'), integer(r), integer(r), ...flag(r, 'WITHSCORES')],
  (r) => ['ZRANGEBYSCORE', key(r, 'z'), bound(r), bound(r), ...limit(r), ...flag(r, 'WITHSCORES')],
  (r) => ['ZRANDMEMBER', key(r, 'z'), ...(r.chance(0.7) ? [integer(r)] : [])],
  (r) => ['RPUSH', key(r, 'l'), ...names(r)],
  (r) => ['LPOP', key(r, 'l')],
  (r) => ['LLEN', key(r, 'l')],
  (r) => ['LINDEX', key(r, 'l'), integer(r)],
  (r) => ['LRANGE', key(r, 'l'), integer(r), integer(r)],
  (r) => ['PUBLISH', r.pick(['one', 'two', 'nobody']), name(r)],
  (r) => [r.pick(['GET', 'HSET', 'ZADD', 'LPOP', 'DEL', 'SET']), ...flag(r, 's0')],
  (r) => ['GET', 's0', ...flag(r, 'more')],
  (r) => ['SET', 'c0', r.pick(['a', 'b'])],
];
