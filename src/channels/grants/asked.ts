import type { Hub } from '../hub.ts';
import type { Session } from '../subscribing/session.ts';
import type { Asked } from './connection-grants.ts';

/** What grants of a connection depend on, as it is now. */
export function askedOf(hub: Pick<Hub, 'clock' | 'revocations'>, { app, user }: Session): Asked {
  const { clock, revocations } = hub;
  return {
    nowMs: clock.now(),
    appId: app.id,
    revocations,
    setting: app.grants,
    userId: user?.id,
  };
}
