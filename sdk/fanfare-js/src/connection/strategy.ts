import { backoffMs } from '../backoff.ts';
import type { Config } from '../options.ts';
import type { Runtime } from '../runtime.ts';
import type TransportConnection from '../transports/transport-connection.ts';
import type { DefineTransport, Runner, Strategy } from './attempt.ts';
import { type Handshake, handshakeEnded, readHandshake } from './handshake.ts';
import type { CloseEvent } from './protocol.ts';

/** How long an attempt may take; twice as long each time that it has. */
const ATTEMPT_MS = 15_000;
const ATTEMPT_MAX_MS = 60_000;

/** How long polling leaves streaming alone. */
const POLLING_AFTER_MS = 4000;

/** Makes attempts by a transport of the runtime. */
export const defineTransport =
  (runtime: Runtime): DefineTransport =>
  ({ enabledTransports, disabledTransports }, name, type, priority, options) => ({
    isSupported: () =>
      (!enabledTransports || enabledTransports.includes(name)) &&
      !disabledTransports?.includes(name) &&
      !!runtime.Transports[type]?.isSupported({ useTLS: options.useTLS }),
    connect(_minPriority, callback) {
      const transport = runtime.Transports[type]?.createConnection(
        name,
        priority,
        options.key,
        options,
      ) as TransportConnection;
      let isOpen = false;
      const listeners = {
        initialized: () => transport.connect(),
        open: () => {
          isOpen = true;
        },
        message: (message: { readonly data: string }) => finish(readHandshake(message, transport)),
        closed: (event: CloseEvent | undefined) =>
          finish(isOpen ? handshakeEnded(event, transport) : undefined),
      };
      const unbind = () => {
        for (const [event, listener] of Object.entries(listeners)) {
          transport.unbind(event, listener);
        }
      };
      const finish = (handshake: Handshake | undefined) => {
        unbind();
        if (handshake?.action !== 'connected') transport.close();
        callback(!handshake, handshake);
      };
      for (const [event, listener] of Object.entries(listeners)) transport.bind(event, listener);
      transport.initialize();
      return {
        abort() {
          unbind();
          transport.close();
        },
      };
    },
  });

/** Repeats a strategy until there is a handshake: after a failure with a back-off, after a silence with more patience. */
function repeated(
  strategy: Strategy,
  startMs: number,
  callback: (handshake: Handshake) => void,
): Runner {
  let failures = 0;
  let patienceMs = ATTEMPT_MS;
  let runner: Runner | undefined;
  let timer: ReturnType<typeof setTimeout>;
  const attempt = () => {
    timer = setTimeout(() => {
      runner?.abort();
      patienceMs = Math.min(2 * patienceMs, ATTEMPT_MAX_MS);
      attempt();
    }, patienceMs);
    runner = strategy.connect(0, (_error, handshake) => {
      runner = undefined;
      clearTimeout(timer);
      if (handshake) callback(handshake);
      else timer = setTimeout(attempt, backoffMs(failures++));
    });
  };
  if (startMs) timer = setTimeout(attempt, startMs);
  else attempt();
  return {
    abort() {
      clearTimeout(timer);
      runner?.abort();
      runner = undefined;
    },
  };
}

/** WebSockets first; what proxies let through joins later, and the first handshake ends the others. */
export function defaultStrategy(
  config: Config,
  { key, useTLS }: { readonly key: string; readonly useTLS: boolean },
  define: DefineTransport,
): Strategy {
  const to = (scheme: 'http' | 'ws') => ({
    key,
    useTLS,
    hostNonTLS: `${config[`${scheme}Host`]}:${config[`${scheme}Port`]}`,
    hostTLS: `${config[`${scheme}Host`]}:${config[`${scheme}sPort`]}`,
    httpPath: config[`${scheme}Path`],
  });
  const plain = define(config, 'ws', 'ws', 3, to('ws'));
  const secure = define(config, 'wss', 'ws', 3, { ...to('ws'), useTLS: true });
  const byHttp = (name: string) => define(config, name, name, 1, to('http'));
  const streaming = byHttp('xhr_streaming');
  const polling = byHttp('xhr_polling');
  const sockjs = byHttp('sockjs');

  /** The supported ones, and after how many milliseconds each begins. */
  const rows = (): readonly (readonly [Strategy, number])[] => {
    const all: [Strategy, number][] = [];
    const add = (strategy: Strategy, startMs: number) => {
      const isSupported = strategy.isSupported();
      if (isSupported) all.push([strategy, startMs]);
      return isSupported;
    };
    let httpMs = 0;
    if (add(plain, 0)) httpMs = useTLS ? 2000 : 5000;
    if (!useTLS) add(secure, httpMs && 2000);
    const isStreaming = add(streaming, httpMs);
    const isPolling = add(polling, httpMs + (isStreaming ? POLLING_AFTER_MS : 0));
    if (!isStreaming && !isPolling) add(sockjs, httpMs);
    return all;
  };
  return {
    isSupported: () => rows().length > 0,
    connect(_minPriority, callback) {
      const runners = rows().map(([strategy, startMs]) =>
        repeated(strategy, startMs, (handshake) => {
          abort();
          callback(null, handshake);
        }),
      );
      const abort = () => {
        for (const runner of runners) runner.abort();
      };
      return { abort };
    },
  };
}
