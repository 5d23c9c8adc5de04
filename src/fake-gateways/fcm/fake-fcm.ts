import { randomUUID } from 'node:crypto';
import { localHosts, makeSelfSigned } from '../../certificates/self-signed.ts';
import { ERROR } from '../../outgoing/http2/frames/protocol.ts';
import { isJsonObject, type JsonObject, readJsonObject } from '../../runtime/json-object.ts';
import type { Certificate } from '../../runtime/tls/certificate.ts';
import type { Http2ServedRequest } from '../http2-server.ts';
import {
  type NotificationAnswer,
  type NotificationServer,
  serveNotifications,
} from '../notification-server.ts';
import type { Act, FaultScript } from '../script.ts';
import {
  AccessTokenIssuer,
  accountFile,
  type FakeAccount,
  newFakeAccount,
} from './access-token-issuer.ts';
import { type FcmMessageFault, fcmFault } from './message-check.ts';
import { TOKEN_PATH, TokenEndpoint } from './token-endpoint.ts';

export interface FakeFcmOptions {
  /** 0: any free port. */
  readonly port?: number;
  readonly host?: string;
  /** What it listens on, if that is not `host`. */
  readonly address?: string;
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
  readonly tokenScript: FaultScript;
  readonly issuer: AccessTokenIssuer;
}

/** Source: push protocol, §8.2. */
const STREAMS_MAX = 100;

const JSON_FIELDS = { 'content-type': 'application/json; charset=UTF-8' };

const TOO_MANY = 'exceeded_max_concurrent_streams';

export async function startFakeFcm(options: FakeFcmOptions = {}): Promise<FakeFcm> {
  const { host = '127.0.0.1', port = 0, nowMs = Date.now } = options;
  const { account = newFakeAccount(), streamsMax = STREAMS_MAX } = options;
  const certificate = options.certificate ?? makeSelfSigned(localHosts(host), nowMs());
  const issuer = new AccessTokenIssuer(account, () => tokenUri);
  const tokens = new TokenEndpoint(issuer, nowMs);
  const isSignedIn = (authorization: string | undefined) => issuer.knows(authorization, nowMs());

  const server = await serveNotifications({
    host,
    address: options.address,
    port,
    certificate,
    streamsMax,
    streamsAnnounced: options.streamsAnnounced,
    onTooMany: (session, id) => session.goAway(id - 1, ERROR.enhanceYourCalm, TOO_MANY),
    onHttp1: (socket) => tokens.server.emit('connection', socket),
    entriesMax: options.entriesMax,
    nowMs,
    read({ fields, body }) {
      const json = readJsonObject(body);
      const { projectId } = account;
      return {
        token: tokenIn(json),
        answer: () => answer(fields, json, { projectId, isSignedIn }),
      };
    },
    reasonIn,
    goAwayText: 'session_timeout',
  });
  const tokenUri = server.origin + TOKEN_PATH;
  return {
    ...server,
    ca: certificate.cert,
    tokenUri,
    accountFile: accountFile(account, tokenUri),
    tokenScript: tokens.script,
    issuer,
    async [Symbol.asyncDispose]() {
      tokens.script[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

interface Sender {
  readonly projectId: string;
  readonly isSignedIn: (authorization: string | undefined) => boolean;
}

/** Checks a message as FCM does. */
function answer(
  fields: Http2ServedRequest['fields'],
  json: JsonObject | undefined,
  { projectId, isSignedIn }: Sender,
): NotificationAnswer {
  const path = `/v1/projects/${projectId}/messages:send`;
  if (fields.get(':method') !== 'POST' || fields.get(':path') !== path) {
    return refusal({ status: 404, name: 'NOT_FOUND' });
  }
  if (!isSignedIn(fields.get('authorization'))) {
    return refusal({ status: 401, name: 'UNAUTHENTICATED', message: NOT_SIGNED_IN });
  }
  const isJson = /^application\/json\b/.test(fields.get('content-type') ?? '');
  if (json === undefined || !isJson) {
    const message = 'Invalid JSON payload received.';
    return refusal({ status: 400, name: 'INVALID_ARGUMENT', message });
  }
  const fault = fcmFault(json);
  if (fault !== undefined) return wrongMessage(fault);
  const name = `projects/${projectId}/messages/0:${randomUUID()}`;
  return { status: 200, fields: JSON_FIELDS, body: JSON.stringify({ name }) };
}

const NOT_SIGNED_IN =
  'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.';

const FCM_ERROR = 'type.googleapis.com/google.firebase.fcm.v1.FcmError';
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest';

interface Refusal {
  readonly status: number;
  /** The name of the status. Source: google.rpc.Code. */
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
