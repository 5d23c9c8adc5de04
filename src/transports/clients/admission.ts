import type { App } from '../../channels/app.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import { allowsOrigin } from '../../runtime/allowed-origins.ts';
import type { KeyUse } from '../../runtime/keys/key-uses.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { decodeLeniently, type RequestTarget, withoutPrefix } from '../request-target.ts';
import { closeCodes, type RefusalProblem } from './closing/close-codes.ts';

/** A client that may connect. */
export interface Admitted {
  readonly app: App;
  /** The use of the key that the client named. */
  readonly keyUse: KeyUse | undefined;
  readonly problem?: undefined;
}

/** A client that may not. */
interface Refused {
  readonly problem: RefusalProblem;
  readonly message: string;
  /** The app that it may not use, if the app's operators can change that. */
  readonly app?: App | undefined;
  /** What they read in place of the message. */
  readonly note?: string;
}

/** Whether a client may connect, decided from the head of its request alone. */
export type Admission = Admitted | Refused;

/** What a client says about itself in the head of its request. */
export interface Introduction {
  readonly query: string;
  /** Browsers name the page that connects; most other clients send none. */
  readonly origin: string | undefined;
}

/** Longer ones are cut where operators read them. */
const ORIGIN_SHOWN_MAX = 200;

const PROTOCOL_MIN = 5;
const PROTOCOL_MAX = 7;
const APP_PATH = /^\/app\/([^/]+)\/?$/;

/** Finds the app of a client's handshake, or why it is refused. Source: Channels protocol, §1 and §1.1. */
export function admit(
  { path, query, origin }: RequestTarget & Introduction,
  prefix: string,
  apps: AppDirectory,
): Admission {
  const match = APP_PATH.exec(withoutPrefix(path, prefix));
  if (match === null) return refused('path-not-found');

  return admitKey(match[1] ?? '', { query, origin }, apps);
}

/** Decides about a client whose path is already parsed. `keyText`: the app key exactly as in the path. */
export function admitKey(
  keyText: string,
  { query, origin = '' }: Introduction,
  apps: AppDirectory,
): Admission {
  const protocol = protocolOf(query);
  if (typeof protocol === 'string') return refused(protocol);

  const key = decodeLeniently(keyText);
  const app = apps.byKey(key);
  if (app === undefined) {
    return refused(
      'app-not-found',
      `App key ${key.slice(0, 100)} not in this cluster. Did you forget to specify the cluster?`,
    );
  }
  if (!app.enabled) return refused('app-disabled');
  if (origin !== '' && !allowsOrigin(app.allowedOrigins, origin)) {
    const note = `Origin not allowed: ${printable(origin.slice(0, ORIGIN_SHOWN_MAX))}`;
    return { ...refused('origin-not-allowed'), app, note };
  }
  return { app, keyUse: app.keyUses?.of(key) };
}

/** Returns the first value of a parameter in the query of a handshake. */
export function parameterOf(query: string, name: string): string | null {
  if (query.includes('%') || query.includes('+')) return new URLSearchParams(query).get(name);
  // Without `split` if nothing needs decoding: this runs several times for each handshake.
  for (let at = 0; at < query.length; ) {
    const ampersand = query.indexOf('&', at);
    const end = ampersand < 0 ? query.length : ampersand;
    const equals = at + name.length;
    if (query.startsWith(name, at)) {
      if (equals === end) return '';
      if (query[equals] === '=') return query.slice(equals + 1, end);
    }
    at = end + 1;
  }
  return null;
}

/** Old clients send no protocol: it is the major part of their version. */
function protocolOf(query: string): number | RefusalProblem {
  const text =
    parameterOf(query, 'protocol') ?? /^\d+/.exec(parameterOf(query, 'version') ?? '')?.[0];
  if (text === undefined) return 'no-protocol';
  if (!/^-?\d+$/.test(text)) return 'bad-protocol';
  const number = Number(text);
  return number >= PROTOCOL_MIN && number <= PROTOCOL_MAX ? number : 'unsupported-protocol';
}

function refused(problem: RefusalProblem, message: string = closeCodes[problem].message): Refused {
  return { problem, message };
}

const KNOWN_SUBPROTOCOL = /^pusher-channels-protocol-\d+$/;

/** Returns the subprotocol to echo: strict clients fail the handshake otherwise. Source: §1. */
export function knownSubprotocol(offered: string): string | undefined {
  return offered
    .split(',')
    .map((name) => name.trim())
    .find((name) => KNOWN_SUBPROTOCOL.test(name));
}
