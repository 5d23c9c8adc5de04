import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ERROR } from '../../outgoing/http2/frames.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { type ServedRequest, type ServedSession, serveHttp2 } from '../http2-server.ts';
import { NotificationLog } from '../notification-log.ts';
import { type Act, Script } from '../script.ts';
import { makeSelfSigned } from '../self-signed.ts';
import {
  AccessTokenIssuer,
  accountFile,
  type FakeAccount,
  newFakeAccount,
} from './access-token-issuer.ts';
import { type FcmMessageFault, fcmFault } from './message-check.ts';

export interface FakeFcmOptions {
  /** 0: any that is free. */
  readonly port?: number;
  readonly host?: string;
  /** Made anew where there is none. */
  readonly certificate?: Certificate;
  /** Who may send. Made anew where there is none. */
  readonly account?: FakeAccount;
  /** Requests of one connection at a time; FCM has 100, and ends a connection that has more. */
  readonly streamsMax?: number;
  /** What it says of that, where it does not tell the truth. */
  readonly streamsAnnounced?: number;
  /** Messages that the journal keeps. */
  readonly entriesMax?: number;
  readonly nowMs?: () => number;
}

/** A message that arrived. */
export interface FcmArrival {
  readonly atMs: number;
  /** The token of the device, or the id of the installation; empty where the request names none. */
  readonly token: string;
  /** The whole request, as it was sent. */
  readonly payload: string;
  /** With the pseudo-header fields, without `authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  /** What it was answered with; `undefined`: nothing. */
  readonly status: number | undefined;
  /** What went wrong, in the code that FCM has for it. */
  readonly reason: string | undefined;
}

/**
 * FCM on this machine, together with the place that gives out access tokens: it looks at each message as FCM does,
 * and reaches nobody.
 */
export interface FakeFcm extends AsyncDisposable {
  readonly origin: string;
  /** To be trusted by whoever connects, as PEM. */
  readonly ca: string;
  /** Where access tokens are given out. */
  readonly tokenUri: string;
  /** The file of the service account that may send. */
  readonly accountFile: string;
  /** What it has looked at. What it turned away is not in it. */
  readonly journal: NotificationLog<FcmArrival>;
  /** Knows devices by their tokens. */
  readonly script: Script;
  /** Of the requests for access tokens: they go by the token `access-token`. */
  readonly tokenScript: Script;
  readonly desk: AccessTokenIssuer;
  readonly sessions: ReadonlySet<ServedSession>;
}

/** Source: push protocol, §8.2. */
const STREAMS_MAX = 100;

const TOKEN_PATH = '/token';
const FORM_BYTES_MAX = 16 * 1024;

const JSON_FIELDS = { 'content-type': 'application/json; charset=UTF-8' };

const TOO_MANY = 'exceeded_max_concurrent_streams';
const GOODBYE = 'session_timeout';

export async function startFakeFcm(options: FakeFcmOptions = {}): Promise<FakeFcm> {
  const { host = '127.0.0.1', port = 0, nowMs = Date.now } = options;
  const { account = newFakeAccount(), streamsMax = STREAMS_MAX } = options;
  const certificate =
    options.certificate ?? makeSelfSigned([...new Set(['localhost', '127.0.0.1', host])], nowMs());
  const journal = new NotificationLog<FcmArrival>(options.entriesMax);
  const script = new Script();
  const tokenScript = new Script();
  const timers = new Set<NodeJS.Timeout>();
  const path = `/v1/projects/${account.projectId}/messages:send`;
  const desk = new AccessTokenIssuer(account, () => origin + TOKEN_PATH);
  const http1 = createServer((request, response) => void answerForm(request, response));

  const server = await serveHttp2({
    host,
    port,
    certificate,
    streamsMax: options.streamsAnnounced ?? streamsMax,
    onSession: (session) => session.enforce(streamsMax),
    onTooMany: (session, id) => session.goAway(id - 1, ERROR.enhanceYourCalm, TOO_MANY),
    onHttp1: (socket) => http1.emit('connection', socket),
    onRequest: (request) => afterLatency(script, () => serve(request)),
  });
  const origin = `https://${host}:${server.port}`;

  function afterLatency({ latencyMs }: Script, run: () => void): void {
    if (latencyMs === 0) return run();
    const timer = setTimeout(() => {
      timers.delete(timer);
      run();
    }, latencyMs);
    timers.add(timer);
  }

  function serve(request: ServedRequest): void {
    const { session, id } = request;
    // Given up by the client in the meantime, or not looked at because of a goodbye.
    if (!session.isOpen(id)) return;
    const heard = hear(request);
    const act = script.take(heard.token);
    switch (act?.act) {
      case undefined:
        return answer(heard);
      case 'answer':
        keep(heard, act.status, reasonIn(act.body));
        return session.answer(id, act.status, act.fields ?? {}, act.body);
      case 'hang':
        return keep(heard, undefined, undefined);
      case 'reset':
        keep(heard, undefined, undefined);
        return session.reset(id, ERROR.internalError);
      case 'cut':
        return session.cut();
      case 'turn-away':
        return session.reset(id, ERROR.refusedStream);
      case 'go-away':
        return session.goAway(id - 1, ERROR.noError, GOODBYE);
      default:
        return act satisfies never;
    }
  }

  function answer(heard: Heard): void {
    const { session, id } = heard.request;
    const refusal = refusalOf(heard);
    if (refusal === undefined) {
      keep(heard, 200, undefined);
      const name = `projects/${account.projectId}/messages/0:${randomUUID()}`;
      return session.answer(id, 200, JSON_FIELDS, JSON.stringify({ name }));
    }
    keep(heard, refusal.status, refusal.reason);
    session.answer(id, refusal.status, JSON_FIELDS, refusal.body);
  }

  function refusalOf({ request: { fields }, json }: Heard): FcmRefusal | undefined {
    if (fields.get(':method') !== 'POST' || fields.get(':path') !== path) {
      return refusal(404, 'NOT_FOUND', undefined);
    }
    if (!desk.knows(fields.get('authorization'), nowMs())) {
      return refusal(401, 'UNAUTHENTICATED', undefined, NOT_SIGNED_IN);
    }
    const isJson = /^application\/json\b/.test(fields.get('content-type') ?? '');
    if (json === undefined || !isJson) {
      return refusal(400, 'INVALID_ARGUMENT', undefined, 'Invalid JSON payload received.');
    }
    const fault = fcmFault(json);
    return fault && wrongMessage(fault);
  }

  function keep(
    { request: { fields, body }, token }: Heard,
    status: number | undefined,
    reason: string | undefined,
  ): void {
    const { authorization: _, ...shown } = Object.fromEntries(fields);
    const payload = body.toString();
    journal.add({ atMs: nowMs(), token, payload, fields: shown, status, reason });
  }

  async function answerForm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= FORM_BYTES_MAX) chunks.push(chunk);
    }
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    afterLatency(tokenScript, () => {
      const isRight = request.method === 'POST' && request.url === TOKEN_PATH;
      const act = isRight ? tokenScript.take('access-token') : undefined;
      if (act?.act === 'hang') return;
      if (act !== undefined && act.act !== 'answer') return void request.socket.destroy();
      const { status, body } = isRight
        ? desk.answer(form, nowMs())
        : { status: 404, body: { error: 'not_found' } };
      const text = JSON.stringify(body);
      response.writeHead(act?.status ?? status, {
        'content-type': 'application/json',
        ...act?.fields,
      });
      response.end(act === undefined ? text : (act.body ?? ''));
    });
  }

  return {
    origin,
    ca: certificate.cert,
    tokenUri: origin + TOKEN_PATH,
    accountFile: accountFile(account, origin + TOKEN_PATH),
    journal,
    script,
    tokenScript,
    desk,
    sessions: server.sessions,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearTimeout(timer);
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A request, read once. */
interface Heard {
  readonly request: ServedRequest;
  readonly json: JsonObject | undefined;
  /** Of the device; empty where that cannot be told. */
  readonly token: string;
}

interface FcmRefusal {
  readonly status: number;
  readonly reason: string;
  readonly body: string;
}

const NOT_SIGNED_IN =
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.';

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';

function refusal(
  status: number,
  name: string,
  errorCode: string | undefined,
  message = '',
  details: readonly object[] = [],
): FcmRefusal {
  const own = errorCode === undefined ? [] : [{ '@type': FCM_ERROR, errorCode }];
  const error = { code: status, message, status: name, details: [...own, ...details] };
  return { status, reason: errorCode ?? name, body: JSON.stringify({ error }) };
}

function wrongMessage({ field, description }: FcmMessageFault): FcmRefusal {
  const message = `Invalid value at '${field}': ${description}`;
  return refusal(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT', message, [
    { '@type': BAD_REQUEST, fieldViolations: [{ field, description }] },
  ]);
}

/** What FCM says by status beside its own codes. Source: google.rpc.Code. */
const statusNames: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  503: 'UNAVAILABLE',
};

/** An answer with one of FCM's codes, as FCM writes it. */
export function fcmRefusal(
  status: number,
  errorCode: string,
  fields: Readonly<Record<string, string>> = {},
  details: readonly object[] = [],
): Act {
  const { body } = refusal(status, statusNames[status] ?? 'UNKNOWN', errorCode, '', details);
  return { act: 'answer', status, fields, body };
}

function hear(request: ServedRequest): Heard {
  const json = readJsonObject(request.body);
  const { message } = json ?? {};
  const device = isJsonObject(message) ? (message['token'] ?? message['fid']) : undefined;
  return { request, json, token: typeof device === 'string' ? device : '' };
}

function reasonIn(body: string | undefined): string | undefined {
  const { error } = readJsonObject(Buffer.from(body ?? '')) ?? {};
  if (!isJsonObject(error)) return undefined;
  const { status, details } = error;
  const list = Array.isArray(details) ? details.filter(isJsonObject) : [];
  const own = list.find((detail) => detail['@type'] === FCM_ERROR);
  const reason = own?.['errorCode'] ?? status;
  return typeof reason === 'string' ? reason : undefined;
}
