import type { App } from '../../src/channels/app.ts';
import { FakeClock } from '../../src/channels/hub.fixture.ts';
import type { AppWebhookEvent } from '../../src/channels/lifecycle/webhook-event.ts';
import { MemoryEngine } from '../../src/engines/memory.ts';
import { ThreadsEngine } from '../../src/engines/threads/engine.ts';
import type { EngineMessage } from '../../src/engines/threads/messages.ts';
import { authorityContract, type OpenCluster } from './authority.contract.ts';
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
  const engines: ThreadsEngine[] = [];
  const waiting = new Map<string, EngineMessage[]>();
  const send = (from: number, to: number, message: EngineMessage) => {
    const key = `${from} ${to}`;
    const queue = waiting.get(key);
    if (queue !== undefined) {
      queue.push(message);
      return;
    }
    waiting.set(key, [message]);
    setImmediate(() => {
      const messages = waiting.get(key) ?? [];
      waiting.delete(key);
      for (const one of structuredClone(messages)) engines[to]?.receive(from, one);
      engines[to]?.received(from);
    });
  };
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
      send: (to, message) => send(number, to, message),
      backlog: (to) => waiting.get(`${number} ${to}`)?.length ?? 0,
    });
    engines.push(authority);
    return new LoopStage({ number, authority, audience, terminated });
  });
  return clusterOf(loops, clock, reported, async () => {
    do await new Promise((resolve) => setImmediate(resolve));
    while (waiting.size > 0);
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
