import type { Gateway, Outcome } from '../push/gateway.ts';
import type { Platform } from '../push/model/device.ts';
import { notAuthorised } from './outcomes.ts';

/** The reason that devices fail with when the gateway's settings are unusable. */
const SETTINGS_UNUSABLE = 'settings-unusable';

/**
 * Replaces a gateway that cannot be made from its settings, for example because a key file is unreadable. Its devices
 * wait until their publish expires, as with a refused credential, because the operator may fix the file. The outcome
 * names the setting but not the file, whose path is the operator's business.
 */
export function unusableGateway<P extends Platform>(platform: P, setting: string): Gateway<P> {
  const fault = notAuthorised(SETTINGS_UNUSABLE, `${setting} cannot be used`);
  const outcome: Outcome = { ...fault, scope: 'connection' };
  return {
    platform,
    // All outcomes are the same, so one attempt at a time is enough.
    atOnce: 1,
    prepare: () => async () => outcome,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
