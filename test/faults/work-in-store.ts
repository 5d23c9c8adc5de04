import { type AdminServer, admin, makeApp } from '../../testing/clients/admin-api.ts';
import { PushConnection } from '../../testing/clients/push-requests.ts';
import type { Random } from '../../testing/random.ts';
import type { Fanfare } from '../../testing/servers/fanfare.ts';
import { lostOf } from '../failure/push/lost.ts';
import { Site } from '../failure/push/site.ts';

const SITES = 3;
/** One of so many apps is deleted again. */
const DELETED = 3;

/** An app that the admin API has made. `isDeleted` is unknown while the answer to the request is awaited. */
interface KnownApp {
  readonly id: string;
  readonly key: string;
  isDeleted: boolean | undefined;
}

/**
 * Backends, devices and an operator who change what is in the store, one request after the other, and remember what was answered. The checker
 * of histories does not know of these.
 */
export class WorkInStore {
  private readonly sites: Site[] = [];
  private connections: readonly PushConnection[] = [];
  private readonly apps: KnownApp[] = [];
  private readonly random: Random;
  private rounds = 0;
  private isEnding = false;
  private isOver = false;
  private working: Promise<void> = Promise.resolve();

  constructor(random: Random) {
    this.random = random;
  }

  /** How many requests were answered with success. */
  get answered() {
    return {
      publishes: this.sites.flatMap(({ publishes }) => publishes.filter((one) => one.publishId))
        .length,
      devices: this.sites.flatMap(({ devices }) => devices).length,
      apps: this.apps.length,
    };
  }

  /** Begins to ask a server, until a request fails, which it may only after `ending` or if it `mayFail`. */
  async begin(server: Fanfare, mayFail?: 'mayFail'): Promise<void> {
    this.isEnding = mayFail === 'mayFail';
    this.isOver = false;
    const round = ++this.rounds;
    const { adminPort, adminPassword } = server;
    this.connections = await Promise.all(
      Array.from({ length: SITES }, () => PushConnection.open(server)),
    );
    const sites = this.connections.map((connection, at) => {
      return new Site(`site-${round}-${at}`, this.random, connection);
    });
    this.sites.push(...sites);
    const all = [
      ...sites.map((site) => site.run(() => this.mayGoOn())),
      this.makeApps({ adminPort, adminPassword }),
    ];
    this.working = Promise.all(all.map((one) => this.endsOnlyAtTheEnd(one))).then(() => undefined);
  }

  /** Tells that the server is about to fail. */
  ending(): void {
    this.isEnding = true;
  }

  /** Lets nobody begin another request. */
  stop(): void {
    this.isEnding = true;
    this.isOver = true;
  }

  /** Ends all work at this instant: an answer that was not read yet does not count. */
  cut(): void {
    this.stop();
    for (const connection of this.connections) connection.ignoreAnswers();
  }

  /** Settles when all requests have ended with their connections. Throws if one was refused before `ending`. */
  async ended(): Promise<void> {
    await this.working;
  }

  /** What a server does not have of what was answered: of the last round, or of all. */
  async lost(server: Fanfare, which: 'last' | 'all'): Promise<readonly string[]> {
    const sites = which === 'all' ? this.sites : this.sites.slice(-SITES);
    const apps = which === 'all' ? this.apps : this.apps.slice(-APPS_LOOKED_AT);
    const lost: string[] = [];
    for (const site of sites) lost.push(...(await lostOf(site, server)));
    for (const { id, key, isDeleted } of apps) {
      if (isDeleted === undefined) continue;
      const { status, text } = await admin(server, 'GET', `/apps/${id}`);
      const isRight = isDeleted ? status === 404 : status === 200 && text.includes(key);
      if (!isRight) lost.push(`app ${id}, ${isDeleted ? 'deleted' : 'made'}: ${status} ${text}`);
    }
    return lost;
  }

  private async endsOnlyAtTheEnd(work: Promise<unknown>): Promise<void> {
    try {
      await work;
    } catch (error) {
      if (!this.isEnding) throw error;
    }
  }

  private mayGoOn(): void {
    if (this.isOver) throw new Error('the work is over');
  }

  private async makeApps(server: AdminServer): Promise<never> {
    for (let made = 1; ; made++) {
      this.mayGoOn();
      const { id, key } = await makeApp(server);
      this.mayGoOn();
      const app: KnownApp = { id, key, isDeleted: false };
      this.apps.push(app);
      if (made % DELETED !== 0) continue;
      app.isDeleted = undefined;
      const { status, text } = await admin(server, 'DELETE', `/apps/${id}`);
      if (status >= 300) throw new Error(`DELETE of app ${id}: ${status} ${text}`);
      this.mayGoOn();
      app.isDeleted = true;
    }
  }
}

/** More than are made in a round. */
const APPS_LOOKED_AT = 500;

/** The pause between two attempts to use a store. Milliseconds. */
const LOOK_MS = 200;

/** Waits until an app can be made. */
export async function untilUsed(server: AdminServer, maxMs: number): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    const { status, text } = await admin(server, 'POST', '/apps', { body: {} });
    if (status === 201) return;
    if (performance.now() - startedAtMs > maxMs) {
      throw new Error(`the store was not in use again after ${maxMs / 1000} s: ${text}`);
    }
    await Bun.sleep(LOOK_MS);
  }
}

/** What was answered so seldom that a scene shows nothing: less than once before each fault, in the mean. */
export function tooFew(answered: Readonly<Record<string, number>>, faults: number): string[] {
  return Object.entries(answered)
    .filter(([, count]) => count < faults)
    .map(([what, count]) => `only ${count} ${what} were answered before ${faults} faults`);
}
