import type { Topic } from './event.ts';
import type { AskedConnections } from './live/asked-connections.ts';
import type { Audience, Broadcast } from './ports.ts';
import type { Usage } from './usage/usage.ts';

/** The part of the hub that a broadcast uses. */
export interface Broadcaster {
  readonly audience: Audience;
  readonly usage: Usage;
  /** Asks the connections that an event with an ask is for; `undefined`: there are no asks. */
  readonly asked?: Pick<AskedConnections, 'ask' | 'nobody'> | undefined;
}

/**
 * Sends a frame to this loop's subscribers of a topic. This is the only caller of `Audience.send`: everything that
 * subscribers of a channel or watchers of a user receive goes through here. It never publishes, so there can be no
 * loop.
 *
 * `makeFrame` is called once for any number of subscribers, and not at all if there are none. No JavaScript runs per
 * WebSocket.
 */
export function broadcast(
  { audience, usage, asked }: Broadcaster,
  { app, channel, makeFrame, except, cause, trace, ask }: Broadcast,
): void {
  // The event was sent before.
  if (ask?.isAlone === true) {
    asked?.ask(app, channel, ask);
    return;
  }
  const topic: Topic = `${app.id}/${channel}`;
  // A backend sends its next event when this one is answered, so it benefits from batching. A client event does not
  // wait for anything.
  const mayWait = cause === 'backend';
  const { compressAboveBytes } = app;
  const receivers = audience.send(topic, makeFrame, { except, mayWait, compressAboveBytes });
  if (cause !== undefined) usage.charge(app, receivers, cause);
  if (trace !== undefined) app.tap?.sent(trace, receivers);
  // Comes after the event on each connection.
  if (ask !== undefined) asked?.ask(app, channel, ask);
}
