import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { localHosts, makeSelfSigned } from '../../certificates/self-signed.ts';
import { ERROR } from '../../outgoing/http2/frames/protocol.ts';
import type { Certificate } from '../../runtime/certificate.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import type { ServedRequest } from '../http2-server.ts';
import {
  type NotificationAnswer,
  type NotificationServer,
  serveNotifications,
} from '../notification-server.ts';
import { type Act, Script } from '../script.ts';
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
  /** The limit of concurrent requests per connection. FCM allows 100, and closes a connection with more. */
  readonly streamsMax?: number;
  /** The limit that it announces, if it is another one. */
  readonly streamsAnnounced?: number;
  /** Messages that the log keeps. */
  readonly entriesMax?: number;
  readonly nowMs?: () => number;
}

/**
 * A fake of FCM and of the OAuth service that issues access tokens: it checks each message as FCM does, and delivers
 * nothing.
 */
export interface FakeFcm extends NotificationServer {
  /** The certificate that clients must trust, as PEM. */
  readonly ca: string;
  /** Where access tokens are issued. */
  readonly tokenUri: string;
  /** The JSON file of the service account that may send. */
  readonly accountFile: string;
  /** For requests for access tokens, whose token is `access-token`. */
  readonly tokenScript: Script;
  readonly issuer: AccessTokenIssuer;
}

/** Source: push protocol, §8.2. */
const STREAMS_MAX = 100;

const TOKEN_PATH = '/token';
const FORM_BYTES_MAX = 16 * 1024;

const JSON_FIELDS = { 'content-type': 'application/json; charset=UTF-8' };

const TOO_MANY = 'exceeded_max_concurrent_streams';

export async function startFakeFcm(options: FakeFcmOptions = {}): Promise<FakeFcm> {
  const { host = '127.0.0.1', port = 0, nowMs = Date.now } = options;
  const { account = newFakeAccount(), streamsMax = STREAMS_MAX } = options;
  const certificate = options.certificate ?? makeSelfSigned(localHosts(host), nowMs());
  const tokenScript = new Script();
  const path = `/v1/projects/${account.projectId}/messages:send`;
  const issuer = new AccessTokenIssuer(account, () => tokenUri);
  const http1 = createServer((request, response) => void answerForm(request, response));

  const server = await serveNotifications({
    host,
    port,
    certificate,
    streamsMax,
    streamsAnnounced: options.streamsAnnounced,
    onTooMany: (session, id) => session.goAway(id - 1, ERROR.enhanceYourCalm, TOO_MANY),
    onHttp1: (socket) => http1.emit('connection', socket),
    entriesMax: options.entriesMax,
    nowMs,
    read({ fields, body }) {
      const json = readJsonObject(body);
      return { token: tokenIn(json), answer: () => answer(fields, json) };
    },
    reasonIn,
    goAwayText: 'session_timeout',
  });
  const tokenUri = server.origin + TOKEN_PATH;

  function answer(
    fields: ServedRequest['fields'],
    json: JsonObject | undefined,
  ): NotificationAnswer {
    if (fields.get(':method') !== 'POST' || fields.get(':path') !== path) {
      return refusal({ status: 404, name: 'NOT_FOUND' });
    }
    if (!issuer.knows(fields.get('authorization'), nowMs())) {
      return refusal({ status: 401, name: 'UNAUTHENTICATED', message: NOT_SIGNED_IN });
    }
    const isJson = /^application\/json\b/.test(fields.get('content-type') ?? '');
    if (json === undefined || !isJson) {
      return refusal({
        status: 400,
        name: 'INVALID_ARGUMENT',
        message: 'Invalid JSON payload received.',
      });
    }
    const fault = fcmFault(json);
    if (fault !== undefined) return wrongMessage(fault);
    const name = `projects/${account.projectId}/messages/0:${randomUUID()}`;
    return { status: 200, fields: JSON_FIELDS, body: JSON.stringify({ name }) };
  }

  async function answerForm(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= FORM_BYTES_MAX) chunks.push(chunk);
    }
    const form = new URLSearchParams(Buffer.concat(chunks).toString());
    tokenScript.afterLatency(() => {
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
    ...server,
    ca: certificate.cert,
    tokenUri,
    accountFile: accountFile(account, tokenUri),
    tokenScript,
    issuer,
    async [Symbol.asyncDispose]() {
      tokenScript[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

const NOT_SIGNED_IN =
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.';

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';

interface Refusal {
  readonly status: number;
  /** Of the status. Source: google.rpc.Code. */
  readonly name: string;
  readonly errorCode?: string | undefined;
  readonly message?: string;
  readonly details?: readonly object[];
}

function refusal({
  status,
  name,
  errorCode,
  message = '',
  details = [],
}: Refusal): Required<NotificationAnswer> {
  const own = errorCode === undefined ? [] : [{ '@type': FCM_ERROR, errorCode }];
  const error = { code: status, message, status: name, details: [...own, ...details] };
  const body = JSON.stringify({ error });
  return { status, fields: JSON_FIELDS, body, reason: errorCode ?? name };
}

function wrongMessage({ field, description }: FcmMessageFault): NotificationAnswer {
  const message = `Invalid value at '${field}': ${description}`;
  const name = 'INVALID_ARGUMENT';
  const details = [{ '@type': BAD_REQUEST, fieldViolations: [{ field, description }] }];
  return refusal({ status: 400, name, errorCode: name, message, details });
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
  const name = statusNames[status] ?? 'UNKNOWN';
  const { body } = refusal({ status, name, errorCode, details });
  return { act: 'answer', status, fields, body };
}

/** The token or installation id of the device; empty if the request names no device. */
function tokenIn(json: JsonObject | undefined): string {
  const message = json?.['message'];
  const device = isJsonObject(message) ? (message['token'] ?? message['fid']) : undefined;
  return typeof device === 'string' ? device : '';
}

function reasonIn({ error }: JsonObject): unknown {
  if (!isJsonObject(error)) return undefined;
  const { status, details } = error;
  const list = Array.isArray(details) ? details.filter(isJsonObject) : [];
  const own = list.find((detail) => detail['@type'] === FCM_ERROR);
  return own?.['errorCode'] ?? status;
}
