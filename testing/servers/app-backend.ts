import Pusher from 'pusher';
import { APP, type Fanfare } from './fanfare.ts';

/** What the server library encrypts with; the server never has it. */
export const ENCRYPTION_MASTER_KEY = Buffer.alloc(32, 'fanfare').toString('base64');

/** The official server library, as an app sets it up for a server of its own. */
function serverLibrary(server: Pick<Fanfare, 'port'>): Pusher {
  return new Pusher({
    appId: APP.id,
    key: APP.key,
    secret: APP.secret,
    host: '127.0.0.1',
    port: String(server.port),
    useTLS: false,
    encryptionMasterKeyBase64: ENCRYPTION_MASTER_KEY,
  });
}

/** The backend of an app: it authorises channels with the official server library, and serves pages. */
export interface AppBackend extends Disposable {
  readonly origin: string;
  readonly library: Pusher;
  /** The channels it was asked to authorise, in order. */
  readonly asked: string[];
  /** Where clients ask; who they are is in their `x-user` header, and without one they are refused. */
  readonly authEndpoint: string;
  /** Where clients ask to be signed in; whom they watch is in their `x-watchlist` header. */
  readonly userAuthEndpoint: string;
  /** The users it was asked to sign in, in order. */
  readonly signedIn: string[];
}

const AUTH_PATH = '/pusher/auth';
const USER_AUTH_PATH = '/pusher/user-auth';

/** Starts a backend for an app of the server. `page` answers whatever is not an authorisation, when it likes. */
export function startAppBackend(
  server: Pick<Fanfare, 'port'>,
  page: (path: string, request: Request) => Promise<Response | undefined> = async () => undefined,
): AppBackend {
  const library = serverLibrary(server);
  const asked: string[] = [];
  const signedIn: string[] = [];
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname !== AUTH_PATH && pathname !== USER_AUTH_PATH) {
        return (
          (await page(pathname, request)) ?? new Response('There is no such page', { status: 404 })
        );
      }
      const form = new URLSearchParams(await request.text());
      const user = request.headers.get('x-user');
      const channel = form.get('channel_name') ?? '';
      if (pathname === USER_AUTH_PATH) signedIn.push(user ?? '');
      else asked.push(channel);
      if (user === null) return new Response('Who are you?', { status: 403 });
      const socketId = form.get('socket_id') ?? '';
      if (pathname === USER_AUTH_PATH) {
        const watchlist = request.headers.get('x-watchlist')?.split(',');
        const known = { id: user, user_info: { name: user.toUpperCase() } };
        return Response.json(
          library.authenticateUser(
            socketId,
            watchlist === undefined ? known : { ...known, watchlist },
          ),
        );
      }
      return Response.json(
        channel.startsWith('presence-')
          ? library.authorizeChannel(socketId, channel, {
              user_id: user,
              user_info: { name: user.toUpperCase() },
            })
          : library.authorizeChannel(socketId, channel),
      );
    },
  });
  const origin = `http://127.0.0.1:${http.port}`;
  return {
    origin,
    library,
    asked,
    authEndpoint: `${origin}${AUTH_PATH}`,
    userAuthEndpoint: `${origin}${USER_AUTH_PATH}`,
    signedIn,
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}
