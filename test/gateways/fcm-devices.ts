import { newFakeAccount } from '../../src/fake-gateways/fcm/access-token-issuer.ts';
import {
  type FakeFcm,
  type FakeFcmOptions,
  startFakeFcm,
} from '../../src/fake-gateways/fcm/fake-fcm.ts';
import { FcmGateway, type FcmGatewayOptions } from '../../src/gateways/fcm/fcm-gateway.ts';
import { credentialOf } from '../../src/gateways/fcm/tokens/assertion.ts';
import type { FcmCredential } from '../../src/gateways/fcm/tokens/credential.ts';
import {
  readServiceAccount,
  type ServiceAccount,
} from '../../src/gateways/fcm/tokens/service-account.ts';
import type { Http2Event } from '../../src/outgoing/http2/client.ts';
import { findLoopback } from '../../src/outgoing/http2/connecting/addresses.fixture.ts';
import { createSendRequest } from '../../src/outgoing/request.ts';
import { resolverTo } from '../../src/outgoing/resolver.fixture.ts';
import type { Deliver, Gateway } from '../../src/push/gateway.ts';
import type { Recipient } from '../../src/push/model/device.ts';
import { readFcmPayload } from '../../src/push/payloads/fcm.ts';
import { FieldFault } from '../../src/push/refusal.ts';
import { notificationOf, recipientOf } from './deliveries.ts';

/** Shared, because making one takes a while. */
const account = newFakeAccount();

/** A registered device; each number has a token of its own. */
export function fcmDevice(number: number): Recipient {
  return recipientOf('fcm', number, `installation${number}:APA91b${number}`);
}

export function fcmDevices(count: number): readonly Recipient[] {
  return Array.from({ length: count }, (_, number) => fcmDevice(number));
}

/** A publish. */
export function publishBy(
  gateway: Gateway<'fcm'>,
  published: Readonly<Record<string, unknown>> = { notification: { title: 'Hello' } },
): Deliver {
  const payload = readFcmPayload(published);
  if (payload instanceof FieldFault) throw new Error(`${payload.field}: ${payload.reason}`);
  return gateway.prepare(notificationOf(payload));
}

export interface FcmSite extends AsyncDisposable {
  readonly fcm: FakeFcm;
  readonly gateway: Gateway<'fcm'>;
  readonly events: readonly Http2Event[];
  /** Another gateway to the same FCM. The caller closes it. */
  open(options: Partial<FcmGatewayOptions>): Gateway<'fcm'>;
  /** Advances the time of FCM and of the gateway, without its timers. */
  pass(ms: number): void;
}

/** A fake FCM, and a gateway that uses it. */
export async function fcmSite(
  options: Partial<FcmGatewayOptions> = {},
  fakeOptions: FakeFcmOptions = {},
): Promise<FcmSite> {
  let passedMs = 0;
  const nowMs = () => Date.now() + passedMs;
  const fcm = await startFakeFcm({ account, nowMs, ...fakeOptions });
  const events: Http2Event[] = [];
  const resolver = resolverTo('127.0.0.1');
  const requestToken = createSendRequest({ allowPrivateAddresses: true, resolver, ca: fcm.ca });
  const open = (more: Partial<FcmGatewayOptions>) =>
    new FcmGateway({
      credential: credentialIn(fcm),
      requestToken: (request) => requestToken({ ...request, owner: 'test' }),
      findAddresses: findLoopback,
      origin: fcm.origin,
      ca: fcm.ca,
      nowMs,
      onEvent: (event) => events.push(event),
      ...options,
      ...more,
    });
  const gateway = open({});
  return {
    fcm,
    gateway,
    events,
    open,
    pass(ms) {
      passedMs += ms;
    },
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await fcm[Symbol.asyncDispose]();
    },
  };
}

export function credentialIn(
  { accountFile }: FakeFcm,
  change: Partial<ServiceAccount> = {},
): FcmCredential {
  const read = readServiceAccount(Buffer.from(accountFile));
  if (!read.ok) throw new Error(read.why);
  return credentialOf({ ...read.account, ...change });
}
