import { z } from 'zod';
import { adviceOn } from '../../push/explain/advice.ts';
import { platforms } from '../../push/model/device.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf } from '../invocation.ts';

/** Text from a server, on one line and without control characters. */
const text = z.string().transform(printable);

const count = z.number();

const counts = z.object({
  planned: count,
  accepted: count,
  retrying: count,
  failed: count,
  pruned: count,
  expired: count,
  cancelled: count,
});

/** A publish, as the push API describes it. */
export const publishStatus = z.object({
  publishId: text,
  state: text,
  createdAt: text,
  sendAt: text.nullable(),
  platforms: z.object({ apns: counts, fcm: counts, web: counts }),
  live: z
    .object({
      state: text,
      push: text,
      users: count,
      reached: count,
      silent: count,
      absent: count,
      connections: count,
      why: text.nullable(),
    })
    .optional(),
  rule: z.object({ app: text, channel: text, event: text }).optional(),
  delivered: count,
  opened: count,
  reasons: z.array(z.object({ platform: z.enum(platforms), reason: text, devices: count })),
});

/** A publish and one device, as the push API describes them. */
export const deviceTimeline = z.object({
  deviceId: text,
  platform: text,
  events: z.array(
    z.object({ at: text.nullable(), what: text, detail: text, advice: text.nullable() }),
  ),
});

/** The open circuits that a publish waits for. */
export const publishPauses = z.object({
  pauses: z.array(
    z.object({
      platform: z.enum(platforms),
      origin: text.nullable(),
      reason: text,
      words: text,
      since: text,
      devices: count.nullable(),
    }),
  ),
});

type Pauses = z.infer<typeof publishPauses>['pauses'];

type Status = z.infer<typeof publishStatus>;

const COUNTS = Object.keys(counts.shape) as readonly (keyof Status['platforms']['web'])[];

/** What each state means. */
const states: Readonly<Record<string, string>> = {
  scheduled: 'it will be sent later',
  planning: 'its audience is being read',
  delivering: 'its audience is known, and some devices are not done',
  finished: 'no device is waiting any more',
  cancelled: 'devices that were still waiting do not get it',
};

export function describeStatus(
  status: Status,
  { pauses, instanceId }: { readonly pauses: Pauses; readonly instanceId: string },
): string {
  const { publishId, state, createdAt, sendAt, platforms, delivered, opened, reasons } = status;
  const meaning = states[state];
  const rows = Object.entries(platforms).map(([platform, devices]) => [
    platform,
    ...COUNTS.map((name) => String(devices[name])),
  ]);
  return [
    `Publish ${publishId} of instance ${instanceId}`,
    `  state      ${state}${meaning === undefined ? '' : `: ${meaning}`}`,
    `  published  ${createdAt}`,
    `  send at    ${sendAt ?? 'once accepted'}`,
    ...ruleOf(status),
    ...liveOf(status),
    `  reported   delivered by ${countOf(delivered, 'device')}, opened by ${countOf(opened, 'device')}`,
    '',
    ...table([['devices', ...COUNTS], ...rows]),
    ...pausesOf(pauses),
    ...(reasons.length === 0 ? [] : ['', 'Why devices did not get it, or are waiting:']),
    ...reasons.flatMap(({ platform, reason, devices }) => {
      const { why, advice } = adviceOn({ platform, reason, words: '' });
      return [
        `  ${countOf(devices, 'device')} of ${platform}: ${why}`,
        ...(advice === undefined ? [] : [`    → ${advice}`]),
      ];
    }),
    '',
    `For one device: fanfare push explain ${publishId} DEVICE-ID`,
  ].join('\n');
}

/** The event that became a publish, in a line. */
function ruleOf({ rule }: Status): readonly string[] {
  if (rule === undefined) return [];
  return [`  by a rule  of the app ${rule.app}: ${rule.event} in ${rule.channel}`];
}

/** The live result of a publish, in one line. */
function liveOf({ live }: Status): readonly string[] {
  if (live === undefined) return [];
  const { state, push, users, reached, silent, absent, connections, why } = live;
  const asked = countOf(connections, 'connection');
  const said: Readonly<Record<string, string>> = {
    scheduled: `${countOf(users, 'user')} will be asked when it is due`,
    asking: `${countOf(users, 'user')} are being asked whether they got it in the app`,
    done: `${reached} of ${countOf(users, 'user')} got it in the app, ${silent} did not answer, ${absent} had no connection; ${asked} asked`,
    skipped: `nobody was asked (${why ?? 'no reason is known'}), so everybody gets the notification`,
  };
  const to = state === 'done' && push === 'always' ? '. Everybody gets the notification too' : '';
  return [`  in the app ${said[state] ?? state}${to}`];
}

function pausesOf(pauses: Pauses): readonly string[] {
  if (pauses.length === 0) return [];
  return [
    '',
    'Paused, except for occasional probes:',
    ...pauses.flatMap(({ platform, origin, reason, words, since, devices }) => {
      const { why, advice } = adviceOn({ platform, reason, words: words ?? '' });
      const route = origin === null ? platform : `${platform}, ${origin}`;
      const wait = devices === 1 ? 'waits' : 'wait';
      return [
        `  ${route} since ${since}: ${why}${devices === null ? '' : `; ${countOf(devices, 'device')} ${wait}`}`,
        ...(advice === undefined ? [] : [`    → ${advice}`]),
      ];
    }),
  ];
}

export function describeTimeline(
  { deviceId, platform, events }: z.infer<typeof deviceTimeline>,
  { publishId, instanceId }: { readonly publishId: string; readonly instanceId: string },
): string {
  return [
    `Publish ${publishId} and device ${deviceId} (${platform}) of instance ${instanceId}`,
    ...events.flatMap(({ at, what, detail, advice }) => [
      '',
      `${(at ?? 'now').padEnd(24)}  ${what}`,
      `    ${detail}`,
      ...(advice === null ? [] : [`    → ${advice}`]),
    ]),
  ].join('\n');
}

/** Aligns the numbers of each column. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const [heads = []] = rows;
  const widths = heads.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map(
    ([name = '', ...cells]) =>
      `  ${[name.padEnd(widths[0] ?? 0), ...cells.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))].join('  ')}`,
  );
}
