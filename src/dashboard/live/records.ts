import type { IconName } from '../parts/icons.tsx';

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
  /** Cut at 1 KiB; `bytes` is the full length. */
  readonly data?: string;
  readonly bytes?: number;
  readonly receivers?: number;
  /** The most similar occupied channel, if the event had no receivers. */
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
  readonly publish?: string;
  readonly device?: string;
  readonly platform?: string;
  /** Whom a publish is for. */
  readonly target?: string;
  readonly devices?: number;
  readonly attempts?: number;
  /** When a publish is sent, or a device is tried again. */
  readonly dueAtMs?: number;
  /** The text of a gateway. */
  readonly words?: string;
  readonly origin?: string;
}

/** A group in which the page shows kinds. `look` chooses its colour. */
export interface Group {
  readonly id: string;
  readonly word: string;
  readonly icon: IconName;
  readonly look: string;
  readonly kinds: readonly string[];
}

const group = (id: string, icon: IconName, kinds: string, look = id): Group => ({
  id,
  word: id === 'api' ? 'API' : id,
  icon,
  look,
  kinds: kinds.split(' '),
});

/** The groups of what happens in an app. */
export const groups: readonly Group[] = [
  group('api', 'api', 'api'),
  group('client', 'send', 'client'),
  group('subscription', 'check', 'subscribed unsubscribed'),
  group('connection', 'connection', 'connected disconnected signed-in'),
  group('channel', 'channel', 'occupied vacated count cache-miss'),
  group('presence', 'person', 'member-added member-removed user-online user-offline'),
  group('webhook', 'webhook', 'webhook'),
  group('error', 'problem', 'refused error slow quota terminated'),
];

/** The groups of what happens in a push instance. */
export const pushGroups: readonly Group[] = [
  group('publish', 'publish', 'published planned cancelled finished', 'api'),
  group('accepted', 'check', 'accepted', 'subscription'),
  group('retry', 'play', 'retry', 'channel'),
  group('report', 'device', 'delivered opened', 'client'),
  group('registration', 'person', 'registered removed', 'presence'),
  group('gateway', 'server', 'paused resumed', 'webhook'),
  group('error', 'problem', 'failed expired pruned publish-refused'),
];

const unknown = group('error', 'problem', '');

const byKind = new Map(
  [...groups, ...pushGroups].flatMap((each) => each.kinds.map((kind) => [kind, each])),
);

/** The group of a kind. A kind that this page does not know is shown as an error, so that it is not overlooked. */
export function groupOf(kind: string): Group {
  return byKind.get(kind) ?? unknown;
}

/** The ids of the groups in `kinds=api,error`; all groups if none is named. */
export function groupsIn(text: string | undefined, all = groups): readonly string[] {
  const ids = all.map(({ id }) => id);
  const named = ids.filter((id) => text?.split(',').includes(id));
  return named.length === 0 ? ids : named;
}

/** A filter for records that name exactly this. */
export type FilterField = 'channel' | 'socket' | 'user' | 'publish' | 'device';

/** A filter of the stream. A channel that ends in `*` is a prefix. */
export interface LiveFilter extends Readonly<Partial<Record<FilterField, string>>> {
  readonly groups: readonly string[];
  readonly text: string;
}

export const appFields: readonly FilterField[] = ['channel', 'socket', 'user'];
export const pushFields: readonly FilterField[] = ['publish', 'device', 'user'];

/** Parses the text of the filter field: `channel:private-* user:7 some words`. */
export function parseFilter(typed: string, fields = appFields): Omit<LiveFilter, 'groups'> {
  const found: Record<string, string> = Object.fromEntries(fields.map((field) => [field, '']));
  const words = typed.split(/\s+/).filter((word) => {
    const [, field = '', value = ''] = /^(\w+):(.*)$/.exec(word) ?? [];
    if (!Object.hasOwn(found, field)) return word !== '';
    found[field] = value;
    return false;
  });
  return { ...found, text: words.join(' ') };
}

export function printFilter(filter: Omit<LiveFilter, 'groups'>, fields = appFields): string {
  return [...fields.map((field) => filter[field] && `${field}:${filter[field]}`), filter.text]
    .filter(Boolean)
    .join(' ');
}

/** The query of the stream for a filter. */
export function streamQuery(
  { groups: shown, channel = '', text, ...exact }: LiveFilter,
  all = groups,
): Readonly<Record<string, string | undefined>> {
  return {
    kinds:
      shown.length === all.length
        ? undefined
        : all
            .filter(({ id }) => shown.includes(id))
            .flatMap(({ kinds }) => kinds)
            .join(','),
    ...(channel.endsWith('*') ? { prefix: channel.slice(0, -1) } : { channel }),
    ...exact,
    text,
  };
}

/** Whether a record passes a filter. */
export function passes(record: LiveRecord, filter: LiveFilter): boolean {
  const { groups: shown, channel = '', text, ...exact } = filter;
  if (!shown.includes(groupOf(record.kind).id)) return false;
  if (channel.endsWith('*')) {
    if (record.channel?.startsWith(channel.slice(0, -1)) !== true) return false;
  } else if (channel !== '' && record.channel !== channel) return false;
  for (const [field, value] of Object.entries(exact)) {
    if (value && record[field as FilterField] !== value) return false;
  }
  if (text === '') return true;
  const wanted = text.toLowerCase();
  return searched.some((field) => record[field]?.toLowerCase().includes(wanted));
}

/** The fields that a text is searched in. */
const searched = [
  'channel',
  'event',
  'data',
  'reason',
  'socket',
  'user',
  'publish',
  'device',
  'target',
  'words',
] as const;

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

const numbers = 'n atMs bytes receivers code status devices attempts dueAtMs'.split(' ');

/** Reads a value as a record. Drops unknown fields and fields with a wrong type. Returns `undefined` if it is no record. */
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
