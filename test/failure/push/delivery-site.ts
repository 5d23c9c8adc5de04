import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FakeApns, startFakeApns } from '../../../src/fake-gateways/apns/fake-apns.ts';
import {
  type FakeAccount,
  newFakeAccount,
} from '../../../src/fake-gateways/fcm/access-token-issuer.ts';
import { type FakeFcm, startFakeFcm } from '../../../src/fake-gateways/fcm/fake-fcm.ts';
import { newP256Pair } from '../../../src/fake-gateways/p256.ts';
import {
  type FakeWebPush,
  startFakeWebPush,
} from '../../../src/fake-gateways/web/fake-web-push.ts';
import { type Platform, platforms } from '../../../src/push/model/device.ts';
import type { PlatformCounts, PublishState } from '../../../src/push/model/publish.ts';
import { tokenIdentity } from '../../../src/push/model/token-identity.ts';
import { readWebToken } from '../../../src/push/requests/web-subscription.ts';
import { PushRequests, requestPush } from '../../../testing/clients/push-requests.ts';
import { pauseAfter } from '../../../testing/eventually.ts';
import { configOf, type Fanfare, spawnFanfare } from '../../../testing/servers/fanfare.ts';
import { pushSettings } from '../../../testing/servers/push-server.ts';
import { fillStore, type StoredRow } from './delivery-rows.ts';
import { standstill } from './standstill.ts';

/** A server that delivers to gateways of this process, with as many devices as a test wants. */

/** The interest of all devices. */
const INTEREST = 'news';

/** A publish to all devices of some platforms. */
export function newsFor(...some: readonly Platform[]): object {
  return publishOf(some.length === 0 ? platforms : some, {});
}

/** The same, with a time to live. */
export function newsUntil(endsAtMs: number, ...some: readonly Platform[]): object {
  const leftSeconds = Math.max(0, Math.round((endsAtMs - Date.now()) / 1000));
  return publishOf(some, {
    apns: { expiration: Math.round(endsAtMs / 1000) },
    fcm: { time_to_live: leftSeconds },
    web: { time_to_live: leftSeconds },
  });
}

function publishOf(some: readonly Platform[], more: Partial<Record<Platform, object>>): object {
  const payloads: Record<Platform, object> = {
    apns: { aps: { alert: 'Hello' } },
    fcm: { notification: { title: 'Hello' } },
    web: { notification: { title: 'Hello' } },
  };
  return {
    interests: [INTEREST],
    ...Object.fromEntries(some.map((name) => [name, { ...payloads[name], ...more[name] }])),
  };
}

/** How many devices of each platform an instance has. */
export type Crowd = Partial<Record<Platform, number>>;

/** A device, by what its gateway knows it by: a token, or an endpoint. */
export interface SiteDevice {
  readonly number: number;
  readonly id: string;
  readonly address: string;
}

export interface SiteInstance {
  readonly id: string;
  readonly requests: PushRequests;
  readonly devices: Readonly<Record<Platform, readonly SiteDevice[]>>;
  /** The `.p8` file that the configuration names, and the right key. */
  readonly keyFile: string;
  readonly signingKey: KeyObject;
  /** The file of the service account that the configuration names. */
  readonly accountFile: string;
}

/** The status of a publish, as its backend reads it. */
export interface SiteStatus {
  /** RFC 3339. */
  readonly createdAt: string;
  readonly state: PublishState;
  readonly platforms: Readonly<Record<Platform, PlatformCounts>>;
  readonly reasons: readonly {
    readonly platform: Platform;
    readonly reason: string;
    readonly devices: number;
  }[];
}

export interface SiteOptions {
  /** An instance for each. */
  readonly crowds: readonly Crowd[];
  /** Over the settings of each instance. */
  readonly instanceSettings?: object;
  /** Whether gateways have accepted notifications for all devices before. */
  readonly areTrusted?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
  readonly program?: string;
  /** A store in PostgreSQL, which several servers may share. */
  readonly storeUrl?: string;
  /** Over the whole configuration. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** The time by the clock of the gateways. */
  readonly gatewayNowMs?: () => number;
}

/** More than any test has arrivals of one publish. */
const ENTRIES_MAX = 200_000;

/** Longer than anything that tests wait for. */
const WAIT_MAX_MS = 120_000;

const BUNDLE_ID = 'com.example.app';

let madeAccount: FakeAccount | undefined;

/** The service account of every site. Making its RSA key takes long. */
function account(): FakeAccount {
  madeAccount ??= newFakeAccount();
  return madeAccount;
}

/** What the fake Google is trusted by, and what the devices of one instance are made with. */
interface Gateways {
  readonly apns: FakeApns;
  /** Only if an instance has devices of it. */
  readonly fcm: FakeFcm | undefined;
  readonly web: FakeWebPush;
}

/** An instance as it is being made. */
interface Draft {
  readonly place: number;
  readonly id: string;
  readonly secretKey: string;
  readonly crowd: Crowd;
  readonly teamId: string;
  readonly keyId: string;
  readonly signing: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
  readonly vapid: ReturnType<typeof newP256Pair>;
}

export class DeliverySite implements AsyncDisposable {
  readonly instances: readonly SiteInstance[];
  server: Fanfare;
  private readonly gateways: Gateways;
  private readonly options: SiteOptions;
  private readonly parts: AsyncDisposableStack;

  private constructor(
    options: SiteOptions,
    gateways: Gateways,
    instances: readonly SiteInstance[],
    server: Fanfare,
    parts: AsyncDisposableStack,
  ) {
    this.options = options;
    this.gateways = gateways;
    this.instances = instances;
    this.server = server;
    this.parts = parts;
  }

  static async start(options: SiteOptions): Promise<DeliverySite> {
    await using parts = new AsyncDisposableStack();
    const drafts = options.crowds.map(draft);
    const gateways = await startGateways(drafts, options, parts);
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
    parts.defer(() => rmSync(directory, { recursive: true, force: true }));
    const settings = drafts.map((one) => ({
      ...writeSettings(directory, one, gateways),
      ...options.instanceSettings,
    }));
    const url = options.storeUrl ?? `sqlite:${join(directory, 'fanfare.db')}`;
    const push = pushSettings(...settings);
    const config = configOf(directory, { config: { ...options.config, push, store: { url } } });
    writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
    const instances: SiteInstance[] = [];
    for (const one of drafts) {
      instances.push(await register(url, directory, one, gateways, options));
    }
    const server = await spawn(directory, options, options.environment);
    return new DeliverySite(options, gateways, instances, server, parts.move());
  }

  get apns(): FakeApns {
    return this.gateways.apns;
  }

  get fcm(): FakeFcm {
    const { fcm } = this.gateways;
    if (fcm === undefined) throw new Error('No instance of this site has devices of fcm');
    return fcm;
  }

  get web(): FakeWebPush {
    return this.gateways.web;
  }

  /** The instance at this place. */
  instance(place: number): SiteInstance {
    const found = this.instances[place];
    if (found === undefined) throw new Error(`There is no instance ${place}`);
    return found;
  }

  /** Starts one more server on the same store. */
  async another(): Promise<Fanfare> {
    const { options, server } = this;
    return this.parts.use(await spawn(server.directory, options, options.environment));
  }

  /** Starts the server again, which has ended, on what it has left. */
  async startAgain(environment = this.options.environment): Promise<void> {
    this.server = await spawn(this.server.directory, this.options, environment);
  }

  /** Returns the id. */
  async publish(instance: SiteInstance, body: object): Promise<string> {
    const { status, json } = await requestPush(this.server, instance.requests.publish(body));
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
    return String(json['publishId']);
  }

  async status(
    { requests }: SiteInstance,
    publishId: string,
    server = this.server,
  ): Promise<SiteStatus> {
    const { status, json } = await requestPush(server, requests.readPublish(publishId));
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
    return json as unknown as SiteStatus;
  }

  /** What is known of one device and a publish. */
  async explain(
    { requests }: SiteInstance,
    publishId: string,
    { device, server = this.server }: { readonly device: SiteDevice; readonly server?: Fanfare },
  ): Promise<readonly object[]> {
    const ofPublish = requests.readPublish(publishId);
    const request = { ...ofPublish, target: `${ofPublish.target}/devices/${device.id}` };
    const { status, json } = await requestPush(server, request);
    const { events } = json;
    if (status !== 200 || !Array.isArray(events)) {
      throw new Error(`${status} ${JSON.stringify(json)}`);
    }
    return events;
  }

  /** Settles with the status of a publish as soon as it meets a condition. */
  async becomes(
    instance: SiteInstance,
    publishId: string,
    isSuch: (status: SiteStatus) => boolean,
    server = this.server,
  ): Promise<SiteStatus> {
    const startedAtMs = performance.now();
    for (;;) {
      const status = await this.status(instance, publishId, server);
      if (isSuch(status)) return status;
      const waitedMs = performance.now() - startedAtMs;
      if (waitedMs > WAIT_MAX_MS) {
        const logged = server.output.stderr.slice(-2000);
        const known = this.options.storeUrl === undefined && (await standstill(server, publishId));
        throw new Error(
          `The publish has come to ${JSON.stringify(status)}\n${known || ''}\n${logged}`,
        );
      }
      await Bun.sleep(pauseAfter(waitedMs));
    }
  }

  finished(instance: SiteInstance, publishId: string): Promise<SiteStatus> {
    return this.becomes(instance, publishId, ({ state }) => state === 'finished');
  }

  /** Publishes, and waits until nothing of it waits any more. */
  async delivers(instance: SiteInstance, body: object): Promise<SiteStatus> {
    return await this.finished(instance, await this.publish(instance, body));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.parts.disposeAsync();
  }
}

/** What is counted of a platform, where nothing else is than this. */
export function countsOf(counts: Partial<PlatformCounts>): PlatformCounts {
  return {
    planned: 0,
    accepted: 0,
    retrying: 0,
    failed: 0,
    pruned: 0,
    expired: 0,
    cancelled: 0,
    ...counts,
  };
}

/** What is counted where all devices of a platform were accepted. */
export function allAccepted(devices: readonly SiteDevice[]): PlatformCounts {
  return countsOf({ planned: devices.length, accepted: devices.length });
}

/** How often each address is among these. */
export function timesOf(addresses: Iterable<string>): Map<string, number> {
  const times = new Map<string, number>();
  for (const address of addresses) times.set(address, (times.get(address) ?? 0) + 1);
  return times;
}

/** Writes a key as Apple issues it. */
export function writeSigningKey(file: string, key: KeyObject): void {
  writeFileSync(file, key.export({ format: 'pem', type: 'pkcs8' }));
}

function draft(crowd: Crowd, place: number): Draft {
  return {
    place,
    id: randomUUID(),
    secretKey: `secret-${place}`.padEnd(64, '0'),
    crowd,
    // One for each: Apple wants few tokens of one team.
    teamId: `TEAM${place}`.padEnd(10, '0'),
    keyId: `KEY${place}`.padEnd(10, '0'),
    signing: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    vapid: newP256Pair(),
  };
}

async function startGateways(
  drafts: readonly Draft[],
  { gatewayNowMs: nowMs = Date.now }: SiteOptions,
  parts: AsyncDisposableStack,
): Promise<Gateways> {
  const keys = drafts.map(({ teamId, keyId, signing }) => ({
    teamId,
    keyId,
    publicKey: signing.publicKey,
  }));
  const options = { entriesMax: ENTRIES_MAX, nowMs };
  const apns = parts.use(await startFakeApns({ keys, startsWithOne: true, ...options }));
  const hasFcm = drafts.some(({ crowd }) => crowd.fcm !== undefined);
  const fcm = hasFcm
    ? parts.use(await startFakeFcm({ account: account(), ...options }))
    : undefined;
  return { apns, fcm, web: parts.use(startFakeWebPush({ nowMs })) };
}

/** The settings of one instance, and the files that they name. */
function writeSettings(directory: string, one: Draft, { apns, fcm, web }: Gateways): object {
  const { place, id, secretKey, teamId, keyId, signing, vapid } = one;
  const { keyFile, accountFile, apnsCa, fcmCa } = filesOf(directory, place);
  writeSigningKey(keyFile, signing.privateKey);
  writeFileSync(apnsCa, apns.ca ?? '');
  const sends = {
    id,
    name: `instance ${place}`,
    secretKeys: [secretKey],
    limits: { publishesPerSecond: 0 },
    apns: { teamId, keyId, privateKeyFile: keyFile, origin: apns.origin, caFile: apnsCa },
    web: {
      vapid: {
        publicKey: vapid.publicText,
        privateKey: vapid.privateText,
        subject: 'mailto:ops@example.org',
      },
      allowedHosts: [new URL(web.origin).hostname],
      allowPrivateAddresses: true,
    },
  };
  if (fcm === undefined) return sends;
  writeFileSync(accountFile, fcm.accountFile);
  writeFileSync(fcmCa, fcm.ca);
  return {
    ...sends,
    fcm: { serviceAccountFile: accountFile, origin: fcm.origin, caFile: fcmCa },
  };
}

function filesOf(directory: string, place: number) {
  const file = (name: string) => join(directory, `${place}-${name}`);
  return {
    keyFile: file('key.p8'),
    accountFile: file('account.json'),
    apnsCa: file('apns-ca.pem'),
    fcmCa: file('fcm-ca.pem'),
  };
}

/** Puts the devices of an instance into the store, as if they had registered. */
async function register(
  url: string,
  directory: string,
  one: Draft,
  gateways: Gateways,
  { areTrusted: isTrusted = false }: SiteOptions,
): Promise<SiteInstance> {
  const { place, id, secretKey, signing } = one;
  const { keyFile, accountFile } = filesOf(directory, place);
  const rows = rowsOf(one, gateways);
  const stored = rows.map((row) => ({ ...row, isTrusted }));
  const numbers = await fillStore(url, id, INTEREST, stored);
  const devicesOf = (platform: Platform) =>
    rows.flatMap((row, at) =>
      row.platform === platform
        ? { number: numbers[at] ?? 0, id: row.id, address: row.address }
        : [],
    );
  return {
    id,
    requests: new PushRequests({ id, secretKey }),
    devices: { apns: devicesOf('apns'), fcm: devicesOf('fcm'), web: devicesOf('web') },
    keyFile,
    signingKey: signing.privateKey,
    accountFile,
  };
}

type SiteRow = StoredRow & { readonly address: string };

/** Devices of all platforms mixed, so that each page has some of each. */
function rowsOf(one: Draft, { web }: Gateways): readonly SiteRow[] {
  const { place, crowd, vapid } = one;
  const rows: (SiteRow & { readonly order: number })[] = [];
  for (const platform of platforms) {
    const devices = crowd[platform] ?? 0;
    for (let n = 0; n < devices; n++) {
      const reach =
        platform === 'web' ? webReach(web, vapid.publicText) : tokenReach(platform, place, n);
      rows.push({ platform, id: `${platform}-${randomUUID()}`, ...reach, order: n / devices });
    }
  }
  return rows.sort((a, b) => a.order - b.order);
}

type Reach = Pick<SiteRow, 'token' | 'identity' | 'bundleId' | 'address'>;

function tokenReach(platform: 'apns' | 'fcm', place: number, n: number): Reach {
  const digits = place.toString(16).padStart(2, '0') + n.toString(16).padStart(62, '0');
  const token = platform === 'apns' ? digits : `fcm:${digits}`;
  return {
    token,
    identity: tokenIdentity(`${platform}:${token}`),
    bundleId: platform === 'apns' ? BUNDLE_ID : undefined,
    address: token,
  };
}

function webReach(web: FakeWebPush, vapidKey: string): Reach {
  const { endpoint, token } = web.subscribe(vapidKey);
  const allowedHosts = [new URL(web.origin).hostname];
  const read = readWebToken(token, { allowedHosts, allowPrivateAddresses: true });
  if (!('identity' in read)) throw new Error(`The fake’s token is refused: ${read.description}`);
  return { ...read, bundleId: undefined, address: endpoint };
}

function spawn(
  directory: string,
  options: SiteOptions,
  environment: Readonly<Record<string, string>> | undefined,
): Promise<Fanfare> {
  const args = ['serve', '--config', join(directory, 'config.json')];
  return spawnFanfare(args, directory, environment, options);
}
