import type { Random } from '../../../testing/random.ts';

/** Changes what a loop posts to another one. Returns what is posted instead; `undefined`: nothing. */
export type MessageChange = (message: unknown) => unknown;

/** How many of the messages that a fault can change it does change. */
const SOME = 1 / 10;

/** Faults of what loops send each other, by name. */
export const messageChanges: Readonly<Record<string, (random: Random) => MessageChange>> = {
  /** An event does not get from its home to another loop. */
  'lose-message': (random) => (message) =>
    Array.isArray(message)
      ? message.filter((one) => !(isBroadcast(one) && random.chance(SOME)))
      : message,

  'lose-webhook': (random) => (message) =>
    isWebhooks(message)
      ? { ...message, events: message.events.filter(() => !random.chance(SOME)) }
      : message,
};

function isBroadcast(message: unknown): boolean {
  return Array.isArray(message) && message[0] === 'broadcast';
}

function isWebhooks(
  message: unknown,
): message is { readonly type: 'webhook-events'; readonly events: readonly unknown[] } {
  return Object(message).type === 'webhook-events';
}
