import { Recent } from '../../runtime/recent.ts';
import { Unreadable } from '../../runtime/unreadable.ts';
import { type Place, placeKeys, streamPrefix } from './layout.ts';
import { RedisAway, textsOf } from './link/reply.ts';
import type { RedisLink } from './redis-link.ts';
import { LOSSES, NOTE_LOSS, RELEASE } from './scripts/claims.ts';

/** How much longer a claim lasts than the interval of its renewals. Seconds. */
const CLAIM_SECONDS = 60;

/** The limit of claims renewed in one step. */
const RENEWED_AT_ONCE = 500;

export interface LoopBusListener {
  /** A message of another loop. `text` is unchanged. */
  onMessage(from: string, text: string): void;
  /** Messages of a loop may be missing. `undefined`: of any loop. */
  onLoss(from: string | undefined): void;
}

/** A message without a number. If it is lost, nobody notices, so a loss must be harmless. */
export interface LoopNotice {
  readonly from: string;
  readonly text: string;
}

/**
 * Carries messages between the loops of all servers, and knows which loop has claimed what. A message can be lost;
 * the next message of the same loop reveals that.
 */
export class LoopBus {
  /** The id of this loop. */
  readonly self = crypto.randomUUID();
  private readonly keyPrefix: string;
  /** Takes words, also those to all; `undefined`: this loop takes none. */
  private readonly onNotice: ((notice: LoopNotice) => void) | undefined;
  private link: RedisLink | undefined;
  private place: Place = { database: 0 };
  /** What the names of its streams begin with. */
  private streams = '';
  private ownStream = '';
  private streamOfAll = '';
  private listener: LoopBusListener | undefined;
  /** Handles reports, which have no order among the messages. */
  onReport: (text: string) => void = () => undefined;
  /** The numbers of the last messages sent to each loop, and received from each. */
  private readonly sent = new Map<string, number>();
  private readonly received = new Recent<string, number>(LOOPS_MAX);

  constructor(keyPrefix: string, onNotice?: (notice: LoopNotice) => void) {
    this.keyPrefix = keyPrefix;
    this.onNotice = onNotice;
  }

  /** Whether a stream is for this loop. */
  carries(stream: string): boolean {
    // Every message of a topic passes here.
    return stream === this.ownStream || stream === this.streamOfAll;
  }

  listen(listener: LoopBusListener): void {
    this.listener = listener;
  }

  /** The place must be the same at all loops. */
  async start(link: RedisLink, place = this.place): Promise<void> {
    this.link = link;
    this.place = place;
    this.streams = `${streamPrefix(this.keyPrefix, place)}loop:`;
    this.ownStream = this.streamOf(this.self);
    this.streamOfAll = this.streamOf(ALL);
    await link.subscriptions.follow(this.ownStream);
    if (this.onNotice !== undefined) await link.subscriptions.follow(this.streamOfAll);
  }

  /** Claims a name unless another loop has it. Returns the loop that has it. Rejects if Redis is away. */
  async claim(name: string): Promise<string> {
    // Atomic: sets the key unless it exists, and returns the existing value.
    const owner = await this.run(['SET', this.keyOf(name), this.self, 'NX', 'GET', ...EXPIRY]);
    return owner === null ? this.self : String(owner);
  }

  /** Returns the loop that has claimed a name. Rejects if Redis is away. */
  async find(name: string): Promise<string | undefined> {
    const owner = await this.run(['GET', this.keyOf(name)]);
    return owner === null ? undefined : String(owner);
  }

  /** Claims a name even if another loop has it. If the command is lost, `renew` repeats it. */
  take(name: string): void {
    void this.run(['SET', this.keyOf(name), this.self, ...EXPIRY]).catch(ignored);
  }

  /** Renews claims. Must be called more often than they expire. */
  async renew(names: readonly string[]): Promise<void> {
    for (let at = 0; at < names.length; at += RENEWED_AT_ONCE) {
      const some = names.slice(at, at + RENEWED_AT_ONCE);
      const renewed = some.map((name) =>
        this.run(['SET', this.keyOf(name), this.self, ...EXPIRY]).catch(ignored),
      );
      await Promise.all(renewed);
    }
  }

  /** Releases a claim of this loop. Does nothing if another loop has taken it since. */
  release(name: string): void {
    const released = this.link?.commands.script(RELEASE, {
      keys: [this.keyOf('')],
      args: [this.self, name],
    });
    void released?.catch(ignored);
  }

  /** Keeps for a loop that a session of it has lost a message. Rejects if Redis is away. */
  async noteLoss(loop: string, session: string): Promise<void> {
    await this.linkInUse().commands.script(NOTE_LOSS, {
      keys: [this.notesOf(loop)],
      args: [session],
    });
  }

  /** The sessions that others have noted for this loop. Rejects unless its messages arrive, since what is noted until then is not sent. */
  async losses(): Promise<readonly string[]> {
    const { commands, away } = this.linkInUse();
    if (away !== undefined) throw new RedisAway(away.why, false);
    const reply = await commands.script(LOSSES, { keys: [this.notesOf(this.self)], args: [] });
    return textsOf(Array.isArray(reply) ? reply[1] : undefined);
  }

  /**
   * Sends a message to another loop. Messages to one loop arrive in order; if one is lost, `onLoss` is called there.
   */
  send(to: string, text: string): void {
    const number = (this.sent.get(to) ?? 0) + 1;
    this.sent.set(to, number);
    const payload = `${this.self}\n${number}\n${text}`;
    this.publish(this.streamOf(to), payload).then(
      (receivers) => {
        if (receivers !== 0) return;
        // Nobody follows its stream: the loop has ended, and its numbers are no longer needed.
        this.sent.delete(to);
        this.received.delete(to);
        this.listener?.onLoss(to);
      },
      () => this.listener?.onLoss(to),
    );
  }

  /**
   * Sends a notice to one loop, or to all others that receive notices. Returns the number of receivers; `undefined`
   * while Redis is away.
   */
  async notify(to: string | undefined, text: string): Promise<number | undefined> {
    const payload = `${this.self}\n${NOTICE}\n${text}`;
    try {
      const receivers = Number(await this.publish(this.streamOf(to ?? ALL), payload));
      // If this loop receives notices, it gets those to all as well.
      return to === undefined && this.onNotice !== undefined
        ? Math.max(0, receivers - 1)
        : receivers;
    } catch {
      return undefined;
    }
  }

  /** Sends a report to another loop. It can be lost, and nobody notices. */
  report(to: string, text: string): void {
    void this.publish(this.streamOf(to), `${this.self}\n${REPORT}\n${text}`).catch(ignored);
  }

  /** Handles a message on a stream of this loop. Throws if it cannot. */
  receive(payload: string): void {
    const { from = '', number = '' } = MESSAGE.exec(payload)?.groups ?? {};
    if (from === '') throw new Unreadable('It names no loop and no number');
    const text = payload.slice(from.length + number.length + 2);
    if (number === NOTICE) {
      if (from !== this.self) this.onNotice?.({ from, text });
      return;
    }
    if (number === REPORT) return this.onReport(text);
    const expected = (this.received.get(from) ?? 0) + 1;
    // Loops that have ended are dropped first. One that still runs then counts as one with a loss.
    this.received.set(from, Number(number));
    if (Number(number) !== expected) this.listener?.onLoss(from);
    this.listener?.onMessage(from, text);
  }

  /** The stream was interrupted. */
  missed(): void {
    this.listener?.onLoss(undefined);
  }

  private publish(stream: string, payload: string) {
    return this.run([this.place.tag === undefined ? 'PUBLISH' : 'SPUBLISH', stream, payload]);
  }

  private async run(args: readonly string[]) {
    return this.linkInUse().commands.run(args);
  }

  private linkInUse(): RedisLink {
    if (this.link === undefined) throw new Error('Redis is not connected yet');
    return this.link;
  }

  private notesOf(loop: string): string {
    return `${placeKeys(this.keyPrefix, this.place)}lost:${loop}`;
  }

  private keyOf(name: string): string {
    return `${placeKeys(this.keyPrefix, this.place)}session:${name}`;
  }

  private streamOf(loop: string): string {
    return `${this.streams}${loop}`;
  }
}

/** In place of the name of a loop: all loops that receive notices. */
const ALL = 'all';

/** In place of the number of a message: a notice. */
const NOTICE = '0';

/** In place of the number of a message: a report. */
const REPORT = 'r';

const MESSAGE = /^(?<from>[\w-]{1,64})\n(?<number>\d{1,15}|r)\n/;

/** The limit of loops whose last number is remembered. */
const LOOPS_MAX = 10_000;

const EXPIRY = ['EX', String(CLAIM_SECONDS)];

function ignored(): void {
  // Redis is away. The next renewal repeats a missing claim, and a lost report counts as no answer.
}
