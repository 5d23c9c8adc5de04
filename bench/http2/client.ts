/**
 * One client of `bench/http2/compare.ts`, as a process of its own: sends notifications, a fixed number at a time, and
 * prints how many it got through in a second and what that took of its processor.
 */

import { generateKeyPairSync } from 'node:crypto';
import { connect } from 'node:http2';
import { createApnsGateway } from '../../src/gateways/apns/apns-gateway.ts';
import { ProviderToken } from '../../src/gateways/apns/provider-token.ts';
import { findLoopback } from '../../src/outgoing/http2/addresses.fixture.ts';
import { Http2Client } from '../../src/outgoing/http2/client.ts';
import { keptField, plainField } from '../../src/outgoing/http2/header-field.ts';
import type { DeviceId } from '../../src/push/model/device.ts';
import { NIL_PUBLISH_ID } from '../../src/push/model/publish-id.ts';

export type ClientKind = 'fetch' | 'node:http2' | 'Http2Client' | 'gateway';

export interface ClientTask {
  readonly kind: ClientKind;
  readonly origin: string;
  readonly ca: string;
  readonly requests: number;
  readonly atOnce: number;
}

export interface ClientResult {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

/** Sends the notification with this number; settles when it was taken. */
type Send = (number: number) => Promise<void>;

const WARM_UP = 5000;
const TOPIC = 'com.example.app';
const aps = { alert: { title: 'Hello', body: 'x'.repeat(120) } };
const pusher = { instanceId: '6f1b0f5e-6c1c-4c6c-9d8e-1f0e5a6f7b8c', publishId: NIL_PUBLISH_ID };
const body = JSON.stringify({ aps: { ...aps, 'content-available': 1 }, data: { pusher } });

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const who = { teamId: 'TEAM123456', keyId: 'KEY1234567', privateKey };
const headers = {
  authorization: new ProviderToken(who).at(Date.now()).value,
  'apns-topic': TOPIC,
  'apns-push-type': 'alert',
  'apns-collapse-id': NIL_PUBLISH_ID,
};

const tokenOf = (number: number) => `b${number.toString(16).padStart(63, '0')}`;
const pathOf = (number: number) => `/3/device/${tokenOf(number)}`;

function mustBe200(status: unknown): void {
  if (status !== 200) throw new Error(`answered with ${status}`);
}

const clients: Readonly<Record<ClientKind, (task: ClientTask) => Send>> = {
  fetch: ({ origin, ca }) => {
    const options = { method: 'POST', protocol: 'http2', headers, body, tls: { ca } } as const;
    return async (number) => {
      const response = await fetch(origin + pathOf(number), options);
      mustBe200(response.status);
      await response.text();
    };
  },
  'node:http2': ({ origin, ca }) => {
    const session = connect(origin, { ca });
    const bytes = Buffer.from(body);
    return (number) =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ...headers, ':method': 'POST', ':path': pathOf(number) });
        let status: unknown;
        stream.on('response', (fields) => {
          status = fields[':status'];
        });
        stream.on('error', reject);
        stream.on('end', () => resolve(mustBe200(status)));
        stream.resume();
        stream.end(bytes);
      });
  },
  Http2Client: ({ origin, ca, atOnce }) => {
    const pool = new Http2Client({
      origin,
      ca,
      findAddresses: findLoopback,
      connectionsMax: 1,
      streamsPerConnectionMax: 1000,
      waitingMax: atOnce,
      requestTimeoutMs: 10_000,
    });
    const { 'apns-collapse-id': collapseId, ...kept } = headers;
    const fields = [
      ...Object.entries(kept).map(([name, value]) => keptField(name, value)),
      plainField('apns-collapse-id', collapseId),
    ];
    const bytes = Buffer.from(body);
    return async (number) => {
      const result = await pool.send({ path: pathOf(number), fields, body: bytes });
      mustBe200(result.result === 'answered' ? result.status : result.why);
    };
  },
  gateway: ({ origin, ca }) => {
    const gateway = createApnsGateway({
      ...who,
      environment: 'production',
      origins: { production: origin },
      ca,
      findAddresses: findLoopback,
      connectionsMax: 1,
      nowMs: Date.now,
    });
    const deliver = gateway.prepare({
      instanceId: pusher.instanceId,
      publishId: NIL_PUBLISH_ID,
      acceptedAtMs: Date.now(),
      payload: {
        aps,
        contentAvailable: false,
        data: undefined,
        tracked: true,
        collapseId: undefined,
        expirationSeconds: undefined,
        priority: undefined,
      },
    });
    return async (number) => {
      const outcome = await deliver({
        number,
        id: `apns-${number}` as DeviceId,
        platform: 'apns',
        token: tokenOf(number),
        bundleId: TOPIC,
        userId: undefined,
        registeredAtMs: 0,
        acceptedBefore: true,
      });
      if (outcome.result !== 'accepted') throw new Error(JSON.stringify(outcome));
    };
  },
};

/** Sends so many, a fixed number of them at a time. */
async function run(send: Send, { atOnce }: ClientTask, requests: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < requests) await send(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

if (import.meta.main) {
  const task: ClientTask = JSON.parse(process.argv[2] ?? '');
  const send = clients[task.kind](task);
  await run(send, task, WARM_UP);
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  await run(send, task, task.requests);
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const result: ClientResult = {
    perSecond: task.requests / seconds,
    cpuMicroseconds: (user + system) / task.requests,
  };
  console.log(JSON.stringify(result));
  // Its connections would keep it here.
  process.exit(0);
}
