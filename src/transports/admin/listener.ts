import type { Readiness } from './readiness.ts';

export interface AdminSettings {
  readonly host: string;
  readonly port: number;
}

/** An open admin listener. */
export interface AdminListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
}

const PATHS = ['/healthz', '/readyz'];
const TEXT = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };

/** Opens the listener for operators: whether the server lives, and whether it is ready. */
export function listenForAdmin(settings: AdminSettings, readiness: Readiness): AdminListener {
  const server = Bun.serve({
    hostname: settings.host,
    port: settings.port,
    development: false,
    routes: {
      // That it answers is the news.
      '/healthz': { GET: () => new Response('ok\n', { headers: TEXT }) },
      '/readyz': {
        GET: () => {
          const reasons = readiness.reasons();
          return reasons.length === 0
            ? new Response('ready\n', { headers: TEXT })
            : new Response(`not ready\n${reasons.join('\n')}\n`, { status: 503, headers: TEXT });
        },
      },
    },
    fetch: ({ url }) =>
      PATHS.includes(new URL(url).pathname)
        ? new Response('405 METHOD NOT ALLOWED: use GET\n', {
            status: 405,
            headers: { ...TEXT, allow: 'GET' },
          })
        : new Response('404 NOT FOUND\n', { status: 404, headers: TEXT }),
  });
  return {
    address: { host: settings.host, port: server.port ?? settings.port, tls: false },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
