import type { App } from '../../../channels/app.ts';
import type { ConnectionQuota } from '../../../channels/ports.ts';
import type { Reply } from '../link/reply.ts';
import type { Partition } from '../partition.ts';
import type { Stated } from '../restatements.ts';
import { HOLD } from '../scripts/quotas.ts';

/** The limit of connections of one partition that wait for a place. More are admitted without asking. */
const WAITING_MAX = 1000;

/** The limit of apps in one statement, so that no script runs for long. */
const APPS_MAX = 100;

/** The connections of one app on this loop. */
interface Held {
  app: App;
  /** Connections with a place. */
  taken: number;
  open: number;
  /** Connections that wait for a place, in order of arrival. */
  waiting: ((isTaken: boolean) => void)[];
}

/** The statement about one app. */
interface Statement {
  readonly held: Held;
  readonly taken: number;
  readonly waiting: number;
}

/**
 * The connections of the apps of one partition. This loop states how many it has, and the authority of the app
 * decides how many more it may have. Only one statement is in flight at a time; connections that arrive meanwhile
 * share the next one.
 */
export class AppConnections implements ConnectionQuota, Stated {
  private readonly partition: Partition;
  private readonly apps = new Map<string, Held>();
  /** Apps whose latest numbers the authority does not know yet. */
  private readonly changed = new Set<Held>();
  private waiting = 0;
  private stating: Promise<void> | undefined;
  /** Called when a connection waits, or has freed a place that other loops may wait for. */
  private isUrgent = false;

  constructor(partition: Partition) {
    this.partition = partition;
    // These statements are repeated like those of topics.
    partition.topics.add(this);
  }

  take(app: App): boolean | Promise<boolean> {
    const held = this.of(app);
    this.changed.add(held);
    const mustAsk = app.limits.connections > 0 && this.partition.isReady;
    if (!mustAsk || this.waiting >= WAITING_MAX) {
      held.taken++;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    held.waiting.push(resolve);
    this.waiting++;
    this.stateSoon();
    return promise;
  }

  release(app: App): void {
    const held = this.of(app);
    held.taken--;
    this.changed.add(held);
    if (app.limits.connections > 0) this.stateSoon();
  }

  /** Sets how many connections of an app are open, for the figures of the cluster. */
  setOpen(app: App, open: number): void {
    const held = this.of(app);
    if (held.open === open) return;
    held.open = open;
    this.changed.add(held);
  }

  /** The apps in the last statement. */
  known(): readonly App[] {
    return Array.from(this.apps.values(), ({ app }) => app);
  }

  /** States what has changed. If that is impossible now, a later call does it. */
  async share(): Promise<void> {
    if (this.partition.isReady) await this.state().catch(() => undefined);
  }

  async restate(): Promise<void> {
    for (const held of this.apps.values()) this.changed.add(held);
    await this.state();
  }

  complete(): void {
    // Nothing to do: no connection waits until the data are complete.
  }

  private of(app: App): Held {
    let held = this.apps.get(app.id);
    if (held === undefined) {
      held = { app, taken: 0, open: 0, waiting: [] };
      this.apps.set(app.id, held);
    }
    // An app that was deleted and created again has new limits.
    held.app = app;
    return held;
  }

  /** Makes a statement at the end of this turn, or after the one in flight. */
  private stateSoon(): void {
    this.isUrgent = true;
    if (this.stating !== undefined) return;
    queueMicrotask(() => {
      if (this.isUrgent && this.stating === undefined) this.state().catch(() => undefined);
    });
  }

  /** Makes statements one after the other. Each includes all waiting connections. */
  private state(): Promise<void> {
    if (this.stating !== undefined) return this.stating.then(() => this.state());
    const stating = this.stateAll();
    const end = () => {
      this.stating = undefined;
      if (this.isUrgent) this.stateSoon();
    };
    this.stating = stating.then(end, end);
    return stating;
  }

  private async stateAll(): Promise<void> {
    this.isUrgent = false;
    const all = [...this.changed];
    this.changed.clear();
    for (let n = 0; n < all.length; n += APPS_MAX) {
      const statements = all.slice(n, n + APPS_MAX).map(statementOf);
      try {
        this.answer(statements, await this.stateApps(statements));
      } catch (error) {
        const unstated = all.slice(n);
        for (const held of unstated) this.changed.add(held);
        // The authority cannot be asked, so waiting connections are admitted.
        this.answer(unstated.map(statementOf));
        throw error;
      }
    }
  }

  private async stateApps(statements: readonly Statement[]): Promise<Reply> {
    const args = statements.flatMap(({ held: { app, open }, taken, waiting }) => [
      app.id,
      taken,
      taken + waiting,
      app.limits.connections,
      open,
    ]);
    const answer = await this.partition.state(HOLD, args);
    return answer[4] ?? [];
  }

  /**
   * Admits as many connections as the authority allows. `answer`: how many places each app has; `undefined`: no
   * limit.
   */
  private answer(statements: readonly Statement[], answer?: Reply): void {
    const allowed = answer as readonly number[] | undefined;
    for (const [n, { held, taken, waiting }] of statements.entries()) {
      const places = allowed === undefined ? waiting : (allowed[n] ?? 0) - taken;
      this.waiting -= waiting;
      for (const [place, resolve] of held.waiting.splice(0, waiting).entries()) {
        const isTaken = place < places;
        if (isTaken) held.taken++;
        resolve(isTaken);
      }
      const isIdle = held.taken === 0 && held.open === 0 && held.waiting.length === 0;
      if (isIdle && !this.changed.has(held)) this.apps.delete(held.app.id);
    }
  }
}

function statementOf(held: Held): Statement {
  return { held, taken: held.taken, waiting: held.waiting.length };
}
