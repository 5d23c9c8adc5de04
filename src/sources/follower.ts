import { messageOf } from '../runtime/error-code.ts';
import { LogThrottle } from '../runtime/logging/log-throttle.ts';
import type { Log, LogFields, Timers } from '../runtime/ports.ts';
import type { Rate } from '../runtime/rates/token-bucket.ts';
import { Poller } from '../runtime/time/poller.ts';
import type { Look, OutboxFigures, SourceOutbox } from './ports.ts';
import { Progress } from './progress.ts';
import type { OutboxResult, OutboxRow, RowKind } from './row.ts';

/** The first wait after a failure, which doubles up to the last. Milliseconds. */
const RETRY_MIN_MS = 200;
const RETRY_MAX_MS = 5_000;

/** How often the figures are read, and failed rows are deleted that are old or too many. Milliseconds. */
const FIGURES_MS = 5_000;
const TIDY_MS = 60_000;

/** Lines of one kind about a source. */
const LINES: Rate = { perSecond: 0.1, burst: 5 };

/** The state of a source, as one server sees it. */
export interface SourceState {
  /** `waiting`: another server follows. `away`: its database cannot be used. `stopped`: this server does not follow now. */
  readonly state: 'following' | 'waiting' | 'away' | 'stopped';
  /** `undefined` until they were read. They stay while the database is away. */
  readonly figures: OutboxFigures | undefined;
  /** Why the database is away, or why the last row was not sent yet; it is empty when all is well. */
  readonly why: string;
}

export interface FollowerOptions {
  /** How the log names the source, such as `sources[0]`. */
  readonly name: string;
  readonly outbox: SourceOutbox;
  readonly pollMs: number;
  /** Sends rows, or says why not. Must not reject. */
  readonly send: (rows: readonly OutboxRow[]) => Promise<readonly OutboxResult[]>;
  /** Called after rows were deleted or marked. */
  readonly counted: (result: 'failed' | RowKind, rows: number) => void;
  /** Monotonic. */
  readonly timers: Timers;
  readonly log: Log;
}

/** Follows the outbox of one application: what was committed is sent and then deleted, by one server at a time. */
export class Follower implements AsyncDisposable {
  private readonly options: FollowerOptions;
  private readonly progress: Progress;
  private readonly poller: Poller;
  private readonly throttle: LogThrottle;
  private state: SourceState['state'] = 'stopped';
  private figures: OutboxFigures | undefined;
  private whyAway = '';
  /** Why the last row of a kind was not sent yet. */
  private readonly whyLater = new Map<RowKind, string>();
  private retryMs = RETRY_MIN_MS;
  private figuresAtMs = Number.NEGATIVE_INFINITY;
  private tidyAtMs = Number.NEGATIVE_INFINITY;
  private isStopped = false;

  constructor(options: FollowerOptions) {
    this.options = options;
    this.throttle = new LogThrottle(options.timers, LINES);
    this.progress = new Progress(options.pollMs);
    this.poller = new Poller(options.timers, () => this.run());
  }

  start(): void {
    this.poller.wake();
  }

  /** Stops to follow, so that another server does. Settles after the rows in progress. */
  async stop(): Promise<void> {
    this.isStopped = true;
    await this.poller.stop();
    this.state = 'stopped';
  }

  shown(): SourceState {
    const { state, figures, whyAway, whyLater } = this;
    const why = state === 'away' ? whyAway : [...whyLater.values()].join('; ');
    return { state, figures, why };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.options.outbox[Symbol.asyncDispose]();
  }

  /** Looks once. Returns the milliseconds until the next look. Never rejects. */
  private async run(): Promise<number> {
    const { name, log } = this.options;
    const wasAway = this.state === 'away';
    try {
      const pauseMs = await this.look();
      await this.care();
      this.retryMs = RETRY_MIN_MS;
      if (wasAway) log.info('A source is there again', { source: name });
      return pauseMs;
    } catch (error) {
      return this.failed(error);
    }
  }

  private async look(): Promise<number> {
    const { outbox, timers, send } = this.options;
    const next = this.progress.next(timers.now());
    if (typeof next === 'number') return next;
    // Those that were handed over before a stop are waited for; no others are.
    if (this.isStopped) return Number.POSITIVE_INFINITY;
    const look = await outbox.look(next, send);
    this.state = look === 'followed-elsewhere' ? 'waiting' : 'following';
    this.note(look);
    return this.progress.looked(look, timers.now());
  }

  private note(look: Look): void {
    if (look === 'followed-elsewhere') {
      this.whyLater.clear();
      return;
    }
    const { counted } = this.options;
    const counts = new Map<'failed' | RowKind, number>();
    const add = (result: 'failed' | RowKind) => counts.set(result, (counts.get(result) ?? 0) + 1);
    const later = new Map<RowKind, string>();
    let failed = '';
    for (const [place, { kind }] of look.rows.entries()) {
      const one = look.results[place];
      if (one?.result === 'sent') add(kind);
      if (one?.result === 'later') later.set(kind, one.why);
      if (one?.result !== 'failed') continue;
      add('failed');
      failed = one.why;
    }
    for (const [result, rows] of counts) counted(result, rows);
    const rows = counts.get('failed');
    if (rows !== undefined) {
      this.warn('Rows of a source can never be sent', { rows, why: failed });
    }
    for (const kind of new Set(look.rows.map((row) => row.kind))) this.waits(kind, later.get(kind));
  }

  /** Notes why rows of a kind were not sent yet; `undefined`: they were. */
  private waits(kind: RowKind, why: string | undefined): void {
    if (why === undefined) return void this.whyLater.delete(kind);
    if (why !== this.whyLater.get(kind)) this.warn('Rows of a source wait', { kind, why });
    this.whyLater.set(kind, why);
  }

  /** Applications can cause these lines as often as they like. */
  private warn(message: string, fields: LogFields): void {
    const { name, log } = this.options;
    this.throttle.run(message, (throttled) =>
      log.warn(message, { source: name, ...fields, ...throttled }),
    );
  }

  /** Reads the figures, and deletes old failed rows, when it is time. */
  private async care(): Promise<void> {
    const { outbox, timers } = this.options;
    const nowMs = timers.now();
    if (nowMs >= this.figuresAtMs) {
      this.figures = await outbox.figures();
      this.figuresAtMs = timers.now() + FIGURES_MS;
      if (this.figures.waiting === 0) this.whyLater.clear();
    }
    if (this.state !== 'following' || nowMs < this.tidyAtMs) return;
    await outbox.tidy();
    this.tidyAtMs = timers.now() + TIDY_MS;
  }

  private failed(error: unknown): number {
    const { name, log } = this.options;
    const why = messageOf(error);
    if (this.state !== 'away') log.warn('A source cannot be followed', { source: name, why });
    this.state = 'away';
    this.whyAway = why;
    this.progress.forget();
    const pauseMs = this.retryMs;
    this.retryMs = Math.min(2 * pauseMs, RETRY_MAX_MS);
    return pauseMs;
  }
}
