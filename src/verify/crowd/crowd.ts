import type { Destination } from '../../doctor/client/link.ts';
import { Backend } from './backend.ts';
import { CrowdClient, type SharedByClients } from './crowd-client.ts';
import { cutPauseMs, isQuiet, type Plan, partOf, triggersUntil } from './plan.ts';

interface CrowdOptions extends SharedByClients {
  readonly plan: Plan;
  /** Where clients connect; they spread over all. */
  readonly clientsTo: readonly Destination[];
  /** Where events are triggered. */
  readonly apiTo: readonly Destination[];
  /** Ends the run early. */
  readonly stop: AbortSignal;
}

/** How a run ended. `refused`: the server's reason for ending it. */
export interface Ended {
  readonly cuts: number;
  readonly refused: string | undefined;
}

/** What is looked after this often. Milliseconds. */
const TICK_MS = 25;
/** How long nothing must have changed: longer than the checker asks for, whose clock stops between lines. Milliseconds. */
const CALM_MS = 5200;
const CALM_WITH_WEBHOOKS_MS = 10_200;
/** How long a run may go on after its end, until all clients are there and nothing changes. Milliseconds. */
const LONGER_MS = 15_000;
/** One of this many triggers is a batch, excludes a socket, goes to two channels, is repeated with a key. */
const KINDS = 10;
const BATCH = 3;

/** Clients and a backend that do as their plan says. */
export class Crowd {
  private readonly options: CrowdOptions;
  private readonly backend: Backend;
  private readonly clients: readonly CrowdClient[];
  private readonly cutPauseMs: number;
  private refused: string | undefined;
  private cuts = 0;
  private events = 0;
  private cutAfterMs = 0;
  private isCalmNoted = false;
  /** Who has left the presence channel while nothing is cut. */
  private absent: CrowdClient | undefined;

  constructor(options: CrowdOptions) {
    const { plan, clientsTo, apiTo, ...shared } = options;
    this.options = options;
    this.cutPauseMs = cutPauseMs(plan);
    const onRefused = (reason: string) => {
      this.refused ??= reason;
    };
    const onForbidden = (answer: string) => onRefused(`a trigger is forbidden (403): ${answer}`);
    this.backend = new Backend({ ...shared, to: apiTo, onForbidden });
    this.clients = Array.from({ length: plan.clients }, (_, at) => {
      const to = clientsTo[at % clientsTo.length];
      if (to === undefined) throw new Error('There is no address');
      const number = at + 1;
      return new CrowdClient({ ...shared, number, part: partOf(plan, number), to, onRefused });
    });
  }

  /** Runs to its end, and closes everything. */
  async run(): Promise<Ended> {
    const { plan, recorder, timers, stop } = this.options;
    for (const client of this.clients) void client.connect();
    const triggersEnd = triggersUntil(plan) * 1000;
    let due = 0;
    let before = recorder.now;
    while (!stop.aborted && this.goesOn(recorder.now)) {
      const { now } = recorder;
      if (now < triggersEnd && this.clients.some(({ isReady }) => isReady)) {
        due = Math.min(due + (plan.rate * (now - before)) / 1000, plan.rate);
        while (due >= 1 && !this.backend.isBusy) due -= this.act();
      }
      before = now;
      if (now >= plan.seconds * 1000 || isQuiet(plan, now / 1000)) this.lookForCalm(now);
      else this.cutIfDue(now);
      await new Promise<void>((resolve) => timers.after(TICK_MS, resolve));
    }
    for (const client of this.clients) client.stop();
    return { cuts: this.cuts, refused: this.refused };
  }

  /** A run ends after its time, or a little later if not everything could be compared yet. */
  private goesOn(now: number): boolean {
    if (this.refused !== undefined || this.options.recorder.isFull) return false;
    const endMs = this.options.plan.seconds * 1000;
    const isComplete = this.isCalmNoted && this.backend.isIdle;
    return now < endMs || (now < endMs + LONGER_MS && !isComplete);
  }

  /** Triggers something; returns how many events that was. */
  private act(): number {
    const { open, other, guarded, presence, kept } = this.options.plan.channels;
    const targets = [open, other, guarded, presence, ...(kept === undefined ? [] : [kept, kept])];
    const channel = targets[Math.floor(Math.random() * targets.length)] ?? open;
    const e = this.name();
    switch (this.events % KINDS) {
      case 1: {
        const events = [e, ...Array.from({ length: BATCH - 1 }, () => this.name())];
        void this.backend.triggerBatch(events, channel);
        return BATCH;
      }
      case 5: {
        const hearers = this.clients.filter((client) => client.isReady && client.hears(channel));
        const except = hearers[Math.floor(Math.random() * hearers.length)]?.socket;
        void this.backend.trigger({ e, channels: [channel], except });
        return 1;
      }
      case 6:
        void this.backend.trigger({ e, channels: [...new Set([open, channel])] });
        return 1;
      case 7:
        // Other servers know no keys: they would send the event twice.
        if (kept === undefined) break;
        void this.backend.trigger({ e, channels: [channel], key: `${this.options.plan.run}-${e}` });
        return 2;
      case 8: {
        const index = Math.floor(Math.random() * this.clients.length);
        this.clients[index]?.whisper(this.name());
        break;
      }
      default:
    }
    void this.backend.trigger({ e, channels: [channel] });
    return 1;
  }

  private name(): string {
    return String(++this.events);
  }

  private cutIfDue(now: number): void {
    this.isCalmNoted = false;
    this.absent?.enter(this.options.plan.channels.presence);
    this.absent = undefined;
    if (now < this.cutAfterMs) return;
    // The first comes after a pause too: clients must be there.
    const isFirst = this.cutAfterMs === 0;
    this.cutAfterMs = Math.max(now, this.cutAfterMs + this.cutPauseMs);
    const connected = this.clients.filter(({ isReady }) => isReady);
    const client = connected[Math.floor(Math.random() * connected.length)];
    if (isFirst || client === undefined) return;
    client.cut(this.cuts % 2 === 0);
    this.cuts++;
  }

  private lookForCalm(now: number): void {
    const { recorder, plan } = this.options;
    // The next cut comes when cuts begin again.
    this.cutAfterMs = Math.max(this.cutAfterMs, now);
    if (this.isCalmNoted || !this.clients.every(({ isReady }) => isReady)) return;
    if (this.absent === undefined) {
      // Somebody must go while all others are there, or a server that forgets to say so would not be noticed.
      const { presence } = plan.channels;
      this.absent = this.clients.findLast((client) => client.hears(presence));
      this.absent?.leave(presence);
    }
    const calmMs = plan.listensForWebhooks ? CALM_WITH_WEBHOOKS_MS : CALM_MS;
    if (now - recorder.changedAt < calmMs) return;
    this.isCalmNoted = true;
    recorder.add('calm', {});
    void this.backend.askUsers(plan.channels.presence);
  }
}
