import type { Gateway, Outcome } from '../push/gateway.ts';
import type { Platform } from '../push/model/device.ts';

/** The reason of devices on whose platform the instance has a gateway that cannot be made. */
const SETTINGS_UNUSABLE = 'settings-unusable';

/**
 * Stands in for a gateway that cannot be made from its settings, such as where the file of a key cannot be read. Its
 * devices wait for as long as their publish lets them, as with a credential that the gateway does not accept, since
 * mending the file mends it. They are told the setting, and not the file: its path is the operator's own.
 */
export function unusableGateway<P extends Platform>(platform: P, setting: string): Gateway<P> {
  const outcome: Outcome = {
    result: 'not-authorised',
    reason: SETTINGS_UNUSABLE,
    words: `${setting} cannot be used`,
    scope: 'connection',
  };
  return {
    platform,
    // Each tells the same: those that wait need not all hear it.
    atOnce: 1,
    prepare: () => async () => outcome,
    [Symbol.asyncDispose]: async () => undefined,
  };
}
