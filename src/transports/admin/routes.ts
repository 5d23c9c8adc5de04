import type { Caller } from '../../runtime/caller.ts';
import type { RequestTarget } from '../request-target.ts';
import type { Denial, LogIn, RequestSender } from './access.ts';
import type { AdminAnswer } from './answers.ts';
import type { AdminRequestHead } from './request-head.ts';

/** The session of the browser that sent a request. */
export interface CallSession {
  /** Begins a session, whose cookie comes with the answer; or returns why not. */
  logIn(given: LogIn): Denial | undefined;
  /** Makes the browser forget its session. */
  logOut(): void;
  /** Makes the token of a link that logs in once, within ten minutes. It invalidates earlier links. */
  makeLink(): string;
}

/** A request that was allowed and matches a route. Its query and body are not checked yet. */
export interface AdminCall {
  readonly path: Readonly<Record<string, string>>;
  /** The last of repeated parameters counts. */
  readonly query: Readonly<Record<string, string>>;
  /** Parsed JSON; `undefined` if there was no body. */
  readonly body: unknown;
  readonly head: AdminRequestHead;
  readonly sender: RequestSender;
  /** Nobody, if the route is open. */
  readonly caller: Caller;
  readonly session: CallSession;
  /** Aborts when the client has disconnected or, during a streamed answer, is no longer authorised. */
  readonly signal: AbortSignal;
  /** Counts that the caller may do nothing, and logs it once a minute for each client. */
  reportRefused(why: 'no-role'): void;
}

/** One route of the listener. */
export interface AdminRoute {
  readonly method: string;
  /** `{name}` stands for one segment; a last segment `{...}` for any number of them. */
  readonly path: string;
  /** Whether a request with these segments needs no password. Without it, each needs one. */
  readonly isOpen?: (path: Readonly<Record<string, string>>) => boolean;
  /**
   * Whether anonymous requests with this query are answered. A request with a password must still have the right one.
   */
  readonly isForNobody?: (query: Readonly<Record<string, string>>) => boolean;
  answer(call: AdminCall): Promise<AdminAnswer>;
}

export type FoundAdminRoute =
  | {
      readonly found: 'route';
      readonly route: AdminRoute;
      readonly path: Readonly<Record<string, string>>;
    }
  | { readonly found: 'path'; readonly methods: readonly string[] }
  | { readonly found: 'nothing' };

/** Finds the route of a request. A path with fewer variables wins, whatever its methods. */
export function findRoute(
  routes: readonly AdminRoute[],
  { method, target }: { readonly method: string; readonly target: RequestTarget },
): FoundAdminRoute {
  const fitting = routes.flatMap((route) => {
    const path = segmentsOf(route.path, target.path);
    return path === undefined ? [] : [{ route, path, variables: route.path.split('{').length }];
  });
  const fewest = Math.min(...fitting.map(({ variables }) => variables));
  const matching = fitting.filter(({ variables }) => variables === fewest);
  const match = matching.find(({ route }) => route.method === method);
  if (match !== undefined) return { found: 'route', route: match.route, path: match.path };
  return matching.length === 0
    ? { found: 'nothing' }
    : { found: 'path', methods: matching.map(({ route }) => route.method) };
}

/** The values of the named segments of a path; `undefined` if the path does not match. */
function segmentsOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.at(-1) === '{...}') {
    wanted.pop();
    given.splice(wanted.length);
  }
  if (wanted.length !== given.length) return undefined;
  const segments: Record<string, string> = {};
  for (const [index, segment] of wanted.entries()) {
    const text = decoded(given[index] ?? '');
    const name = /^\{(\w+)\}$/.exec(segment)?.[1];
    if (name === undefined ? segment !== text : text === '' || text === undefined) return undefined;
    if (name !== undefined && text !== undefined) segments[name] = text;
  }
  return segments;
}

function decoded(segment: string): string | undefined {
  try {
    const text = decodeURIComponent(segment);
    // PostgreSQL cannot store this character, so no id has it.
    return text.includes('\0') ? undefined : text;
  } catch {
    // Invalid percent-encoding matches no route.
    return undefined;
  }
}
