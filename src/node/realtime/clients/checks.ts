import { monotonicTimers } from '../../../runtime/system-timers.ts';
import { every } from '../../../runtime/time/every.ts';
import type { BodyIntake } from '../../../transports/body-intake.ts';
import type { Clients } from '../../../transports/clients/clients.ts';
import type { SlowConsumers } from '../../../transports/clients/frames/slow-consumers.ts';
import type { Readers } from '../../../transports/sse/readers.ts';
import type { UnreadAnswers } from '../../../transports/unread-answers.ts';
import type { UnreadSockets } from '../../sockets/unread-sockets.ts';
import type { FallbackSessions } from './fallback.ts';
import type { Listeners } from './listeners.ts';

/**
 * The interval of checking connections, a tenth of them at a time, so each is checked once a second. Checking 10,000
 * at once blocked the loop for 3 ms. Milliseconds.
 */
const CHECK_INTERVAL_MS = 100;
const CHECK_PARTS = 10;

export interface ChecksOptions {
  readonly slowConsumers: SlowConsumers;
  readonly unreadSockets: UnreadSockets | undefined;
  readonly listeners: Listeners;
  readonly clients: Clients;
  readonly bodies: readonly BodyIntake[];
  readonly unread: UnreadAnswers;
  readonly fallback: FallbackSessions;
  readonly readers: Readers;
}

/** Starts the regular checks of what clients have open. Returns how to stop them. */
export function startChecks(options: ChecksOptions): () => void {
  const { slowConsumers, unreadSockets, listeners, clients, bodies, unread, fallback, readers } =
    options;
  const homes = fallback.cluster ?? fallback.links;
  let checked = 0;
  return every(monotonicTimers, CHECK_INTERVAL_MS, () => {
    slowConsumers.sampleAgain();
    unreadSockets?.check();
    listeners.forgetEmpty();
    clients.checkPart(CHECK_PARTS);
    for (const intake of bodies) intake.check();
    checked++;
    if (checked % CHECK_PARTS !== 0) return;
    fallback.sessions.check();
    homes.check();
    readers.check();
    unread.check();
  });
}
