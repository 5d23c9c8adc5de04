import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '../../src/certificates/self-signed.ts';
import { newP256Pair } from '../../src/fake-gateways/p256.ts';
import { readWebToken } from '../../src/push/requests/web-subscription.ts';
import { PushRequests, requestPush } from '../../testing/clients/push-requests.ts';
import { configOf, type Fanfare, spawnFanfare } from '../../testing/servers/fanfare.ts';
import { pushSettings } from '../../testing/servers/push-server.ts';
import { fillStore, type StoredRow } from '../failure/push/delivery-rows.ts';
import { timesOf } from '../failure/push/delivery-site.ts';

/** A server and a push service of the test, with honest browsers and endpoints that an attacker registered. */

/**
 * The answers of the push service to an endpoint, by the first segment of its path: 401, 503 with a Retry-After of 15 minutes, 503,
 * 429 with a Retry-After of 15 minutes, never one, and one byte by byte that never ends.
 */
export type Evil = 'refused' | 'asking' | 'failing' | 'busy' | 'hanging' | 'dripping';

/** The interest of honest browsers only, and the interest of all. */
export const HONEST = 'honest';
const ALL = 'all';

const HOST = '127.0.0.1';

/** Far longer than the server takes on any machine, and far shorter than it waits for a fake. Milliseconds. */
const REACHED_MS_MAX = 150_000;

/** Waits an hour for a push service that does not answer. */
const PATIENT = join(import.meta.dir, 'patient-server.fixture.ts');

/** A browser: honest, or a fake that an attacker registered. */
export interface Browser {
  readonly instance: number;
  readonly what: 'ok' | Evil;
  /** Index of a push service that never answers, instead of the usual one. */
  readonly stranger?: number;
}

export interface BrowserSiteOptions {
  readonly http2: boolean;
  /** In device order. */
  readonly browsers: readonly Browser[];
  /** How many push services accept connections and never answer. */
  readonly strangers?: number;
}

/** Kinds that hold a request for as long as the server waits for its answer. */
const holding: ReadonlySet<Browser['what']> = new Set(['hanging', 'dripping']);

export class BrowserSite implements AsyncDisposable {
  readonly server: Fanfare;
  /** The honest browsers that a message reached, one for each message. */
  readonly arrivals: string[] = [];
  /** The current answer of the push service for honest browsers. */
  honest: { readonly status: number; readonly headers?: Record<string, string> } = { status: 201 };
  /** Whether the push service accepts everything for fakes, as before an attack. */
  areFakesGood = false;
  /** Settles with the next one. */
  private arrival = Promise.withResolvers<void>();
  private readonly parts: AsyncDisposableStack;
  private readonly requests: readonly PushRequests[];
  private readonly names: readonly (readonly string[])[];

  private constructor(
    server: Fanfare,
    parts: AsyncDisposableStack,
    requests: readonly PushRequests[],
    names: readonly (readonly string[])[],
  ) {
    this.server = server;
    this.parts = parts;
    this.requests = requests;
    this.names = names;
  }

  static async start({ http2, browsers, strangers = 0 }: BrowserSiteOptions): Promise<BrowserSite> {
    await using parts = new AsyncDisposableStack();
    const certificate = makeSelfSigned([HOST], Date.now());
    let site: BrowserSite | undefined;
    const service = Bun.serve({
      hostname: HOST,
      port: 0,
      idleTimeout: 0,
      ...(http2 ? { tls: certificate, http2: true } : {}),
      fetch: (request) => answer(new URL(request.url).pathname, () => site),
    });
    parts.defer(() => service.stop(true));
    const scheme = http2 ? 'https' : 'http';
    const origin = `${scheme}://${HOST}:${service.port}`;
    const others = Array.from({ length: strangers }, (_, n) => {
      const hostname = `127.0.1.${n + 1}`;
      const socket = { data: () => undefined };
      const listener = Bun.listen({ hostname, port: 0, socket });
      parts.defer(() => listener.stop(true));
      return { hostname, origin: `${scheme}://${hostname}:${listener.port}` };
    });
    const hosts = [HOST, ...others.map(({ hostname }) => hostname)];
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
    parts.defer(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'ca.pem'), certificate.cert);

    const count = 1 + Math.max(...browsers.map(({ instance }) => instance));
    const instances = Array.from({ length: count }, (_, place) =>
      instanceAt(place, directory, hosts),
    );
    const push = pushSettings(...instances.map(({ settings }) => settings));
    const config = configOf(directory, { config: { push } });
    writeFileSync(join(directory, 'config.json'), JSON.stringify(config));
    const url = `sqlite:${join(directory, 'fanfare.db')}`;
    const names: string[][] = [];
    for (const [place, { id }] of instances.entries()) {
      const own = browsers.filter(({ instance }) => instance === place);
      const rows = own.map(({ what, stranger }, n) => {
        const at = stranger === undefined ? origin : (others[stranger]?.origin ?? '');
        return rowOf(hosts, `${at}/${what}/${place}-${n}`, what === 'ok');
      });
      await fillStore(url, id, ALL, rows);
      names.push(own.flatMap(({ what }, n) => (what === 'ok' ? `${place}-${n}` : [])));
    }
    const server = await spawnFanfare(
      ['serve', '--config', join(directory, 'config.json')],
      directory,
      {},
      browsers.some(({ what }) => holding.has(what)) ? { program: PATIENT } : {},
    );
    parts.use(server);
    const requests = instances.map((instance) => new PushRequests(instance));
    site = new BrowserSite(server, parts.move(), requests, names);
    return site;
  }

  /** Publishes to all browsers of an instance, or to the honest ones only. */
  async publish(instance: number, interest = ALL): Promise<void> {
    const requests = this.requests[instance];
    if (requests === undefined) throw new Error(`There is no instance ${instance}`);
    const body = { interests: [interest], web: { notification: { title: 'Hello' } } };
    const { status, json } = await requestPush(this.server, requests.publish(body));
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(json)}`);
  }

  /** Publishes and waits until each honest browser has the message. */
  async reach(instance: number, interest = ALL): Promise<void> {
    const from = this.arrivals.length;
    const wanted = new Set(this.names[instance]);
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => late.reject(new Error(`${wanted.size} honest browsers were not reached`)),
      REACHED_MS_MAX,
    );
    try {
      await this.publish(instance, interest);
      for (let at = from; wanted.size > 0; at++) {
        while (at >= this.arrivals.length) await Promise.race([this.arrival.promise, late.promise]);
        wanted.delete(this.arrivals[at] ?? '');
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** A message has reached an honest browser. */
  arrived(name: string): void {
    this.arrivals.push(name);
    this.arrival.resolve();
    this.arrival = Promise.withResolvers();
  }

  /** Browsers that got more than `messages` messages. */
  gotMoreThan(messages: number): readonly string[] {
    return [...timesOf(this.arrivals)].flatMap(([name, times]) => (times > messages ? [name] : []));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.parts.disposeAsync();
  }
}

function instanceAt(place: number, directory: string, allowedHosts: readonly string[]) {
  const id = randomUUID();
  const secretKey = `secret-${place}`.padEnd(64, '0');
  const { publicText: publicKey, privateText: privateKey } = newP256Pair();
  const settings = {
    id,
    name: `instance ${place}`,
    secretKeys: [secretKey],
    limits: { publishesPerSecond: 0 },
    web: {
      vapid: { publicKey, privateKey, subject: 'mailto:ops@example.org' },
      allowedHosts,
      allowPrivateAddresses: true,
      caFile: join(directory, 'ca.pem'),
    },
  };
  return { id, secretKey, settings };
}

/** All browsers share one key, since their messages are not decrypted. */
const browserKey = newP256Pair().publicText;

function rowOf(allowedHosts: readonly string[], endpoint: string, isHonest: boolean): StoredRow {
  const keys = { p256dh: browserKey, auth: 'BTBZMqHH6r4Tts7J_aSIgg' };
  const token = btoa(JSON.stringify({ endpoint, keys }));
  const read = readWebToken(token, { allowedHosts, allowPrivateAddresses: true });
  if (!('identity' in read)) throw new Error(`The token is refused: ${read.description}`);
  const interests = isHonest ? [HONEST] : [];
  return { platform: 'web', id: `web-${randomUUID()}`, ...read, bundleId: undefined, interests };
}

async function answer(path: string, findSite: () => BrowserSite | undefined): Promise<Response> {
  const [, what = '', name = ''] = path.split('/');
  const wantsPeace = { 'retry-after': '900' };
  if (what !== 'ok' && findSite()?.areFakesGood) return new Response(null, { status: 201 });
  switch (what as 'ok' | Evil) {
    case 'ok': {
      const site = findSite();
      const { status = 201, headers = {} } = site?.honest ?? {};
      if (status === 201) site?.arrived(name);
      return new Response(null, { status, headers });
    }
    case 'refused':
      return new Response('{"errno":109}', { status: 401 });
    case 'asking':
      return new Response(null, { status: 503, headers: wantsPeace });
    case 'failing':
      return new Response(null, { status: 503 });
    case 'busy':
      return new Response(null, { status: 429, headers: wantsPeace });
    case 'hanging':
      return await new Promise(() => undefined);
    case 'dripping':
      return new Response(drip(), { status: 500 });
    default:
      return new Response(null, { status: 404 });
  }
}

function drip(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(500);
      controller.enqueue(new Uint8Array([32]));
    },
  });
}
