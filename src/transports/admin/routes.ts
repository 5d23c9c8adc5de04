import type { RequestTarget } from '../request-target.ts';
import type { AdminAnswer } from './answers.ts';

/** A request that was let in and whose path fits; nothing else of it is checked. */
export interface AdminCall {
  readonly path: Readonly<Record<string, string>>;
  /** Of a repeated parameter the last. */
  readonly query: Readonly<Record<string, string>>;
  /** Read from JSON; `undefined` where there was none. */
  readonly body: unknown;
  /** Of the client, for the log. */
  readonly address: string;
}

/** One thing that can be asked of this listener. */
export interface AdminRoute {
  readonly method: string;
  /** `{name}` stands for one step. */
  readonly path: string;
  answer(call: AdminCall): Promise<AdminAnswer>;
}

export type Found =
  | {
      readonly found: 'route';
      readonly route: AdminRoute;
      readonly path: Readonly<Record<string, string>>;
    }
  | { readonly found: 'path'; readonly methods: readonly string[] }
  | { readonly found: 'nothing' };

/** Finds what a request asks for. */
export function findRoute(
  routes: readonly AdminRoute[],
  method: string,
  target: RequestTarget,
): Found {
  const fitting = routes.flatMap((route) => {
    const path = stepsOf(route.path, target.path);
    return path === undefined ? [] : [{ route, path }];
  });
  const match = fitting.find(({ route }) => route.method === method);
  if (match !== undefined) return { found: 'route', ...match };
  return fitting.length === 0
    ? { found: 'nothing' }
    : { found: 'path', methods: fitting.map(({ route }) => route.method) };
}

/** What stands at the named steps of a path, or `undefined` where it is another path. */
function stepsOf(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const given = path.split('/');
  if (wanted.length !== given.length) return undefined;
  const steps: Record<string, string> = {};
  for (const [index, step] of wanted.entries()) {
    const text = decoded(given[index] ?? '');
    const name = /^\{(\w+)\}$/.exec(step)?.[1];
    if (name === undefined ? step !== text : text === '' || text === undefined) return undefined;
    if (name !== undefined && text !== undefined) steps[name] = text;
  }
  return steps;
}

function decoded(step: string): string | undefined {
  try {
    const text = decodeURIComponent(step);
    // PostgreSQL has no text with this character in it, so nothing is called like this.
    return text.includes('\0') ? undefined : text;
  } catch {
    // No path of ours is written like this.
    return undefined;
  }
}
