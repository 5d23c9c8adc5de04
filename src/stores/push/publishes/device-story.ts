import type { SQL } from 'bun';
import { GAVE_WAY } from '../../../push/backlog-store.ts';
import type { DeviceEvent, DeviceStory, UsersReached } from '../../../push/model/delivery.ts';
import type { Platform } from '../../../push/model/device.ts';
import type { DevicePause } from '../../../push/model/device-pause.ts';
import { readLocalTime } from '../../../push/model/local-time.ts';
import type { Preferences } from '../../../push/model/preferences.ts';
import type { PublishState, PublishTarget } from '../../../push/model/publish.ts';
import {
  outlineOfBody,
  type PublishOutline,
  readOutline,
} from '../../../push/model/publish-outline.ts';
import { findLanguage } from '../../../push/model/texts.ts';
import type { DeviceKind } from '../../../push/model/token-kind.ts';
import { readPerSecond } from '../../../push/requests/per-second.ts';
import type { StoryKey, StoryStore } from '../../../push/story-store.ts';
import { parseJsonObject } from '../../../runtime/json-object.ts';
import type { Database } from '../../database/database.ts';
import type { BigInteger } from '../../database/rows.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';
import { type PauseColumns, pauseOf } from '../devices/device-pauses.ts';
import {
  joinUserPreferences,
  type PreferenceColumns,
  preferenceColumns,
  preferencesOf,
} from '../devices/preferences.ts';
import { countWaiting } from '../jobs/paused-devices.ts';
import { audiencePageOf, type StoredPageState } from './audience-page.ts';
import { liveUser, liveUsersReached } from './live-users.ts';

interface PublishRow {
  readonly number: BigInteger;
  readonly state: PublishState;
  readonly target: PublishTarget['kind'];
  readonly finished_at: BigInteger | null;
  readonly body: string;
  readonly outline: string | null;
}

interface KnownDevice {
  readonly number: number;
  readonly platform: Platform;
  readonly tokenKind: DeviceKind | undefined;
  readonly userId: string | undefined;
  readonly registeredAtMs: number;
  readonly removed: DeviceStory['removed'];
  readonly pause: DevicePause | undefined;
  readonly preferences: Preferences | undefined;
}

interface KnownRow extends PauseColumns, PreferenceColumns {
  readonly number: BigInteger;
  readonly platform: Platform;
  readonly kind: DeviceKind | null;
  readonly user_id: string | null;
  readonly registered_at: BigInteger;
  readonly removed_at: BigInteger | null;
  readonly reason: string;
  readonly words: string;
}

interface DeviceRow {
  readonly state: 'accepted' | 'retrying' | 'failed' | 'expired' | 'pruned' | 'cancelled';
  readonly attempts: number;
  readonly changed_at: BigInteger;
  readonly due_at: BigInteger;
  readonly leased_by: string | null;
  readonly reason: string;
  readonly words: string;
}

/** Reads what happened to the devices and users of a publish from the store's tables. */
export class StoredStories implements StoryStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  story(of: StoryKey): Promise<DeviceStory | undefined> {
    return readStory(this.database.read, of);
  }

  async usersReached(publish: number): Promise<UsersReached> {
    const rows: { user_id: string; reached: number }[] = await this.database.read`
      SELECT user_id, reached FROM publish_users WHERE publish = ${publish} ORDER BY user_id`;
    const idsWhere = (reached: number) =>
      rows.filter((row) => row.reached === reached).map(({ user_id }) => user_id);
    const live = await liveUsersReached(this.database.read, publish);
    return { delivered: idsWhere(1), failed: idsWhere(0), ...(live && { live }) };
  }
}

async function readStory(sql: SQL, key: StoryKey): Promise<DeviceStory | undefined> {
  const { instance } = key;
  const [publish]: PublishRow[] = await sql`
    SELECT number, state, target, finished_at, body, outline FROM publishes
    WHERE id = ${key.publish} AND instance = ${instance}`;
  const device = await knownDevice(sql, key);
  if (publish === undefined || device === undefined) {
    await requireInstance(sql, instance);
    return undefined;
  }
  const { names, platforms, languages, apns } = outlineOf(publish);
  const [page, row, reports, matches, live] = await Promise.all([
    audiencePageOf(sql, publish.number, device.number),
    rowOf(sql, publish.number, device.number),
    reportsOf(sql, publish.number, device.number),
    names && isNamed(sql, { instance, kind: publish.target, names }, device),
    device.userId === undefined ? undefined : liveUser(sql, publish.number, device.userId),
  ]);
  const waits = row?.state === 'retrying' && !wasEnded(publish, row);
  return {
    platform: device.platform,
    kind: publish.target,
    page: gaveWay(publish, page?.state)
      ? 'delivered'
      : (page?.state ?? (await placeInPlan(sql, publish.number, device.number))),
    registeredAtMs: device.registeredAtMs,
    removed: device.removed,
    matches,
    hasPayload: platforms.includes(device.platform),
    due: page?.state === 'waiting' ? dueOf(publish, page.due) : undefined,
    preferences: device.preferences,
    text: apns?.kind === undefined ? textFor(languages, device.preferences) : undefined,
    tokenKind: device.tokenKind,
    apns,
    live,
    pause: device.pause && {
      ...device.pause,
      ...(await countWaiting(sql, device.number)),
    },
    nextAttemptAtMs: waits ? Number(row.due_at) : undefined,
    events: [...attemptsOf(publish, page, row), ...reports].sort((a, b) => a.atMs - b.atMs),
  };
}

/** A publish with devices that wait has its body. */
function dueOf({ body }: PublishRow, due: StoredPageState['due']): DeviceStory['due'] {
  if (due === undefined) return undefined;
  const { sendAtLocal, perSecond } = parseJsonObject(body) ?? {};
  const { atMs, pacedMs = 0 } = due;
  return {
    atMs,
    local: typeof sendAtLocal === 'string' ? readLocalTime(sendAtLocal) : undefined,
    perSecond: pacedMs > 0 ? readPerSecond(perSecond) : undefined,
  };
}

function textFor(
  languages: readonly string[] | undefined,
  preferences: Preferences | undefined,
): DeviceStory['text'] {
  const { language } = preferences ?? {};
  const of = languages && findLanguage(new Set(languages), language);
  return language === undefined || of === undefined ? undefined : { language, of };
}

/** Read from the body until that is deleted. */
function outlineOf({ target, body, outline }: PublishRow): PublishOutline {
  return body === '' && outline !== null ? readOutline(outline) : outlineOfBody(target, body);
}

/** A registered device, or the tombstone of a pruned one. */
async function knownDevice(
  sql: SQL,
  { instance, device: id }: StoryKey,
): Promise<KnownDevice | undefined> {
  const [row]: KnownRow[] = await sql`
    SELECT number, platform, kind, devices.user_id AS user_id, registered_at, NULL AS removed_at,
      '' AS reason, '' AS words, paused_until, failures, failing_since, ${preferenceColumns(sql)}
    FROM devices ${joinUserPreferences(sql)}
    WHERE id = ${id} AND devices.instance = ${instance}
    UNION ALL
    SELECT number, platform, NULL, NULL, registered_at, removed_at, reason, words, NULL, 0, NULL,
      NULL, NULL, NULL
    FROM device_tombstones WHERE instance = ${instance} AND id = ${id}
    ORDER BY removed_at NULLS FIRST`;
  if (row === undefined) return undefined;
  const { removed_at, reason, words } = row;
  return {
    number: Number(row.number),
    platform: row.platform,
    tokenKind: row.kind ?? undefined,
    userId: row.user_id ?? undefined,
    registeredAtMs: Number(row.registered_at),
    removed: removed_at === null ? undefined : { atMs: Number(removed_at), reason, words },
    pause: pauseOf(row),
    preferences: preferencesOf(row),
  };
}

async function placeInPlan(
  sql: SQL,
  publish: BigInteger,
  device: number,
): Promise<'ahead' | 'none'> {
  const [plan]: { planned_to: BigInteger; ended: number }[] = await sql`
    SELECT planned_to, ended FROM publish_plans WHERE publish = ${publish}`;
  const isAhead = plan !== undefined && plan.ended === 0 && Number(plan.planned_to) < device;
  return isAhead ? 'ahead' : 'none';
}

async function rowOf(
  sql: SQL,
  publish: BigInteger,
  device: number,
): Promise<DeviceRow | undefined> {
  const [row]: DeviceRow[] = await sql`
    SELECT state, attempts, changed_at, due_at, leased_by, reason, words FROM publish_devices
    WHERE publish = ${publish} AND device = ${device}`;
  return row;
}

async function reportsOf(
  sql: SQL,
  publish: BigInteger,
  device: number,
): Promise<readonly DeviceEvent[]> {
  const rows: { event: 'delivery' | 'open'; reported_at: BigInteger }[] = await sql`
    SELECT event, reported_at FROM publish_reports
    WHERE publish = ${publish} AND device = ${device} ORDER BY reported_at, event`;
  return rows.map(({ event, reported_at }) => ({
    atMs: Number(reported_at),
    what: event === 'delivery' ? 'delivered' : 'opened',
    reason: '',
    words: '',
    attempts: 0,
  }));
}

async function isNamed(
  sql: SQL,
  { instance, kind, names }: PublishTarget & { readonly instance: number },
  { number, userId, removed }: KnownDevice,
): Promise<boolean> {
  if (removed !== undefined || names.length === 0) return false;
  if (kind === 'users') return userId !== undefined && names.includes(userId);
  const found: unknown[] = await sql`
    SELECT 1 FROM device_interests
    WHERE instance = ${instance} AND device = ${number} AND interest IN ${sql([...names])} LIMIT 1`;
  return found.length > 0;
}

/** A retry that was not claimed when its publish was cancelled or gave way. Its row changes only when it becomes due. */
function wasEnded({ state }: PublishRow, row: DeviceRow): boolean {
  const isOver = state === 'cancelled' || state === 'finished';
  return isOver && row.state === 'retrying' && row.leased_by === null;
}

/** A page or a retry that was cancelled has given way if its publish is finished. */
function gaveWay(
  { state }: PublishRow,
  of: StoredPageState['state'] | DeviceRow['state'] | undefined,
) {
  return state === 'finished' && of === 'cancelled';
}

/** The attempts for a device; of those that failed, only the last is stored. */
function attemptsOf(
  publish: PublishRow,
  page: StoredPageState | undefined,
  row: DeviceRow | undefined,
): readonly DeviceEvent[] {
  const finishedAtMs = Number(publish.finished_at);
  const leaving = { what: 'expired', reason: GAVE_WAY, words: '' } as const;
  if (row === undefined) {
    if (gaveWay(publish, page?.state)) return [{ ...leaving, atMs: finishedAtMs, attempts: 0 }];
    if (page?.state !== 'delivered') return [];
    return [{ atMs: Number(page.done_at), what: 'accepted', reason: '', words: '', attempts: 1 }];
  }
  const { reason, words, attempts } = row;
  const atMs = Number(row.changed_at);
  const attempt = { atMs, reason, words, attempts };
  if (row.state !== 'cancelled' && !wasEnded(publish, row)) {
    return [{ ...attempt, what: row.state === 'retrying' ? 'retry' : row.state }];
  }
  const end = { ...attempt, atMs: Math.max(atMs, finishedAtMs) };
  return [
    { ...attempt, what: 'retry' },
    publish.state === 'finished' ? { ...end, ...leaving } : { ...end, what: 'cancelled' },
  ];
}
