import type { App } from '../../../channels/app.ts';
import type { AppDirectory } from '../../../channels/ports.ts';
import type { TakenUsage } from '../../../channels/usage/unshared-usage.ts';
import type { Usage } from '../../../channels/usage/usage.ts';
import type { Reply } from '../link/reply.ts';
import type { Partition } from '../partition.ts';
import { USE } from '../scripts/quotas.ts';

/** The limit of apps in one statement, so that no script runs for long. */
const APPS_MAX = 100;

/** What this loop knows of one app. */
interface AppUsage {
  readonly appId: string;
  /** Days since 1970, UTC. */
  day: number;
  /**
   * Today's messages on all loops, as far as this loop knows; without those that it has not stated. The quota is
   * enforced by this number.
   */
  known: Messages;
  /**
   * The last sum of Redis; `undefined`: not asked yet. `known` may be larger, because the store includes what others
   * have not stated.
   */
  seen: Messages | undefined;
  /** Usage that was not stated yet. */
  messages: Messages;
  requests: Record<'triggers' | 'queries', number>;
}

interface Messages {
  backend: number;
  clients: number;
}

/** The statement about one app. */
interface Row {
  readonly one: AppUsage;
  readonly day: number;
  readonly messages: Messages;
  readonly requests: AppUsage['requests'];
}

export interface AppUsagesOptions {
  readonly partition: Partition;
  /** The id of this loop, unique across all loops and restarts. */
  readonly loop: string;
  readonly usage: Usage;
  readonly apps: Pick<AppDirectory, 'byId'>;
  /** Calls `add` with the usage since the last call. */
  readonly collect: () => void;
  /** Called with the number of loops. */
  readonly onLoops: (loops: number) => void;
}

/**
 * The usage of the apps of one partition. Redis adds up what the loops have taken. Statements have numbers, and each
 * is repeated with its number until it is answered, so each counts once.
 */
export class AppUsages {
  private readonly options: AppUsagesOptions;
  private readonly apps = new Map<string, AppUsage>();
  /** The apps from which something was taken. */
  private readonly taken = new Set<AppUsage>();
  private statements = 0;
  /** The statement in flight. */
  private unanswered: readonly Row[] | undefined;
  private sharing: Promise<void> | undefined;
  private isUrgent = false;

  constructor(options: AppUsagesOptions) {
    this.options = options;
  }

  add({ appId, day, messages, requests }: TakenUsage): void {
    const app = this.options.apps.byId(appId);
    if (app === undefined) return;
    const one = this.of(app, day, messages);
    one.messages.backend += messages.backend;
    one.messages.clients += messages.clients;
    one.requests.triggers += requests.triggers;
    one.requests.queries += requests.queries;
    this.taken.add(one);
  }

  /** Forgets a deleted app. */
  forget(appId: string): void {
    const one = this.apps.get(appId);
    if (one === undefined) return;
    this.apps.delete(appId);
    this.taken.delete(one);
    this.unanswered = this.unanswered?.filter((row) => row.one !== one);
  }

  /** States new usage now, or after the statement in flight. */
  shareSoon(): void {
    if (this.taken.size === 0) return;
    this.isUrgent = true;
    if (this.sharing === undefined) void this.share();
  }

  /** States what was taken. Also asks for the sums of apps with a quota, since others may use it up. */
  async shareAll(): Promise<void> {
    const today = this.options.usage.today();
    for (const one of this.apps.values()) {
      const app = this.options.apps.byId(one.appId);
      const isOver = app === undefined || one.day !== today;
      if (isOver && !this.taken.has(one)) this.apps.delete(one.appId);
      else if (app !== undefined && app.limits.messagesPerDay > 0) this.taken.add(one);
    }
    await this.share();
  }

  private share(): Promise<void> {
    if (this.sharing !== undefined) return this.sharing.then(() => this.share());
    this.isUrgent = false;
    const end = () => {
      this.sharing = undefined;
      if (this.isUrgent) void this.share();
    };
    this.sharing = this.stateAll()
      .catch(() => this.forgetRequests())
      .then(end);
    return this.sharing;
  }

  private async stateAll(): Promise<void> {
    if (!this.options.partition.isReady) return this.forgetRequests();
    if (this.unanswered !== undefined) await this.state(this.unanswered);
    const all = [...this.taken];
    this.taken.clear();
    for (let n = 0; n < all.length; n += APPS_MAX) {
      const rows = all.slice(n, n + APPS_MAX).map((one): Row => {
        const { day, messages, requests } = one;
        one.messages = { backend: 0, clients: 0 };
        one.requests = { triggers: 0, queries: 0 };
        return { one, day, messages, requests };
      });
      this.statements++;
      try {
        await this.state(rows);
      } catch (error) {
        for (const one of all.slice(n)) this.taken.add(one);
        throw error;
      }
    }
  }

  /** Forgets what was taken of rates: by the time Redis answers again, the buckets would be full anyway. */
  private forgetRequests(): void {
    for (const one of this.taken) one.requests = { triggers: 0, queries: 0 };
  }

  private async state(rows: readonly Row[]): Promise<void> {
    const { partition, loop, usage, collect, onLoops } = this.options;
    this.unanswered = rows.map((row) => ({ ...row, requests: { triggers: 0, queries: 0 } }));
    const args = rows.flatMap((row) => this.argsOf(row));
    const [, loops, ...answers] = await partition.run(USE, [loop, this.statements, ...args]);
    this.unanswered = undefined;
    onLoops(Number(loops));
    // The answer does not include usage since the statement.
    collect();
    for (const [n, row] of rows.entries()) this.answer(row, answers[n] as Reply[], usage);
  }

  private argsOf({ one, day, messages, requests }: Row): readonly (string | number)[] {
    const limits = this.options.apps.byId(one.appId)?.limits;
    const known = one.seen ?? one.known;
    return [
      ...[one.appId, day, messages.backend, messages.clients],
      ...[known.backend, known.clients, one.seen === undefined ? 0 : 1],
      ...[requests.triggers, limits?.triggersPerSecond ?? 0],
      ...[requests.queries, limits?.queriesPerSecond ?? 0],
    ];
  }

  private answer({ one, day, messages }: Row, answer: readonly Reply[], usage: Usage): void {
    const app = this.options.apps.byId(one.appId);
    // It may be the answer to a statement about a deleted app, whose id another one has now.
    if (app === undefined || this.apps.get(one.appId) !== one) return;
    const [backend = 0, clients = 0, before = 0, triggers = 0, queries = 0] = answer.map(Number);
    usage.setLeft(app, 'triggers', triggers - one.requests.triggers);
    usage.setLeft(app, 'queries', queries - one.requests.queries);
    if (one.day !== day) return;
    const own = {
      backend: one.known.backend + messages.backend,
      clients: one.known.clients + messages.clients,
    };
    one.known = {
      backend: Math.max(backend, own.backend),
      clients: Math.max(clients, own.clients),
    };
    one.seen = { backend, clients };
    const ofOthers = {
      backend: one.known.backend - own.backend,
      clients: one.known.clients - own.clients,
    };
    usage.chargeTaken(app, { appId: app.id, day, messages: ofOthers, requests: NO_REQUESTS });
    usage.warnBetween(app, before, backend);
  }

  private of(app: App, day: number, taken: Readonly<Messages>): AppUsage {
    let one = this.apps.get(app.id);
    if (one === undefined) {
      one = {
        appId: app.id,
        day,
        known: { backend: 0, clients: 0 },
        seen: undefined,
        messages: { backend: 0, clients: 0 },
        requests: { triggers: 0, queries: 0 },
      };
      this.apps.set(app.id, one);
      one.known = this.knownBefore(app, taken);
    } else if (one.day !== day) {
      one.day = day;
      one.known = this.knownBefore(app, taken);
      one.seen = undefined;
      one.messages = { backend: 0, clients: 0 };
    }
    return one;
  }

  private knownBefore(app: App, taken: Readonly<Messages>): Messages {
    const { backend, clients } = this.options.usage.knownOf(app);
    return {
      backend: Math.max(0, backend - taken.backend),
      clients: Math.max(0, clients - taken.clients),
    };
  }
}

const NO_REQUESTS = { triggers: 0, queries: 0 };
