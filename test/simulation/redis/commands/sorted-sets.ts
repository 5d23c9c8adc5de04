import { type Command, integerOf, type Keyspace, word } from '../keyspace.ts';
import { Failure, type Reply, SYNTAX } from '../reply.ts';
import { drawn } from './drawn.ts';
import { rangeOf } from './lists.ts';

export const SORTED_SET_COMMANDS: Readonly<Record<string, Command>> = {
  ZADD: { arity: -4, run: add },
  ZINCRBY: {
    arity: 4,
    run: (keys, [key = '', by = '', member = '']) => {
      const amount = scoreOf(by);
      const score = (keys.sortedSet(key)?.score(member) ?? 0) + amount;
      if (Number.isNaN(score)) throw new Failure('ERR resulting score is not a number (NaN)');
      keys.sortedSetToWrite(key).set(member, score);
      return scoreText(score);
    },
  },
  ZSCORE: {
    arity: 3,
    run: (keys, [key = '', member = '']) => {
      const score = keys.sortedSet(key)?.score(member);
      return score === undefined ? null : scoreText(score);
    },
  },
  ZCARD: { arity: 2, run: (keys, [key = '']) => keys.sortedSet(key)?.size ?? 0 },
  ZCOUNT: {
    arity: 4,
    run: (keys, [key = '', least = '', most = '']) => {
      const isWithin = boundsOf(least, most);
      return (keys.sortedSet(key)?.ordered ?? []).filter(({ score }) => isWithin(score)).length;
    },
  },
  ZREM: {
    arity: -3,
    run: (keys, [key = '', ...members]) => {
      const set = keys.sortedSet(key);
      const removed = members.filter((member) => set?.delete(member) === true).length;
      keys.dropEmpty(key);
      return removed;
    },
  },
  ZRANGE: { arity: -4, run: (keys, words) => range(keys, words, optionsOf(words)) },
  ZREVRANGE: {
    arity: -4,
    run: (keys, words) => range(keys, words, { ...optionsOf(words), isReverse: true }),
  },
  ZRANGEBYSCORE: {
    arity: -4,
    run: (keys, words) => range(keys, words, { ...optionsOf(words), isByScore: true }),
  },
  ZRANDMEMBER: {
    arity: -2,
    run: (keys, [key = '', count]) =>
      drawn(
        keys.random,
        () => (keys.sortedSet(key)?.ordered ?? []).map(({ member }) => member),
        count,
      ),
  },
};

function add(keys: Keyspace, words: readonly string[]): Reply {
  const key = word(words, 0);
  const flags = new Set<string>();
  let at = 1;
  for (; /^(?:NX|XX|LT)$/i.test(words[at] ?? ''); at += 1) flags.add(word(words, at).toUpperCase());
  const pairs = words.slice(at);
  if (pairs.length === 0 || pairs.length % 2 !== 0) throw new Failure(SYNTAX);
  if (flags.has('NX') && flags.has('XX')) {
    throw new Failure('ERR XX and NX options at the same time are not compatible');
  }
  if (flags.has('NX') && flags.has('LT')) {
    throw new Failure('ERR GT, LT, and/or NX options at the same time are not compatible');
  }
  const scores = pairs.filter((_, index) => index % 2 === 0).map((text) => scoreOf(text));
  if (flags.has('XX') && keys.sortedSet(key) === undefined) return 0;
  const set = keys.sortedSetToWrite(key);
  const before = set.size;
  for (const [index, score] of scores.entries()) {
    const member = word(pairs, 2 * index + 1);
    const old = set.score(member);
    if (old === undefined ? flags.has('XX') : flags.has('NX')) continue;
    if (flags.has('LT') && old !== undefined && score >= old) continue;
    set.set(member, score);
  }
  keys.dropEmpty(key);
  return set.size - before;
}

interface RangeOptions {
  readonly isByScore: boolean;
  readonly isReverse: boolean;
  readonly hasScores: boolean;
  readonly limit: readonly [skipped: number, most: number] | undefined;
}

function optionsOf(words: readonly string[]): RangeOptions {
  let options: RangeOptions = {
    isByScore: false,
    isReverse: false,
    hasScores: false,
    limit: undefined,
  };
  for (let at = 3; at < words.length; at += 1) {
    const flag = word(words, at).toUpperCase();
    if (flag === 'BYSCORE') options = { ...options, isByScore: true };
    else if (flag === 'REV') options = { ...options, isReverse: true };
    else if (flag === 'WITHSCORES') options = { ...options, hasScores: true };
    else if (flag === 'LIMIT') {
      options = { ...options, limit: [integerOf(words[at + 1]), integerOf(words[at + 2])] };
      at += 2;
    } else throw new Failure(SYNTAX);
  }
  return options;
}

function range(keys: Keyspace, words: readonly string[], options: RangeOptions): Reply {
  const [key, first, last] = [word(words, 0), word(words, 1), word(words, 2)];
  const { isByScore, isReverse, hasScores, limit } = options;
  // -1 counts as no limit.
  if (limit !== undefined && limit[1] !== -1 && !isByScore) {
    throw new Failure(
      'ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
    );
  }
  const place = isByScore
    ? { isWithin: boundsOf(isReverse ? last : first, isReverse ? first : last) }
    : { from: integerOf(first), to: integerOf(last) };
  const ordered = keys.sortedSet(key)?.ordered ?? [];
  const all = isReverse ? ordered.toReversed() : ordered;
  const found =
    place.isWithin === undefined
      ? rangeOf(all, place.from, place.to)
      : all.filter(({ score }) => place.isWithin(score));
  const [skipped, most] = (isByScore ? limit : undefined) ?? [0, -1];
  const page = skipped < 0 ? [] : found.slice(skipped, most < 0 ? undefined : skipped + most);
  return page.flatMap(({ member, score }) => (hasScores ? [member, scoreText(score)] : [member]));
}

/** Whether a score lies between two bounds, such as `-inf` and `(5`. */
function boundsOf(least: string, most: string): (score: number) => boolean {
  const [low, high] = [boundOf(least), boundOf(most)];
  return (score) =>
    (low.isOpen ? score > low.score : score >= low.score) &&
    (high.isOpen ? score < high.score : score <= high.score);
}

function boundOf(text: string): { readonly score: number; readonly isOpen: boolean } {
  const isOpen = text.startsWith('(');
  // Redis reads nothing as 0 here, and only here.
  const score = scoreOf((isOpen ? text.slice(1) : text) || '0', 'ERR min or max is not a float');
  return { score, isOpen };
}

function scoreOf(text: string, why = 'ERR value is not a valid float'): number {
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) throw new Failure(why);
  return Number(text);
}

/** The text of a score. Scores of the engine are integers, or short enough for all versions of Redis to print them alike. */
function scoreText(score: number): string {
  if (Number.isFinite(score)) return Object.is(score, -0) ? '-0' : String(score);
  return score > 0 ? 'inf' : '-inf';
}
