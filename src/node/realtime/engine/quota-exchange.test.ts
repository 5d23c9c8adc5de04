import { afterEach, expect, it } from 'bun:test';
import { appWith } from '../../../channels/hub.fixture.ts';
import { Usage } from '../../../channels/usage/usage.ts';
import { systemTimers } from '../../../runtime/system-timers.ts';
import { shareLoopCounts } from '../../link/loop-counts.ts';
import { LoopLinks, linkLoops } from '../../link/loop-links.ts';
import { isOfEngine } from '../../link/messages.ts';
import { QuotaExchange } from './quota-exchange.ts';

const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});

const silent = () => undefined;
const log = { debug: silent, info: silent, warn: silent, error: silent };

/** Loops in this thread that exchange what they have taken of one app. */
function loopsWith(count: number, app = appWith(), { onTimer = true } = {}) {
  const counts = shareLoopCounts(count);
  return linkLoops(count).map((ports, index) => {
    const links = new LoopLinks({ index, ports, counts });
    const quotas = new QuotaExchange(links);
    const usage = new Usage({
      clock: systemTimers,
      log,
      meter: { count: silent },
      shared: quotas.usage,
    });
    const apps = { byKey: () => app, byId: (id: string) => (id === app.id ? app : undefined) };
    const heard = Promise.withResolvers<void>();
    links.receive((_, messages) => {
      for (const message of messages) {
        if (typeof message !== 'object' || isOfEngine(message)) continue;
        if (message.type !== 'usage') continue;
        quotas.receive(message, apps, usage);
        heard.resolve();
      }
    });
    if (onTimer) quotas.start();
    stops.push(() => {
      quotas.stop();
      links[Symbol.dispose]();
    });
    return { usage, heard: heard.promise };
  });
}

it('reports to each loop what the others have taken', async () => {
  const app = appWith();
  Object.assign(app.limits, { messagesPerDay: 100 });
  const [a, b, c] = loopsWith(3, app);
  a?.usage.charge(app, 1, 'backend');
  await Promise.all([b?.heard, c?.heard]);
  expect([b, c].map((loop) => loop?.usage.take(app, 100))).toEqual([false, false]);
});

it('reports at once to the others what was taken from a rate', async () => {
  const app = appWith();
  Object.assign(app.limits, { triggersPerSecond: 10 });
  const [a, b] = loopsWith(2, app, { onTimer: false });
  expect(a?.usage.takeTriggers(app, 10)).toBe(true);
  await b?.heard;
  expect(b?.usage.takeTriggers(app, 5)).toBe(false);
});
