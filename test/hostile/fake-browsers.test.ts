import { describe, expect, it } from 'bun:test';
import { runs } from '../../testing/long-run.ts';
import { type Browser, BrowserSite, type Evil, HONEST } from './browser-site.ts';

const LONG_MS = 180_000;

const ATTACKS = runs(1, 5);

/**
 * Kinds of fakes, each in an instance of its own of one server. HTTP/2 uses the same code for all answers, so three kinds are
 * enough there.
 */
const cases: readonly (readonly [version: string, kinds: readonly Evil[]])[] = [
  ['HTTP/1.1', ['refused', 'asking', 'failing', 'busy']],
  ['HTTP/1.1', ['hanging']],
  ['HTTP/1.1', ['dripping']],
  ['HTTP/2', ['refused', 'asking']],
  ['HTTP/2', ['hanging']],
];

function some(count: number, what: Browser['what'], instance = 0): readonly Browser[] {
  return Array.from({ length: count }, () => ({ instance, what }));
}

/** Browsers of an instance for each kind of fakes, and of another that has no fakes. */
function crowd(kinds: readonly Evil[], fakes: number): readonly Browser[] {
  const attacked = kinds.flatMap((evil, instance) => [
    ...some(5, 'ok', instance),
    ...some(fakes, evil, instance),
    ...some(5, 'ok', instance),
  ]);
  return [...attacked, ...some(10, 'ok', kinds.length)];
}

describe('honest browsers', () => {
  it.each(cases)(
    'are reached over %s beside fakes: %j',
    async (version, kinds) => {
      const http2 = version === 'HTTP/2';
      const [first] = kinds;
      // More than may be in flight at the same time, if they stay in flight.
      const fakes = first === 'hanging' || first === 'dripping' ? 600 : 150;
      await using site = await BrowserSite.start({ http2, browsers: crowd(kinds, fakes) });
      const quiet = kinds.length;
      const reachAttacked = (interest?: string) =>
        Promise.all(kinds.map((_, instance) => site.reach(instance, interest)));
      // Lets the honest browsers be accepted once.
      await reachAttacked(HONEST);
      await site.reach(quiet, HONEST);
      for (let round = 0; round < ATTACKS; round++) {
        await reachAttacked();
        await site.reach(quiet);
        await reachAttacked(HONEST);
      }
      // No doubles: one publish before the attack, and two in each round.
      expect(site.gotMoreThan(1 + 2 * ATTACKS)).toEqual([]);
      // Nothing that fakes answer counts as an answer about all devices, for which these would wait.
      expect(site.server.output.stderr).not.toMatch(/Gateway (fails|refuses)/);
    },
    LONG_MS,
  );
});

describe('browsers of one push service', () => {
  it(
    'are reached beside fakes at 150 other push services that never answer',
    async () => {
      const fakes = Array.from({ length: 600 }, (_, n) => ({
        instance: 0,
        what: 'hanging' as const,
        stranger: n % 150,
      }));
      const browsers = [...fakes, ...some(10, 'ok'), ...some(10, 'ok', 1)];
      await using site = await BrowserSite.start({ http2: false, browsers, strangers: 150 });
      await site.reach(0, HONEST);
      await site.reach(1, HONEST);
      for (let round = 0; round < runs(2, 4); round++) {
        await site.reach(0);
        await site.reach(1);
      }
    },
    LONG_MS,
  );
});

describe('an instance of which no browser was ever reached', () => {
  it(
    'reaches its browsers although 400 fakes come first in device order',
    async () => {
      const kinds: readonly Evil[] = ['refused', 'asking', 'failing', 'busy'];
      const browsers = kinds.flatMap((evil, n) => [...some(400, evil, n), ...some(10, 'ok', n)]);
      await using site = await BrowserSite.start({ http2: false, browsers });
      await Promise.all(kinds.map((_, instance) => site.reach(instance)));
      // One browser has been accepted from then on.
      await Promise.all(kinds.map((_, instance) => site.reach(instance)));
    },
    LONG_MS,
  );

  it(
    'reaches its browsers beside one fake with a Retry-After of 15 minutes',
    async () => {
      const browsers = [...some(1, 'asking'), ...some(10, 'ok')];
      await using site = await BrowserSite.start({ http2: false, browsers });
      for (let round = 0; round < 3; round++) {
        await site.reach(0);
      }
      expect(site.server.output.stderr).not.toMatch(/Gateway (fails|refuses)/);
    },
    LONG_MS,
  );

  it(
    'logs that its key is not accepted, and delivers once it is',
    async () => {
      const browsers = [...some(20, 'refused'), ...some(10, 'ok')];
      await using site = await BrowserSite.start({ http2: false, browsers });
      site.honest = { status: 403 };
      const reached = site.reach(0);
      const said = await site.server.logged(/refuses the credential/);
      expect(JSON.parse(said)).toMatchObject({ level: 'warn', platform: 'web' });
      site.honest = { status: 201 };
      await reached;
      await site.server.logged(/Gateway recovered/);
    },
    LONG_MS,
  );
});

describe('an instance whose browsers were reached', () => {
  it(
    'logs that its key is not accepted any more, and reaches them soon after it is',
    async () => {
      await using site = await BrowserSite.start({
        http2: false,
        browsers: crowd(['refused'], 100),
      });
      await site.reach(0, HONEST);
      site.honest = { status: 403 };
      const reached = site.reach(0);
      const said = await site.server.logged(/Gateway refuses the credential: devices wait/);
      expect(JSON.parse(said)).toMatchObject({ level: 'warn', reason: 'http-403' });
      site.honest = { status: 201 };
      await reached;
      await site.server.logged(/Gateway recovered/);
      await site.reach(0);
    },
    LONG_MS,
  );

  it(
    'waits for a push service that is down, and reaches them soon after it is back',
    async () => {
      await using site = await BrowserSite.start({
        http2: false,
        browsers: crowd(['failing'], runs(40, 100)),
      });
      await site.reach(0, HONEST);
      site.honest = { status: 503 };
      const reached = site.reach(0);
      await site.server.logged(/sending is paused/);
      site.honest = { status: 201 };
      await reached;
      await site.server.logged(/Gateway recovered/);
      await site.reach(0);
      expect(site.gotMoreThan(3)).toEqual([]);
    },
    LONG_MS,
  );
});
