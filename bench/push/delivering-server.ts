import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { startFanfare } from '../servers.ts';
import {
  type DeliverInstance,
  gatewaySettings,
  payloads,
  WARM_UP_DEVICES,
  WARM_UP_INTEREST,
} from './deliver-instances.ts';
import type { DeliverSite } from './deliver-site.ts';
import type { SinkAddress, SinkKind } from './sink-calls.ts';

/** Fanfare as an operator would start it, on a store that is full of devices. */
export interface DeliveringServer extends AsyncDisposable {
  readonly pid: number;
  /** Publishes to the devices of an instance with an interest, and returns the id. `fields`: more than a payload. */
  publish(instance: DeliverInstance, interest: string, fields?: object): Promise<string>;
  /** Settles when nothing of a publish waits; returns how many were accepted, and how many were not. */
  finished(instance: DeliverInstance, id: string): Promise<{ accepted: number; others: number }>;
}

/** How a server differs from one of this version without further settings. */
export interface DeliveringOptions {
  /** The folder of another version. */
  readonly clone?: string | undefined;
  /** Further settings of each instance. */
  readonly instance?: object;
}

/** How often a server is asked for the status of a publish. */
const ASK_MS = 50;
/** A publish must have changed within this time. */
const FINISHED_WITHIN_MS = 60_000;

/** Starts a server. `pin` is the command that pins it to its core, or empty. */
export async function startDelivering(
  pin: readonly string[],
  site: DeliverSite,
  { clone, instance: more }: DeliveringOptions = {},
): Promise<DeliveringServer> {
  const { folder, kind, gateway } = site;
  const settings = gatewaySettings(kind, gateway, writeCredentials(folder, gateway));
  const instances = site.instances.map(({ id, secretKey }) => ({
    id,
    secretKeys: [secretKey],
    limits: { publishesPerSecond: 0 },
    [kind]: settings,
    ...more,
  }));
  const running = await startFanfare(pin, { push: { instances }, folder, clone });
  const { pid, pushPort } = running;
  const urlOf = ({ id }: DeliverInstance) =>
    `http://127.0.0.1:${pushPort}/publish_api/v1/instances/${id}/publishes`;
  const headersOf = ({ secretKey }: DeliverInstance) => ({
    authorization: `Bearer ${secretKey}`,
    'content-type': 'application/json',
  });
  return {
    pid,
    async publish(instance, interest, fields = {}) {
      const body = JSON.stringify({ interests: [interest], [kind]: payloads[kind], ...fields });
      const answer = await fetch(`${urlOf(instance)}/interests`, {
        method: 'POST',
        headers: headersOf(instance),
        body,
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`a publish was answered with ${answer.status} ${text}`);
      const { publishId }: { publishId: string } = JSON.parse(text);
      return publishId;
    },
    async finished(instance, id) {
      let seen = '';
      let deadlineMs = performance.now() + FINISHED_WITHIN_MS;
      for (;;) {
        const answer = await fetch(`${urlOf(instance)}/${id}`, { headers: headersOf(instance) });
        const text = await answer.text();
        const status = readStatus(text, kind);
        if (status !== undefined) return status;
        if (text !== seen) deadlineMs = performance.now() + FINISHED_WITHIN_MS;
        seen = text;
        if (performance.now() > deadlineMs) throw new Error(`${id} is not finished`);
        await Bun.sleep(ASK_MS);
      }
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

/** `undefined`: it is not finished. */
function readStatus(text: string, kind: SinkKind) {
  const status: {
    readonly state: string;
    readonly platforms: Readonly<Record<SinkKind, { planned: number; accepted: number }>>;
  } = JSON.parse(text);
  if (status.state !== 'finished') return undefined;
  const { planned, accepted } = status.platforms[kind];
  return { accepted, others: planned - accepted };
}

/** Warm-up: publishes to a few of each instance's devices, and waits until that is delivered. */
export async function warmUp(server: DeliveringServer, { instances }: DeliverSite): Promise<void> {
  for (const instance of instances) {
    const id = await server.publish(instance, WARM_UP_INTEREST);
    const { accepted } = await server.finished(instance, id);
    if (accepted !== Math.min(WARM_UP_DEVICES, instance.devices)) {
      throw new Error(`only ${accepted} devices got the first publish`);
    }
  }
}

function writeCredentials(folder: string, { ca, accountFile: account }: SinkAddress) {
  const caFile = join(folder, 'ca.pem');
  const appleKeyFile = join(folder, 'apple.p8');
  const accountFile = join(folder, 'account.json');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  writeFileSync(caFile, ca);
  writeFileSync(appleKeyFile, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  writeFileSync(accountFile, account);
  const { publicText: publicKey, privateText } = newP256Pair();
  return { caFile, appleKeyFile, accountFile, vapid: { publicKey, privateKey: privateText } };
}
