import { socketPath } from '../../../runtime/listen-host.ts';
import type { Log } from '../../../runtime/ports.ts';
import { unrefTimers } from '../../../runtime/system-timers.ts';
import { type AdminAnswer, refuse } from '../../../transports/admin/answers.ts';
import type { AdminRequestHead } from '../../../transports/admin/request-head.ts';
import type { AdminRoute } from '../../../transports/admin/routes.ts';
import { serviceWorkerScript } from '../../../transports/push-api/service-worker/service-worker.ts';
import type { ListenerAddress } from '../../link/messages.ts';
import { ASSETS_PATH, type Asset, type Bundle } from './assets.ts';
import { bundleDashboard } from './bundle.ts';

/**
 * The Content Security Policy: the page may load its own assets, call its own server, and act as a client of Channels
 * and as a device of the push API, to try them out. Source: Content Security Policy Level 3 and Trusted Types.
 */
function pagePolicy(origins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "worker-src 'self'",
    ["connect-src 'self'", ...origins].join(' '),
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; ');
}

/** The host by which the requesting browser reaches this machine; `undefined` if the request does not have one. */
function hostFor(head: AdminRequestHead): string | undefined {
  // Header values are untrusted and end up in another header and in a script.
  return /^([\w.-]+|\[[\da-f:]+\])(?::\d+)?$/i.exec(head.header('host') ?? '')?.[1];
}

/** The WebSocket origin for the requesting browser. Behind a Unix socket, it is that of the page, which the policy allows anyway. */
function channelsOriginFor(
  head: AdminRequestHead,
  { host: listener, port, tls }: ListenerAddress,
): readonly string[] {
  if (socketPath(listener) !== undefined) return [];
  const host = hostFor(head);
  return host === undefined ? [] : [`${tls ? 'wss' : 'ws'}://${host}:${port}`];
}

/** The origin of the push API for the requesting browser. */
function pushOriginFor(
  head: AdminRequestHead,
  { host: listener, port, tls, publicUrl }: PushAddress,
): readonly string[] {
  if (publicUrl !== null) return [publicUrl];
  if (socketPath(listener) !== undefined) return [];
  const host = hostFor(head);
  return host === undefined ? [] : [`${tls ? 'https' : 'http'}://${host}:${port}`];
}

/** Where the push listener is. */
interface PushAddress extends ListenerAddress {
  /** The public origin; `null`: the host of this machine. */
  readonly publicUrl: string | null;
}

const PAGE_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
};

const ASSET_HEADERS = { 'cache-control': 'private, max-age=31536000, immutable' };

/** Redirects `/` to the dashboard. */
function toDashboard(pathPrefix: string): AdminRoute {
  const location = `${pathPrefix}/dashboard`;
  return {
    method: 'GET',
    path: '/',
    isOpen: () => true,
    answer: async () => ({
      status: 302,
      contentType: 'text/plain; charset=utf-8',
      body: `The dashboard is at ${location}\n`,
      headers: { location },
    }),
  };
}

/**
 * The routes of the dashboard. Every path below `/dashboard` returns the same page, which does the routing in the
 * browser. It needs no session, since it is also the log-in page.
 */
export function dashboardRoutes({
  log,
  pathPrefix,
  channels,
  push,
}: {
  readonly log: Log;
  /** The path prefix by which browsers reach the listener; empty: none. */
  readonly pathPrefix: string;
  /** Where the Channels listener is. */
  readonly channels: () => ListenerAddress;
  /** Where the push listener is. */
  readonly push: () => PushAddress;
}): readonly AdminRoute[] {
  const bundle = new BundleOnDemand({ log, pathPrefix });
  return [
    toDashboard(pathPrefix),
    {
      method: 'GET',
      path: `${ASSETS_PATH}{name}`,
      isOpen: ({ name = '' }) => bundle.hasOpen(name),
      answer: async ({ path, head }) => {
        const asset = (await bundle.get()).assets.get(path['name'] ?? '');
        return asset === undefined
          ? refuse(404, 'There is no such file in this version of the dashboard')
          : fileAnswer(asset, head, ASSET_HEADERS);
      },
    },
    {
      method: 'GET',
      path: '/dashboard/device-worker.js',
      isOpen: () => true,
      answer: async ({ head }) => {
        const [endpoint] = pushOriginFor(head, push());
        if (endpoint === undefined) {
          return refuse(
            400,
            'The address of the push API is not known: set push.publicUrl, or send a valid Host header',
          );
        }
        return {
          status: 200,
          contentType: 'text/javascript; charset=utf-8',
          body: serviceWorkerScript(endpoint),
          headers: {
            'content-security-policy': `default-src 'none'; connect-src ${endpoint}`,
          },
        };
      },
    },
    {
      method: 'GET',
      path: '/dashboard/{...}',
      isOpen: () => true,
      answer: async ({ head }) =>
        fileAnswer((await bundle.get()).page, head, {
          ...PAGE_HEADERS,
          'content-security-policy': pagePolicy([
            ...channelsOriginFor(head, channels()),
            ...pushOriginFor(head, push()),
          ]),
        }),
    },
  ];
}

/** The pause after a failure before the dashboard is bundled again. */
const RETRY_MS = 5000;

/** Bundles on the first request, because most servers' dashboards are never opened. */
class BundleOnDemand {
  private readonly options: { readonly log: Log; readonly pathPrefix: string };
  private bundling: Promise<Bundle> | undefined;
  private done: Bundle | undefined;

  constructor(options: { readonly log: Log; readonly pathPrefix: string }) {
    this.options = options;
  }

  async get(): Promise<Bundle> {
    this.bundling ??= this.bundle();
    return await this.bundling;
  }

  /** Whether an asset needs no session. */
  hasOpen(name: string): boolean {
    return this.done?.open.has(name) ?? false;
  }

  private async bundle(): Promise<Bundle> {
    const { log, pathPrefix } = this.options;
    const startMs = performance.now();
    try {
      this.done = await bundleDashboard(pathPrefix);
      const milliseconds = Math.round(performance.now() - startMs);
      log.debug('Dashboard bundled', { files: this.done.assets.size, milliseconds });
      return this.done;
    } catch (error) {
      // A failure is retried later, but not on each request.
      unrefTimers.after(RETRY_MS, () => {
        this.bundling = undefined;
      });
      throw error;
    }
  }
}

function fileAnswer(
  { contentType, plain, gzipped }: Asset,
  head: AdminRequestHead,
  headers: Readonly<Record<string, string>>,
): AdminAnswer {
  const isGzipped = acceptsGzip(head.header('accept-encoding') ?? '');
  return {
    status: 200,
    contentType,
    body: isGzipped ? gzipped : plain,
    headers: {
      ...headers,
      vary: 'accept-encoding',
      ...(isGzipped ? { 'content-encoding': 'gzip' } : {}),
    },
  };
}

function acceptsGzip(header: string): boolean {
  return /(?:^|,)\s*gzip\s*(?:,|;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|$)/i.test(header);
}
