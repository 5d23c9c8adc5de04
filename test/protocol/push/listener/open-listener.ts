import { PushRefusal } from '../../../../src/push/refusal.ts';
import type { LogFields } from '../../../../src/runtime/ports.ts';
import { TrustedProxies } from '../../../../src/runtime/trusted-proxies.ts';
import type { ListenerHealth } from '../../../../src/transports/health.ts';
import { type PushBounds, pushBounds } from '../../../../src/transports/push-api/bounds.ts';
import type {
  Endpoints,
  PushCall,
  PushEndpoint,
  PushHead,
} from '../../../../src/transports/push-api/call.ts';
import { PushListener } from '../../../../src/transports/push-api/listener.ts';
import { type EndpointName, routes } from '../../../../src/transports/push-api/routes.ts';
import type { ListenSettings } from '../../../../src/transports/push-api/server/http-server.ts';

/** A push listener with endpoints of the test, its log and its counters. */
export interface ListenerUnderTest extends AsyncDisposable {
  readonly port: number;
  readonly listener: PushListener;
  readonly lines: readonly Line[];
  readonly counted: ReadonlyMap<string, number>;
  /** Requests in flight without a secret key, and the bytes of their bodies in memory. */
  underWay(): number;
  heldBytes(): number;
}

export interface Line extends LogFields {
  readonly level: string;
  readonly message: string;
}

export interface ListenerOptions {
  readonly bounds?: Partial<PushBounds>;
  readonly tls?: ListenSettings['tls'];
  readonly endpoints?: Partial<Record<EndpointName, PushEndpoint>>;
  /** Has no endpoints yet. */
  readonly starting?: boolean;
  readonly limitRate?: (head: PushHead) => PushRefusal | undefined;
  /** As in the setting; none by default. */
  readonly pathPrefix?: string;
  readonly trustedProxies?: readonly string[];
  readonly health?: ListenerHealth;
}

/** Short timeouts, so that no test waits long. */
const SHORT: PushBounds = {
  ...pushBounds,
  headMs: 300,
  requestMs: 600,
  idleMs: 60_000,
  checkMs: 50,
  lingerMs: 300,
  stopMs: 300,
};

/** Answers with what it was called with. Refuses a head without content type, like a publish. */
const echo: PushEndpoint = {
  checkHead: (head) =>
    head.method === 'POST' && head.header('content-type') !== 'application/json'
      ? new PushRefusal('content-type', 'Only application/json is supported')
      : undefined,
  answer: ({ method, path, params, query, body }: PushCall) => ({
    json: JSON.stringify({ method, path, params, query: [...query], bytes: body.length }),
  }),
};

export async function openListener(options: ListenerOptions = {}): Promise<ListenerUnderTest> {
  const lines: Line[] = [];
  const counted = new Map<string, number>();
  const write =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push({ level, message, ...fields });
  const listener = await PushListener.open(
    { host: '127.0.0.1', port: 0, tls: options.tls },
    {
      log: {
        debug: write('debug'),
        info: write('info'),
        warn: write('warn'),
        error: write('error'),
      },
      meter: {
        count(_, by, status) {
          counted.set(status, (counted.get(status) ?? 0) + by);
        },
      },
      proxies: new TrustedProxies(options.trustedProxies ?? []),
      pathPrefix: options.pathPrefix ?? '',
      health: options.health,
    },
    { ...SHORT, ...options.bounds },
  );
  const endpoints = Object.fromEntries(
    routes.map(([, , name]) => [name, options.endpoints?.[name] ?? echo]),
  ) as Endpoints;
  if (options.starting !== true) listener.serve(endpoints, options.limitRate ?? (() => undefined));
  return {
    port: listener.address.port,
    listener,
    lines,
    counted,
    underWay: () => listener.load().requests,
    heldBytes: () => listener.load().bytes,
    [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose](),
  };
}
