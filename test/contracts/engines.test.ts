import type { App } from '../../src/channels/app.ts';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { MemoryEngine } from '../../src/engines/memory.ts';
import { ThreadsEngine } from '../../src/engines/threads/engine.ts';
import { authorityContract, type OpenCluster } from './authority.contract.ts';
import { FakeLinks } from './fake-links.ts';
import { graceContract } from './grace.contract.ts';
import { historyContract } from './history.contract.ts';
import { largeContract } from './large.contract.ts';
import { partsOfLoop } from './loop-parts.ts';
import { LoopStage } from './loop-stage.ts';
import { memberViewsContract } from './member-views.contract.ts';
import { onlineUsersContract } from './online-users.contract.ts';
import { valuesContract } from './values.contract.ts';

function clusterOf(
  loops: readonly LoopStage[],
  clock: FakeClock,
  reported: AppWebhookEvent[],
  settled: () => Promise<void>,
): OpenCluster {
  return {
    loops,
    clock,
    advance: async (ms) => clock.advance(ms),
    reported: () => reported.splice(0),
    settled,
  };
}

const memory = async (): Promise<OpenCluster> => {
  const clock = new FakeClock();
  const reported: AppWebhookEvent[] = [];
  const { audience, terminated, ...parts } = partsOfLoop(clock, reported);
  const authority = new MemoryEngine({
    timers: clock,
    monotonic: clock,
    ...parts,
  });
  const loop = new LoopStage({ number: 0, authority, audience, terminated });
  return clusterOf([loop], clock, reported, async () => undefined);
};

authorityContract('MemoryEngine', memory);
graceContract('MemoryEngine', memory);
largeContract('MemoryEngine', memory);
historyContract('MemoryEngine', memory);
memberViewsContract('MemoryEngine', memory);
onlineUsersContract('MemoryEngine', memory);
valuesContract('MemoryEngine', memory);

/** Loops of one process, whose messages arrive in later turns, all of one turn together. */
async function threads(count: number, apps: readonly App[]): Promise<OpenCluster> {
  const clock = new FakeClock();
  const reported: AppWebhookEvent[] = [];
  const links = new FakeLinks();
  const loops = Array.from({ length: count }, (_, number) => {
    const { audience, terminated, ...parts } = partsOfLoop(clock, reported);
    const authority = new ThreadsEngine({
      loop: number,
      loops: count,
      apps: {
        byId: (id) => apps.find((app) => app.id === id),
        byKey: () => undefined,
      },
      timers: clock,
      monotonic: clock,
      ...parts,
      others: links.of(number),
    });
    links.open(number, authority);
    return new LoopStage({ number, authority, audience, terminated });
  });
  links.onSent = (from, to) => setImmediate(() => links.deliver(from, to));
  return clusterOf(loops, clock, reported, async () => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (links.isBusy);
  });
}

for (const count of [1, 2, 3, 8]) {
  authorityContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  graceContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  largeContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  historyContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  memberViewsContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  onlineUsersContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
  valuesContract(`ThreadsEngine of ${count} loops`, (apps) => threads(count, apps));
}
