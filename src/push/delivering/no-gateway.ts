import type { Gateway, Outcome } from '../gateway.ts';
import type { Platform } from '../model/device.ts';
import type { AnyGateway } from './prepared.ts';

/** The reason of devices on whose platform the instance has no gateway. */
const NO_GATEWAY = 'no-gateway';

const REFUSED: Outcome = {
  result: 'refused',
  reason: NO_GATEWAY,
  words: 'The instance has no credentials for this platform: configure them, and publish again',
};

function refusing<P extends Platform>(platform: P): Gateway<P> {
  return {
    platform,
    atOnce: 1_000,
    prepare: () => async () => REFUSED,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Stand in for gateways that are not configured: each device hears why it is not reached, as from a real one. */
export const noGateways: Readonly<Record<Platform, AnyGateway>> = {
  apns: refusing('apns'),
  fcm: refusing('fcm'),
  web: refusing('web'),
};
