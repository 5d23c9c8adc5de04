import type { MaybePromise } from '../channels/maybe-promise.ts';
import { FairBudget } from '../runtime/fairness/fair-budget.ts';
import type { Clock } from '../runtime/ports.ts';
import type { UnreadBody } from './refused-body.ts';

/** Why a body was not read to its end. */
export class BodyRefusal {
  readonly problem: 'invalid' | 'request-too-large' | 'overloaded' | 'timeout';
  readonly text: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** What has not been read of a body that turned out too large. */
  rest: UnreadBody | undefined;

  constructor(
    problem: BodyRefusal['problem'],
    text: string,
    headers?: Readonly<Record<string, string>>,
  ) {
    this.problem = problem;
    this.text = text;
    this.headers = headers;
  }
}

export interface BodySettings {
  /** Bytes of one body. */
  readonly requestBytes: number;
  /** Bytes of all bodies that have not arrived in full. */
  readonly unfinishedBytes: number;
  /** The least average speed of a body after the grace time, in bytes per second; 0: none. */
  readonly bodyBytesPerSecond: number;
}

/** The time in which a body may arrive at any speed. Milliseconds. */
const GRACE_MS = 5_000;

/** Returns the length of the body that a request announces. */
export function announcedLength({ headers }: Request): number | undefined {
  const length = headers.get('content-length');
  return length === null ? undefined : Number(length);
}

export interface ReadOptions {
  readonly request: Request;
  /** See `announcedLength`. Bytes. */
  readonly length: number | undefined;
  /** The app. */
  readonly owner: string;
}

/** When a request may begin to publish. */
export interface RequestTurns {
  readonly isOpen: boolean;
  /** Runs something of an owner in a later turn. */
  begin(owner: string, run: () => void): void;
}

/** A body that has not arrived in full, or whose request may not begin yet. */
interface Unfinished {
  readonly owner: string;
  readonly startedAtMs: number;
  /** The announced length; if none was announced, what has arrived. */
  bytes: number;
  isOver: boolean;
  hasArrived: boolean;
  readonly refuse: (refusal: BodyRefusal) => void;
}

/**
 * How many new bodies, or which share of all bytes, may be in progress before memory is reserved for the unfinished
 * ones.
 */
const FRESH_MAX = 64;
const FRESH_PART = 1 / 16;

const NOTHING = new Uint8Array(0);

/**
 * Receives the bodies of requests for known apps. All unfinished bodies share one memory limit: at the limit, the app
 * with the most loses its newest body. A body that arrives too slowly is refused.
 */
export class BodyIntake {
  private readonly settings: BodySettings;
  private readonly clock: Clock;
  private readonly turns: RequestTurns | undefined;
  private readonly budget: FairBudget;
  /** Bodies with reserved memory, in the order in which they began. */
  private readonly unfinished = new Set<Unfinished>();
  /**
   * Bodies without reserved memory. Most arrive together with their request and are complete before any is reserved.
   */
  private fresh: Unfinished[] = [];
  private freshBytes = 0;

  /** `clock` must be monotonic. `turns`: what waits for them counts as unfinished. */
  constructor(settings: BodySettings, clock: Clock, turns?: RequestTurns) {
    this.settings = settings;
    this.clock = clock;
    this.turns = turns;
    this.budget = new FairBudget(settings.unfinishedBytes);
  }

  /** Bytes that are reserved for unfinished bodies. */
  get reservedBytes(): number {
    this.admitFresh();
    return this.budget.total;
  }

  /** Refuses a body by its announced length, so that nothing of it is read. */
  refuseLength(length: number | undefined): BodyRefusal | undefined {
    const { requestBytes } = this.settings;
    return length !== undefined && length > requestBytes ? tooLarge(requestBytes) : undefined;
  }

  /**
   * Reads a body that `refuseLength` did not refuse, and returns what `use` makes of it. Rejects only if `use` fails. Runs
   * for each trigger, so it makes as few promises as possible.
   */
  read<Result>(
    { request, length, owner }: ReadOptions,
    use: (body: Uint8Array | BodyRefusal) => MaybePromise<Result>,
  ): MaybePromise<Result> {
    // Reading `request.body` makes a stream, which costs more than everything else here.
    const isEmpty = length === undefined ? request.body === null : length === 0;
    if (isEmpty) return use(NOTHING);
    return new Promise((resolve, reject) => {
      const end = (result: Uint8Array | BodyRefusal) => {
        // It has been refused in the meantime.
        if (body.isOver) return;
        body.isOver = true;
        this.forget(body);
        try {
          resolve(use(result));
        } catch (error) {
          reject(error);
        }
      };
      const body: Unfinished = {
        owner,
        startedAtMs: this.clock.now(),
        bytes: length ?? 0,
        isOver: false,
        hasArrived: false,
        refuse: end,
      };
      this.begin(body);
      const arriving = length === undefined ? this.readParts(request, body) : request.bytes();
      // The client has disconnected or its framing was wrong, so the answer does not matter.
      const broken = () => end(new BodyRefusal('invalid', 'The request ended before its body did'));
      arriving.then((result) => this.inItsTurn(body, () => end(result)), broken);
    });
  }

  /** Refuses bodies that arrive too slowly. Called regularly. */
  check(): void {
    const { bodyBytesPerSecond } = this.settings;
    this.admitFresh();
    if (bodyBytesPerSecond === 0) return;
    const nowMs = this.clock.now();
    for (const body of this.unfinished) {
      const allowedMs = GRACE_MS + (body.bytes * 1000) / bodyBytesPerSecond;
      if (!body.hasArrived && nowMs - body.startedAtMs >= allowedMs)
        body.refuse(tooSlow(bodyBytesPerSecond));
    }
  }

  private async readParts(request: Request, body: Unfinished): Promise<Uint8Array | BodyRefusal> {
    const { requestBytes } = this.settings;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    const arriving = request.body?.[Symbol.asyncIterator]();
    for (;;) {
      const { done, value: part } = (await arriving?.next()) ?? { done: true };
      if (done || part === undefined) break;
      // It has been refused in the meantime.
      if (body.isOver) return NOTHING;
      bytes += part.length;
      if (bytes > requestBytes) {
        const refusal = tooLarge(requestBytes);
        refusal.rest = arriving;
        return refusal;
      }
      this.admitFresh();
      if (!this.reserve(body.owner, part.length)) return tooMuch();
      body.bytes += part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  private inItsTurn(body: Unfinished, end: () => void): void {
    const { turns } = this;
    if (turns === undefined || turns.isOpen || body.isOver) return end();
    body.hasArrived = true;
    turns.begin(body.owner, end);
  }

  private begin(body: Unfinished): void {
    this.fresh.push(body);
    this.freshBytes += body.bytes;
    const bytesMax = this.settings.unfinishedBytes * FRESH_PART;
    if (this.fresh.length >= FRESH_MAX || this.freshBytes > bytesMax) this.admitFresh();
  }

  /** Reserves memory for new bodies that are unfinished, or refuses them. */
  private admitFresh(): void {
    const { fresh } = this;
    if (fresh.length === 0) return;
    this.fresh = [];
    this.freshBytes = 0;
    for (const body of fresh) {
      if (body.isOver) continue;
      if (!this.reserve(body.owner, body.bytes)) body.refuse(tooMuch());
      else this.unfinished.add(body);
    }
  }

  /** Reserves memory for an owner, if necessary at the expense of another; `false` if that is impossible. */
  private reserve(owner: string, bytes: number): boolean {
    for (;;) {
      const yielding = this.budget.ownerToEvict(owner, bytes);
      if (yielding === undefined) break;
      if (yielding === owner) return false;
      this.newestOf(yielding)?.refuse(tooMuch());
    }
    this.budget.add(owner, bytes);
    return true;
  }

  /** Linear, but only called when the memory is full. */
  private newestOf(owner: string): Unfinished | undefined {
    let newest: Unfinished | undefined;
    for (const body of this.unfinished) if (body.owner === owner) newest = body;
    return newest;
  }

  private forget(body: Unfinished): void {
    if (this.unfinished.delete(body)) this.budget.release(body.owner, body.bytes);
  }
}

function tooLarge(bytesMax: number): BodyRefusal {
  return new BodyRefusal(
    'request-too-large',
    `The body of the request exceeds the allowed maximum (${bytesMax} bytes)`,
  );
}

function tooMuch(): BodyRefusal {
  return new BodyRefusal('overloaded', 'Server is overloaded, try again', { 'retry-after': '1' });
}

function tooSlow(bytesPerSecond: number): BodyRefusal {
  return new BodyRefusal(
    'timeout',
    `The body arrives too slowly: at least ${bytesPerSecond} bytes per second are needed`,
  );
}
