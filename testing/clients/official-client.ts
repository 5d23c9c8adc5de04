import PusherJs, { type Channel, type Options } from 'pusher-js';
import { Inbox } from '../inbox.ts';
import type { AppBackend } from '../servers/app-backend.ts';
import { APP, type Fanfare } from '../servers/fanfare.ts';
import { TRANSPORT } from './raw-client.ts';

/** An event as a handler of pusher-js gets it. */
export type HandledEvent = readonly [event: string, data: unknown];

/** pusher-js as it comes from npm, and what it receives. */
export interface OfficialClient extends Disposable {
  readonly pusher: PusherJs;
  /** Events of the connection itself: `connected`, `error`, `state_change` and so on. */
  readonly connection: Inbox<HandledEvent>;
  /** Subscribes, and listens to all events of the channel. */
  subscribe(channel: string): ChannelInbox;
  /** Settles when it is connected, with its socket id. */
  connected(): Promise<string>;
  /** Signs in, listens to all that is sent to the user, and settles when the server would send it. */
  signedIn(): Promise<UserInbox>;
}

export interface UserInbox extends Inbox<HandledEvent> {
  /** The coming and going of the users on the watchlist. */
  readonly watched: Inbox<HandledEvent>;
}

export interface ChannelInbox extends Inbox<HandledEvent> {
  readonly channel: Channel;
  /** Settles when the subscription is confirmed. Fails if anything else is received before. */
  subscribed(): Promise<unknown>;
}

export interface OfficialClientOptions extends Omit<Partial<Options>, 'enabledTransports'> {
  /** `undefined`: those that pusher-js chooses by itself. */
  readonly enabledTransports?: Options['enabledTransports'] | undefined;
  /** The user that the backend signs in. */
  readonly user?: string;
  /** The watchlist of this user. */
  readonly watchlist?: readonly string[];
  readonly backend?: Pick<AppBackend, 'authEndpoint' | 'userAuthEndpoint'>;
  readonly key?: string;
}

/** The options with which pusher-js is pointed at a server of one's own. */
export function optionsFor(
  server: Pick<Fanfare, 'port'>,
  { user, watchlist = [], backend, key: _key, ...given }: OfficialClientOptions = {},
): Options {
  const headers = user === undefined ? {} : { 'x-user': user };
  const { enabledTransports = TRANSPORT === 'ws' ? ['ws', 'wss'] : [TRANSPORT], ...options } =
    given;
  const choosesItself = 'enabledTransports' in given && given.enabledTransports === undefined;
  return {
    wsHost: '127.0.0.1',
    wsPort: server.port,
    httpHost: '127.0.0.1',
    httpPort: server.port,
    forceTLS: false,
    // Required by pusher-js and not used once `wsHost` is given.
    cluster: 'local',
    ...(backend === undefined
      ? {}
      : {
          channelAuthorization: {
            endpoint: backend.authEndpoint,
            transport: 'ajax',
            headers,
          },
          userAuthentication: {
            endpoint: backend.userAuthEndpoint,
            transport: 'ajax',
            headers:
              watchlist.length === 0 ? headers : { ...headers, 'x-watchlist': watchlist.join() },
          },
        }),
    ...(choosesItself ? {} : { enabledTransports }),
    ...options,
  };
}

/** Whether this event says that pusher-js receives the events of its user from now on. */
export function isUserChannelEntered([event, data]: HandledEvent): boolean {
  if (event !== 'message') return false;
  const message = data as { readonly event: string; readonly channel?: string };
  return (
    message.event === 'pusher_internal:subscription_succeeded' &&
    message.channel?.startsWith('#server-to-user-') === true
  );
}

/** Connects pusher-js to a server. */
export function connect(
  server: Pick<Fanfare, 'port'>,
  options: OfficialClientOptions = {},
): OfficialClient {
  const pusher = new PusherJs(options.key ?? APP.key, optionsFor(server, options));
  const connection = new Inbox<HandledEvent>('The connection');
  pusher.connection.bind_global((event: string, data: unknown) => connection.put([event, data]));
  return {
    pusher,
    connection,
    subscribe(name) {
      const channel = pusher.subscribe(name);
      const received = new Inbox<HandledEvent>(`Channel ${name}`);
      channel.bind_global((event: string, data: unknown) => received.put([event, data]));
      const subscribed = async () => {
        const [event, data] = await received.next();
        if (event === 'pusher:subscription_succeeded') return data;
        throw new Error(`Not subscribed to ${name}: ${event} ${JSON.stringify(data)}`);
      };
      return Object.assign(received, { channel, subscribed });
    },
    async connected() {
      await connection.first(([event]) => event === 'connected');
      return pusher.connection.socket_id;
    },
    async signedIn() {
      const received = new Inbox<HandledEvent>('The user');
      const watched = new Inbox<HandledEvent>('The watchlist');
      pusher.user.bind_global((event: string, data: unknown) => received.put([event, data]));
      for (const event of ['online', 'offline']) {
        pusher.user.watchlist.bind(event, (data: unknown) => watched.put([event, data]));
      }
      pusher.signin();
      await connection.first(isUserChannelEntered);
      return Object.assign(received, { watched });
    },
    [Symbol.dispose]() {
      pusher.disconnect();
    },
  };
}
