import type { Topic } from './event.ts';
import type { AskedConnections } from './live/asked-connections.ts';
import type { Audience, Broadcast } from './ports.ts';
import type { Usage } from './usage/usage.ts';

/** What a broadcast goes through; the hub is one. */
export interface Broadcaster {
  readonly audience: Audience;
  readonly usage: Usage;
  /** Asks the connections that an event asks for; `undefined`: nothing asks. */
  readonly asked?: Pick<AskedConnections, 'ask' | 'nobody'> | undefined;
}

/**
 * Sends a frame to this loop's subscribers of a topic. Everything that subscribers of a channel or watchers of a user hear
 * goes through here; nothing else sends to an audience. It never publishes, so nothing can loop.
 *
 * `makeFrame` is called once however many subscribe, and not at all if nobody does. No JavaScript runs per WebSocket.
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
  // A backend sends its next event when this one is answered, so it gains from waiting; a client event waits for nothing.
  const receivers = audience.send(topic, makeFrame, { except, mayWait: cause === 'backend' });
  if (cause !== undefined) usage.charge(app, receivers, cause);
  if (trace !== undefined) app.tap?.sent(trace, receivers);
  // Behind the event on each connection.
  if (ask !== undefined) asked?.ask(app, channel, ask);
}
