import { beforeEach, describe, expect, it } from 'bun:test';
import { FakeTime, settled } from '../../../../testing/fake-time.ts';
import type { App, KeySet } from '../../../channels/app.ts';
import { appWith } from '../../../channels/hub.fixture.ts';
import type { ParsedKeySet } from '../../../runtime/tokens/key-set.ts';
import type { KeySetCause } from '../../link/messages.ts';
import { KeySets } from './key-sets.ts';

/** Source: identity, §3.4. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const key = (kid: string) => ({ kid, algorithm: 'ES256', pem: kid }) as const;
const found = (...kids: readonly string[]): ParsedKeySet => ({
  ok: true,
  keys: kids.map(key),
  ignored: [],
});
const DOWN: ParsedKeySet = { ok: false, why: 'HTTP 503' };

let time: FakeTime;
/** What the issuers answer; `undefined`: nothing, until `answer` is called. */
let says: (url: string) => ParsedKeySet | undefined;
let open: { url: string; answer: (read: ParsedKeySet) => void }[];
let fetched: string[];
let reported: [
  appId: string,
  kids: readonly (string | undefined)[] | undefined,
  cause: KeySetCause,
][];
let counted: string[];
let logged: string[];
let keySets: KeySets;

beforeEach(() => {
  time = new FakeTime();
  says = () => found('a');
  [open, fetched, reported, counted, logged] = [[], [], [], [], []];
  const note = (message: string) => void logged.push(message);
  keySets = new KeySets({
    fetchKeySet(url) {
      fetched.push(url);
      const answer = says(url);
      if (answer !== undefined) return Promise.resolve(answer);
      return new Promise((resolve) => open.push({ url, answer: resolve }));
    },
    report: (appId, keySet: KeySet | undefined, cause) =>
      void reported.push([appId, keySet?.keys?.map(({ kid }) => kid), cause]),
    timers: time,
    clock: time,
    random: () => 0.5,
    meter: {
      count: (_: string, __?: number, result?: string) => void counted.push(String(result)),
    },
    log: { debug: note, info: note, warn: note, error: note },
  });
});

function appAt(
  id: string,
  jwksUrl: string | null = `https://${id}.example.com`,
  enabled = true,
): App {
  const rest = { channels: {}, leewaySeconds: 0, publicKeys: [], issuer: 'them', audience: 'us' };
  const grants = { ...rest, jwksUrl, channelsClaim: 'channels', userClaim: 'sub' };
  return appWith({ id, enabled, grants });
}

async function follow(...apps: readonly App[]): Promise<void> {
  keySets.follow(apps);
  await settled();
}

describe('the key sets of apps', () => {
  it('are fetched at once, and again every ten minutes', async () => {
    await follow(appAt('a'), appAt('none', null), appAt('off', undefined, false));
    expect(fetched).toEqual(['https://a.example.com']);
    expect(reported).toEqual([['a', ['a'], 'changed']]);
    await time.advance(10 * MINUTE_MS - 1);
    expect(fetched).toHaveLength(1);
    says = () => found('a', 'b');
    await time.advance(1);
    expect(reported).toEqual([
      ['a', ['a'], 'changed'],
      ['a', ['a', 'b'], 'changed'],
    ]);
    expect(counted).toEqual(['fetched', 'fetched']);
  });

  it('are reported once while they stay the same', async () => {
    await follow(appAt('a'));
    await time.advance(HOUR_MS);
    expect(fetched).toHaveLength(7);
    expect(reported).toHaveLength(1);
    expect(logged).toHaveLength(1);
  });

  it('lose at the next fetch what the issuer has removed, also all of it', async () => {
    await follow(appAt('a'));
    says = () => found();
    await time.advance(10 * MINUTE_MS);
    expect(reported.at(-1)).toEqual(['a', [], 'changed']);
  });

  it('are fetched from another address once the app names one, and are forgotten with the app', async () => {
    await follow(appAt('a'));
    await follow(appAt('a', 'https://other.example.com'));
    expect(fetched).toEqual(['https://a.example.com', 'https://other.example.com']);
    expect(reported.slice(1)).toEqual([
      ['a', undefined, 'changed'],
      ['a', ['a'], 'changed'],
    ]);
    await follow();
    expect(reported.at(-1)).toEqual(['a', undefined, 'changed']);
    await time.advance(HOUR_MS);
    expect(fetched).toHaveLength(2);
  });

  it('are not mixed up when the answer of an old address comes late', async () => {
    says = () => undefined;
    await follow(appAt('a'));
    says = () => found('new');
    await follow(appAt('a', 'https://other.example.com'));
    open[0]?.answer(found('old'));
    await settled();
    expect(reported.at(-1)).toEqual(['a', ['new'], 'changed']);
    expect(keySets.reports('a')).toMatchObject([{ keys: [key('new')] }]);
  });
});

describe('an issuer that is away', () => {
  it('is asked every minute, and its last keys are used for 24 hours', async () => {
    await follow(appAt('a'));
    says = () => DOWN;
    await time.advance(24 * HOUR_MS - 1);
    expect(reported).toHaveLength(1);
    expect(keySets.reports()).toMatchObject([
      { appId: 'a', keys: [key('a')], failure: { why: 'HTTP 503' } },
    ]);
    await time.advance(MINUTE_MS);
    expect(reported).toEqual([
      ['a', ['a'], 'changed'],
      ['a', undefined, 'changed'],
    ]);
    expect(keySets.reports()).toMatchObject([{ keys: undefined, untilMs: undefined }]);
    says = () => found('b');
    await time.advance(MINUTE_MS);
    expect(reported.at(-1)).toEqual(['a', ['b'], 'changed']);
    expect(keySets.reports()).toMatchObject([{ failure: undefined }]);
    // Fetched, away, dropped, fetched.
    expect(logged).toHaveLength(4);
    expect(new Set(counted)).toEqual(new Set(['fetched', 'failed']));
  });

  it('has had no keys yet', async () => {
    says = () => DOWN;
    await follow(appAt('a'));
    expect(reported).toEqual([['a', undefined, 'changed']]);
    expect(keySets.reports()).toMatchObject([
      { keys: undefined, failure: { why: 'HTTP 503', sinceMs: time.now() } },
    ]);
  });
});

describe('a key set that clients ask for', () => {
  it('is fetched at once, but not again within 30 s; the answer always comes', async () => {
    await follow(appAt('a'));
    says = () => found('b');
    await keySets.ask('a', 'any');
    expect(reported.at(-1)).toEqual(['a', ['b'], 'asked']);
    says = () => found('c');
    await time.advance(29_999);
    await keySets.ask('a', 'any');
    expect(reported.at(-1)).toEqual(['a', ['b'], 'asked']);
    expect(fetched).toHaveLength(2);
    await time.advance(1);
    await keySets.ask('a', 'any');
    expect(reported.at(-1)).toEqual(['a', ['c'], 'asked']);
  });

  it('is reported also if it is the same, or cannot be fetched', async () => {
    await follow(appAt('a'));
    await keySets.ask('a', 'any');
    expect(reported.at(-1)).toEqual(['a', ['a'], 'asked']);
    says = () => DOWN;
    await time.advance(30_000);
    await keySets.ask('a', 'any');
    expect(reported).toHaveLength(3);
    expect(reported.at(-1)).toEqual(['a', ['a'], 'asked']);
    await keySets.ask('unknown', 'any');
    expect(reported.at(-1)).toEqual(['unknown', undefined, 'asked']);
  });

  it('is not fetched if the loop that asks does not have the latest one yet', async () => {
    await follow(appAt('a'));
    await keySets.ask('a', undefined);
    expect(reported.at(-1)).toEqual(['a', ['a'], 'shared']);
    says = () => found('b');
    await keySets.ask('a', 1);
    expect(reported.at(-1)).toEqual(['a', ['b'], 'asked']);
    await keySets.ask('a', 1);
    expect(reported.at(-1)).toEqual(['a', ['b'], 'shared']);
    expect(fetched).toHaveLength(2);
  });

  it('shares the fetch that is under way', async () => {
    says = () => undefined;
    await follow(appAt('a'));
    const asked = [keySets.ask('a', 'any'), keySets.ask('a', 'any')];
    open[0]?.answer(found('a'));
    await Promise.all(asked);
    expect(fetched).toHaveLength(1);
    expect(reported).toEqual([['a', ['a'], 'shared']]);
    // That fetch would have been made anyway.
    says = () => found('b');
    await keySets.ask('a', 'any');
    expect(reported.at(-1)).toEqual(['a', ['b'], 'asked']);
  });

  it('answers also if the app is deleted meanwhile', async () => {
    says = () => undefined;
    await follow(appAt('a'));
    const asked = keySets.ask('a', 'any');
    await follow();
    expect(reported).toEqual([['a', undefined, 'shared']]);
    open[0]?.answer(found('a'));
    await asked;
    expect(reported).toHaveLength(1);
  });
});

describe('slow issuers', () => {
  it('take one place each, and those behind 100 of them come in turn', async () => {
    says = (url) => (url.includes('slow') ? undefined : found('a'));
    await follow(...Array.from({ length: 100 }, (_, n) => appAt(`slow${n}`)), appAt('quick'));
    for (let n = 0; n < 100; n++) void keySets.ask(`slow${n}`, 'any');
    await settled();
    expect(fetched).toHaveLength(100);
    expect(reported).toEqual([]);
    open[7]?.answer(DOWN);
    await settled();
    expect(reported).toEqual([
      ['slow7', undefined, 'shared'],
      ['quick', ['a'], 'changed'],
    ]);
  });
});

it('stops with the server', async () => {
  await follow(appAt('a'));
  keySets[Symbol.dispose]();
  await time.advance(HOUR_MS);
  expect(fetched).toHaveLength(1);
});
