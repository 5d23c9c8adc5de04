import { describe, expect, it } from 'bun:test';
import { appWith } from '../hub.fixture.ts';
import { type Problem, ProblemBook } from './problem-book.ts';

const SECRET = 'geheim-und-lang';
const app = appWith({ id: 'shop', keys: [{ key: 'k', secret: SECRET }] });

function bookAt(times: readonly number[] = []) {
  const left = [...times];
  let second = 0;
  // Without times, each is noted in a second of its own.
  return new ProblemBook({ now: () => left.shift() ?? 1_000 * ++second });
}

const problem = (text: string, more: Partial<Problem> = {}): Problem => ({
  source: 'client',
  kind: 'subscription-unauthorised',
  text,
  advice: 'look',
  ...more,
});

const unsigned = (socket: string, channel: string) =>
  problem(
    `Invalid signature: Expected HMAC SHA256 hex digest of ${socket}:${channel}:{"user_id":"ada","user_info":{"name":"Ada Lovelace"}}, but got ${'0a'.repeat(32)}`,
    { socket },
  );

describe('the problems of an app', () => {
  it('that differ in names, numbers and data only are one group', () => {
    const book = bookAt([1_000, 2_000]);
    book.note(app, unsigned('1.2', 'presence-a'));
    book.note(app, unsigned('3.4', 'presence-b'));
    expect(book.of('shop')).toEqual([
      {
        source: 'client',
        kind: 'subscription-unauthorised',
        text: 'Invalid signature: Expected HMAC … hex digest of … but got …',
        advice: 'look',
        count: 2,
        firstAtMs: 1_000,
        lastAtMs: 2_000,
        example: {
          text: 'Invalid signature: Expected HMAC SHA256 hex digest of 3.4:presence-b:{…}, but got …',
          socket: '3.4',
          user: undefined,
          address: undefined,
          path: undefined,
        },
      },
    ]);
  });

  it('show no secret, no signature and no data of users', () => {
    const book = bookAt();
    book.note(app, problem(`Invalid key in subscription auth data: '${SECRET}'`));
    book.note(app, unsigned('1.2', 'presence-a'));
    book.note(
      app,
      problem(`${'x'.repeat(250)} {"name":"Ada Lovelace and more of what was cut off"}`),
    );
    const shown = JSON.stringify(book.of('shop'));
    for (const hidden of [SECRET, 'Lovelace', '0a0a']) expect(shown).not.toContain(hidden);
  });

  it('of another kind, source or wording are other groups, the last one first', () => {
    const book = bookAt();
    book.note(app, problem('No'));
    book.note(app, problem('No', { kind: 'x' }));
    book.note(app, problem('No', { source: 'backend' }));
    book.note(app, problem('Not so'));
    book.note(app, problem('No'));
    expect(book.of('shop').map(({ text, count }) => `${text} ${count}`)).toEqual([
      'No 2',
      'Not so 1',
      'No 1',
      'No 1',
    ]);
    expect(book.of('other')).toEqual([]);
  });

  it('are at most 256 groups, and a recurring one is not lost among invented ones', () => {
    const book = bookAt();
    const word = (n: number) =>
      n
        .toString(26)
        .replace(/\w/g, (digit) => String.fromCharCode(97 + Number.parseInt(digit, 26)));
    for (let n = 0; n < 3; n++) book.note(app, problem('The usual one'));
    for (let n = 0; n < 5_000; n++) book.note(app, problem(`Invented ${word(n)}`));
    const groups = book.of('shop');
    expect(groups).toHaveLength(256);
    expect(groups.map(({ text }) => text)).toContain('The usual one');
  });

  it('beyond 50 in a second are counted with the last one of their kind', () => {
    const book = bookAt([...Array.from({ length: 60 }, (_, n) => 1_000 + n), 2_000]);
    const wordings = ['One', 'Two'];
    for (let n = 0; n < 60; n++) {
      if (n === 51) book.note(app, problem('New', { kind: 'other' }));
      else book.note(app, problem(wordings[n % 2] ?? ''));
    }
    book.note(app, problem('One'));
    const counts = Object.fromEntries(book.of('shop').map(({ text, count }) => [text, count]));
    // A kind that is new in this second is always read.
    expect(counts).toEqual({ One: 26, Two: 34, New: 1 });
  });

  it('of one app do not displace those of another', () => {
    const book = bookAt();
    const quiet = appWith({ id: 'quiet' });
    book.note(quiet, problem('Rare'));
    for (let owner = 0; owner < 100; owner++) {
      for (let n = 0; n < 200; n++) {
        book.note(appWith({ id: `app-${owner}` }), problem('x', { kind: `k${n}` }));
      }
    }
    expect(book.of('quiet')).toHaveLength(1);
  });
});
