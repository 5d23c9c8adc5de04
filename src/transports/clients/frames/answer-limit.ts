import type { MaybePromise } from '../../../channels/maybe-promise.ts';
import type { RateLimitedLog } from '../../../runtime/logging/rate-limited-log.ts';
import type { AddressRates } from '../addresses/address-rates.ts';
import { addressOf } from '../addresses/packed-address.ts';
import type { ClientConnection } from '../connection.ts';
import type { FrameLimit } from './frame-limit.ts';

interface AnswerLimitOptions {
  readonly frames: FrameLimit;
  readonly addresses: AddressRates;
  readonly log: RateLimitedLog;
}

/**
 * Limits what clients make the server send to themselves: members of presence channels, cached events and events of
 * histories. They add to a debt of the connection, with the rate and the burst of its frames. Above the burst, its next
 * subscription waits. It is not refused, because a client that reconnects asks for everything it has missed at once.
 */
export class AnswerLimit {
  private readonly options: AnswerLimitOptions;
  /** What continues each connection whose next subscription waits. */
  private readonly waiting = new Map<ClientConnection, () => void>();

  constructor(options: AnswerLimitOptions) {
    this.options = options;
  }

  /** Settles when the next subscription of a connection may be answered; it must not ask again before that. */
  turn(connection: ClientConnection): MaybePromise<void> {
    const limit = this.limitOf(connection);
    if (limit === undefined) return;
    const { app, address, socketId } = connection;
    this.options.log.info(
      'A subscription waits: its client had the server send it too much at once',
      { app: app.id, address: addressOf(address) },
      { connection: socketId, setting: `channels.${limit}` },
    );
    return new Promise((resolve) => void this.waiting.set(connection, resolve));
  }

  /** Pays off what a connection may be sent in some seconds. */
  pay(connection: ClientConnection, seconds: number): void {
    const { answerDebt, app } = connection;
    if (answerDebt > 0) {
      const paid = Math.min(answerDebt, seconds * this.options.frames.rateOf(app));
      connection.answerDebt -= paid;
      this.chargeAddress(connection, paid);
    }
    if (!this.isWaiting(connection) || this.limitOf(connection) !== undefined) return;
    const resolve = this.waiting.get(connection);
    this.waiting.delete(connection);
    resolve?.();
  }

  /** Whether a subscription of a connection waits. Its later frames are behind it. */
  isWaiting(connection: ClientConnection): boolean {
    return this.waiting.size > 0 && this.waiting.has(connection);
  }

  /** Charges the address of a closed connection for its debt. */
  closed(connection: ClientConnection): void {
    this.chargeAddress(connection, connection.answerDebt);
    this.waiting.delete(connection);
  }

  private chargeAddress({ app, address }: ClientConnection, frames: number): void {
    const { frames: limit, addresses } = this.options;
    if (limit.rateOf(app) > 0) addresses.countAnswers(address, frames);
  }

  /** The setting that makes the next subscription of a connection wait; `undefined`: it may be answered. */
  private limitOf(connection: ClientConnection): string | undefined {
    const { frames, addresses } = this.options;
    const { app, address, answerDebt } = connection;
    if (frames.rateOf(app) > 0 && answerDebt > frames.burstOf(app)) return 'framesPerSecond';
    return addresses.mayBeAnswered(address) ? undefined : 'addressLimits.framesPerSecond';
  }
}
