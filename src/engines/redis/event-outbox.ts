import { EngineUnavailable } from '../../channels/engine-failure.ts';
import type { EngineMeter } from '../engine-meter.ts';
import type { ScriptArgs } from './link/commands.ts';
import { RedisAway } from './link/reply.ts';
import type { RedisLink } from './redis-link.ts';
import { EVENTS, NUMBER_DIGITS } from './scripts/events.ts';
import type { EventPartition, PlainEvent, WaitingEvents } from './waiting-events.ts';

/** The limits of one call, so that no script runs for long. An event with more bytes goes alone. */
const CALL_MAX = { events: 256, bytes: 256 * 1024 };
/** What is left of a limit. */
type Share = { -readonly [what in keyof typeof CALL_MAX]: number };

/** The limits of events that wait for a call. */
const WAITING_MAX = { events: 50_000, bytes: 32 * 1024 * 1024 };

export interface EventOutboxOptions {
  readonly link: Pick<RedisLink, 'away' | 'commands'>;
  readonly meter: Pick<EngineMeter, 'observe'>;
}

interface Waiting extends PlainEvent {
  /** Of the message. */
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Publishes the events that go over one link to Redis. One call is in flight; events that come meanwhile wait, and
 * go with the next call. So calls grow only while Redis is busy, and no event waits for a timer.
 *
 * Apps share each call evenly, and the one with most events waiting is refused first. Events of a topic keep their order.
 */
export class EventOutbox implements WaitingEvents {
  private readonly options: EventOutboxOptions;
  /** Apps with events that wait; the next one first. */
  private readonly apps = new Map<string, AppEvents>();
  private readonly total = { events: 0, bytes: 0 };
  private inFlight = 0;
  private isPlanned = false;

  constructor(options: EventOutboxOptions) {
    this.options = options;
  }

  get waiting(): number {
    return this.total.events;
  }

  add(partition: EventPartition, event: PlainEvent): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const bytes = Buffer.byteLength(event.message);
    const { appId } = event;
    const app = this.apps.get(appId) ?? new AppEvents();
    if (!this.makeRoom(app, bytes)) {
      reject(tooMany());
      return promise;
    }
    app.add(partition, { ...event, bytes, resolve, reject });
    this.apps.set(appId, app);
    this.total.events += 1;
    this.total.bytes += bytes;
    if (this.mayCall) this.plan();
    return promise;
  }

  sendBefore(partition: EventPartition, appId: string): void {
    const app = this.apps.get(appId);
    while (app?.has(partition) === true) {
      const call = new EventsCall();
      app.moveFrom(partition, call, { ...CALL_MAX });
      if (app.isEmpty) this.apps.delete(appId);
      this.send(call);
    }
  }

  sendAll(): void {
    while (this.total.events > 0) this.send(this.nextCall());
  }

  /** While Redis is away, calls wait in the link, which knows for how long. */
  private get mayCall(): boolean {
    return this.inFlight === 0 || this.options.link.away !== undefined;
  }

  /** Sends a call at the end of this turn of the loop, with all that is added until then. */
  private plan(): void {
    if (this.isPlanned || this.total.events === 0) return;
    this.isPlanned = true;
    setImmediate(() => {
      this.isPlanned = false;
      while (this.mayCall && this.total.events > 0) this.send(this.nextCall());
    });
  }

  private nextCall(): EventsCall {
    const call = new EventsCall();
    const apps = this.apps.size;
    // What is left of an app with more than its share comes again at the end.
    for (const [appId, app] of this.apps) {
      // Its next event is the first of the next call. Otherwise smaller ones of others could pass it again and again.
      if (!app.fits(call)) break;
      this.apps.delete(appId);
      app.moveTo(call, {
        events: Math.ceil(CALL_MAX.events / apps),
        bytes: CALL_MAX.bytes / apps,
      });
      if (!app.isEmpty) this.apps.set(appId, app);
    }
    return call;
  }

  private send(call: EventsCall): void {
    const { events } = call;
    this.inFlight += 1;
    this.total.events -= events.length;
    this.total.bytes -= call.bytes;
    this.options.meter.observe('engineBatchEvents', events.length);
    const settle = (how: (event: Waiting) => void) => {
      this.inFlight -= 1;
      for (const event of events) how(event);
      this.plan();
    };
    this.options.link.commands.script(EVENTS, call).then(
      () => settle(({ resolve }) => resolve()),
      (cause: unknown) => {
        // None is sent again, because possibly only the reply was lost.
        const error = new EngineUnavailable('Redis has not answered', { cause });
        settle(({ reject }) => reject(error));
      },
    );
  }

  /** Refuses events of apps that have more waiting. `false`: there is no room. */
  private makeRoom(app: AppEvents, bytes: number): boolean {
    const { total } = this;
    while (total.events >= WAITING_MAX.events || total.bytes + bytes > WAITING_MAX.bytes) {
      let largest = app;
      for (const one of this.apps.values()) if (one.load > largest.load) largest = one;
      if (largest.load <= app.loadWith(bytes)) return false;
      const dropped = largest.dropOne();
      total.events -= 1;
      total.bytes -= dropped.bytes;
      dropped.reject(tooMany());
    }
    return true;
  }
}

function tooMany(): EngineUnavailable {
  const cause = new RedisAway('too many events wait for Redis', false);
  return new EngineUnavailable('Redis has not answered', { cause });
}

/** The events of one app that wait. */
class AppEvents {
  /** By partition, in their order; the next partition first. No list is empty. */
  private readonly groups = new Map<EventPartition, Waiting[]>();
  private events = 0;
  private bytes = 0;

  get isEmpty(): boolean {
    return this.groups.size === 0;
  }

  /** How much of the room it takes: 1 is all. */
  get load(): number {
    return Math.max(this.events / WAITING_MAX.events, this.bytes / WAITING_MAX.bytes);
  }

  /** The load with one more event. */
  loadWith(bytes: number): number {
    const { events, bytes: most } = WAITING_MAX;
    return Math.max((this.events + 1) / events, (this.bytes + bytes) / most);
  }

  has(partition: EventPartition): boolean {
    return this.groups.has(partition);
  }

  add(partition: EventPartition, event: Waiting): void {
    const group = this.groups.get(partition);
    if (group === undefined) this.groups.set(partition, [event]);
    else group.push(event);
    this.events += 1;
    this.bytes += event.bytes;
  }

  /** Whether its next event has room in a call. */
  fits(call: EventsCall): boolean {
    const [group = []] = this.groups.values();
    return group[0] !== undefined && call.fits(group[0]);
  }

  /** Moves events to a call that has room, until this share of it is used. */
  moveTo(call: EventsCall, share: Share): void {
    // What is left of a partition comes again at the end.
    for (const partition of this.groups.keys()) {
      if (share.events <= 0 || share.bytes <= 0 || !this.fits(call)) return;
      this.moveFrom(partition, call, share);
    }
  }

  /** Moves events of a partition to a call, and takes them off the share. */
  moveFrom(partition: EventPartition, call: EventsCall, share: Share): void {
    const group = this.groups.get(partition) ?? [];
    let count = 0;
    for (const event of group) {
      if (share.events <= 0 || share.bytes <= 0 || !call.fits(event)) break;
      call.add(partition, event);
      share.events -= 1;
      share.bytes -= event.bytes;
      this.bytes -= event.bytes;
      count += 1;
    }
    this.events -= count;
    this.groups.delete(partition);
    if (count === group.length) return;
    group.splice(0, count);
    this.groups.set(partition, group);
  }

  /** Takes out an event that no later one of its topic is behind. */
  dropOne(): Waiting {
    const [partition, group] = [...this.groups].at(-1) ?? [];
    const event = group?.pop();
    if (partition === undefined || event === undefined) throw new Error('no event to drop');
    if (group?.length === 0) this.groups.delete(partition);
    this.events -= 1;
    this.bytes -= event.bytes;
    return event;
  }
}

/** A call of `EVENTS`. */
class EventsCall implements ScriptArgs {
  readonly keys: string[] = [];
  readonly args: (string | number)[] = [];
  readonly events: Waiting[] = [];
  bytes = 0;
  private partition: EventPartition | undefined;
  private appId = '';
  /** The place of the number of events of the last group. */
  private countAt = 0;

  /** Whether there is room for an event. */
  fits({ bytes }: Waiting): boolean {
    const { length } = this.events;
    return length === 0 || (length < CALL_MAX.events && this.bytes + bytes <= CALL_MAX.bytes);
  }

  add(partition: EventPartition, event: Waiting): void {
    const { args } = this;
    const { appId, topic, message, bytes } = event;
    if (partition !== this.partition || appId !== this.appId) this.begin(partition, appId);
    args[this.countAt] = Number(args[this.countAt]) + 1;
    const kept = `${Buffer.byteLength(topic)}:${NUMBER_DIGITS + bytes}:${topic}`;
    args.push(`${partition.keys}T:${topic}`, partition.streamOf(topic), kept, message);
    this.events.push(event);
    this.bytes += bytes;
  }

  private begin(partition: EventPartition, appId: string): void {
    // Redis only checks this one against the rights of the user.
    if (this.keys.length === 0) this.keys.push(partition.keys);
    this.args.push(partition.keys, appId, 0);
    this.countAt = this.args.length - 1;
    this.partition = partition;
    this.appId = appId;
  }
}
