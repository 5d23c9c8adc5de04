import { EngineUnavailable } from '../../channels/engine-failure.ts';
import type { MaybePromise } from '../../channels/maybe-promise.ts';
import { messageOf } from '../../runtime/error-code.ts';
import type { FairBudget } from '../../runtime/fairness/fair-budget.ts';
import type { Log, Timers } from '../../runtime/ports.ts';
import { pause } from '../../runtime/time/pause.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { HistoryMeter } from '../history/histories.ts';
import { OwnChanges, type StatedDeparture } from './departures/own-changes.ts';
import { ReportedDepartures } from './departures/reported-departures.ts';
import { stateDepartures } from './departures/state-departures.ts';
import { countForgotten } from './history/count-forgotten.ts';
import { type Reply, textsOf } from './link/reply.ts';
import type { RedisScript } from './link/script.ts';
import type { RedisLink } from './redis-link.ts';
import { Restatements, type RestateReason, type Stated } from './restatements.ts';
import { FORGET_APP } from './scripts/forget-app.ts';
import { RULES } from './scripts/histories.ts';
import { MOVED } from './scripts/moved.ts';
import { READS_BY_APP } from './scripts/recent-events.ts';
import { LEASE_MS } from './scripts/script.ts';
import { ENTER } from './scripts/statements.ts';
import { CLAIM, EXIT, SETTLE, TICK } from './scripts/upkeep.ts';
import { Waiters } from './waiters.ts';
import type { WaitingEvents } from './waiting-events.ts';

export interface PartitionOptions {
  readonly number: number;
  /** The prefix of all keys of the partition. */
  readonly keys: string;
  /** The prefix of its streams, unless it is `t:` behind that of its keys. */
  readonly streams?: string | undefined;
  readonly link: RedisLink;
  /** Shared by the partitions of its server. */
  readonly outbox: WaitingEvents;
  readonly timers: Timers;
  readonly log: Log;
  /** The name of this server, for operators. */
  readonly serverName: string;
  readonly meter: EngineMeter & HistoryMeter;
  /** See `OwnChanges`. */
  readonly changesBudget: FairBudget;
  /** Reports webhook events that this node has claimed. */
  readonly report: (ids: readonly string[]) => void;
  /** Shows transitions that no statement has made. See `recordEnds`. */
  readonly ended: (ends: readonly string[]) => void;
  /** The rules for histories of all apps. A new array after each change. See `RULES`. */
  readonly rules: () => readonly string[];
  /** Redis has lost data. Called before anything is stated again. */
  readonly onLost: (partition: Partition) => void;
  /** Reads what was missed while Redis was away. Called after everything was stated. */
  readonly catchUp: (partition: Partition) => Promise<void>;
}

/** The number of consecutive renewals after which a node may sweep: one lease time, with a renewal every 2 s. */
const STEADY_TICKS = 5;
/** The limit of items that one call sweeps, so that no script runs for long. */
const SWEEP_MAX = 100;
const RETRY_MS = 250;
const FORGOTTEN_AT_ONCE = 500;
/** For how many ticks after a lost answer a node asks for its claims again: scripts of a connection that has ended may run late. */
const REPEATS = 5;

/**
 * One partition of the authority, from this node's point of view: its lease, and whether its statements can be relied
 * on.
 */
export class Partition {
  /** The topics that this node holds or watches. */
  readonly topics = new Set<Stated>();
  /** The topics whose last statement may have been lost. */
  readonly unsure = new Set<Stated>();
  readonly own: OwnChanges;
  private readonly reported: ReportedDepartures;
  readonly restatements = new Restatements(this);
  /** Where its events wait. A statement about a topic is sent after those of the app. */
  readonly outbox: WaitingEvents;
  readonly number: number;
  readonly keys: string;
  isReady = false;
  /** Redis has lost data, and nodes are still stating what they hold. */
  isIncomplete = false;
  /** Redis has lost data, and what was missed before that has not been read since. */
  hasLostData = false;
  /** The size of the histories of all nodes in this partition. */
  histories = { events: 0, bytes: 0 };
  private readonly options: PartitionOptions;
  private readonly scriptKeys: readonly string[];
  private node = newNode();
  /** The nodes that this server was before data were lost. Redis may still know what they held. */
  private readonly former = new Set<string>();
  private epoch: string | undefined;
  /** Identifies the Redis process that knows this node. */
  private serverId: string | undefined;
  /** Identifies the data in which this node is known. */
  private dataId: string | undefined;
  /** How many of this node's statements Redis has applied, as far as we know. */
  private version = 0;
  private steadyTicks = 0;
  /** Answers with claims may have been lost. None that is younger is taken before those are known. */
  private mayLackClaims = false;
  /** Ticks that still ask for claims again. */
  private repeats = 0;
  private statedRules: readonly string[] | undefined;
  /** Deleted apps that are still to be forgotten, with the day on which they were deleted. */
  private readonly deletedApps = new Map<string, number>();
  /** Why everything must be stated again. */
  private restating: Exclude<RestateReason, 'unsure'> | undefined;
  /** When this node was last answered by a Redis that knew it. */
  private knownAtMs = 0;
  /** The same, before the data were lost that are stated again. */
  private lostSinceMs: number | undefined;
  private isRecovering = false;
  private timesAway = 0;
  private isClosed = false;
  /** Webhook events that are stored or dropped, but not forgotten in Redis yet. */
  private over: string[] = [];
  private readonly waiters: Waiters;
  private due: { readonly atMs: number; readonly cancel: () => void } | undefined;
  private cancelComplete: (() => void) | undefined;

  constructor(options: PartitionOptions) {
    this.options = options;
    this.own = new OwnChanges(options.changesBudget, options.timers);
    this.reported = new ReportedDepartures(options.timers);
    this.waiters = new Waiters(options.timers);
    this.outbox = options.outbox;
    this.number = options.number;
    this.keys = options.keys;
    const { keys, streams } = options;
    this.scriptKeys = streams === undefined ? [keys] : [keys, streams];
  }

  /** The stream that carries the messages of a topic. */
  streamOf(topic: string): string {
    return `${this.options.streams ?? `${this.keys}t:`}${topic}`;
  }

  /** For how many milliseconds this node has not reached the data that were lost. */
  get awayMs(): number {
    return Math.round(this.options.timers.now() - (this.lostSinceMs ?? this.knownAtMs));
  }

  get nowMs(): number {
    return this.options.timers.now();
  }

  /** Waits until statements are possible, at most until `untilMs`. Returns in the same turn if they are. */
  whenReady(untilMs: number): MaybePromise<void> {
    return this.isReady ? undefined : this.waiters.wait(untilMs);
  }

  /** Runs a script with the node, the epoch and `args`. Returns what follows `ok`. */
  async call(script: RedisScript, args: readonly (string | number)[]): Promise<readonly Reply[]> {
    const { node, epoch = '' } = this;
    const [code, ...rest] = await this.run(script, [node, epoch, ...args]);
    if (code === 'lost' || code === 'fenced') {
      // Several calls in flight may be refused for the same reason.
      if (node === this.node && epoch === this.epoch) this.mustRecover();
      throw new EngineUnavailable(`Redis says: ${code}`);
    }
    if (code === 'incomplete')
      throw new EngineUnavailable('Redis has lost data, and not all is known yet');
    this.knownAtMs = this.options.timers.now();
    return code === 'ok' ? rest : [code ?? null, ...rest];
  }

  /** Runs a script that needs no lease. */
  async run(script: RedisScript, args: readonly (string | number)[]): Promise<readonly Reply[]> {
    let reply: Reply;
    try {
      reply = await this.options.link.commands.script(script, { keys: this.scriptKeys, args });
    } catch (cause) {
      this.repeats = REPEATS;
      throw new EngineUnavailable('Redis has not answered', { cause });
    }
    if (!Array.isArray(reply)) throw new EngineUnavailable('Redis has answered something else');
    return reply;
  }

  /** Makes a statement. Its answer must begin like that of `STATE`. Returns the answer. */
  async state(script: RedisScript, args: readonly (string | number)[]): Promise<readonly Reply[]> {
    const askedAtMs = this.options.timers.now();
    const answer = await this.call(script, args);
    const [version, , dueMs, claims] = answer;
    if (version === 'full') return answer;
    this.version = Math.max(this.version, Number(version));
    this.take(askedAtMs, dueMs, claims);
    return answer;
  }

  /** Arrivals and departures were stated, see `OwnChanges`. `owed`: see `STATE`. */
  stated(names: readonly StatedDeparture[], owed: Reply | undefined): void {
    this.own.stated(names, new Set(textsOf(owed)));
    this.claimOwn();
  }

  /** Commands fail from now on. */
  away(): void {
    this.timesAway++;
    this.mayLackClaims = true;
    this.repeats = REPEATS;
    this.isReady = false;
    this.steadyTicks = 0;
  }

  /**
   * Redis can be reached. Renews the lease or registers this node, repeats statements that may have been lost, and is
   * then ready.
   */
  async recover(): Promise<void> {
    if (this.isRecovering) return;
    this.isRecovering = true;
    const { link, log } = this.options;
    try {
      while (!this.isReady && link.away === undefined && !this.isClosed) {
        const { timesAway } = this;
        try {
          await this.recoverOnce();
          await this.options.catchUp(this);
          this.hasLostData = false;
          // Redis may have been away again, and messages may have been missed.
          this.isReady = timesAway === this.timesAway;
        } catch (error) {
          log.debug('Could not state what this node holds', {
            keys: this.keys,
            why: messageOf(error),
          });
          await pause(this.options.timers, RETRY_MS);
        }
      }
    } finally {
      this.isRecovering = false;
    }
    if (this.isReady) this.waiters.ready();
  }

  /** Renews the lease, repeats unconfirmed statements and sweeps what dead nodes held. Called every 2 s. */
  async tick(): Promise<void> {
    if (this.isClosed) return;
    if (!this.isReady) return this.recover();
    try {
      await this.forgetOver();
      await this.forgetDeletedApps();
      const applied = this.version;
      const sweepMax = this.steadyTicks >= STEADY_TICKS ? SWEEP_MAX : 0;
      const isAgain = this.repeats > 0;
      const askedAtMs = this.options.timers.now();
      const answer = await this.call(TICK, [sweepMax, isAgain ? '1' : '']);
      if (isAgain) this.repeats--;
      const isLate = answer[0] === 'late';
      const [version, dueMs, claims, swept, ended, histories, ends] = isLate
        ? answer.slice(1)
        : answer;
      this.options.meter.count('engineLeasesSwept', Number(ended ?? 0));
      this.takeHistories(histories);
      this.steadyTicks = isLate ? 0 : this.steadyTicks + 1;
      this.take(askedAtMs, dueMs, claims, ends);
      if (Number(version) < applied) return this.mustRecover();
      if (this.unsure.size > 0) await this.restatements.make(this.unsure, 'unsure');
      await this.stateRules();
      this.claimOwn();
      if (swept === SWEEP_MAX) await this.tick();
    } catch (error) {
      this.steadyTicks = 0;
      this.options.log.debug('Could not renew a lease', { keys: this.keys, why: messageOf(error) });
    }
  }

  /** States the rules for histories if they have changed. If that fails, the next tick retries. */
  async stateRules(): Promise<void> {
    const rules = this.options.rules();
    if (rules === this.statedRules) return;
    await this.call(RULES, rules);
    this.statedRules = rules;
  }

  /** Forgets what is remembered of a deleted app. If that fails, the next tick retries. `day`: days since 1970, UTC. */
  async forgetApp(id: string, day: number): Promise<void> {
    this.deletedApps.set(id, day);
    if (this.isReady) await this.forgetDeletedApps();
  }

  private async forgetDeletedApps(): Promise<void> {
    for (const [id, day] of this.deletedApps) {
      for (let code: Reply = 'more'; code === 'more'; ) {
        [code = null] = await this.run(FORGET_APP, [id, day]);
      }
      this.deletedApps.delete(id);
    }
  }

  /**
   * Forgets webhook events that are stored or dropped. Otherwise another node reports them again, with the same ids.
   */
  settle(ids: readonly string[]): void {
    this.over.push(...ids);
    void this.forgetOver();
  }

  /** Ends the lease, so that others need not wait until it expires. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.forgetOver();
    this.isReady = false;
    this.due?.cancel();
    this.cancelComplete?.();
    this.waiters.failed(new EngineUnavailable('The server is stopping'));
    await this.run(EXIT, [this.node]).catch(() => undefined);
  }

  private async recoverOnce(): Promise<void> {
    await this.forgetOver();
    const found = await this.renewOrEnter();
    if (found === 'lost') {
      this.hasLostData = true;
      this.becomeIncomplete();
      this.options.onLost(this);
    }
    if (found !== 'unsure') this.restating = found;
    await this.stateRules();
    if (this.restating === undefined) return this.restatements.make(this.unsure, 'unsure');
    // If this fails halfway, all of it is repeated.
    if (this.restating === 'lost') await stateDepartures(this, this.reported);
    // Others have noticed that they are gone.
    else this.own.clear();
    await this.restatements.make(this.topics, this.restating);
    await this.leaveFormer();
    this.restating = undefined;
    this.lostSinceMs = undefined;
  }

  /** Takes back what former nodes of this server held, now that all of it is stated again. Others would wait for the end of their leases. */
  private async leaveFormer(): Promise<void> {
    for (const former of this.former) {
      for (let swept: Reply | undefined = SWEEP_MAX; swept === SWEEP_MAX; ) {
        const askedAtMs = this.options.timers.now();
        const answer = await this.call(TICK, [SWEEP_MAX, '', former]);
        const [, dueMs, claims, some, , , ends] = answer[0] === 'late' ? answer.slice(1) : answer;
        this.take(askedAtMs, dueMs, claims, ends);
        swept = some;
      }
      this.former.delete(former);
    }
  }

  /** What cannot be forgotten now is forgotten before anything else is claimed. */
  private async forgetOver(): Promise<void> {
    while (this.over.length > 0) {
      const ids = this.over.splice(0, FORGOTTEN_AT_ONCE);
      const askedAtMs = this.options.timers.now();
      try {
        const [, dueMs, claims] = await this.run(SETTLE, [this.isClosed ? '' : this.node, ...ids]);
        this.take(askedAtMs, dueMs, claims);
      } catch {
        this.over.unshift(...ids);
        return;
      }
    }
  }

  private async renewOrEnter(): Promise<RestateReason> {
    const { serverId, dataId } = this.options.link;
    const reason = await this.renewOrEnterAt(dataId);
    const { serverId: former = serverId } = this;
    if (reason === 'unsure' && former !== serverId) await this.run(MOVED, [former, serverId]);
    this.serverId = serverId;
    this.dataId = dataId;
    return reason;
  }

  private async renewOrEnterAt(dataId: string): Promise<RestateReason> {
    if (this.epoch === undefined) {
      await this.enter('');
      return 'fenced';
    }
    // Without the last writes, Redis could reuse numbers that others have already received.
    const mayHaveLost = dataId !== this.dataId;
    const askedAtMs = this.options.timers.now();
    const answer = await this.run(TICK, [this.node, this.epoch, 0, '1']);
    const [code, version, dueMs, claims, , , , ends] = answer;
    this.mayLackClaims = false;
    if (code === 'ok' || code === 'late') {
      this.take(askedAtMs, dueMs, claims, ends);
      if (Number(version) >= this.version && !mayHaveLost) return 'unsure';
    }
    const isLost = code !== 'fenced' || mayHaveLost;
    if (isLost) {
      this.former.add(this.node);
      this.lostSinceMs ??= this.knownAtMs;
    }
    this.node = newNode();
    await this.enter(isLost ? '1' : '');
    this.options.meter.count(isLost ? 'engineDataLost' : 'engineLeasesLost');
    return isLost ? 'lost' : 'fenced';
  }

  private async enter(isLost: string): Promise<void> {
    const { serverName, link } = this.options;
    const args = [this.node, crypto.randomUUID(), isLost, serverName, link.serverId];
    const [, epoch] = await this.run(ENTER, args);
    this.statedRules = undefined;
    this.mayLackClaims = false;
    this.epoch = String(epoch);
    this.version = 0;
  }

  private becomeIncomplete(): void {
    this.isIncomplete = true;
    this.cancelComplete?.();
    this.cancelComplete = this.options.timers.after(LEASE_MS, () => {
      this.isIncomplete = false;
      for (const one of this.topics) one.complete();
    });
  }

  private mustRecover(): void {
    this.away();
    void this.recover();
  }

  private takeHistories(reply: Reply | undefined): void {
    const [events, bytes, forgotten] = Array.isArray(reply) ? reply : [];
    this.histories = { events: Number(events ?? 0), bytes: Number(bytes ?? 0) };
    countForgotten(this.options.meter, forgotten);
  }

  /**
   * Takes what every statement returns: when something is due, and what this node has claimed. `askedAtMs`: when it was made.
   * `ends`: see `recordEnds`.
   */
  private take(askedAtMs: number, dueMs?: Reply, claims?: Reply, ends?: Reply): void {
    this.options.ended(textsOf(ends));
    const ids = this.mayLackClaims ? [] : textsOf(claims);
    this.reported.add(ids, askedAtMs);
    this.options.report(ids);
    const ms = Number(dueMs ?? -1);
    if (ms >= 0 && !this.isClosed) this.claimIn(ms);
  }

  /** Schedules a claim of what this node has stated. */
  private claimOwn(): void {
    const { waitMs } = this.own;
    if (waitMs !== undefined && !this.isClosed) this.claimIn(waitMs);
  }

  /** Schedules a claim of due items, unless one is scheduled earlier. */
  private claimIn(ms: number): void {
    const { timers } = this.options;
    const atMs = timers.now() + ms;
    if (this.due !== undefined && this.due.atMs <= atMs) return;
    this.due?.cancel();
    const cancel = timers.after(ms, () => {
      this.due = undefined;
      void this.claim();
    });
    this.due = { atMs, cancel };
  }

  private async claim(): Promise<void> {
    const asked = this.own.due();
    const askedAtMs = this.options.timers.now();
    try {
      const names = asked.map(([name]) => name);
      const [dueMs, claims, againMs, ends] = await this.call(CLAIM, names);
      // Otherwise the claims are repeated, unless Redis loses them.
      if (!this.mayLackClaims) this.own.asked(asked, Number(againMs));
      this.take(askedAtMs, dueMs, claims, ends);
      this.claimOwn();
    } catch {
      // If this fails, the next tick of any node claims the items.
    }
  }
}

function newNode(): string {
  return READS_BY_APP + crypto.randomUUID();
}
