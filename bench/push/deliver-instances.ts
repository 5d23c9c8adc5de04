import type { SinkAddress, SinkKind } from './sink-calls.ts';

/** One instance whose devices are delivered to. */
export interface DeliverInstance {
  readonly number: number;
  readonly id: string;
  readonly secretKey: string;
  /** Of its devices: their numbers begin there. */
  readonly firstDevice: number;
  readonly devices: number;
}

/** The devices that are sent to before the measurement: to warm up the compilers, and to open connections. */
export const WARM_UP_INTEREST = 'warm-up';

/** What every device is subscribed to. */
export const INTEREST = 'news';

/** What only the last device of an instance is subscribed to. */
export const SINGLE_INTEREST = 'single';

/** This many devices of each instance are sent to before the measurement. */
export const WARM_UP_DEVICES = 10_000;

/** When all devices have registered. Unix time, milliseconds. */
export const REGISTERED_AT_MS = 1_760_000_000_000;

/** The app that the devices have. */
export const BUNDLE_ID = 'com.example.app';

/** Shares devices out to instances, in the order of their numbers. */
export function deliverInstances(devices: number, instances: number): readonly DeliverInstance[] {
  const each = Math.ceil(devices / instances);
  return Array.from({ length: instances }, (_, index) => {
    const hex = (digits: number) => index.toString(16).padStart(digits, '0');
    return {
      number: index + 1,
      id: `d0000000-0000-4000-8000-${hex(12)}`,
      // As long as real ones are.
      secretKey: `DE${hex(62)}`.toUpperCase(),
      firstDevice: index * each + 1,
      devices: Math.min(each, devices - index * each),
    };
  });
}

const text = 'x'.repeat(120);

/** What is published. For APNs it makes the request that `bench/push/bare-client.ts` sends. */
export const payloads: Readonly<Record<SinkKind, object>> = {
  apns: { aps: { alert: { title: 'Hello', body: text } } },
  fcm: { notification: { title: 'Hello', body: text } },
  web: { notification: { title: 'Hello', body: text } },
};

/** The files that the settings of a gateway name. */
export interface CredentialFiles {
  readonly caFile: string;
  readonly appleKeyFile: string;
  readonly accountFile: string;
  readonly vapid: { readonly publicKey: string; readonly privateKey: string };
}

/** The settings of one platform of an instance, with its gateway in place of the vendor's. */
export function gatewaySettings(
  kind: SinkKind,
  { origin }: SinkAddress,
  { caFile, appleKeyFile, accountFile, vapid }: CredentialFiles,
): object {
  switch (kind) {
    case 'apns':
      return {
        teamId: 'TEAM123456',
        keyId: 'KEY1234567',
        privateKeyFile: appleKeyFile,
        origin,
        caFile,
      };
    case 'fcm':
      return { serviceAccountFile: accountFile, origin, caFile };
    case 'web':
      return {
        vapid: { ...vapid, subject: 'mailto:ops@example.org' },
        allowedHosts: [new URL(origin).hostname],
        allowPrivateAddresses: true,
        caFile,
      };
    default:
      return kind satisfies never;
  }
}
