/**
 * A bare client in a process of its own: sends notifications with `fetch`, a fixed number at a time, and prints its rate
 * and its processor time.
 */

import { generateKeyPairSync } from 'node:crypto';
import { ProviderToken } from '../../src/gateways/apns/provider-token.ts';
import { NIL_PUBLISH_ID } from '../../src/push/model/publish-id.ts';

export interface ClientTask {
  readonly origin: string;
  readonly ca: string;
  readonly requests: number;
  readonly atOnce: number;
}

export interface ClientResult {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

/** Sends the notification with this number; settles when it was accepted. */
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

function sendWithFetch({ origin, ca }: ClientTask): Send {
  const options = { method: 'POST', protocol: 'http2', headers, body, tls: { ca } } as const;
  return async (number) => {
    const response = await fetch(origin + pathOf(number), options);
    if (response.status !== 200) throw new Error(`answered with ${response.status}`);
    await response.text();
  };
}

/** Sends `requests` notifications, `atOnce` at a time. */
async function run(send: Send, { atOnce }: ClientTask, requests: number): Promise<void> {
  let next = 0;
  const sender = async () => {
    while (next < requests) await send(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, sender));
}

if (import.meta.main) {
  const task: ClientTask = JSON.parse(process.argv[2] ?? '');
  const send = sendWithFetch(task);
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
