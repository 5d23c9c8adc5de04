import { z } from 'zod';
import type { AnswerOfAll } from '../../asking/asker.ts';
import type { GatewaysOfCluster, PauseOfCluster } from '../../asking/facts/gateways.ts';
import type { DeepReadonly } from '../../config/schema.ts';
import { adviceOn } from '../../push/explain/advice.ts';
import { liveSkips } from '../../push/explain/live-events.ts';
import { byPlatform, platforms } from '../../push/model/device.ts';
import type { LiveStatus } from '../../push/model/live.ts';
import type { PlatformCounts, PublishTarget } from '../../push/model/publish.ts';
import { outlineOfBody, type PublishOutline } from '../../push/model/publish-outline.ts';
import { pausesOf, withPausedDevices } from '../../push/status/publish-pauses.ts';
import { parseJsonObject } from '../../runtime/json-object.ts';
import type { ListedPublish } from '../../stores/push/publishes/publish-list.ts';
import { servers } from '../channels/server-shapes.ts';
import type { Rights } from '../rights.ts';
import { devicePlatform } from './device-shapes.ts';
import { PAUSES_MAX, pauseFields, showPause } from './pause-shapes.ts';
import type { PublishAdmin } from './publish-admin.ts';

/** Names of one publish that are shown. */
const NAMES_SHOWN = 100;

export const publishState = z
  .enum(['scheduled', 'planning', 'delivering', 'finished', 'cancelled'])
  .meta({ id: 'PublishState' });

const devices = z.int().min(0);
const time = z.int().min(0).describe('Milliseconds since 1970.');

const counts = z
  .strictObject({
    planned: devices,
    accepted: devices,
    retrying: devices,
    failed: devices,
    pruned: devices,
    expired: devices,
    cancelled: devices,
  })
  .meta({ id: 'DeviceCounts' });

const facts = {
  id: z.string(),
  state: publishState,
  target: z
    .strictObject({
      kind: z.enum(['interests', 'users']),
      count: devices.nullable().describe('How many; null if no longer known.'),
      names: z
        .array(z.string())
        .nullable()
        .describe(
          `The first ${NAMES_SHOWN}; null if no longer known, and for users if personal data is hidden.`,
        ),
    })
    .meta({ id: 'PublishTarget' }),
  createdAtMs: time,
  sendAtMs: time.nullable().describe('null: at once.'),
  finishedAtMs: time.nullable(),
  delivered: devices.describe('Devices that reported that they got it.'),
  opened: devices.describe('Devices that reported that it was opened.'),
};

export const shownPublish = z
  .strictObject({
    ...facts,
    devices: counts.describe('Of all platforms together.'),
    paused: z.boolean().describe('Whether devices wait for a gateway that a server has paused.'),
  })
  .describe('One publish.')
  .meta({ id: 'Publish' });

export const shownPublishDetails = z
  .strictObject({
    ...facts,
    dueAtMs: time.describe('When it was or is due. Milliseconds since 1970.'),
    nextAtMs: time
      .nullable()
      .describe('When the next devices are due that wait for a time of their own; null: none do.'),
    lastAtMs: time
      .nullable()
      .describe(
        'Of a publish with `perSecond`: until when it sends to the devices that are planned; null: none waits.',
      ),
    platforms: z.strictObject(byPlatform(() => counts)),
    live: z
      .strictObject({
        state: z.enum(['scheduled', 'asking', 'done', 'skipped']),
        push: z.enum(['absent', 'always']),
        waitSeconds: z.number(),
        users: devices,
        reached: devices.describe('Users who got it in the app.'),
        silent: devices.describe('Users with connections that did not answer.'),
        absent: devices.describe('Users without a connection in the channel.'),
        connections: devices.describe('Connections that were asked.'),
        why: z.string().nullable().describe('Why nobody was asked.'),
        advice: z.string().nullable(),
      })
      .meta({ id: 'PublishLive' })
      .nullable()
      .describe('What became of it in the app; null: it was not sent there.'),
    rule: z
      .strictObject({ app: z.string(), channel: z.string(), event: z.string() })
      .nullable()
      .describe('The event that a push rule of the app made it of.'),
    payloads: z
      .string()
      .nullable()
      .describe(
        'JSON: the payload for each platform, and `texts`, `sendAtLocal`, `perSecond` and `urgent`. null if payloads are hidden, and once it is deleted, after the publish is over.',
      ),
    seconds: z
      .strictObject({ half: z.number().min(0), most: z.number().min(0) })
      .nullable()
      .describe(
        'How many seconds after the due time a first attempt had been made for 50 %, and for 95 %, of the devices. Counted by pages of 1,000 devices, up to 2,000 pages.',
      ),
    reasons: z
      .array(
        z
          .strictObject({
            platform: devicePlatform,
            reason: z.string(),
            devices,
            why: z.string(),
            advice: z.string().nullable(),
          })
          .meta({ id: 'PublishReason' }),
      )
      .describe('Why devices did not get it, or still wait for it.'),
    pauses: z
      .array(
        z
          .strictObject({
            platform: devicePlatform,
            ...pauseFields,
            devices: devices
              .nullable()
              .describe('How many wait; null for a single push service of browsers.'),
          })
          .meta({ id: 'PublishPause' }),
      )
      .describe(`The paused gateways that its devices wait for. Up to ${PAUSES_MAX}.`),
    servers,
  })
  .meta({ id: 'PublishDetails' });

const isOver = (state: ListedPublish['state']) => state === 'finished' || state === 'cancelled';

function target(
  kind: PublishTarget['kind'],
  { names }: PublishOutline,
  { seesPayloads }: Pick<Rights, 'seesPayloads'>,
) {
  const isShown = kind === 'interests' || seesPayloads;
  return {
    kind,
    count: names?.length ?? null,
    names: isShown ? (names?.slice(0, NAMES_SHOWN) ?? null) : null,
  };
}

export function showPublish(
  { id, state, kind, outline, counts, waiting, ...publish }: ListedPublish,
  {
    rights,
    paused,
  }: { readonly rights: ShownWith['rights']; readonly paused: readonly PauseOfCluster[] },
): DeepReadonly<z.output<typeof shownPublish>> {
  return {
    id,
    state,
    target: target(kind, outline, rights),
    createdAtMs: publish.createdAtMs,
    sendAtMs: publish.sendAtMs ?? null,
    finishedAtMs: publish.finishedAtMs ?? null,
    delivered: publish.delivered,
    opened: publish.opened,
    devices: onlyCounts(counts),
    paused: !isOver(state) && paused.some(({ platform }) => waiting.includes(platform)),
  };
}

interface ShownWith {
  readonly rights: Pick<Rights, 'seesPayloads'>;
  /** What all servers know of the instance's gateways. */
  readonly gateways: AnswerOfAll<Pick<GatewaysOfCluster, 'pauses'>>;
}

export function showPublishDetails(
  found: Awaited<ReturnType<PublishAdmin['show']>>,
  { rights, gateways }: ShownWith,
): DeepReadonly<z.output<typeof shownPublishDetails>> {
  const { kind, outline, body, seconds } = found;
  const pauses = pausesOf(found.status, gateways.answer.pauses);
  const { id, state, createdAtMs, sendAtMs, delivered, opened, reasons, ...status } =
    withPausedDevices(found.status, pauses);
  return {
    id,
    state,
    target: target(kind, body === '' ? outline : outlineOfBody(kind, body), rights),
    createdAtMs,
    sendAtMs: sendAtMs ?? null,
    dueAtMs: found.dueAtMs,
    nextAtMs: status.nextAtMs ?? null,
    lastAtMs: status.lastAtMs ?? null,
    finishedAtMs: found.finishedAtMs ?? null,
    delivered,
    opened,
    platforms: byPlatform((platform) => onlyCounts(status.platforms[platform])),
    live: status.live === undefined ? null : shownLive(status.live),
    rule: status.rule ?? null,
    payloads: rights.seesPayloads ? payloadsIn(body) : null,
    seconds: seconds ?? null,
    reasons: reasons.map(({ platform, reason, devices }) => {
      const { why, advice } = adviceOn({ platform, reason, words: '' });
      return { platform, reason, devices, why, advice: advice ?? null };
    }),
    pauses: pauses.slice(0, PAUSES_MAX).map((one) => ({
      platform: one.platform,
      ...showPause(one),
      devices: one.devices ?? null,
    })),
    servers: gateways.servers,
  };
}

function shownLive(live: LiveStatus) {
  const { state, push, waitSeconds, users, reached, silent, absent, connections } = live;
  const [why = null, advice = null] = live.why === undefined ? [] : liveSkips[live.why];
  return { state, push, waitSeconds, users, reached, silent, absent, connections, why, advice };
}

/** Names each field, so that no other column of the store gets out. */
function onlyCounts(counts: PlatformCounts) {
  const { planned, accepted, retrying, failed, pruned, expired, cancelled } = counts;
  return { planned, accepted, retrying, failed, pruned, expired, cancelled };
}

/** Without the names and the webhook URL, which may hold a password. */
function payloadsIn(body: string): string | null {
  const fields = parseJsonObject(body);
  if (fields === undefined) return null;
  const names = [...platforms, 'texts', 'sendAtLocal', 'perSecond', 'urgent'];
  return JSON.stringify(
    Object.fromEntries(names.flatMap((one) => (fields[one] ? [[one, fields[one]]] : []))),
  );
}
