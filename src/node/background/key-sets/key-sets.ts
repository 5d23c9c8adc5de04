import type { App, KeySet } from '../../../channels/app.ts';
import type { TableMeter } from '../../../observability/meter.ts';
import { redactedUrl } from '../../../runtime/logging/redact.ts';
import type { Clock, Log, Timers } from '../../../runtime/ports.ts';
import type { KeySetKey } from '../../../runtime/tokens/key-set.ts';
import type { KeySetCause } from '../../link/messages.ts';
import type { FetchKeySet } from './fetch-key-set.ts';

const MINUTE_MS = 60_000;

/** How often each key set is fetched. A tenth more or less, so that servers do not fetch it at the same time. */
const INTERVAL_MS = 10 * MINUTE_MS;

/** When a fetch that failed is repeated; also a tenth more or less. */
const RETRY_MS = MINUTE_MS;

/** How long keys are used that cannot be fetched again. */
const KEPT_MS = 24 * 60 * MINUTE_MS;

/** How often clients of one app can make the server fetch its key set. */
const ASKED_MS = 30_000;

/** Fetches at the same time. An app has one, so that a slow issuer takes one place. */
const FETCHES_MAX = 100;

/** The state of a key set for operators. */
export interface KeySetReport {
  readonly appId: string;
  /** Without secrets. */
  readonly url: string;
  /** Why it could not be fetched last; `undefined`: it was, or was not tried yet. */
  readonly failure: { readonly why: string; readonly sinceMs: number } | undefined;
  /** The keys in use; `undefined`: none were fetched, or not for too long. */
  readonly keys: readonly KeySetKey[] | undefined;
  /** Why some keys of the set are not used. */
  readonly ignored: readonly string[];
  /** When these keys are no longer used unless they can be fetched again. */
  readonly untilMs: number | undefined;
}

export interface KeySetsOptions {
  readonly fetchKeySet: FetchKeySet;
  /** Reports a key set whenever it has changed, and when one was asked for. */
  readonly report: (appId: string, keySet: KeySet | undefined, cause: KeySetCause) => void;
  /** Monotonic. */
  readonly timers: Timers;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly meter: Pick<TableMeter, 'count'>;
  readonly log: Log;
}

/** The key set of one app. */
interface Entry {
  readonly appId: string;
  readonly url: string;
  keys: readonly KeySetKey[] | undefined;
  /** `undefined`: nothing was reported yet. */
  version: number | undefined;
  ignored: readonly string[];
  /** By the clock of `timers`. */
  fetchedAtMs: number | undefined;
  askedAtMs: number | undefined;
  failure: KeySetReport['failure'];
  /** The fetch that waits or runs. */
  fetching: Promise<void> | undefined;
  /** Why its result is reported: `changed` only if it has. */
  cause: KeySetCause;
  cancel: () => void;
}

/**
 * Fetches the key sets of the issuers of all apps, and keeps them fresh. At most one fetch of an app is under way, and they
 * start in turn, so that no issuer can keep others from being asked. Source: identity, §3.4.
 */
export class KeySets implements Disposable {
  private readonly options: KeySetsOptions;
  private readonly entries = new Map<string, Entry>();
  /** Those that wait for a place, each once. */
  private readonly queue: { readonly entry: Entry; readonly done: () => void }[] = [];
  private running = 0;
  private versions = 0;
  private isStopped = false;

  constructor(options: KeySetsOptions) {
    this.options = options;
  }

  /** Begins with new apps and addresses, and ends with those that are gone. Called with all apps after each change. */
  follow(apps: Iterable<App>): void {
    const wanted = new Map<string, string>();
    for (const { id, enabled, grants } of apps) {
      const url = grants?.jwksUrl ?? null;
      if (enabled && url !== null) wanted.set(id, url);
    }
    for (const [id, entry] of this.entries) if (wanted.get(id) !== entry.url) this.forget(entry);
    for (const [appId, url] of wanted) {
      if (this.entries.has(appId)) continue;
      const entry: Entry = {
        appId,
        url,
        keys: undefined,
        version: undefined,
        ignored: [],
        fetchedAtMs: undefined,
        askedAtMs: undefined,
        failure: undefined,
        fetching: undefined,
        cause: 'changed',
        cancel: () => undefined,
      };
      this.entries.set(appId, entry);
      void this.fetch(entry);
    }
  }

  /**
   * Reports the key set of an app, in any case. Fetches it first, unless it was asked for within the last 30 s, or a later version
   * than the known one is there. Settles when it is reported.
   */
  async ask(appId: string, known: number | 'any' | undefined): Promise<void> {
    const entry = this.entries.get(appId);
    const { timers, report } = this.options;
    if (entry === undefined) return report(appId, undefined, 'asked');
    if (entry.fetching !== undefined) {
      if (entry.cause === 'changed') entry.cause = 'shared';
    } else {
      const { askedAtMs, version } = entry;
      if (known !== 'any' && known !== version) return this.reportOf(entry, 'shared');
      if (askedAtMs !== undefined && timers.now() - askedAtMs < ASKED_MS) {
        return this.reportOf(entry, 'asked');
      }
      entry.askedAtMs = timers.now();
      entry.cause = 'asked';
    }
    await this.fetch(entry);
  }

  /** The key sets of all apps, or of one. */
  reports(appId?: string): readonly KeySetReport[] {
    const { timers, clock } = this.options;
    const entries = appId === undefined ? [...this.entries.values()] : [this.entries.get(appId)];
    return entries.flatMap((entry) => {
      if (entry === undefined) return [];
      const { url, failure, keys, ignored, fetchedAtMs } = entry;
      const untilMs =
        keys === undefined || fetchedAtMs === undefined
          ? undefined
          : clock.now() + fetchedAtMs + KEPT_MS - timers.now();
      return [{ appId: entry.appId, url: redactedUrl(url), failure, keys, ignored, untilMs }];
    });
  }

  [Symbol.dispose](): void {
    this.isStopped = true;
    for (const entry of this.entries.values()) this.forget(entry);
  }

  private forget(entry: Entry): void {
    entry.cancel();
    this.entries.delete(entry.appId);
    const place = this.queue.findIndex((one) => one.entry === entry);
    const [waiting] = place < 0 ? [] : this.queue.splice(place, 1);
    waiting?.done();
    if (!this.isStopped) this.options.report(entry.appId, undefined, entry.cause);
  }

  /** Fetches a key set once there is a place; one that is under way is shared. */
  private fetch(entry: Entry): Promise<void> {
    if (entry.fetching !== undefined) return entry.fetching;
    entry.cancel();
    const { promise, resolve } = Promise.withResolvers<void>();
    entry.fetching = promise;
    this.queue.push({ entry, done: resolve });
    this.startNext();
    return promise;
  }

  private startNext(): void {
    if (this.running >= FETCHES_MAX) return;
    const next = this.queue.shift();
    if (next === undefined) return;
    this.running += 1;
    void this.fetchNow(next.entry).finally(() => {
      this.running -= 1;
      next.done();
      this.startNext();
    });
  }

  private async fetchNow(entry: Entry): Promise<void> {
    const { fetchKeySet, meter, timers, random } = this.options;
    const read = await fetchKeySet(entry.url, entry.appId);
    meter.count('keySetFetches', 1, read.ok ? 'fetched' : 'failed');
    // The app was deleted, or has another address.
    if (this.entries.get(entry.appId) !== entry) return;
    entry.fetching = undefined;
    if (read.ok) this.fetched(entry, read);
    else this.failed(entry, read.why);
    const pauseMs = (read.ok ? INTERVAL_MS : RETRY_MS) * (0.9 + 0.2 * random());
    entry.cancel = timers.after(pauseMs, () => void this.fetch(entry));
  }

  private fetched(
    entry: Entry,
    { keys, ignored }: { readonly keys: readonly KeySetKey[]; readonly ignored: readonly string[] },
  ): void {
    const { timers, log } = this.options;
    const isChanged = !Bun.deepEquals(keys, entry.keys);
    entry.fetchedAtMs = timers.now();
    entry.failure = undefined;
    entry.ignored = ignored;
    if (isChanged) {
      entry.keys = keys;
      log.info('Key set of an issuer fetched', {
        ...shown(entry),
        keys: keys.length,
        ...(ignored.length > 0 && { ignored: ignored.join('; ') }),
      });
    }
    this.reportIf(entry, isChanged);
  }

  private failed(entry: Entry, why: string): void {
    const { timers, clock, log } = this.options;
    const isFirst = entry.failure === undefined;
    entry.failure = { why, sinceMs: entry.failure?.sinceMs ?? clock.now() };
    const isOld = entry.fetchedAtMs !== undefined && timers.now() - entry.fetchedAtMs >= KEPT_MS;
    const isDropped = entry.keys !== undefined && isOld;
    if (isDropped) entry.keys = undefined;
    // The condition and the metric go on to say it.
    if (isFirst || isDropped) {
      log.warn(
        entry.keys === undefined
          ? 'Key set of an issuer cannot be fetched: its tokens cannot be verified'
          : 'Key set of an issuer cannot be fetched: its last keys are used for a day',
        { ...shown(entry), why },
      );
    }
    this.reportIf(entry, isDropped || entry.version === undefined);
  }

  /** Reports a key set if it has changed, or was asked for. */
  private reportIf(entry: Entry, isChanged: boolean): void {
    const { cause } = entry;
    entry.cause = 'changed';
    if (isChanged) {
      this.versions += 1;
      entry.version = this.versions;
    }
    if (isChanged || cause !== 'changed') this.reportOf(entry, cause);
  }

  private reportOf({ appId, url, keys, version = 0 }: Entry, cause: KeySetCause): void {
    this.options.report(appId, { url, keys, version }, cause);
  }
}

function shown({ appId, url }: Entry) {
  return { app: appId, url: redactedUrl(url) };
}
