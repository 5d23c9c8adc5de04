import { eventually } from '../eventually.ts';
import type { Fanfare } from '../servers/fanfare.ts';

/** An answer of the admin listener. */
export interface AdminAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `undefined` if it is empty or no JSON. */
  readonly json: unknown;
}

export interface AdminRequest {
  /** Sent as JSON. */
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent without the password that the server has made. */
  readonly anonymous?: boolean;
}

/** A server whose admin API can be asked. */
export type AdminServer = Pick<Fanfare, 'adminPort' | 'adminPassword'> &
  Partial<Pick<Fanfare, 'nodes'>>;

/** Asks the admin listener for a path of its API, or with a leading `//` for any path. */
export async function admin(
  server: AdminServer,
  method: string,
  path: string,
  { body, raw, headers, anonymous = false }: AdminRequest = {},
): Promise<AdminAnswer> {
  const target = path.startsWith('//') ? path.slice(1) : `/api/v1${path}`;
  const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  const password = anonymous ? undefined : server.adminPassword;
  const response = await fetch(`http://127.0.0.1:${server.adminPort}${target}`, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(password === undefined ? {} : { authorization: `Bearer ${password}` }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
}

export interface MadeApp {
  readonly id: string;
  readonly key: string;
  readonly secret: string;
}

/** Makes an app in the store. */
export async function makeApp(server: AdminServer, settings: object = {}): Promise<MadeApp> {
  const { status, json, text } = await admin(server, 'POST', '/apps', { body: settings });
  if (status !== 201) throw new Error(`${status} ${text}`);
  const { id, keys } = json as { id: string; keys: { key: string; secret: string }[] };
  await everyServerTakes(server, `/apps/${id}`);
  return { id, key: keys[0]?.key ?? '', secret: keys[0]?.secret ?? '' };
}

/**
 * Settles when all servers that act as one serve an app or instance as it is in the store. The others learn of a change
 * within a second, and at once of one that they make themselves.
 */
export async function everyServerTakes(server: AdminServer, path: string): Promise<void> {
  for (const node of server.nodes?.slice(1) ?? []) {
    const { status, text } = await admin(node, 'PATCH', path, { body: {} });
    if (status !== 200) throw new Error(`${status} ${text}`);
  }
}

export interface ListedWebhook {
  readonly id: string;
  readonly app: string;
  readonly state: string;
  readonly attempts: number;
}

/** Waits until this many webhooks match the query, and returns them. The outbox is written four times a second. */
export async function webhooksOf(
  server: AdminServer,
  query: string,
  count: number,
): Promise<readonly ListedWebhook[]> {
  const list = async () => {
    const { status, json, text } = await admin(server, 'GET', `/webhooks?${query}`);
    if (status !== 200) throw new Error(text);
    return (json as { webhooks: ListedWebhook[] }).webhooks;
  };
  return await eventually(list, ({ length }) => length === count);
}
