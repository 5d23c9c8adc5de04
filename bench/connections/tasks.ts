import type { AppAddress } from '../bench-app.ts';
import type { LoopResult, LoopTime } from '../load/closed-loop.ts';
import { ConnectionCrowd } from './crowd.ts';
import { Pacer } from './pacer.ts';
import { residentBytes } from './server-memory.ts';
import { channelNames, privateSubscription, publicSubscriptions } from './subscriptions.ts';

/** Connections that come and go. */
export interface Churn extends LoopTime {
  readonly app: AppAddress;
  readonly kind: 'public' | 'private';
  readonly atOnce: number;
}

/** Connections that come and stay. */
export interface Idle {
  readonly app: AppAddress;
  readonly connections: number;
  /** Connected before anything is measured. */
  readonly connectionsBefore: number;
  readonly channelsEach: number;
  /** In how many channels all of them are together. */
  readonly channels: number;
  readonly settleSeconds: number;
  readonly serverPid: number;
}

/** One sample of a server full of silent connections. */
export interface IdleRun {
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  readonly bytesEach: number;
}

/** Each client has one of a thousand channels, so that some are occupied and vacated all the time. */
const TURNSTILE_CHANNELS = 1000;
const IDLE_CONNECTING_MAX = 100;

/** Measures connections per second, from the first packet to the confirmed subscription. */
export function churn({ app, kind, atOnce, ...time }: Churn): LoopResult {
  const subscriptions =
    kind === 'public'
      ? channelNames(TURNSTILE_CHANNELS).map((name) => publicSubscriptions([name]))
      : channelNames(TURNSTILE_CHANNELS, 'private-').map((name) => privateSubscription(app, name));
  return new Pacer(app, subscriptions, atOnce).run(time);
}

/** Measures the memory of connections. */
export function idle(task: Idle): IdleRun {
  const { serverPid, connections, connectionsBefore, channelsEach } = task;
  const names = channelNames(task.channels);
  const subscriptions = Array.from({ length: connectionsBefore + connections }, (_, client) =>
    publicSubscriptions(
      Array.from(
        { length: channelsEach },
        (__, place) => names[(client * channelsEach + place) % names.length] ?? '',
      ),
    ),
  );
  const assembly = new ConnectionCrowd(task.app, IDLE_CONNECTING_MAX);
  assembly.gather(subscriptions.slice(0, connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesBefore = residentBytes(serverPid);
  assembly.gather(subscriptions.slice(connectionsBefore));
  assembly.rest(task.settleSeconds);
  const bytesAfter = residentBytes(serverPid);
  return { bytesBefore, bytesAfter, bytesEach: (bytesAfter - bytesBefore) / connections };
}
