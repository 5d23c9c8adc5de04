import { backoffMs } from '../backoff.ts';
import type { PusherEvent } from '../connection/protocol.ts';
import Emitter, { type Metadata, nextOf } from '../emitter.ts';
import { authErrorData, BadEventName, HTTPAuthError } from '../errors.ts';
import log from '../log.ts';
import type { AuthorizationCallback, AuthorizationData } from '../options.ts';
import type { ChannelOwner } from './channel-owner.ts';

export const INTERNAL = 'pusher_internal:';
const SUCCEEDED = 'subscription_succeeded';
const ERROR = 'pusher:subscription_error';

/** After a failure that may pass, so many more requests are made, 2, 4 and 8 s after the one before. */
const TRIES_MAX = 3;

/** Whether a backend may answer otherwise in a moment. */
const isPassing = (error: Error | string) =>
  error instanceof HTTPAuthError && (!error.status || error.status === 429 || error.status > 499);

/** A public channel. */
export default class Channel extends Emitter {
  declare name: string;
  declare pusher: ChannelOwner;
  subscribed = false;
  subscriptionPending = false;
  subscriptionCancelled = false;
  declare subscriptionCount: number | undefined;
  declare private retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, pusher: ChannelOwner) {
    super((event) => log.debug(`No callbacks on ${name} for ${event}`));
    this.name = name;
    this.pusher = pusher;
  }

  /** Settles when the channel is subscribed, now or later; rejects when its subscription fails. */
  get ready(): Promise<unknown> {
    if (this.subscribed) return Promise.resolve(this.state());
    return nextOf(this, [`pusher:${SUCCEEDED}`, ERROR], (data) => {
      if (this.subscribed) return data;
      throw Object.assign(new Error((data as { error?: string })?.error), data);
    });
  }

  /** Public channels need no authorisation. */
  authorize(_socketId: string, callback: AuthorizationCallback): void {
    callback(null, { auth: '' });
  }

  /** Sends a client event; `false`: there is no connection. */
  trigger(event: string, data?: unknown): boolean {
    if (!event.startsWith('client-')) {
      throw new BadEventName(`Event '${event}' does not start with 'client-'`);
    }
    if (!this.subscribed) log.warn(`Client event before the subscription of ${this.name}`);
    return this.pusher.send_event(event, data, this.name);
  }

  /** The connection is lost. */
  disconnect(): void {
    clearTimeout(this.retryTimer);
    this.subscribed = false;
    this.subscriptionPending = false;
    // Otherwise the next connection would bring back what the application has left.
    if (this.subscriptionCancelled) this.pusher.unsubscribe(this.name);
  }

  handleEvent(event: PusherEvent): void {
    const { event: name, data } = event;
    if (!name.startsWith(INTERNAL)) this.deliver(event);
    else if (name === INTERNAL + SUCCEEDED) this.confirmed(data);
    else if (name === `${INTERNAL}subscription_count`) {
      if (data?.subscription_count) this.subscriptionCount = data.subscription_count;
      this.emit('pusher:subscription_count', data);
    }
  }

  subscribe(tries = 0): void {
    if (this.subscribed) return;
    clearTimeout(this.retryTimer);
    this.subscriptionPending = true;
    this.subscriptionCancelled = false;
    const { connection } = this.pusher;
    const socketId = connection.socket_id;
    this.authorize(socketId, (error, data) => {
      // The answer is for a connection that is gone.
      if (socketId !== connection.socket_id) return;
      if (!error) {
        const { auth, channel_data } = data as AuthorizationData;
        this.pusher.send_event('pusher:subscribe', { auth, channel_data, channel: this.name });
        return;
      }
      this.subscriptionPending = false;
      if (isPassing(error) && tries < TRIES_MAX) {
        this.retryTimer = setTimeout(
          () => {
            const isWanted = this.pusher.channel(this.name) === this;
            if (isWanted && !this.subscriptionPending) this.subscribe(tries + 1);
          },
          backoffMs(tries + 1),
        );
      }
      log.error(error.toString());
      this.emit(ERROR, authErrorData(error as Error));
    });
  }

  unsubscribe(): void {
    this.subscribed = false;
    this.pusher.send_event('pusher:unsubscribe', { channel: this.name });
  }

  cancelSubscription(): void {
    this.subscriptionCancelled = true;
  }

  reinstateSubscription(): void {
    this.subscriptionCancelled = false;
  }

  /** Gives an event to the handlers, and then notes that they have had it. */
  protected deliver({ event, data, id }: PusherEvent, metadata: Metadata = {}): void {
    if (id) metadata.id = id;
    this.emit(event, data, metadata);
    this.pusher.resumption?.handled(this.name, id);
  }

  /** Takes what the server says about the channel, and returns what handlers of the subscription get. */
  protected state(data?: unknown): unknown {
    return data;
  }

  private confirmed(data: PusherEvent['data']): void {
    this.subscriptionPending = false;
    this.subscribed = true;
    if (this.subscriptionCancelled) {
      this.pusher.unsubscribe(this.name);
      return;
    }
    const isGap = this.pusher.resumption?.confirmed(this.name, data?.resume);
    this.emit(`pusher:${SUCCEEDED}`, this.state(data));
    if (isGap) this.emit('fanfare:gap');
  }
}
