import Channel from './channels/channel.ts';
import type { ChannelOwner } from './channels/channel-owner.ts';
import type ConnectionManager from './connection/connection-manager.ts';
import type { PusherEvent } from './connection/protocol.ts';
import Emitter from './emitter.ts';
import { authErrorData } from './errors.ts';
import log from './log.ts';
import type { AuthenticationData, Config } from './options.ts';

interface UserOwner extends ChannelOwner {
  readonly connection: ConnectionManager;
  readonly config: Config;
}

/** The user who is signed in on the connection. */
export default class User extends Emitter {
  signin_requested = false;
  // biome-ignore lint/suspicious/noExplicitAny: what the backend has written, with an id
  user_data: any = null;
  serverToUserChannel: Channel | null = null;
  /** Settles when a sign-in has succeeded or failed; null: none was asked for. */
  signinDonePromise: Promise<void> | null = null;
  /** What other users of the watchlist do. */
  watchlist = new Emitter();
  declare private readonly pusher: UserOwner;
  declare private signinDone: (() => void) | undefined;

  constructor(pusher: UserOwner) {
    super((event) => log.debug(`No callbacks on user for ${event}`));
    this.pusher = pusher;
    const { connection } = pusher;
    connection.bind('state_change', ({ previous, current }) => {
      if (current === 'connected') this.begin();
      else if (previous === 'connected') {
        this.forget();
        this.promise();
      }
    });
    connection.bind('message', (event: PusherEvent) => {
      const { event: name, channel, data } = event;
      if (name === 'pusher:signin_success') this.signedIn(data);
      if (name === 'pusher_internal:watchlist_events') {
        for (const change of data?.events ?? []) this.watchlist.emit(change.name, change);
      }
      if (channel && channel === this.serverToUserChannel?.name) {
        this.serverToUserChannel.handleEvent(event);
      }
    });
  }

  /** Signs in, now and on each later connection. */
  signin(): void {
    if (this.signin_requested) return;
    this.signin_requested = true;
    this.begin();
  }

  private begin(): void {
    if (!this.signin_requested) return;
    this.promise();
    const { connection, config } = this.pusher;
    if (!connection.connection) return;
    const socketId = connection.socket_id;
    config.userAuthenticator({ socketId }, (error, data) => {
      // The answer is for a connection that is gone.
      if (socketId !== connection.socket_id) return;
      if (error) {
        log.warn(`Error during signin: ${error}`);
        this.forget();
        this.emit('pusher:signin_error', authErrorData(error as Error));
        return;
      }
      const { auth, user_data } = data as AuthenticationData;
      this.pusher.send_event('pusher:signin', { auth, user_data });
    });
  }

  private signedIn(data: { readonly user_data: string }): void {
    let id: unknown;
    try {
      this.user_data = JSON.parse(data.user_data);
      id = this.user_data.id;
    } catch {
      // Reported with data without an id.
    }
    if (typeof id !== 'string' || !id) {
      log.error("user_data doesn't contain an id:", data);
      this.forget();
      return;
    }
    this.signinDone?.();
    this.signinDone = undefined;
    const channel = new Channel(`#server-to-user-${id}`, this.pusher);
    channel.bind_global((name, event) => {
      if (!/^pusher(_internal)?:/.test(name)) this.emit(name, event);
    });
    this.serverToUserChannel = channel;
    channel.subscribe();
  }

  /** There is no user any more, or there will be none. */
  private forget(): void {
    this.user_data = null;
    this.serverToUserChannel?.unbind_all().disconnect();
    this.serverToUserChannel = null;
    this.signinDone?.();
    this.signinDone = undefined;
  }

  private promise(): void {
    if (!this.signin_requested || this.signinDone) return;
    this.signinDonePromise = new Promise((resolve) => {
      this.signinDone = resolve;
    });
  }
}
