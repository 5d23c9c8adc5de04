import type { ChannelText } from '../../src/channels/channel-name.ts';
import { createHandledCounts, LoopLinks, linkLoops } from '../../src/node/link/loop-links.ts';
import type { LoopMessage } from '../../src/node/link/messages.ts';

/**
 * Measures the links between realtime loops: the time of one way between two idle loops, and the cost of messages that are
 * sent in the same turn of the event loop.
 *
 *     sh scripts/bun.sh bench/threads/loop-links.ts
 */

const ROUNDS = 2000;
const PAUSE_MS = 2;

const [ports, portsOfOther = []] = linkLoops(2);
const handled = createHandledCounts(2);
const links = new LoopLinks({ index: 0, ports: ports ?? [], handled });
const worker = new Worker(new URL('./echo-loop.ts', import.meta.url));
await new Promise((resolve) => worker.addEventListener('message', resolve, { once: true }));
worker.postMessage(
  { index: 1, ports: portsOfOther, handled },
  portsOfOther.filter((port) => port !== undefined),
);

let left = 0;
let finished: (() => void) | undefined;
links.receive((_, messages) => {
  left -= messages.length;
  if (left === 0) finished?.();
});

const message: LoopMessage = [
  'broadcast',
  'app',
  'private-news' as ChannelText,
  'x'.repeat(200),
  undefined,
  'backend',
];

/** Sends messages in one turn and waits until all are back. Returns the time. */
async function echo(messages: number): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  finished = resolve;
  left = messages;
  const startedAtMs = performance.now();
  for (let n = 0; n < messages; n++) links.send(1, message);
  await promise;
  return performance.now() - startedAtMs;
}

for (let round = 0; round < 200; round++) await echo(10);

for (const messages of [1, 10]) {
  const oneWaysMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    oneWaysMs.push((await echo(messages)) / 2);
    await Bun.sleep(PAUSE_MS);
  }
  oneWaysMs.sort((a, b) => a - b);
  const at = (share: number) => oneWaysMs[Math.floor(share * ROUNDS)]?.toFixed(3);
  console.log(`${messages} per turn, idle: one way p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}

for (const messages of [1, 10, 100]) {
  const turns = 100_000 / messages;
  const { user, system } = process.cpuUsage();
  const startedAtMs = performance.now();
  for (let turn = 0; turn < turns; turn++) await echo(messages);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const used = process.cpuUsage();
  // Each goes to the other loop and back.
  const crossings = 2 * turns * messages;
  const us = (used.user - user + used.system - system) / crossings;
  const rate = Math.round(crossings / seconds);
  console.log(`${messages} per turn: ${rate} messages/s, ${us.toFixed(2)} µs of both cores each`);
}
process.exit();
