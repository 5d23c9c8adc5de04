import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import { FakeTime } from '../../testing/fake-time.ts';
import { type FoundName, Resolver } from './resolve.ts';

/** A resolver whose queries a test answers. */
function stage() {
  const timers = new FakeTime({ turns: 20 });
  const asked: string[] = [];
  const refused: string[] = [];
  const open = new Map<string, PromiseWithResolvers<FoundName>>();
  const resolver = new Resolver({
    lookup(host, signal) {
      asked.push(host);
      const answer = Promise.withResolvers<FoundName>();
      open.set(host, answer);
      signal.addEventListener('abort', () => open.delete(host));
      return answer.promise;
    },
    timers,
    onRefused: (owner) => void refused.push(owner),
  });
  const resolve = (host: string, owner = 'app 1', signal = new AbortController().signal) =>
    resolver.resolve(host, { owner, signal });
  /** The result as text. */
  const fate = (promise: Promise<readonly string[]>) =>
    promise.then(
      (addresses) => addresses.join(),
      (error: { code: string }) => error.code,
    );
  return {
    timers,
    asked,
    refused,
    open,
    resolver,
    resolve,
    fate,
    answer: (host: string, keepMs = 60_000, addresses = ['192.0.2.1']) =>
      open.get(host)?.resolve({ addresses, keepMs }),
    fail: (host: string, code = 'ENOTFOUND') =>
      open.get(host)?.reject(Object.assign(new Error(code), { code })),
  };
}

const TOO_MANY = 'too many names are being looked up';
const NO_ANSWER = 'the name servers did not answer in time';

describe('a name', () => {
  it('is queried once for many callers, and its IPv4 addresses come first', async () => {
    const { asked, resolve, answer } = stage();
    const both = [resolve('Shop.example'), resolve('shop.example')];
    answer('shop.example', 0, ['::1', '192.0.2.1']);
    expect(await Promise.all(both)).toEqual([
      ['192.0.2.1', '::1'],
      ['192.0.2.1', '::1'],
    ]);
    expect(asked).toEqual(['shop.example']);
  });

  it.each([
    [0, 0],
    [10_000, 10_000],
    [3600_000, 30_000],
  ])('with a TTL of %i ms is cached for %i ms', async (keepMs, rememberedMs) => {
    const { timers, asked, resolve, answer } = stage();
    const first = resolve('shop.example');
    answer('shop.example', keepMs);
    await first;
    if (rememberedMs > 0) {
      await timers.advance(rememberedMs - 1);
      // For every owner.
      expect(await resolve('shop.example', 'app 2')).toEqual(['192.0.2.1']);
      expect(asked).toHaveLength(1);
      await timers.advance(1);
    }
    void resolve('shop.example').catch(() => undefined);
    expect(asked).toHaveLength(2);
  });

  it('that cannot be resolved costs one query in five seconds', async () => {
    const { timers, asked, resolve, fate, fail } = stage();
    const first = fate(resolve('dead.example'));
    fail('dead.example');
    expect(await first).toBe('ENOTFOUND');
    await timers.advance(4_999);
    expect(await fate(resolve('dead.example', 'app 2'))).toBe('ENOTFOUND');
    expect(asked).toHaveLength(1);
    await timers.advance(1);
    void fate(resolve('dead.example'));
    expect(asked).toHaveLength(2);
  });

  it('whose name server is silent fails after five seconds, and the failure is cached', async () => {
    const { timers, asked, resolver, resolve, fate, open } = stage();
    const waiting = fate(resolve('dead.example'));
    await timers.advance(5_000);
    expect(await waiting).toBe(NO_ANSWER);
    // The lookup itself was aborted.
    expect(open.size).toBe(0);
    expect(resolver.open).toBe(0);
    expect(await fate(resolve('dead.example'))).toBe(NO_ANSWER);
    expect(asked).toHaveLength(1);
  });

  it('may be given up by one caller without affecting another', async () => {
    const { resolve, fate, answer } = stage();
    const stop = new AbortController();
    const impatient = resolve('shop.example', 'app 1', stop.signal).catch((error) => error);
    const patient = fate(resolve('shop.example'));
    stop.abort(new Error('no time'));
    expect(await impatient).toEqual(new Error('no time'));
    answer('shop.example');
    expect(await patient).toBe('192.0.2.1');
  });

  it('is evicted in favour of 2,000 others', async () => {
    const { asked, resolve, answer } = stage();
    for (let number = 0; number <= 2_000; number++) {
      const one = resolve(`n${number}.example`);
      answer(`n${number}.example`);
      await one;
      await resolve('n0.example');
    }
    expect(asked).toHaveLength(2_001);
    void resolve('n1.example').catch(() => undefined);
    expect(asked).toHaveLength(2_002);
  });
});

describe('open queries', () => {
  it('are limited to 64 for one owner, without affecting another', async () => {
    const { refused, resolver, resolve, fate, answer } = stage();
    const waiting = Array.from({ length: 64 }, (_, at) => fate(resolve(`n${at}.example`)));
    expect(await fate(resolve('one-more.example'))).toBe(TOO_MANY);
    expect(refused).toEqual(['app 1']);
    const other = fate(resolve('shop.example', 'app 2'));
    answer('shop.example');
    expect(await other).toBe('192.0.2.1');
    expect(resolver.open).toBe(64);
    answer('n0.example');
    expect(await waiting[0]).toBe('192.0.2.1');
    void fate(resolve('one-more.example'));
    expect(resolver.open).toBe(64);
  });

  it('are limited to 256, and the owner with the most loses its newest', async () => {
    const { refused, resolver, resolve, fate, answer } = stage();
    const fates = new Map<string, string>();
    for (const owner of ['a', 'b', 'c', 'd']) {
      for (let at = 0; at < 64; at++) {
        const name = `${owner}${at}.example`;
        void fate(resolve(name, owner)).then((became) => fates.set(name, became));
      }
    }
    const honest = fate(resolve('shop.example', 'e'));
    answer('shop.example');
    expect(await honest).toBe('192.0.2.1');
    expect(fates).toEqual(new Map([['a63.example', TOO_MANY]]));
    expect(refused).toEqual(['a']);
    expect(resolver.open).toBe(255);
    // A refusal is not cached: it says nothing about the name.
    void fate(resolve('a63.example', 'a')).then((became) => fates.set('again', became));
    expect(resolver.open).toBe(256);
  });

  it('never exceed their limits, and all end', async () => {
    const ask = fc.record({
      owner: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'),
      count: fc.integer({ min: 1, max: 90 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(ask, { maxLength: 12 }), async (asks) => {
        const { timers, resolver, resolve, fate } = stage();
        let settled = 0;
        let all = 0;
        for (const { owner, count } of asks) {
          for (let at = 0; at < count; at++) {
            void fate(resolve(`n${all++}.example`, owner)).then(() => settled++);
            expect(resolver.open).toBeLessThanOrEqual(256);
          }
        }
        await timers.advance(5_000);
        expect(settled).toBe(all);
        expect(resolver.open).toBe(0);
      }),
      { numRuns: 20 },
    );
  });
});
