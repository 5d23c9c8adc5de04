import type { MaybePromise } from '../../channels/maybe-promise.ts';
import { FairBudget } from '../../runtime/fair-budget.ts';
import type { Clock } from '../../runtime/ports.ts';
import { ApiRefusal } from './problems.ts';

export interface BodySettings {
  /** Bytes of one body. */
  readonly requestBytes: number;
  /** Bytes of all bodies that have not arrived in full. */
  readonly unfinishedBytes: number;
  /** Bytes per second that a body must arrive with, after the grace; 0: no limit. */
  readonly bodyBytesPerSecond: number;
}

/** How long a body may take at any speed. Milliseconds. */
const GRACE_MS = 5_000;

/** The length of its body that a request announces. */
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

/** One body on its way. */
interface Unfinished {
  readonly owner: string;
  readonly startedAtMs: number;
  /** What it announced, or, where it announced nothing, what has arrived of it. */
  bytes: number;
  isOver: boolean;
  readonly refuse: (refusal: ApiRefusal) => void;
}

/** So many bodies, or such a part of all bytes, may begin before it is looked which of them are still on their way. */
const FRESH_MAX = 64;
const FRESH_PART = 1 / 16;

const NOTHING = new Uint8Array(0);

/**
 * Receives the bodies of requests whose signature was checked. All of them together may keep so much memory: where it
 * is full, the app that keeps most of it loses its newest body. A body that arrives too slowly is given up.
 */
export class BodyIntake {
  private readonly settings: BodySettings;
  private readonly clock: Clock;
  private readonly budget: FairBudget;
  /** In the order in which they began. Memory is reserved for each. */
  private readonly unfinished = new Set<Unfinished>();
  /** Those that have begun since, and may be over: most bodies come with their request, and cost no more than a place here. */
  private fresh: Unfinished[] = [];
  private freshBytes = 0;

  /** `clock` must be monotonic. */
  constructor(settings: BodySettings, clock: Clock) {
    this.settings = settings;
    this.clock = clock;
    this.budget = new FairBudget(settings.unfinishedBytes);
  }

  /** Bytes that are reserved for bodies on their way. */
  get reservedBytes(): number {
    this.admitFresh();
    return this.budget.total;
  }

  /** Refuses a body by the length that its request announces, so that nothing of it is read. */
  refuseLength(length: number | undefined): ApiRefusal | undefined {
    const { requestBytes } = this.settings;
    return length !== undefined && length > requestBytes ? tooLarge(requestBytes) : undefined;
  }

  /**
   * Reads a body that `refuseLength` did not refuse, however it is framed, and gives what `use` makes of it. Rejects only
   * where `use` fails. This runs for each trigger, so it makes no more promises than it must.
   */
  read<Result>(
    { request, length, owner }: ReadOptions,
    use: (body: Uint8Array | ApiRefusal) => MaybePromise<Result>,
  ): MaybePromise<Result> {
    // A look at `request.body` makes a stream, which costs more than all the rest here.
    const isEmpty = length === undefined ? request.body === null : length === 0;
    if (isEmpty) return use(NOTHING);
    return new Promise((resolve, reject) => {
      const end = (result: Uint8Array | ApiRefusal) => {
        // It was refused meanwhile, and its request is answered.
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
        refuse: end,
      };
      this.begin(body);
      const arriving = length === undefined ? this.readParts(request, body) : request.bytes();
      // The client is gone, or its framing was wrong: nobody reads the answer.
      const broken = () => end(new ApiRefusal('invalid', 'The request ended before its body did'));
      arriving.then(end, broken);
    });
  }

  /** Gives up bodies that arrive too slowly. To be called about once a second. */
  check(): void {
    const { bodyBytesPerSecond } = this.settings;
    this.admitFresh();
    if (bodyBytesPerSecond === 0) return;
    const nowMs = this.clock.now();
    for (const body of this.unfinished) {
      const allowedMs = GRACE_MS + (body.bytes * 1000) / bodyBytesPerSecond;
      if (nowMs - body.startedAtMs >= allowedMs) body.refuse(tooSlow(bodyBytesPerSecond));
    }
  }

  private async readParts(request: Request, body: Unfinished): Promise<Uint8Array | ApiRefusal> {
    const { requestBytes } = this.settings;
    const parts: Uint8Array[] = [];
    let bytes = 0;
    for await (const part of request.body ?? []) {
      // It was given up meanwhile.
      if (body.isOver) return NOTHING;
      bytes += part.length;
      if (bytes > requestBytes) return tooLarge(requestBytes);
      this.admitFresh();
      if (!this.reserve(body.owner, part.length)) return tooMuch();
      body.bytes += part.length;
      parts.push(part);
    }
    return Buffer.concat(parts);
  }

  private begin(body: Unfinished): void {
    this.fresh.push(body);
    this.freshBytes += body.bytes;
    const bytesMax = this.settings.unfinishedBytes * FRESH_PART;
    if (this.fresh.length >= FRESH_MAX || this.freshBytes > bytesMax) this.admitFresh();
  }

  /** Reserves memory for the bodies that have begun and are not over, or refuses them. */
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

  /** Reserves memory for an owner, if need be at the cost of another; `false` where there is none. */
  private reserve(owner: string, bytes: number): boolean {
    for (;;) {
      const yielding = this.budget.whoYields(owner, bytes);
      if (yielding === undefined) break;
      if (yielding === owner) return false;
      this.newestOf(yielding)?.refuse(tooMuch());
    }
    this.budget.add(owner, bytes);
    return true;
  }

  /** Looked for only where the memory is full. */
  private newestOf(owner: string): Unfinished | undefined {
    let newest: Unfinished | undefined;
    for (const body of this.unfinished) if (body.owner === owner) newest = body;
    return newest;
  }

  private forget(body: Unfinished): void {
    if (this.unfinished.delete(body)) this.budget.release(body.owner, body.bytes);
  }
}

function tooLarge(bytesMax: number): ApiRefusal {
  return new ApiRefusal(
    'request-too-large',
    `The body of the request exceeds the allowed maximum (${bytesMax} bytes)`,
  );
}

function tooMuch(): ApiRefusal {
  return new ApiRefusal('overloaded', 'Server is overloaded, try again', { 'retry-after': '1' });
}

function tooSlow(bytesPerSecond: number): ApiRefusal {
  return new ApiRefusal(
    'timeout',
    `The body arrives too slowly: at least ${bytesPerSecond} bytes per second are needed`,
  );
}
