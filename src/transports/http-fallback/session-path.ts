/** What a request wants of its session: to receive by a stream or one answer, or to send. */
export type Purpose = 'stream' | 'poll' | 'send';

/** The address of a request, taken apart. Source: HTTP transports, §2. */
export interface SessionPath {
  /**
   * Identifies the session: the app key, and the client's random part. A secret, because it allows taking over the
   * session.
   */
  readonly session: string;
  /** The key of the app; not decoded. */
  readonly key: string;
  readonly purpose: Purpose;
}

const PURPOSES: ReadonlyMap<string | undefined, Purpose> = new Map([
  ['xhr_streaming', 'stream'],
  ['xhr', 'poll'],
  ['xhr_send', 'send'],
]);

/** `/pusher` is the default of pusher-js; a page that sets `httpPath` to its own prefix leaves it out. */
const PATH =
  /^(?:\/pusher)?\/app\/([^/]{0,200})\/([^/.]{1,64})\/([^/.]{1,64})\/(xhr_streaming|xhr|xhr_send)$/;

/** Reads a path without the prefix of the server; `undefined` if it is no path of a session. */
export function readSessionPath(path: string): SessionPath | undefined {
  const match = PATH.exec(path);
  const purpose = PURPOSES.get(match?.[4]);
  if (match === null || purpose === undefined) return undefined;
  const [, key = '', server, session] = match;
  return { session: `${key}/${server}/${session}`, key, purpose };
}

/** Whether a path may belong to the HTTP transports; without the prefix of the server. Costs next to nothing. */
export function isFallbackPath(path: string): boolean {
  // For triggers, which are most requests, this stops at the sixth character: `/apps/…`.
  return path.startsWith('/pusher/') || (path.startsWith('/app/') && PATH.test(path));
}

/**
 * Returns the number of a request; `undefined` if it has none. The client numbers all requests of its page. Old
 * clients do not. Source: HTTP transports, §2 and §8.
 */
export function numberOf(query: string): number | undefined {
  const digits = /(?:^|&)n=(\d{1,15})(?:&|$)/.exec(query)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
