/** One record of the live stream. */
export interface LiveRecord {
  readonly n: number;
  readonly atMs: number;
  readonly node?: string;
  readonly kind: string;
  readonly socket?: string;
  readonly user?: string;
  readonly channel?: string;
  readonly event?: string;
  /** Cut at 1 KiB; `bytes` is the whole length. */
  readonly data?: string;
  readonly bytes?: number;
  readonly receivers?: number;
  /** The nearest occupied channel, where nobody received the event. */
  readonly near?: string | null;
  readonly except?: string;
  readonly key?: string;
  readonly reason?: string;
  readonly advice?: string;
  readonly transport?: string;
  readonly code?: number;
  readonly host?: string;
  readonly status?: number | null;
  readonly outcome?: string;
}

/** The eight groups in which the page shows kinds. */
export const groups = [
  { id: 'api', word: 'API', icon: 'api', kinds: ['api'] },
  { id: 'client', word: 'client', icon: 'send', kinds: ['client'] },
  {
    id: 'subscription',
    word: 'subscription',
    icon: 'check',
    kinds: ['subscribed', 'unsubscribed'],
  },
  {
    id: 'connection',
    word: 'connection',
    icon: 'connection',
    kinds: ['connected', 'disconnected', 'signed-in'],
  },
  {
    id: 'channel',
    word: 'channel',
    icon: 'channel',
    kinds: ['occupied', 'vacated', 'count', 'cache-miss'],
  },
  { id: 'presence', word: 'presence', icon: 'person', kinds: ['member-added', 'member-removed'] },
  { id: 'webhook', word: 'webhook', icon: 'webhook', kinds: ['webhook'] },
  {
    id: 'error',
    word: 'error',
    icon: 'problem',
    kinds: ['refused', 'error', 'slow', 'quota', 'terminated'],
  },
] as const;

export type GroupId = (typeof groups)[number]['id'];

const byKind = new Map(
  groups.flatMap((group) => group.kinds.map((kind) => [kind as string, group])),
);

/** The group of a kind. A kind that this page does not know is shown as an error, so that nobody misses it. */
export function groupOf(kind: string): (typeof groups)[number] {
  return byKind.get(kind) ?? groups[7];
}

/** The groups that `kinds=api,error` names; all of them if it names none. */
export function groupsIn(text: string | undefined): readonly GroupId[] {
  const named = groups.map(({ id }) => id).filter((id) => text?.split(',').includes(id));
  return named.length === 0 ? groups.map(({ id }) => id) : named;
}

/** What narrows the stream. A channel that ends in `*` stands for all that begin with it. */
export interface LiveFilter {
  readonly groups: readonly GroupId[];
  readonly channel: string;
  readonly socket: string;
  readonly user: string;
  readonly text: string;
}

/** Reads what stands in the filter field: `channel:private-* user:7 some words`. */
export function parseFilter(typed: string): Omit<LiveFilter, 'groups'> {
  const found = { channel: '', socket: '', user: '' };
  const words = typed.split(/\s+/).filter((word) => {
    const [, field, value = ''] = /^(channel|socket|user):(.*)$/.exec(word) ?? [];
    if (field === undefined) return word !== '';
    found[field as keyof typeof found] = value;
    return false;
  });
  return { ...found, text: words.join(' ') };
}

export function printFilter({ channel, socket, user, text }: Omit<LiveFilter, 'groups'>): string {
  return [
    channel && `channel:${channel}`,
    socket && `socket:${socket}`,
    user && `user:${user}`,
    text,
  ]
    .filter(Boolean)
    .join(' ');
}

/** The query of the stream for a filter. */
export function streamQuery(filter: LiveFilter): Readonly<Record<string, string | undefined>> {
  const { channel, socket, user, text } = filter;
  const isAll = filter.groups.length === groups.length;
  return {
    kinds: isAll
      ? undefined
      : groups
          .filter(({ id }) => filter.groups.includes(id))
          .flatMap(({ kinds }) => kinds)
          .join(','),
    ...(channel.endsWith('*') ? { prefix: channel.slice(0, -1) } : { channel }),
    socket,
    user,
    text,
  };
}

/** Whether a record is of those that a filter lets through. */
export function passes(record: LiveRecord, filter: LiveFilter): boolean {
  const { channel, socket, user, text } = filter;
  if (!filter.groups.includes(groupOf(record.kind).id)) return false;
  if (channel.endsWith('*')) {
    if (record.channel?.startsWith(channel.slice(0, -1)) !== true) return false;
  } else if (channel !== '' && record.channel !== channel) return false;
  if (socket !== '' && record.socket !== socket) return false;
  if (user !== '' && record.user !== user) return false;
  if (text === '') return true;
  const wanted = text.toLowerCase();
  return [
    record.channel,
    record.event,
    record.data,
    record.reason,
    record.socket,
    record.user,
  ].some((field) => field?.toLowerCase().includes(wanted));
}

/** The longest record that goes into a link, in bytes of its JSON. */
const LINK_MAX = 2048;

/** A record as text for the fragment of a link, which no server sees; `undefined` if it is too long. */
export function recordToFragment(record: LiveRecord, withData: boolean): string | undefined {
  const { data: _, ...rest } = record;
  const json = new TextEncoder().encode(JSON.stringify(withData ? record : rest));
  if (json.length > LINK_MAX) return withData ? recordToFragment(record, false) : undefined;
  const base64 = btoa(String.fromCharCode(...json));
  return `record=${base64.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')}`;
}

/** Reads the record of a link. Text of strangers: only fields of a record with the right type are taken. */
export function recordFromFragment(fragment: string): LiveRecord | undefined {
  const [, base64] = /^record=([\w-]{1,4096})$/.exec(fragment) ?? [];
  if (base64 === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(base64.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return recordOf(value);
  } catch {
    return undefined;
  }
}

const numbers = ['n', 'atMs', 'bytes', 'receivers', 'code', 'status'];

/** Takes a value for a record, only fields of a record with the right type. `undefined`: it is none. */
export function recordOf(value: unknown): LiveRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const fields = fieldsOf(value);
  const { n, atMs, kind } = fields;
  if (n === undefined || atMs === undefined || kind === undefined) return undefined;
  return { ...fields, n, atMs, kind };
}

/** The fields of a record that a value has, with the right types. */
export function fieldsOf(value: object): Partial<LiveRecord> {
  return Object.fromEntries(
    Object.entries(value).filter(([name, field]) =>
      numbers.includes(name) ? Number.isFinite(field) : typeof field === 'string',
    ),
  );
}
