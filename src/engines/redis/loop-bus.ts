import type { RedisLink } from './redis-link.ts';
import { RELEASE } from './scripts/claims.ts';

/** How long a claim outlives its last renewal. Seconds. */
const CLAIM_SECONDS = 60;

/** Claims that one call renews. */
const RENEWED_AT_ONCE = 500;

export interface LoopBusListener {
  /** A message of another loop; `text` as it was sent. */
  onMessage(from: string, text: string): void;
  /** Messages of a loop may be missing. `undefined`: of any. */
  onLoss(from: string | undefined): void;
}

/** A message to another loop without a number. Its loss is not noticed, and must be harmless. */
export interface LoopWord {
  readonly from: string;
  readonly text: string;
}

/**
 * Carries messages between the loops of all servers, and knows which loop has claimed what. A message may be lost; the next
 * one of the same loop shows it.
 */
export class LoopBus {
  /** Names this loop. */
  readonly self = crypto.randomUUID();
  private readonly keyPrefix: string;
  /** Takes words, also those to all; `undefined`: this loop takes none. */
  private readonly onWord: ((word: LoopWord) => void) | undefined;
  private link: RedisLink | undefined;
  private listener: LoopBusListener | undefined;
  /** Takes reports, which have no order among the messages. */
  onReport: (text: string) => void = () => undefined;
  /** Messages sent to each loop, and received from each. */
  private readonly sent = new Map<string, number>();
  private readonly received = new Map<string, number>();

  constructor(keyPrefix: string, onWord?: (word: LoopWord) => void) {
    this.keyPrefix = keyPrefix;
    this.onWord = onWord;
  }

  /** Whether a stream is for this loop. */
  carries(stream: string): boolean {
    return stream === this.streamOf(this.self) || stream === this.streamOf(ALL);
  }

  listen(listener: LoopBusListener): void {
    this.listener = listener;
  }

  async start(link: RedisLink): Promise<void> {
    this.link = link;
    await link.subscriptions.follow(this.streamOf(this.self));
    if (this.onWord !== undefined) await link.subscriptions.follow(this.streamOf(ALL));
  }

  /** Claims something unless another loop has it, and returns the loop that has it. Rejects if Redis cannot be asked. */
  async claim(name: string): Promise<string> {
    // Atomic: sets it unless it is there, and gives what was there.
    const owner = await this.run(['SET', this.keyOf(name), this.self, 'NX', 'GET', ...EXPIRY]);
    return owner === null ? this.self : String(owner);
  }

  /** Returns the loop that has claimed something. Rejects if Redis cannot be asked. */
  async find(name: string): Promise<string | undefined> {
    const owner = await this.run(['GET', this.keyOf(name)]);
    return owner === null ? undefined : String(owner);
  }

  /** Claims something even if another loop has it. If Redis does not get it, `renew` repeats it. */
  take(name: string): void {
    void this.run(['SET', this.keyOf(name), this.self, ...EXPIRY]).catch(ignored);
  }

  /** Keeps claims. Must be called more often than they expire. */
  async renew(names: readonly string[]): Promise<void> {
    for (let at = 0; at < names.length; at += RENEWED_AT_ONCE) {
      const some = names.slice(at, at + RENEWED_AT_ONCE);
      const renewed = some.map((name) =>
        this.run(['SET', this.keyOf(name), this.self, ...EXPIRY]).catch(ignored),
      );
      await Promise.all(renewed);
    }
  }

  /** Gives a claim of this loop up; nothing happens if another loop has taken it since. */
  release(name: string): void {
    const released = this.link?.commands.script(RELEASE, {
      keys: [this.keyOf(name)],
      args: [this.self],
    });
    void released?.catch(ignored);
  }

  /** Sends a message to another loop. Messages to one loop arrive in their order, or `onLoss` is called there. */
  send(to: string, text: string): void {
    const number = (this.sent.get(to) ?? 0) + 1;
    this.sent.set(to, number);
    const payload = `${this.self}\n${number}\n${text}`;
    this.run(['PUBLISH', this.streamOf(to), payload]).then(
      (receivers) => {
        if (receivers !== 0) return;
        // Nobody follows its stream: it has ended, and its numbers are needed no more.
        this.sent.delete(to);
        this.received.delete(to);
        this.listener?.onLoss(to);
      },
      () => this.listener?.onLoss(to),
    );
  }

  /**
   * Says a word to one loop, or to all others that take words. Returns how many were there to take it; `undefined` while Redis is
   * away.
   */
  async say(to: string | undefined, text: string): Promise<number | undefined> {
    const payload = `${this.self}\n${WORD}\n${text}`;
    try {
      const hearers = Number(await this.run(['PUBLISH', this.streamOf(to ?? ALL), payload]));
      // This loop itself takes what is said to all, if it takes words.
      return to === undefined && this.onWord !== undefined ? Math.max(0, hearers - 1) : hearers;
    } catch {
      return undefined;
    }
  }

  /** Sends a report to another loop. It may be lost, and nobody notices. */
  report(to: string, text: string): void {
    void this.run(['PUBLISH', this.streamOf(to), `${this.self}\n${REPORT}\n${text}`]).catch(
      ignored,
    );
  }

  /** Handles a message on a stream that is for this loop. */
  receive(payload: string): void {
    const [from = '', number = ''] = payload.split('\n', 2);
    if (number === WORD) {
      const text = payload.slice(from.length + number.length + 2);
      if (from !== this.self) this.onWord?.({ from, text });
      return;
    }
    if (number === REPORT) return this.onReport(payload.slice(from.length + number.length + 2));
    const expected = (this.received.get(from) ?? 0) + 1;
    this.received.set(from, Number(number));
    if (Number(number) !== expected) this.listener?.onLoss(from);
    this.listener?.onMessage(from, payload.slice(from.length + number.length + 2));
  }

  /** The stream was interrupted. */
  missed(): void {
    this.listener?.onLoss(undefined);
  }

  private run(args: readonly string[]) {
    if (this.link === undefined) return Promise.reject(new Error('Redis is not connected yet'));
    return this.link.commands.run(args);
  }

  private keyOf(name: string): string {
    return `${this.keyPrefix}session:${name}`;
  }

  private streamOf(loop: string): string {
    return `${this.keyPrefix}loop:${loop}`;
  }
}

/** In place of the name of a loop: all that take words. */
const ALL = 'all';

/** In place of the number of a message. */
const WORD = '0';

/** In place of the number of a message: a report. */
const REPORT = 'r';

const EXPIRY = ['EX', String(CLAIM_SECONDS)];

function ignored(): void {
  // Redis is away: a missing claim is made again by the next renewal, and a lost report counts as no answer.
}
