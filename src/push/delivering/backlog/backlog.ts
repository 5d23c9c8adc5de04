import {
  GIVE_WAY_FROM,
  GIVE_WAY_TO,
  type WaitingPublish,
  type WaitingPublishes,
  type WaitingQuery,
} from '../../backlog-store.ts';
import { byPlatform, platforms } from '../../model/device.ts';
import type { Deliverer } from '../deliverer.ts';
import { GIVE_WAY_WAIT_MS, GIVING_WAY_AT_ONCE, ROOM_PAUSE_MS } from '../limits.ts';
import type { PipelinePorts } from '../ports.ts';
import type { StoreAccess } from '../store-access.ts';
import { chooseLeaving } from './choose-leaving.ts';

export interface BacklogOptions {
  readonly ports: PipelinePorts;
  readonly access: StoreAccess;
  readonly deliverer: Deliverer;
}

/** The search for room in one instance. */
interface Sweep {
  /** Settles when there is room (`true`), or it has taken too long. */
  readonly done: Promise<boolean>;
  /** The least that a publish needs that waits for room; 0: none waits, so one look is enough. */
  neededBytes: number;
}

/** What a look at the publishes of an instance has brought. */
interface Look {
  readonly hasRoom: boolean;
  readonly tookMs: number;
}

/** A look at the store is not repeated before this many times the time that it took. */
const REST_FACTOR = 10;
const REST_MS_MAX = 20_000;

/** Publishes are refused at once for this long after one has waited in vain. */
const FRUITLESS_MS = 1_000;

/**
 * Makes room for new publishes. From 80 % of `limits.pendingPublishBytes` on, publishes that wait only for failures give
 * way until 70 %. Meanwhile, jobs do not wait in memory for open circuits, so that their publishes can give way, too.
 *
 * Several servers may do this at the same time: a publish gives way once, and each measures anew.
 */
export class Backlog {
  /** Devices that did not get a notification because their publish gave way, since the start. */
  readonly devices = byPlatform(() => 0);
  private readonly options: BacklogOptions;
  private readonly sweeps = new Map<number, Sweep>();
  /** Until when an instance is not looked at again: for a publish that found no room, and otherwise. */
  private readonly rests = new Map<number, { neededUntilMs: number; untilMs: number }>();
  /** One look at the store at a time, whatever the number of instances. */
  private looking: Promise<unknown> = Promise.resolve();
  private isStopped = false;

  constructor(options: BacklogOptions) {
    this.options = options;
  }

  /**
   * Makes room in an instance if its publishes take most of it. `neededBytes`: what a publish needs that has found none; 0:
   * none waits. Settles within `GIVE_WAY_WAIT_MS`. `true`: there may be room now. `false`: there will be none soon.
   */
  makeRoom(instance: number, neededBytes: number): Promise<boolean> {
    const known = this.sweeps.get(instance);
    if (known !== undefined) {
      const least = Math.min(known.neededBytes || neededBytes, neededBytes || known.neededBytes);
      known.neededBytes = least;
      return known.done;
    }
    if (this.isStopped || this.isResting(instance, neededBytes > 0)) return Promise.resolve(false);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const sweep: Sweep = { done: promise, neededBytes };
    this.sweeps.set(instance, sweep);
    const cancel = this.options.ports.timers.after(GIVE_WAY_WAIT_MS, () => resolve(false));
    void this.sweep(instance, sweep).then((hasRoom) => {
      cancel();
      this.sweeps.delete(instance);
      resolve(hasRoom);
    });
    return promise;
  }

  /** Looks at the instances whose jobs wait for open circuits, as publishes of other servers may need their room. */
  async look(): Promise<void> {
    const instances = this.options.deliverer.waiting();
    await Promise.all([...instances].map((instance) => this.makeRoom(instance, 0)));
    const nowMs = this.options.ports.timers.now();
    for (const [instance, { neededUntilMs, untilMs }] of this.rests) {
      if (Math.max(neededUntilMs, untilMs) <= nowMs) this.rests.delete(instance);
    }
  }

  stop(): void {
    this.isStopped = true;
  }

  /** Whether an instance was looked at so recently that another look would cost more than it brings. */
  private isResting(instance: number, isNeeded: boolean): boolean {
    const rest = this.rests.get(instance);
    if (rest === undefined) return false;
    const leftMs = (isNeeded ? rest.neededUntilMs : rest.untilMs) - this.options.ports.timers.now();
    // More than the longest rest: the clock was set back.
    return leftMs > 0 && leftMs <= REST_MS_MAX;
  }

  /** Returns whether there may be room now. Never rejects. */
  private async sweep(instance: number, sweep: Sweep): Promise<boolean> {
    const { ports, access } = this.options;
    const { timers, notices } = ports;
    const endMs = timers.now() + GIVE_WAY_WAIT_MS;
    try {
      for (;;) {
        const look = this.looking.then(() => this.lookAt(instance, sweep));
        this.looking = look.catch(() => undefined);
        const { hasRoom, tookMs } = await look;
        const nowMs = timers.now();
        const pauseMs = Math.max(ROOM_PAUSE_MS, tookMs);
        const isLast = sweep.neededBytes === 0 || nowMs + pauseMs >= endMs || this.isStopped;
        if (hasRoom || isLast) {
          const restMs = Math.min(REST_MS_MAX, tookMs * REST_FACTOR);
          const isInVain = !hasRoom && sweep.neededBytes > 0;
          const neededUntilMs = isInVain ? nowMs + Math.max(FRUITLESS_MS, restMs) : 0;
          this.rests.set(instance, { untilMs: nowMs + restMs, neededUntilMs });
          return hasRoom;
        }
        await access.pause(pauseMs);
      }
    } catch (error) {
      if (!access.wasReported(error)) notices.fault(error);
      return false;
    }
  }

  /** Lets publishes of an instance give way, if they take most of its room. Returns whether there is some now. */
  private async lookAt(instance: number, { neededBytes }: Sweep): Promise<Look> {
    const { ports, access, deliverer } = this.options;
    const { timers, backlog } = ports;
    const beganAtMs = timers.now();
    const looked = (hasRoom: boolean) => ({
      hasRoom,
      tookMs: Math.max(0, timers.now() - beganAtMs),
    });
    const limitBytes = ports.instances.byNumber(instance)?.pendingBytesMax ?? 0;
    if (limitBytes === 0) {
      await deliverer.press(instance, false);
      return looked(true);
    }
    const bytes = await access.ask(() => backlog.pendingBytes({ instance, nowMs: beganAtMs }));
    const isPressed = bytes >= limitBytes * GIVE_WAY_FROM;
    await deliverer.press(instance, isPressed);
    if (!isPressed) return looked(true);
    const waiting = await this.waiting(instance);
    const leaving = chooseLeaving(waiting, bytes - limitBytes * GIVE_WAY_TO);
    const freedBytes = await this.giveWay(instance, leaving);
    const hasRoom = neededBytes > 0 && bytes + neededBytes <= limitBytes;
    return looked(freedBytes > 0 || hasRoom);
  }

  private async waiting(instance: number): Promise<readonly WaitingPublish[]> {
    const { ports, access } = this.options;
    const all: WaitingPublish[] = [];
    let after: number | undefined = 0;
    while (after !== undefined) {
      const query: WaitingQuery = { instance, after };
      const found: WaitingPublishes = await access.ask(() => ports.backlog.waiting(query));
      all.push(...found.publishes);
      after = found.next;
    }
    return all;
  }

  /** In pieces, so that other commits are not delayed. Returns the bytes that became free. */
  private async giveWay(instance: number, leaving: readonly number[]): Promise<number> {
    const { ports, access } = this.options;
    const { backlog, timers, notices, taps } = ports;
    const devices = byPlatform(() => 0);
    let publishes = 0;
    let bytes = 0;
    for (let from = 0; from < leaving.length && !this.isStopped; from += GIVING_WAY_AT_ONCE) {
      const some = leaving.slice(from, from + GIVING_WAY_AT_ONCE);
      const nowMs = timers.now();
      const left = await access.ask(() => backlog.giveWay({ instance, publishes: some, nowMs }));
      for (const platform of platforms) {
        devices[platform] += left.devices[platform];
        this.devices[platform] += left.devices[platform];
      }
      publishes += left.publishes.length;
      bytes += left.bytes;
      const tap = taps?.watched?.get(instance);
      for (const publish of left.publishes) tap?.record({ kind: 'finished', publish });
    }
    if (publishes > 0) notices.gaveWay({ instance, publishes, devices });
    return bytes;
  }
}
