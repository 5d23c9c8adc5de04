import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ERROR } from '../../outgoing/http2/frames/frames.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import { type ServedRequest, type ServedSession, serveHttp2 } from '../http2-server.ts';
import { NotificationLog } from '../notification-log.ts';
import { type Act, Delays, perform, Script } from '../script.ts';
import { localHosts, makeSelfSigned } from '../self-signed.ts';
import {
  AccessTokenIssuer,
  accountFile,
  type FakeAccount,
  newFakeAccount,
} from './access-token-issuer.ts';
import { type FcmMessageFault, fcmFault } from './message-check.ts';

export interface FakeFcmOptions {
  /** 0: any free port. */
  readonly port?: number;
  readonly host?: string;
  /** A new one by default. */
  readonly certificate?: Certificate;
  /** The account that may send; a new one by default. */
  readonly account?: FakeAccount;
  /** Concurrent requests of one connection; FCM allows 100, and ends a connection with more. */
  readonly streamsMax?: number;
  /** The limit that it announces, if it is another one. */
  readonly streamsAnnounced?: number;
  /** Messages that the log keeps. */
  readonly entriesMax?: number;
  readonly nowMs?: () => number;
}

/** A message that arrived. */
export interface FcmArrival {
  readonly atMs: number;
  /** Token or installation id of the device; empty if the request has none. */
  readonly token: string;
  /** The body of the request. */
  readonly payload: string;
  /** With the pseudo-header fields, without `authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  /** Status of the answer; `undefined`: none. */
  readonly status: number | undefined;
  /** FCM's error code. */
  readonly reason: string | undefined;
}

/**
 * A fake of FCM and of the OAuth service that issues access tokens: it checks each message as FCM does, and delivers
 * nothing.
 */
export interface FakeFcm extends AsyncDisposable {
  readonly origin: string;
  /** The certificate that clients must trust, as PEM. */
  readonly ca: string;
  /** Where access tokens are issued. */
  readonly tokenUri: string;
  /** The JSON file of the service account that may send. */
  readonly accountFile: string;
  /** What it has checked. Refused streams are not in it. */
  readonly arrivals: NotificationLog<FcmArrival>;
  /** By device token. */
  readonly script: Script;
  /** For requests for access tokens, whose token is `access-token`. */
  readonly tokenScript: Script;
  readonly issuer: AccessTokenIssuer;
  readonly sessions: ReadonlySet<ServedSession>;
}

/** Source: push protocol, §8.2. */
const STREAMS_MAX = 100;

const TOKEN_PATH = '/token';
const FORM_BYTES_MAX = 16 * 1024;

const JSON_FIELDS = { 'content-type': 'application/json; charset=UTF-8' };

const TOO_MANY = 'exceeded_max_concurrent_streams';
const GO_AWAY_TEXT = 'session_timeout';

export async function startFakeFcm(options: FakeFcmOptions = {}): Promise<FakeFcm> {
  const { host = '127.0.0.1', port = 0, nowMs = Date.now } = options;
  const { account = newFakeAccount(), streamsMax = STREAMS_MAX } = options;
  const certificate = options.certificate ?? makeSelfSigned(localHosts(host), nowMs());
  const arrivals = new NotificationLog<FcmArrival>(options.entriesMax);
  const script = new Script();
  const tokenScript = new Script();
  const delays = new Delays();
  const path = `/v1/projects/${account.projectId}/messages:send`;
  const issuer = new AccessTokenIssuer(account, () => origin + TOKEN_PATH);
  const http1 = createServer((request, response) => void answerForm(request, response));

  const server = await serveHttp2({
    host,
    port,
    certificate,
    streamsMax: options.streamsAnnounced ?? streamsMax,
    onSession: (session) => session.enforce(streamsMax),
    onTooMany: (session, id) => session.goAway(id - 1, ERROR.enhanceYourCalm, TOO_MANY),
    onHttp1: (socket) => http1.emit('connection', socket),
    onRequest: (request) => delays.after(script, () => serve(request)),
  });
  const origin = `https://${host}:${server.port}`;

  function serve(request: ServedRequest): void {
    // Given up by the client in the meantime, or ignored after GOAWAY.
    if (!request.session.isOpen(request.id)) return;
    const message = readMessage(request);
    const act = script.take(message.token);
    if (act === undefined) return answer(message);
    perform(act, request, {
      record: (status, body) => record(message, status, reasonIn(body)),
      goAwayText: GO_AWAY_TEXT,
    });
  }

  function answer(message: ReceivedMessage): void {
    const { session, id } = message.request;
    const refusal = refusalOf(message);
    if (refusal === undefined) {
      record(message, 200, undefined);
      const name = `projects/${account.projectId}/messages/0:${randomUUID()}`;
      return session.answer(id, 200, JSON_FIELDS, JSON.stringify({ name }));
    }
    record(message, refusal.status, refusal.reason);
    session.answer(id, refusal.status, JSON_FIELDS, refusal.body);
  }

  function refusalOf({ request: { fields }, json }: ReceivedMessage): FcmRefusal | undefined {
    if (fields.get(':method') !== 'POST' || fields.get(':path') !== path) {
      return refusal(404, 'NOT_FOUND', undefined);
    }
    if (!issuer.knows(fields.get('authorization'), nowMs())) {
      return refusal(401, 'UNAUTHENTICATED', undefined, NOT_SIGNED_IN);
    }
    const isJson = /^application\/json\b/.test(fields.get('content-type') ?? '');
    if (json === undefined || !isJson) {
      return refusal(400, 'INVALID_ARGUMENT', undefined, 'Invalid JSON payload received.');
    }
    const fault = fcmFault(json);
    return fault && wrongMessage(fault);
  }

  function record(
    { request: { fields, body }, token }: ReceivedMessage,
    status: number | undefined,
    reason: string | undefined,
  ): void {
    const { authorization: _, ...shown } = Object.fromEntries(fields);
    const payload = body.toString();
    arrivals.add({ atMs: nowMs(), token, payload, fields: shown, status, reason });
  }

  async function answerForm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= FORM_BYTES_MAX) chunks.push(chunk);
    }
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    delays.after(tokenScript, () => {
      const isRight = request.method === 'POST' && request.url === TOKEN_PATH;
      const act = isRight ? tokenScript.take('access-token') : undefined;
      if (act?.act === 'hang') return;
      if (act !== undefined && act.act !== 'answer') return void request.socket.destroy();
      const { status, body } = isRight
        ? issuer.answer(form, nowMs())
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
    arrivals,
    script,
    tokenScript,
    issuer,
    sessions: server.sessions,
    async [Symbol.asyncDispose]() {
      delays[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** A request, parsed. */
interface ReceivedMessage {
  readonly request: ServedRequest;
  readonly json: JsonObject | undefined;
  /** Of the device; empty if the request has none. */
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

/** The status names that FCM sends with each HTTP status. Source: google.rpc.Code. */
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

function readMessage(request: ServedRequest): ReceivedMessage {
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
