import type { AppWebhookEvent } from '../../../src/channels/lifecycle/webhook-event.ts';
import { Context } from '../kernel/context.ts';
import { useKernel } from '../kernel/globals.ts';
import { Kernel } from '../kernel/kernel.ts';
import { ClientSocket } from '../network/client-socket.ts';
import { Network, useNetwork } from '../network/network.ts';
import { replaceRuntime } from './replaced-modules.ts';

/**
 * Stops a server of three loops, whose turns take 2 ms, while clients are in many channels. Prints how many channels were
 * reported as occupied and as vacated, and how long the stop took.
 */

const LOOPS = 3;
const CLIENTS = 10;
const CHANNELS = 900;
/** A client subscribes to so many channels in a second. */
const A_SECOND = 40;
const STOPS_MS = 40_000;

replaceRuntime();
const { ServerProcess } = await import('./server-process.ts');
const { appOf } = await import('../worlds/channels/app.ts');

const kernel = new Kernel(1);
useKernel(kernel);
const network = new Network(kernel);
useNetwork(network);
const host = 'server:6001';
const reported = { channel_occupied: new Set<string>(), channel_vacated: new Set<string>() };
const server = new ServerProcess({
  name: 'server',
  network,
  loops: LOOPS,
  settings: { channels: { port: 0 } },
  apps: [appOf(1)],
  histories: undefined,
  webhooks(events: readonly AppWebhookEvent[]) {
    for (const { event } of events) {
      if (event.name === 'channel_occupied' || event.name === 'channel_vacated') {
        reported[event.name].add(event.channel);
      }
    }
  },
  onError: (text) => console.error(text),
  busyShare: 0,
  eventMs: 2,
  clockAheadMs: 0,
});
server.start(() => network.hosts.set(host, [server.port ?? 0]));

for (let client = 1; client <= CLIENTS; client++) {
  kernel.after(1_000, () => subscribe(client), new Context(`client ${client}`));
}
kernel.runUntil(STOPS_MS);
let exitedAtMs = Number.NaN;
server.stop(() => {
  exitedAtMs = kernel.nowMs;
});
kernel.runUntil(2 * STOPS_MS);
console.log(
  JSON.stringify({
    occupied: reported.channel_occupied.size,
    vacated: reported.channel_vacated.size,
    stopMs: exitedAtMs - STOPS_MS,
  }),
);
process.exit(0);

function subscribe(client: number): void {
  const socket = new ClientSocket(`ws://${host}/app/key?protocol=7`);
  let next = 0;
  const some = () => {
    for (const end = next + A_SECOND; next < end && next < CHANNELS; next++) {
      const data = { channel: `news-${client}-${next}` };
      socket.send(JSON.stringify({ event: 'pusher:subscribe', data }));
    }
    if (next < CHANNELS) setTimeout(some, 1_000);
  };
  socket.onmessage = ({ data }) => {
    if (data.includes('pusher:connection_established')) some();
  };
}
