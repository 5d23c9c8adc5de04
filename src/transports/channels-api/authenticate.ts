import { type App, secretOf } from '../../channels/app.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { md5, sameSignature, sign } from '../../channels/signatures/signature.ts';
import {
  decodeLeniently,
  hasTooManyParameters,
  PARAMETERS_MAX,
  type RequestTarget,
  withoutPrefix,
} from '../request-target.ts';
import { ApiRefusal, invalid } from './problems.ts';
import { arrayForms, literalForm, type Parameter, parameterOf, readQuery } from './query.ts';
import { Unauthenticated } from './unauthenticated.ts';

/** Whole seconds that a request's clock may be off, exclusive. Source: Channels protocol, §14.1. */
const TIMESTAMP_TOLERANCE_SECONDS = 600;

/** Seconds since 1970, as requests have them. */
const TIMESTAMP = /^\d{1,12}$/;

export interface SignedHead {
  /** The app in the path; `undefined` if the path names no app. */
  readonly appId: string | undefined;
  readonly method: string;
  readonly target: RequestTarget;
  /** The path prefix of the server; some libraries sign the path with it and some without. */
  readonly pathPrefix: string;
  /** Whether the request may be signed in advance: with `expires`, until which the signature is valid. */
  readonly mayBePresigned?: boolean;
}

/** The app that sent a request, and the parameters as its signature confirms them. */
export interface Authenticated {
  readonly app: App;
  readonly parameters: readonly Parameter[];
}

/**
 * Checks the signature of a request. It covers the digest of the body, so the body is not needed yet. The error texts are
 * those of the hosted service, which people search for. Source: §14.1.
 */
export function authenticate(
  apps: AppDirectory,
  request: SignedHead,
  nowMs: number,
): Authenticated | ApiRefusal {
  const { appId } = request;
  const { query } = request.target;
  if (hasTooManyParameters(query)) {
    return invalid(`Too many query parameters: at most ${PARAMETERS_MAX} are allowed`);
  }
  const parameters = readQuery(query);
  const key = parameterOf(parameters, 'auth_key');
  if (key === undefined)
    return new Unauthenticated('missing-parameter', 'Missing parameter: auth_key');
  const app = apps.byKey(key);
  const secret = app === undefined ? undefined : secretOf(app, key);
  if (app === undefined || secret === undefined) {
    return new Unauthenticated('unknown-key', 'Unknown auth_key');
  }
  // The same answer, as of the hosted service. Our log and the problems of both apps tell the difference.
  if (appId !== undefined && app.id !== appId) {
    return new Unauthenticated('key-of-another-app', 'Unknown auth_key', app);
  }
  const known =
    refuseVersion(parameterOf(parameters, 'auth_version')) ??
    (request.mayBePresigned === true
      ? refusePresigned(parameters, nowMs)
      : refuseTimestamp(parameterOf(parameters, 'auth_timestamp'), nowMs)) ??
    checkSignature({ app, secret, request, parameters });
  if (!(known instanceof ApiRefusal)) app.keyUses?.of(key)?.note('request');
  return known;
}

/** Refuses a body that is not the one that was signed. */
export function refuseBody(
  parameters: readonly Parameter[],
  body: Uint8Array,
): ApiRefusal | undefined {
  const given = parameterOf(parameters, 'body_md5');
  if (given === undefined) {
    return body.length === 0
      ? undefined
      : new Unauthenticated(
          'missing-parameter',
          'Missing parameter: body_md5 is required when the body is not empty',
        );
  }
  const expected = md5(body);
  return sameSignature(expected, given) || sameSignature(expected, given.toLowerCase())
    ? undefined
    : new Unauthenticated(
        'body',
        'Invalid body_md5: it is not the MD5 digest of the body that was received',
      );
}

function refuseVersion(version: string | undefined): ApiRefusal | undefined {
  if (version === undefined) return new Unauthenticated('version', 'Version required');
  return version === '1.0' ? undefined : new Unauthenticated('version', 'Version not supported');
}

function refuseTimestamp(timestamp: string | undefined, nowMs: number): ApiRefusal | undefined {
  if (timestamp === undefined) return new Unauthenticated('timestamp', 'Timestamp required');
  if (!TIMESTAMP.test(timestamp)) {
    return new Unauthenticated(
      'timestamp',
      'Timestamp required: auth_timestamp must be an integer, in seconds',
    );
  }
  const given = Number(timestamp);
  // Whole seconds on both sides, so that exactly 600 is too many ahead as well as behind.
  const offSeconds = Math.abs(Math.floor(nowMs / 1000) - given);
  if (offSeconds < TIMESTAMP_TOLERANCE_SECONDS) return undefined;
  return new Unauthenticated(
    'clock',
    `Timestamp expired: Given timestamp (${isoSeconds(given * 1000)}) not within ${TIMESTAMP_TOLERANCE_SECONDS}s of server time (${isoSeconds(nowMs)})`,
  );
}

/** The longest time between the signature of a request that is signed in advance and its end. Seconds. */
const PRESIGNED_SECONDS_MAX = 86_400;

/** Refuses a request that may be signed in advance by its times. Without `expires` it is one like all others. */
function refusePresigned(parameters: readonly Parameter[], nowMs: number): ApiRefusal | undefined {
  const timestamp = parameterOf(parameters, 'auth_timestamp');
  const expires = expiryOf(parameters);
  const signedAt = Number(timestamp);
  // What was signed long ago is judged by its end only.
  const isOfThePast = TIMESTAMP.test(timestamp ?? '') && 1000 * signedAt <= nowMs;
  const refused =
    expires !== undefined && isOfThePast ? undefined : refuseTimestamp(timestamp, nowMs);
  if (refused !== undefined || expires === undefined) return refused;
  const isInRange = expires > signedAt && expires <= signedAt + PRESIGNED_SECONDS_MAX;
  if (!isInRange) {
    return invalid(
      `expires: must be a time in seconds, at most ${PRESIGNED_SECONDS_MAX} after auth_timestamp`,
    );
  }
  return expires * 1000 > nowMs ? undefined : new Unauthenticated('expired', 'Signature expired');
}

/** Returns when a request ends that is signed in advance, in seconds since 1970; `NaN` if that is no time. */
export function expiryOf(parameters: readonly Parameter[]): number | undefined {
  const text = parameterOf(parameters, 'expires');
  if (text === undefined) return undefined;
  return TIMESTAMP.test(text) ? Number(text) : Number.NaN;
}

function isoSeconds(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

interface SignedRequest {
  readonly app: App;
  readonly secret: string;
  readonly request: SignedHead;
  readonly parameters: readonly Parameter[];
}

function checkSignature(signed: SignedRequest): Authenticated | ApiRefusal {
  const { app, secret, request, parameters } = signed;
  const sent = parameterOf(parameters, 'auth_signature');
  if (sent === undefined)
    return new Unauthenticated('missing-parameter', 'Missing parameter: auth_signature');

  const path = request.target.path;
  const likeliest = `${request.method}\n${path}\n${literalForm(parameters)}`;
  if (sameSignature(sign(secret, likeliest), sent)) return { app, parameters };
  return (
    inAnotherSpelling(signed, sent) ??
    new Unauthenticated(
      'signature',
      `Invalid signature: you should have sent HmacSHA256Hex(${JSON.stringify(likeliest)}, your_secret_key), but you sent ${JSON.stringify(sent)}`,
    )
  );
}

/** The limit of spellings to try; no library needs more. */
const SPELLINGS_MAX = 12;

/** Tries other spellings of the signed text: not all libraries sign exactly what they send. */
function inAnotherSpelling(
  { app, secret, request, parameters }: SignedRequest,
  sent: string,
): Authenticated | undefined {
  const readings = request.target.query.includes('+')
    ? [parameters, readQuery(request.target.query, 'plus')]
    : [parameters];
  const paths = signedPaths(request);
  const tried = new Set<string>();
  for (const reading of readings) {
    for (const form of [literalForm(reading), ...arrayForms(reading)]) {
      for (const path of paths) {
        for (const method of signedMethods(request)) {
          const text = `${method}\n${path}\n${form}`;
          if (tried.has(text)) continue;
          if (tried.size === SPELLINGS_MAX) return undefined;
          tried.add(text);
          if (sameSignature(sign(secret, text), sent)) return { app, parameters: reading };
        }
      }
    }
  }
  return undefined;
}

/** HEAD may have the signature of the GET that it stands for: a cache may turn one into the other. */
function signedMethods({ method }: SignedHead): readonly string[] {
  return method === 'HEAD' ? [method, 'GET'] : [method];
}

/** The forms of the path that may have been signed, escaped and not escaped. */
function signedPaths(request: SignedHead): readonly string[] {
  const sent = sentPaths(request);
  return request.target.path.includes('%') ? [...sent, ...sent.map(decodeLeniently)] : sent;
}

/** As it was sent; without the prefix, as PHP signs it; with the prefix, if a proxy has removed it. */
function sentPaths({ target, pathPrefix }: SignedHead): readonly string[] {
  if (pathPrefix === '') return [target.path];
  const bare = withoutPrefix(target.path, pathPrefix);
  return bare === target.path ? [bare, pathPrefix + bare] : [target.path, bare];
}
