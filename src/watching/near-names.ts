import { FairQueue } from '../runtime/fairness/fair-queue.ts';
import type { Timers } from '../runtime/ports.ts';
import { Recent } from '../runtime/recent.ts';
import { pause } from '../runtime/time/pause.ts';
import type { RecordUpdate, StreamRecord } from './merger.ts';

export interface NearNamesOptions {
  readonly timers: Timers;
  /** Finds the occupied channel that was most likely meant: the channel itself, if it is occupied. */
  readonly find: (appId: string, channel: string) => Promise<string | undefined>;
  readonly found: (appId: string, update: RecordUpdate) => void;
}

/** Why an event has no receivers although its channel is occupied. */
const ONLY_EXCEPTED = {
  reason: 'The only subscriber was excepted',
  advice:
    'The sender named its connection as `socket_id`, as `toOthers()` does in Laravel, so that it does not get its own event. Subscribe with another client to see it arrive.',
};

/** The limit of records that wait for a search. Beyond it, the newest of the app with the most get no suggestion. */
const WAITING_MAX = 10;

/** The pause between two searches, which take a few milliseconds. */
const PAUSE_MS = 200;

/** How long an answer is reused: a backend that uses a wrong name often continues to do so. */
const REMEMBERED_MS = 10_000;
const REMEMBERED_MAX = 100;

/** Finds out why events had no receivers: which channel was most likely meant. Runs one search at a time, for each app in turn. */
export class NearNames {
  private readonly options: NearNamesOptions;
  private readonly waiting = new FairQueue<StreamRecord>({
    items: WAITING_MAX,
    bytes: WAITING_MAX,
  });
  private readonly remembered = new Recent<
    string,
    { readonly near: string | undefined; readonly untilMs: number }
  >(REMEMBERED_MAX);
  private isSearching = false;

  constructor(options: NearNamesOptions) {
    this.options = options;
  }

  /** Searches suggestions for the events of a batch that had no receivers. */
  add(appId: string, events: readonly StreamRecord[]): void {
    for (const record of events) {
      // A client is often alone in its channel, so client events are left out.
      if (record.kind !== 'api' || record.receivers !== 0) continue;
      if (this.sendRemembered(appId, record)) continue;
      this.waiting.push(appId, record, { items: 1, bytes: 1 });
    }
    if (!this.isSearching && !this.waiting.isEmpty) void this.search();
  }

  private async search(): Promise<void> {
    this.isSearching = true;
    const { timers, find } = this.options;
    for (;;) {
      const [next] = this.waiting.take(1);
      if (next === undefined) break;
      const { owner: appId, item: record } = next;
      if (this.sendRemembered(appId, record)) continue;
      try {
        const near = await find(appId, record.channel ?? '');
        this.remember(`${appId}/${record.channel}`, near);
        this.send(appId, record, near);
      } catch {
        // The realtime loops have not answered: there is no suggestion. The next event of the channel searches again.
      }
      await pause(timers, PAUSE_MS);
    }
    this.isSearching = false;
  }

  private sendRemembered(appId: string, record: StreamRecord): boolean {
    const known = this.remembered.get(`${appId}/${record.channel}`);
    if (known === undefined || known.untilMs <= this.options.timers.now()) return false;
    this.send(appId, record, known.near);
    return true;
  }

  private remember(key: string, near: string | undefined): void {
    this.remembered.set(key, { near, untilMs: this.options.timers.now() + REMEMBERED_MS });
  }

  private send(
    appId: string,
    { n, channel, except }: StreamRecord,
    near: string | undefined,
  ): void {
    if (near === undefined) return;
    if (near !== channel) this.options.found(appId, { n, near });
    // Otherwise somebody has subscribed since.
    else if (except !== undefined) this.options.found(appId, { n, ...ONLY_EXCEPTED });
  }
}
