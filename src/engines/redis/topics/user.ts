import { broadcast } from '../../../channels/broadcast.ts';
import { watchChannel, watchTopic } from '../../../channels/users/watch-topic.ts';
import { watchlistEvents } from '../../../channels/wire.ts';
import { Unreadable } from '../../../runtime/unreadable.ts';
import { type Reply, textsOf } from '../link/reply.ts';
import type { RestateReason } from '../restatements.ts';
import { SIGN, USERS } from '../scripts/users.ts';
import { GRACE_MS } from '../scripts/webhook-events.ts';
import { StatedTopic, type StatedTopicOptions } from './stated-topic.ts';
import type { NumberedText } from './stream-message.ts';

/**
 * A user who has connections on this loop, or is watched by it.
 *
 * Each message about a user says whether the user is online, so only the last one counts, and a gap in the numbers is
 * harmless.
 */
export class RedisUser extends StatedTopic {
  readonly userId: string;
  /** Connections of this loop that watch the user. */
  watchers = 0;
  /** Only known while the user is watched. */
  isOnline = false;
  private isSignedIn = false;
  /** Since when this loop has had connections of the user. */
  private signedInAtMs = 0;
  /** How the app counts who is online, as it was stated last. */
  private statedFlags = '';
  /** Connections of this loop that are signed in. Only stated if the app limits them. */
  private held = 0;
  private signingIn = 0;
  /** The number of the change that `isOnline` follows from; `undefined` if it is not known. */
  private known: number | undefined;
  private terminatedAt = 0;

  constructor(userId: string, options: StatedTopicOptions) {
    super(watchTopic(options.app, userId), options);
    this.userId = userId;
  }

  /** Whether this loop needs the user's messages. */
  get isFollowed(): boolean {
    return this.isSignedIn || this.signingIn > 0 || this.watchers > 0;
  }

  /** Whether nothing is held, and the authority knows that. */
  get isIdle(): boolean {
    return !this.isFollowed && this.isStated;
  }

  /** Whether `isOnline` is reliable. */
  get isKnown(): boolean {
    return this.known !== undefined;
  }

  receive({ number, kind }: NumberedText): void {
    if (!/^[-+x]$/.test(kind))
      throw new Unreadable(`Its kind is not known: ${JSON.stringify(kind)}`);
    if (kind === 'x') {
      if (number <= this.terminatedAt) return;
      this.terminatedAt = number;
      if (this.isSignedIn) this.loop.terminate(this.app, this.userId);
    } else if (this.watchers > 0 && number > (this.known ?? 0)) {
      this.change(number, kind === '+');
    }
  }

  /**
   * Counts a connection that wants to sign in. The caller must then call `signIn`, or `signInFailed` if Redis never
   * answers.
   */
  begin(): void {
    this.signingIn++;
  }

  /** Returns whether there is a place for the connection, with which this loop has `held`. */
  async signIn(held: number): Promise<boolean> {
    const most = this.app.limits.connectionsPerUser;
    const [code, number] = await this.stateThat(true, most > 0 ? [held, most] : []);
    this.signingIn--;
    if (code === 'full') {
      // Redis may have taken it when it was asked before, without an answer.
      this.partition.unsure.add(this);
      return false;
    }
    // Terminations from before this sign-in do not affect this connection.
    if (!this.isSignedIn) {
      this.terminatedAt = Math.max(this.terminatedAt, Number(number));
      this.signedInAtMs = this.partition.nowMs;
    }
    this.isSignedIn = true;
    this.held = held;
    return true;
  }

  signInFailed(): void {
    this.signingIn--;
    this.partition.unsure.add(this);
  }

  /** States what this loop has now. Never fails: if stating is impossible now, it happens later. */
  signOut(held: number): Promise<void> {
    const hasLeft = this.isSignedIn && held === 0;
    this.isSignedIn = held > 0;
    this.held = held;
    if (hasLeft && this.hasWebhooks) {
      this.partition.own.noteUser(`d${this.topic}`, 1000 * this.app.offlineSeconds);
    }
    return this.stateSoon(() => this.state());
  }

  /** The app may count otherwise now who is online. */
  appChanged(): void {
    if (this.isSignedIn && this.statedFlags !== this.flags) this.partition.unsure.add(this);
  }

  protected async stateAgain(reason: RestateReason): Promise<void> {
    // The numbers may start anew.
    if (reason === 'lost') this.terminatedAt = 0;
    if (reason === 'lost' && this.known !== undefined) this.known = 0;
    // Nothing was stated since, so there is nothing to remove.
    if (this.isSignedIn || reason === 'unsure') await this.state(reason);
    if (this.watchers > 0) await this.read();
  }

  complete(): void {
    if (this.isFollowed) this.read().catch(() => this.partition.unsure.add(this));
  }

  /** Messages are missed until everything is followed again. */
  missed(): void {
    if (this.isFollowed) this.partition.unsure.add(this);
  }

  /** Reads whether the user is online, and whether the user's connections were terminated meanwhile. */
  private async read(): Promise<void> {
    const [number, state] = await this.partition.call(USERS, [this.topic]);
    this.take(Number(number), state);
  }

  /** Processes what was read. */
  take(number: number, state: Reply | undefined): void {
    const [online, terminatedAt] = textsOf(state);
    const isOnline = online === '1';
    // After a loss of data, the user may be on a node that has not repeated its statement yet.
    const mayBeOnline = this.partition.isIncomplete && this.isOnline && !isOnline;
    if (!mayBeOnline && (this.known === undefined || number > this.known)) {
      this.change(number, isOnline);
    }
    this.receive({ number: Number(terminatedAt), kind: 'x', rest: '' });
  }

  /** Called when no connection of this loop watches the user any more. */
  unwatched(): void {
    this.known = undefined;
    this.isOnline = false;
  }

  private async state(reason?: RestateReason): Promise<void> {
    const isIn = this.isSignedIn;
    // Connections that are signing in are stated by their sign-in.
    if (!isIn && this.signingIn > 0) return;
    const places = this.app.limits.connectionsPerUser > 0 ? [this.held] : [];
    const { own, nowMs, awayMs } = this.partition;
    // What nobody was handed yet is reported now.
    const isAgain = reason === 'lost' && !own.has(`u${this.topic}`);
    const mode = isAgain ? `${Math.round(nowMs - this.signedInAtMs)} ${awayMs}` : '';
    await this.stateThat(isIn, places, mode);
  }

  /** `places` and `mode`: see `SIGN`. */
  private async stateThat(
    isIn: boolean,
    places: readonly number[],
    mode = '',
  ): Promise<readonly Reply[]> {
    const { app, partition, topic, flags } = this;
    partition.outbox.sendBefore(partition, app.id);
    const answer = await partition.state(SIGN, [topic, isIn ? '1' : '0', flags, mode, ...places]);
    this.statedFlags = flags;
    if (textsOf(answer[5]).length > 0) {
      app.tap?.record({ kind: 'user-online', user: this.userId });
    }
    if (this.hasWebhooks && answer[0] !== 'full') {
      partition.stated([[`d${topic}`, !isIn]], answer[4]);
    }
    return answer;
  }

  private get hasWebhooks(): boolean {
    const { webhooks } = this.loop;
    return webhooks.wants(this.app, 'user_online') || webhooks.wants(this.app, 'user_offline');
  }

  /** How the app counts who is online; see `SIGN`. */
  private get flags(): string {
    const offlineMs = 1000 * this.app.offlineSeconds;
    return `${this.hasWebhooks ? 'w' : ''}${offlineMs === GRACE_MS ? '' : offlineMs}`;
  }

  private change(number: number, isOnline: boolean): void {
    this.known = number;
    if (this.isOnline === isOnline) return;
    this.isOnline = isOnline;
    const { app, userId } = this;
    const makeFrame = () =>
      isOnline ? watchlistEvents([userId], []) : watchlistEvents([], [userId]);
    broadcast(this.loop.broadcaster, { app, channel: watchChannel(userId), makeFrame });
  }
}
