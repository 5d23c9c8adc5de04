import type { App } from '../../channels/app.ts';
import type { AppDirectory } from '../../channels/ports.ts';
import type { KeyUse } from '../../runtime/keys/key-uses.ts';
import { decodeLeniently, type RequestTarget, withoutPrefix } from '../request-target.ts';
import { closeCodes, type RefusalProblem } from './closing/close-codes.ts';

/** A client that may connect. */
export interface Admitted {
  readonly app: App;
  /** The use of the key that the client named. */
  readonly keyUse: KeyUse | undefined;
}

/** Whether a client may connect, decided from the requested address alone. */
export type Admission =
  | Admitted
  | { readonly app?: undefined; readonly problem: RefusalProblem; readonly message: string };

const PROTOCOL_MIN = 5;
const PROTOCOL_MAX = 7;
const APP_PATH = /^\/app\/([^/]+)\/?$/;

/** Finds the app of a client's handshake, or why it is refused. Source: Channels protocol, §1 and §1.1. */
export function admit(target: RequestTarget, prefix: string, apps: AppDirectory): Admission {
  const match = APP_PATH.exec(withoutPrefix(target.path, prefix));
  if (match === null) return refused('path-not-found');

  return admitKey(match[1] ?? '', target.query, apps);
}

/** Decides about a client whose path is already parsed. `keyText`: the app key exactly as in the path. */
export function admitKey(keyText: string, query: string, apps: AppDirectory): Admission {
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
  return app.enabled ? { app, keyUse: app.keyUses?.of(key) } : refused('app-disabled');
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

function refused(
  problem: RefusalProblem,
  message: string = closeCodes[problem].message,
): Admission {
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
