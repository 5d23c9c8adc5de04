import { type TlsPeer, tlsRefusal } from '../../../runtime/tls/certificate-refusal.ts';
import type { RedisEndpoint } from './address.ts';
import { notACluster } from './check-server.ts';
import { RedisAway, RedisError, RedisRefused, type RedisUnsuitable } from './reply.ts';

/** The other end of a connection: a Redis server, or a sentinel. */
export interface Party {
  readonly endpoint: RedisEndpoint;
  readonly isSentinel: boolean;
  /** Whether it is asked as a server of a cluster. */
  readonly isCluster: boolean;
  readonly isSecure: boolean;
  readonly hasCertificate: boolean;
  /** Whether this side has a password for it. */
  readonly hasPassword: boolean;
}

/** The host and port of a server, for display. */
export function placeOf({ endpoint: { host, port } }: Pick<Party, 'endpoint'>): string {
  return `${host}:${port}`;
}

/** What messages about failed TLS say of the party. */
export function tlsPeerOf(party: Party): TlsPeer {
  return {
    at: placeOf(party),
    settings: party.isSentinel ? 'engine.sentinels.tls' : 'engine.tls',
    hasCertificate: party.hasCertificate,
  };
}

/** What is known of a connection that has failed before its first answer. */
export interface FailedStart {
  readonly party: Party;
  /** The error of the socket that ended it. */
  readonly fault: Error | undefined;
  /** Whether anything has arrived. */
  readonly hasHeard: boolean;
}

/** Turns the failure of a new connection into a `RedisRefused`, or says what may be wrong. */
export function startFailure(error: unknown, { party, fault, hasHeard }: FailedStart): unknown {
  if (error instanceof RedisError) return loginFailure(error, party);
  if (!(error instanceof RedisAway)) return error;
  const refusal = fault === undefined ? undefined : tlsRefusal(fault, tlsPeerOf(party));
  if (refusal !== undefined) return new RedisRefused(refusal);
  if (hasHeard || party.isSecure) return error;
  const hint = `${placeOf(party)} has closed the connection without an answer: if it speaks TLS, the address must begin with ${secureScheme(party)}`;
  return new RedisAway(hint, error.mayHaveRun);
}

function secureScheme({ isSentinel, isCluster }: Party): string {
  if (isSentinel) return 'rediss+sentinel://';
  return isCluster ? 'rediss+cluster://' : 'rediss://';
}

/** Errors of Redis on a new connection after which another attempt may succeed. */
const LATER = /^(?:BUSY|LOADING|MASTERDOWN)\b|max number of clients/;

/** Turns an error into `RedisRefused` with what to change, unless another attempt may succeed. */
function loginFailure(
  { message, code }: RedisError,
  party: Party,
): RedisRefused | RedisUnsuitable | RedisAway {
  if (LATER.test(message)) return new RedisAway(message, false);
  if (party.isCluster && /cluster support disabled/.test(message)) return notACluster();
  const repair = repairOf(message, code, party);
  if (repair !== undefined) return new RedisRefused(`${placeOf(party)} ${repair}`);
  return new RedisRefused(party.isSentinel ? `${placeOf(party)}: ${message}` : message);
}

function repairOf(message: string, code: string, party: Party): string | undefined {
  const { isSentinel, hasPassword } = party;
  if (code === 'NOAUTH') {
    return isSentinel
      ? `wants a password (${message}): set engine.sentinels.password`
      : `wants a password (${message}): put it into the address, as in redis://USER:PASSWORD@HOST`;
  }
  if (code === 'WRONGPASS') {
    return isSentinel
      ? `refuses the login (${message}): check engine.sentinels.user and engine.sentinels.password`
      : `refuses the login (${message}): check the user and the password in the address`;
  }
  if (hasPassword && /called without any password configured/.test(message)) {
    return isSentinel
      ? `wants no password (${message}): remove engine.sentinels.password`
      : `wants no password (${message}): remove it from the address`;
  }
  if (isSentinel && code === 'NOPERM') {
    return `does not let its user ask for the primary (${message}): ACL SETUSER NAME +sentinel|master`;
  }
  if (party.isCluster && code === 'NOPERM' && /cluster/.test(message)) {
    return `does not let its user ask for the slots (${message}): ACL SETUSER NAME +cluster|slots`;
  }
  if (isSentinel && /No such master/.test(message)) {
    return `knows no primary of this name (${message}): check the name at the end of the address`;
  }
  if (isSentinel && /unknown command/i.test(message)) {
    return `is no sentinel (${message}): give the address of a server as redis://HOST:PORT`;
  }
  return undefined;
}
