import { ERROR } from '../outgoing/http2/frames/protocol.ts';
import { type JsonObject, readJsonObject } from '../runtime/json-object.ts';
import {
  type Http2ServedRequest,
  type Http2ServerOptions,
  type ServedSession,
  serveHttp2,
} from './http2-server.ts';
import { NotificationLog } from './notification-log.ts';
import { type Act, FaultScript } from './script.ts';

/** A notification that arrived at the fake of APNs or FCM. */
export interface Arrival {
  readonly atMs: number;
  /** The token of the device; empty if the request names none. */
  readonly token: string;
  /** With the pseudo-header fields, without `authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  /** The body of the request. */
  readonly payload: string;
  /** The status of the answer; `undefined`: no answer. */
  readonly status: number | undefined;
  /** The gateway's code for why it was refused. */
  readonly reason: string | undefined;
}

/** How a gateway answers a notification. */
export interface NotificationAnswer {
  readonly status: number;
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly reason?: string;
}

/** A request, read but not checked. */
export interface ReadNotification {
  /** The token of the device; `undefined`: scripts do not apply. */
  readonly token: string | undefined;
  /** Checks the notification as the gateway does. */
  readonly answer: () => NotificationAnswer;
}

export interface NotificationServerOptions extends Omit<Http2ServerOptions, 'onRequest'> {
  /** Notifications that the log keeps. */
  readonly entriesMax: number | undefined;
  readonly nowMs: () => number;
  readonly read: (request: Http2ServedRequest) => ReadNotification;
  /** The code in the JSON body of a refusal. */
  readonly reasonIn: (refusal: JsonObject) => unknown;
  /** Debug data of a scripted GOAWAY frame. */
  readonly goAwayText: string;
}

/** A fake that accepts notifications over HTTP/2. */
export interface NotificationServer extends AsyncDisposable {
  readonly origin: string;
  /** What it has checked. Refused streams are not in it. */
  readonly arrivals: NotificationLog<Arrival>;
  /** By device token. */
  readonly script: FaultScript;
  readonly sessions: ReadonlySet<ServedSession>;
}

/** Serves the part that APNs and FCM have in common: each request is logged, and answered or treated as scripted. */
export async function serveNotifications(
  options: NotificationServerOptions,
): Promise<NotificationServer> {
  const arrivals = new NotificationLog<Arrival>(options.entriesMax);
  const script = new FaultScript();
  const server = await serveHttp2({
    ...options,
    onRequest: (request) => script.afterLatency(() => serve(request)),
  });

  function serve(request: Http2ServedRequest): void {
    const { session, id } = request;
    // Given up by the client in the meantime, or ignored after GOAWAY.
    if (!session.isOpen(id)) return;
    const read = options.read(request);
    const act = read.token === undefined ? undefined : script.take(read.token);
    if (act !== undefined) return perform(act, request, read.token);
    const { status, fields, body, reason } = read.answer();
    record(request, read.token, status, reason);
    session.answer(id, status, fields, body);
  }

  function perform(act: Act, request: Http2ServedRequest, token: string | undefined): void {
    const { session, id } = request;
    switch (act.act) {
      case 'answer': {
        const reason = options.reasonIn(readJsonObject(Buffer.from(act.body ?? '')) ?? {});
        record(request, token, act.status, typeof reason === 'string' ? reason : undefined);
        return session.answer(id, act.status, act.fields ?? {}, act.body);
      }
      case 'hang':
        return record(request, token);
      case 'reset':
        record(request, token);
        return session.reset(id, ERROR.internalError);
      case 'cut':
        return session.cut();
      case 'turn-away':
        return session.reset(id, ERROR.refusedStream);
      case 'go-away':
        return session.goAway(id - 1, ERROR.noError, options.goAwayText);
      default:
        return act satisfies never;
    }
  }

  function record(
    { fields, body }: Http2ServedRequest,
    token = '',
    status?: number,
    reason?: string,
  ): void {
    const { authorization: _, ...shown } = Object.fromEntries(fields);
    const payload = body.toString();
    arrivals.add({ atMs: options.nowMs(), token, fields: shown, payload, status, reason });
  }

  const scheme = options.certificate === undefined ? 'http' : 'https';
  return {
    origin: `${scheme}://${options.host}:${server.port}`,
    arrivals,
    script,
    sessions: server.sessions,
    async [Symbol.asyncDispose]() {
      script[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}
