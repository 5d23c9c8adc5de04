import { describe, expect, it } from 'bun:test';
import fc from 'fast-check';
import type { LogFields } from '../../runtime/ports.ts';
import type { App } from '../app.ts';
import type { Cause } from '../event.ts';
import { appWith, FakeClock } from '../hub.fixture.ts';
import { type TakenUsage, UnsharedUsage } from './unshared-usage.ts';
import { Usage } from './usage.ts';

/** Source: the precedence table of the Channels protocol ("the daily quota"), and §14.4. */

const HOUR_MS = 3_600_000;
/** The clock starts at 22:13:20 UTC of this day. */
const DAY = '2023-11-14';
const NEXT_DAY = '2023-11-15';

function appOf(messagesPerDay: number, settings: Partial<App> = {}): App {
  const app = appWith(settings);
  return { ...app, limits: { ...app.limits, messagesPerDay } };
}

function stage() {
  const clock = new FakeClock();
  const warned: (LogFields | undefined)[] = [];
  const counted: [counter: string, by: number | undefined, label: string | undefined][] = [];
  const warn = (_: string, fields?: LogFields) => void warned.push(fields);
  // Everything that is logged of a quota is a warning.
  const log = { debug: warn, info: warn, warn, error: warn };
  const meter = {
    count: (counter: string, by?: number, label?: string) =>
      void counted.push([counter, by, label]),
  };
  return { clock, warned, counted, usage: new Usage({ clock, log, meter }) };
}

describe('the daily quota', () => {
  it('accepts message N of N, and not the next', () => {
    const { usage } = stage();
    const app = appOf(3);
    expect([1, 2, 3, 4].map(() => usage.take(app, 1))).toEqual([true, true, true, false]);
    expect(usage.todayOf(app).backend).toBe(3);
  });

  it('has room for all of a request or for none of it, and counts nothing that is refused', () => {
    const { usage } = stage();
    const app = appOf(3);
    expect(usage.take(app, 2)).toBe(true);
    expect(usage.take(app, 2)).toBe(false);
    expect(usage.take(app, 1)).toBe(true);
    expect(usage.take(app, 1)).toBe(false);
    expect(usage.unsaved()).toEqual([{ appId: 'app', day: DAY, messages: 3, clientMessages: 0 }]);
  });

  it('is used up by deliveries and webhook events, which are counted beyond it too', () => {
    const { usage } = stage();
    const app = appOf(3);
    usage.charge(app, 5, 'backend');
    expect(usage.todayOf(app).backend).toBe(5);
    expect(usage.take(app, 1)).toBe(false);
  });

  it('is not used up by messages of clients, which are counted separately', () => {
    const { usage, warned } = stage();
    const app = appOf(3);
    usage.charge(app, 1_000_000, 'clients');
    expect([1, 2, 3, 4].map(() => usage.take(app, 1))).toEqual([true, true, true, false]);
    expect(usage.todayOf(app)).toEqual({ backend: 3, clients: 1_000_000 });
    expect(warned.map((one) => one?.['left'])).toEqual(['5%', '1%', '0%']);
    const used = { appId: 'app', day: DAY, messages: 1_000_003, clientMessages: 1_000_000 };
    expect(usage.unsaved()).toEqual([used]);

    const { usage: later } = stage();
    later.restore([used]);
    expect(later.todayOf(app)).toEqual({ backend: 3, clients: 1_000_000 });
    expect(later.take(app, 1)).toBe(false);
  });

  it('of 0 is no quota, and messages are counted all the same', () => {
    const { usage, warned } = stage();
    const app = appOf(0);
    expect(usage.take(app, 1_000_000)).toBe(true);
    expect(usage.todayOf(app).backend).toBe(1_000_000);
    expect(warned).toEqual([]);
  });

  it('of one app is not used by another', () => {
    const { usage } = stage();
    expect(usage.take(appOf(1), 1)).toBe(true);
    expect(usage.take(appOf(1, { id: 'other' }), 1)).toBe(true);
  });

  it('is full again at midnight UTC, even if it was used a moment before', () => {
    const { clock, usage } = stage();
    const app = appOf(3);
    clock.advance(Date.parse(`${NEXT_DAY}T00:00:00Z`) - clock.now() - 1);
    expect(usage.take(app, 3)).toBe(true);
    expect(usage.take(app, 1)).toBe(false);
    clock.advance(1);
    expect(usage.todayOf(app).backend).toBe(0);
    expect([1, 2, 3, 4].map(() => usage.take(app, 1))).toEqual([true, true, true, false]);
    expect(usage.unsaved()).toEqual([
      { appId: 'app', day: DAY, messages: 3, clientMessages: 0 },
      { appId: 'app', day: NEXT_DAY, messages: 3, clientMessages: 0 },
    ]);
  });

  it('continues after a restart with the usage of today, and only of today', () => {
    const { usage } = stage();
    const app = appOf(10);
    usage.restore([
      { appId: 'app', day: '2023-11-13', messages: 100, clientMessages: 0 },
      { appId: 'app', day: DAY, messages: 8, clientMessages: 0 },
      { appId: 'app', day: NEXT_DAY, messages: 100, clientMessages: 0 },
      { appId: 'other', day: DAY, messages: 10, clientMessages: 0 },
    ]);
    expect(usage.todayOf(app).backend).toBe(8);
    expect(usage.take(app, 2)).toBe(true);
    expect(usage.take(app, 1)).toBe(false);
    // What was kept already is not kept twice.
    expect(usage.unsaved()).toEqual([{ appId: 'app', day: DAY, messages: 2, clientMessages: 0 }]);
  });

  it('follows the app when it is raised', () => {
    const { usage } = stage();
    const app = appOf(1);
    expect(usage.take(app, 1)).toBe(true);
    expect(usage.take(app, 1)).toBe(false);
    Object.assign(app.limits, { messagesPerDay: 2 });
    expect(usage.take(app, 1)).toBe(true);
  });
});

describe('warnings of the quota', () => {
  const left = (warned: readonly (LogFields | undefined)[]) => warned.map((one) => one?.['left']);

  it('are issued with 5 %, 1 % and nothing left, once each', () => {
    const { usage, warned, counted } = stage();
    const app = appOf(1000);
    usage.take(app, 949);
    expect(left(warned)).toEqual([]);
    usage.take(app, 1);
    expect(warned).toEqual([{ app: 'app', left: '5%', used: 950, quota: 1000 }]);
    usage.take(app, 39);
    expect(left(warned)).toEqual(['5%']);
    usage.take(app, 1);
    expect(left(warned)).toEqual(['5%', '1%']);
    usage.take(app, 9);
    expect(left(warned)).toEqual(['5%', '1%']);
    usage.take(app, 1);
    expect(left(warned)).toEqual(['5%', '1%', '0%']);
    usage.charge(app, 100, 'backend');
    expect(usage.take(app, 1)).toBe(false);
    expect(left(warned)).toEqual(['5%', '1%', '0%']);
    expect(counted).toEqual(['5%', '1%', '0%'].map((label) => ['quotaWarnings', 1, label]));
  });

  it('are issued for every threshold that one leap passes', () => {
    const { usage, warned } = stage();
    usage.charge(appOf(100), 1000, 'backend');
    expect(left(warned)).toEqual(['5%', '1%', '0%']);
  });

  it('are issued again the next day', () => {
    const { clock, usage, warned } = stage();
    const app = appOf(10);
    usage.take(app, 10);
    clock.advance(2 * HOUR_MS);
    usage.take(app, 9);
    expect(left(warned)).toEqual(['5%', '1%', '0%']);
    usage.take(app, 1);
    expect(left(warned)).toEqual(['5%', '1%', '0%', '5%', '1%', '0%']);
  });
});

describe('usage to be stored', () => {
  it('is the usage since the last call', () => {
    const { usage } = stage();
    const app = appOf(0);
    const other = appOf(0, { id: 'other' });
    usage.charge(app, 2, 'backend');
    usage.charge(other, 3, 'backend');
    expect(usage.unsaved()).toEqual([
      { appId: 'app', day: DAY, messages: 2, clientMessages: 0 },
      { appId: 'other', day: DAY, messages: 3, clientMessages: 0 },
    ]);
    expect(usage.unsaved()).toEqual([]);
    usage.charge(app, 0, 'backend');
    expect(usage.unsaved()).toEqual([]);
    usage.charge(app, 4, 'backend');
    expect(usage.unsaved()).toEqual([{ appId: 'app', day: DAY, messages: 4, clientMessages: 0 }]);
  });

  it('adds up exactly, day by day and app by app, also over midnight and when the clock is set back', () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          app: fc.constantFrom('a', 'b'),
          use: fc.nat(9),
          cause: fc.constantFrom<Cause[]>('backend', 'clients'),
        }),
      },
      { weight: 2, arbitrary: fc.record({ passMs: fc.nat(20 * HOUR_MS) }) },
      { weight: 1, arbitrary: fc.record({ setBackMs: fc.nat(30 * HOUR_MS) }) },
      { weight: 2, arbitrary: fc.constant('keep' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { clock, usage } = stage();
        const apps = new Map(['a', 'b'].map((id) => [id, appOf(0, { id })]));
        const used = new Map<string, number>();
        const kept = new Map<string, number>();
        const add = (to: Map<string, number>, key: string, by: number) => {
          if (by > 0) to.set(key, (to.get(key) ?? 0) + by);
        };
        const keep = () => {
          for (const { appId, day, messages, clientMessages } of usage.unsaved()) {
            add(kept, `${appId} ${day} backend`, messages - clientMessages);
            add(kept, `${appId} ${day} clients`, clientMessages);
          }
        };
        for (const one of steps) {
          if (one === 'keep') keep();
          else if ('passMs' in one) clock.advance(one.passMs);
          else if ('setBackMs' in one) clock.setBack(one.setBackMs);
          else {
            const app = apps.get(one.app);
            if (app !== undefined) usage.charge(app, one.use, one.cause);
            const day = new Date(clock.now()).toISOString().slice(0, 10);
            add(used, `${one.app} ${day} ${one.cause}`, one.use);
          }
        }
        keep();
        expect(kept).toEqual(used);
        expect(usage.unsaved()).toEqual([]);
      }),
    );
  });
});

describe('the rate of triggers', () => {
  it('allows that many at once, and that many more each second', () => {
    const { clock, usage } = stage();
    const app = appWith();
    Object.assign(app.limits, { triggersPerSecond: 5 });
    expect(usage.takeTriggers(app, 5)).toBe(true);
    expect(usage.takeTriggers(app, 1)).toBe(false);
    clock.advance(200);
    expect(usage.takeTriggers(app, 1)).toBe(true);
    expect(usage.takeTriggers(app, 1)).toBe(false);
    clock.advance(60_000);
    expect(usage.takeTriggers(app, 5)).toBe(true);
    expect(usage.takeTriggers(app, 1)).toBe(false);
  });

  it('lets a batch through that is larger than it, if the bucket is full', () => {
    const { clock, usage } = stage();
    const app = appWith();
    Object.assign(app.limits, { triggersPerSecond: 5 });
    expect(usage.takeTriggers(app, 10)).toBe(true);
    expect(usage.takeTriggers(app, 10)).toBe(false);
    clock.advance(1000);
    expect(usage.takeTriggers(app, 10)).toBe(true);
  });

  it('of 0 is no limit', () => {
    const { usage } = stage();
    for (let n = 0; n < 1000; n++) expect(usage.takeTriggers(appWith(), 10)).toBe(true);
  });
});

/** Loops that enforce quotas and rates together. `share` reports to each what the others have taken. */
function loopsOf(count: number) {
  const clock = new FakeClock();
  const warned: number[] = [];
  let due = 0;
  const loops = Array.from({ length: count }, (_, index) => {
    const unshared = new UnsharedUsage({ loops: () => count, shareSoon: () => due++ });
    const warn = () => void warned.push(index);
    const log = { debug: warn, info: warn, warn, error: warn };
    const meter = { count: () => undefined };
    return {
      unshared,
      usage: new Usage({
        clock,
        log,
        meter,
        shared: { unshared, warns: index === 0, isFirst: index === 0 },
      }),
    };
  });
  const share = (app: App): readonly TakenUsage[] => {
    const taken = loops.map(({ unshared }) => unshared.take());
    for (const [from, ofLoop] of taken.entries()) {
      for (const [to, { usage }] of loops.entries()) {
        if (to !== from) for (const one of ofLoop) usage.chargeTaken(app, one);
      }
    }
    return taken.flat();
  };
  return { clock, warned, usages: loops.map(({ usage }) => usage), share, due: () => due };
}

describe('the usage of several loops', () => {
  it('enforces a daily quota for their sum', () => {
    const { usages, share } = loopsOf(3);
    const app = appOf(9);
    for (const usage of usages) expect(usage.take(app, 3)).toBe(true);
    share(app);
    for (const usage of usages) {
      expect(usage.take(app, 1)).toBe(false);
      expect(usage.todayOf(app)).toEqual({ backend: 3, clients: 0 });
    }
  });

  it('is reported once, and not at all if there is none', () => {
    const { usages, share } = loopsOf(2);
    const app = appOf(0);
    expect(share(app)).toEqual([]);
    usages[0]?.charge(app, 2, 'clients');
    expect(share(app)).toHaveLength(1);
    expect(share(app)).toEqual([]);
    expect(usages.map((usage) => usage.todayOf(app).clients)).toEqual([2, 0]);
  });

  it('is stored by the loop that counted it', () => {
    const { usages, share } = loopsOf(2);
    const app = appOf(0);
    usages[0]?.charge(app, 2, 'clients');
    usages[1]?.charge(app, 3, 'backend');
    share(app);
    expect(usages.map((usage) => usage.unsaved())).toEqual([
      [{ appId: 'app', day: DAY, messages: 2, clientMessages: 2 }],
      [{ appId: 'app', day: DAY, messages: 3, clientMessages: 0 }],
    ]);
  });

  it('has a part on each loop, and the parts add up at any time', () => {
    const { usages, share } = loopsOf(2);
    const app = appOf(0);
    const [one, two] = usages;
    for (const usage of usages) {
      usage.restore([{ appId: 'app', day: DAY, messages: 10, clientMessages: 4 }]);
    }
    one?.charge(app, 2, 'clients');
    two?.charge(app, 3, 'backend');
    for (const _ of [1, 2]) {
      expect(one?.todayOf(app)).toEqual({ backend: 6, clients: 6 });
      expect(two?.todayOf(app)).toEqual({ backend: 3, clients: 0 });
      share(app);
    }
  });

  it('does not count for a day that has begun meanwhile', () => {
    const { clock, usages, share } = loopsOf(2);
    const app = appOf(5);
    expect(usages[0]?.take(app, 5)).toBe(true);
    clock.advance(2 * HOUR_MS);
    share(app);
    expect(usages[1]?.take(app, 5)).toBe(true);
  });

  it('is warned of by the first loop alone, wherever the messages came from', () => {
    const { warned, usages, share } = loopsOf(2);
    const app = appOf(100);
    usages[0]?.charge(app, 50, 'backend');
    usages[1]?.charge(app, 46, 'backend');
    expect(warned).toEqual([]);
    share(app);
    expect(warned).toEqual([0]);
  });

  it.each(['triggers', 'queries'] as const)('enforces a rate for their sum: %s', (kind) => {
    const { clock, usages, share } = loopsOf(2);
    const app = appWith();
    Object.assign(app.limits, { triggersPerSecond: 10, queriesPerSecond: 10 });
    const take = (usage: Usage | undefined) =>
      kind === 'triggers' ? usage?.takeTriggers(app, 1) : usage?.takeQuery(app);
    for (let n = 0; n < 10; n++) expect(take(usages[n % 2])).toBe(true);
    share(app);
    expect(usages.map(take)).toEqual([false, false]);
    clock.advance(100);
    expect(take(usages[1])).toBe(true);
    share(app);
    expect(usages.map(take)).toEqual([false, false]);
  });

  it('is shared at once when all loops together may have taken a tenth of a second of a rate', () => {
    const { usages, due } = loopsOf(2);
    const app = appWith();
    Object.assign(app.limits, { triggersPerSecond: 100 });
    usages[0]?.takeTriggers(app, 4);
    expect(due()).toBe(0);
    usages[0]?.takeTriggers(app, 1);
    expect(due()).toBe(1);
  });

  it('is shared at once when all loops together may have taken a tenth of what is left of a quota', () => {
    const { usages, due } = loopsOf(2);
    const app = appOf(105);
    usages[0]?.charge(app, 4, 'backend');
    usages[0]?.charge(app, 100, 'clients');
    expect(due()).toBe(0);
    usages[0]?.charge(app, 1, 'backend');
    expect(due()).toBe(1);
  });
});
