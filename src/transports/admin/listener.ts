import type { Log } from '../../channels/ports.ts';
import { requestTarget } from '../request-target.ts';
import { Access, type AccessSettings } from './access.ts';
import { refuse, respond, TEXT } from './answers.ts';
import { readJson } from './json-body.ts';
import type { Readiness } from './readiness.ts';
import { type AdminRoute, findRoute } from './routes.ts';

export interface AdminSettings extends AccessSettings {
  readonly port: number;
}

/** An open admin listener. */
export interface AdminListener extends AsyncDisposable {
  readonly address: { readonly host: string; readonly port: number; readonly tls: boolean };
  /** Serves these as well from now on; before, they are answered with 503. */
  serve(routes: readonly AdminRoute[]): void;
}

/** Seconds without a byte after which a connection is closed; longer than any answer takes. */
const IDLE_SECONDS = 30;

/** Opens the listener for operators: whether the server lives, whether it is ready, and what it is given to serve. */
export function listenForAdmin(
  settings: AdminSettings,
  readiness: Readiness,
  log: Log,
): AdminListener {
  const access = new Access(settings);
  let routes: readonly AdminRoute[] | undefined;
  const answer = async (request: Request): Promise<Response> => {
    const { path } = requestTarget(request.url);
    const health = healthOf(path, readiness);
    if (health !== undefined) {
      return request.method === 'GET' ? health : methodNotAllowed(['GET']);
    }
    const denied = access.check(request.headers);
    if (denied !== undefined) {
      log.info('Admin request refused', { method: request.method, path, why: denied.error });
      return denied.status === 401
        ? refuse(401, denied.error, { 'www-authenticate': 'Basic realm="Fanfare"' })
        : refuse(denied.status, denied.error);
    }
    return routes === undefined
      ? refuse(503, 'The server is starting')
      : await answerRoute(routes, request);
  };

  const server = Bun.serve({
    hostname: settings.host,
    port: settings.port,
    development: false,
    idleTimeout: IDLE_SECONDS,
    // Bodies are bounded where they are read: Bun would refuse them without a word.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    fetch: answer,
    error(error) {
      log.error('An admin request failed', { error: error.stack ?? error.message });
      return refuse(500, 'Internal server error; the log says more');
    },
  });
  if (access.isShut) {
    log.warn('The admin API and /metrics answer nobody: set admin.password', {
      host: settings.host,
    });
  }
  return {
    address: { host: settings.host, port: server.port ?? settings.port, tls: false },
    serve(given) {
      routes = given;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** Open to everyone: a load balancer has no password. */
function healthOf(path: string, readiness: Readiness): Response | undefined {
  switch (path) {
    case '/healthz':
      // That it answers is the news.
      return respond({ status: 200, contentType: TEXT, body: 'ok\n' });
    case '/readyz': {
      const reasons = readiness.reasons();
      return reasons.length === 0
        ? respond({ status: 200, contentType: TEXT, body: 'ready\n' })
        : respond({ status: 503, contentType: TEXT, body: `not ready\n${reasons.join('\n')}\n` });
    }
    default:
      return undefined;
  }
}

async function answerRoute(routes: readonly AdminRoute[], request: Request): Promise<Response> {
  const found = findRoute(routes, request.method, request.url);
  switch (found.found) {
    case 'nothing':
      return refuse(404, 'There is no such path');
    case 'path':
      return methodNotAllowed(found.methods);
    case 'route': {
      const { route, path, query } = found;
      if (request.method === 'GET') {
        return respond(await route.answer({ path, query, body: undefined }));
      }
      const body = await readJson(request);
      if (!body.ok) return refuse(body.status, body.error);
      return respond(await route.answer({ path, query, body: body.value }));
    }
    default:
      return found satisfies never;
  }
}

function methodNotAllowed(methods: readonly string[]): Response {
  const allow = methods.join(', ');
  return refuse(405, `This path takes ${allow}`, { allow });
}
