import { generateKeyPairSync } from 'node:crypto';
import {
  type FakeApns,
  type FakeApnsOptions,
  startFakeApns,
} from '../../src/fake-gateways/apns/fake-apns.ts';
import { ApnsGateway, type ApnsGatewayOptions } from '../../src/gateways/apns/apns-gateway.ts';
import type { Http2Event } from '../../src/outgoing/http2/client.ts';
import { findLoopback } from '../../src/outgoing/http2/connecting/addresses.fixture.ts';
import type { Deliver, Gateway } from '../../src/push/gateway.ts';
import type { Recipient } from '../../src/push/model/device.ts';
import { type ApnsPayload, readApnsPayload } from '../../src/push/payloads/apns.ts';
import { notificationOf, recipientOf } from './deliveries.ts';

export const TOPIC = 'com.example.app';

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const who = { teamId: 'TEAM123456', keyId: 'KEY1234567' };

/** A registered device; each number has a token of its own. */
export function apnsDevice(number: number, bundleId: string | undefined = TOPIC): Recipient {
  return { ...recipientOf('apns', number, `b${number.toString(16).padStart(63, '0')}`), bundleId };
}

export function apnsDevices(count: number): readonly Recipient[] {
  return Array.from({ length: count }, (_, number) => apnsDevice(number));
}

function payloadOf(published: Readonly<Record<string, unknown>>): ApnsPayload {
  const payload = readApnsPayload(published);
  if (!('aps' in payload)) throw new Error('no payload');
  return payload;
}

/** A publish. */
export function publishBy(
  gateway: Gateway<'apns'>,
  published: Readonly<Record<string, unknown>> = { aps: { alert: 'Hello' } },
): Deliver {
  return gateway.prepare(notificationOf(payloadOf(published)));
}

export interface ApnsSite extends AsyncDisposable {
  readonly production: FakeApns;
  readonly sandbox: FakeApns;
  readonly gateway: Gateway<'apns'>;
  readonly events: readonly Http2Event[];
  /** The time of both services and the gateway. */
  setNow(nowMs: number): void;
}

/** Fakes of both of Apple's services, and a gateway that uses them. */
export async function apnsSite(
  options: Partial<ApnsGatewayOptions> = {},
  fakeOptions: FakeApnsOptions = {},
): Promise<ApnsSite> {
  let now: number | undefined;
  const nowMs = () => now ?? Date.now();
  const keys = [{ ...who, publicKey }];
  const production = await startFakeApns({ keys, nowMs, ...fakeOptions });
  const { ca = '' } = production;
  const sandbox = await startFakeApns({ keys, nowMs, ...fakeOptions });
  const events: Http2Event[] = [];
  const gateway = new ApnsGateway({
    ...who,
    privateKey,
    environment: 'production',
    origins: { production: production.origin, sandbox: sandbox.origin },
    ca: `${ca}${sandbox.ca}`,
    findAddresses: findLoopback,
    nowMs,
    onEvent: (_, event) => events.push(event),
    ...options,
  });
  return {
    production,
    sandbox,
    gateway,
    events,
    setNow(value) {
      now = value;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await production[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
    },
  };
}
