import { messageOf } from '../../../../runtime/error-code.ts';
import type { Log, Timers } from '../../../../runtime/ports.ts';
import { RecentSet } from '../../../../runtime/recent.ts';
import { pause } from '../../../../runtime/time/pause.ts';
import type { RedisEndpoint } from '../address.ts';
import { RedisAway, RedisRefused, RedisUnsuitable, type Reply } from '../reply.ts';
import { SeenMasters } from './data-line.ts';
import { HandOvers } from './hand-over.ts';
import { type ClusterServer, readSlots, type SlotMap } from './slot-map.ts';
import { SLOTS } from './slots.ts';

export interface ClusterMapOptions {
  /** Some servers of the cluster. */
  readonly endpoints: readonly RedisEndpoint[];
  /** Sends one command to a server, over a connection of its own. */
  readonly ask: (endpoint: RedisEndpoint, command: readonly string[]) => Promise<Reply>;
  readonly timers: Timers;
  readonly log: Log;
}

/** After this silence of a server, the next one is asked too. */
const NEXT_MS = 250;
/** The limit of servers that are asked for one map. */
const ASKED_MAX = 16;
/** The limit of masters that are remembered. */
const LOADED_MAX = 1_000;
/** Reasons that a message names. */
const NAMED_MAX = 3;

/** Knows which master has which slots. The connections to all slots of a cluster share it. */
export class ClusterMap {
  readonly masters = new SeenMasters();
  readonly handOvers: HandOvers;
  private readonly options: ClusterMapOptions;
  private map: SlotMap | undefined;
  private asking: Promise<SlotMap> | undefined;
  private askedAtMs = Number.NEGATIVE_INFINITY;
  /** The server that a refusal has named last: it knows best what has changed. */
  private named: RedisEndpoint | undefined;
  private hasWarned = false;
  /** The masters that have been sent the scripts. */
  private readonly loaded = new RecentSet<string>(LOADED_MAX);

  constructor(options: ClusterMapOptions) {
    this.options = options;
    this.handOvers = new HandOvers(options);
  }

  /** Returns the master of a slot, by a map that is not older than this. Rejects with `RedisAway` if there is none. */
  async masterOf(slot: number, ageMs = 0): Promise<ClusterServer> {
    const master = (await this.newest(ageMs)).masterOf(slot);
    if (master === undefined) throw new RedisAway(`slot ${slot} has no master`, false);
    return master;
  }

  /** Whether a master has not been sent the scripts yet, which it then is. */
  mustLoad(master: string): boolean {
    if (this.loaded.has(master)) return false;
    this.loaded.add(master);
    return true;
  }

  /** A server has refused a command and named another one. */
  sentTo(endpoint: RedisEndpoint): void {
    this.named = endpoint;
    this.askedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Returns a map that is not older than this. Rejects if no server gives one. */
  async newest(ageMs = 0): Promise<SlotMap> {
    const { timers } = this.options;
    if (this.asking !== undefined) return await this.asking;
    if (this.map !== undefined && timers.now() - this.askedAtMs < ageMs) return this.map;
    const askedAtMs = timers.now();
    this.asking = this.ask();
    try {
      const map = await this.asking;
      if (this.map !== undefined) this.logChanges(this.map, map);
      this.map = map;
      this.askedAtMs = askedAtMs;
      return map;
    } finally {
      this.asking = undefined;
    }
  }

  private logChanges(before: SlotMap, now: SlotMap): void {
    const changes = SLOTS.flatMap(({ number }) => {
      const [from, to] = [before.masterOf(number), now.masterOf(number)];
      if (from === undefined || to === undefined || from.id === to.id) return [];
      const why = before.replicasOf(number).includes(to.id) ? 'failover' : 'moved';
      return [{ number, from: nameOf(from), to: nameOf(to), why }];
    });
    const alike = Map.groupBy(changes, ({ from, to, why }) => `${from} ${to} ${why}`);
    for (const some of alike.values()) {
      const slots = some.map(({ number }) => number).join(', ');
      const [{ from, to, why } = { from: '', to: '', why: '' }] = some;
      this.options.log.info('Redis Cluster has changed', { slots, from, to, why });
    }
  }

  /** Asks one server after the other, without waiting for silent ones, until one gives a map. */
  private async ask(): Promise<SlotMap> {
    const failures: unknown[] = [];
    const attempts: Promise<SlotMap | undefined>[] = [];
    for (const endpoint of this.order()) {
      const attempt = this.askOne(endpoint).catch((error: unknown) => {
        failures.push(error);
        return undefined;
      });
      attempts.push(attempt);
      const map = await Promise.race([attempt, pause(this.options.timers, NEXT_MS)]);
      if (map !== undefined) return map;
    }
    for (const map of await Promise.all(attempts)) if (map !== undefined) return map;
    throw failureOf(failures);
  }

  private async askOne(endpoint: RedisEndpoint): Promise<SlotMap> {
    const reply = await this.options.ask(endpoint, ['CLUSTER', 'SLOTS']);
    try {
      return readSlots(reply, endpoint);
    } catch (error) {
      if (!this.hasWarned) {
        const server = nameOf(endpoint);
        this.options.log.warn('Redis Cluster: a map was refused', {
          server,
          why: messageOf(error),
        });
      }
      this.hasWarned = true;
      throw error;
    }
  }

  /** In turns those of the configuration, which somebody has chosen, and those that the last map names. */
  private order(): readonly RedisEndpoint[] {
    const { named } = this;
    this.named = undefined;
    const chosen = shuffled(this.options.endpoints);
    const known = shuffled(this.map?.servers ?? []);
    const inTurns = Array.from({ length: Math.max(chosen.length, known.length) }, (_, n) => [
      known[n],
      chosen[n],
    ]).flat();
    const all = new Map<string, RedisEndpoint>();
    for (const one of [named, ...inTurns]) {
      if (one !== undefined && all.size < ASKED_MAX) all.set(`${one.host} ${one.port}`, one);
    }
    return [...all.values()];
  }
}

function nameOf({ host, port }: RedisEndpoint): string {
  return `${host}:${port}`;
}

function failureOf(failures: readonly unknown[]): Error {
  const unsuitable = failures.find((failure) => failure instanceof RedisUnsuitable);
  if (unsuitable !== undefined) return unsuitable;
  const refusals = failures.filter((failure) => failure instanceof RedisRefused);
  // A server that refuses says more than one that is away.
  const named = (refusals.length > 0 ? refusals : failures).map(messageOf).slice(0, NAMED_MAX);
  const why = `no server of the cluster says who has which slots: ${named.join('; ')}`;
  return refusals.length === failures.length ? new RedisRefused(why) : new RedisAway(why, false);
}

function shuffled<T>(all: readonly T[]): T[] {
  const left = [...all];
  for (let n = left.length - 1; n > 0; n--) {
    const other = Math.floor(Math.random() * (n + 1));
    [left[n], left[other]] = [left[other] as T, left[n] as T];
  }
  return left;
}
