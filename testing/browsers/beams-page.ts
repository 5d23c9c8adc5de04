import { fileURLToPath } from 'node:url';
import PushNotifications from '@pusher/push-notifications-server';
import { PageSteps } from './page-steps.ts';

/** The build for browsers, as it comes from npm. */
const SDK = fileURLToPath(
  import.meta.resolve('@pusher/push-notifications-web/dist/push-notifications-cdn.js'),
);

/** Where pushes are accepted, and for whom. */
export interface PushService {
  /** The origin of the push listener, such as `http://127.0.0.1:6002`. */
  readonly url: string;
  readonly instance: { readonly id: string; readonly secretKey: string };
}

/**
 * A customer's web site that uses Beams, on an origin of its own: a page with the official SDK for the web, a
 * service worker, and a backend with the official SDK for servers.
 */
export interface BeamsSite extends Disposable {
  /** The page, on `localhost`: browsers allow push there without https. */
  readonly url: string;
  /** What the backend publishes with. */
  readonly library: PushNotifications;
  /** The users whom the backend made a token for, in order. */
  readonly signedIn: string[];
  /**
   * Runs the body of an async function in the page, which a browser must have open; returns what it returns, as
   * JSON. It can use `beams()`, the SDK's client, and `tokenProvider`.
   */
  run(body: string): Promise<unknown>;
  /** Settles when a browser has opened the page. */
  readonly opened: Promise<void>;
  /** Loads the page again. */
  reload(): Promise<void>;
}

export function startBeamsSite(service: PushService): BeamsSite {
  const { hostname: endpoint, port } = new URL(service.url);
  // The type does not know `port`, which the library does.
  const options = {
    instanceId: service.instance.id,
    secretKey: service.instance.secretKey,
    endpoint,
    port,
  };
  const library = new PushNotifications(options);
  const signedIn: string[] = [];
  const steps = new PageSteps();

  const routes: Readonly<Record<string, (request: Request, url: URL) => Promise<Response>>> = {
    '/': async () => answer(page(service), 'text/html; charset=utf-8'),
    '/push-notifications-cdn.js': async () => new Response(Bun.file(SDK)),
    '/service-worker.js': async () =>
      answer(`importScripts('${service.url}/sdk/service-worker.js');\n`, 'text/javascript'),
    async '/token'(_, url) {
      const user = url.searchParams.get('user_id') ?? '';
      signedIn.push(user);
      return Response.json(library.generateToken(user));
    },
  };
  const http = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // A page waits for its next step for as long as the test needs for other things.
    idleTimeout: 0,
    async fetch(request) {
      const url = new URL(request.url);
      const { pathname } = url;
      return (
        (await steps.answer(request, pathname)) ??
        (await routes[pathname]?.(request, url)) ??
        new Response('There is no such page', { status: 404 })
      );
    },
  });
  return {
    url: `http://localhost:${http.port}/`,
    library,
    signedIn,
    run: (body) => steps.run(body),
    opened: steps.opened,
    reload: () => steps.reload(),
    [Symbol.dispose]() {
      http.stop(true);
    },
  };
}

function answer(text: string, type: string): Response {
  return new Response(text, { headers: { 'content-type': type } });
}

function page({ url, instance }: PushService): string {
  const options = { instanceId: instance.id, endpointOverride: url };
  return `<!doctype html>
<title>Beams</title>
<script src="/push-notifications-cdn.js"></script>
<script>
  const { Client, TokenProvider } = PusherPushNotifications;
  const tokenProvider = new TokenProvider({ url: '/token' });
  let client;
  // Not before it is used: Firefox never answers a page that looks for its subscription too early.
  const beams = () => (client ??= new Client(${JSON.stringify(options)}));
  ${PageSteps.SCRIPT}
</script>`;
}
