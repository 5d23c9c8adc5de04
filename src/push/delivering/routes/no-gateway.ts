import type { Gateway, Outcome } from '../../gateway.ts';
import type { Platform } from '../../model/device.ts';
import type { AnyGateway } from './prepared-publish.ts';

/** The reason of devices whose platform is not configured for the instance. */
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

/** Stand-ins for gateways that are not configured. They refuse every device. */
export const noGateways: Readonly<Record<Platform, AnyGateway>> = {
  apns: refusing('apns'),
  fcm: refusing('fcm'),
  web: refusing('web'),
};
