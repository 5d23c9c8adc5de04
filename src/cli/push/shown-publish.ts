import { z } from 'zod';
import { platforms } from '../../push/model/device.ts';
import { printable } from '../../runtime/logging/printable.ts';
import { countOf } from '../invocation.ts';

const text = z.string();
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

/** The cause of a result, and what to do about it. */
const cause = { why: text, advice: text.nullable() };

/** A publish, as far as it is printed. */
export const publishStatus = z.object({
  id: text,
  state: text,
  createdAtMs: count,
  sendAtMs: count.nullable(),
  nextAtMs: count.nullable().default(null),
  lastAtMs: count.nullable().default(null),
  platforms: z.record(z.enum(platforms), counts),
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
      advice: text.nullable(),
    })
    .nullable(),
  rule: z.object({ app: text, channel: text, event: text }).nullable(),
  delivered: count,
  opened: count,
  reasons: z.array(z.object({ platform: text, devices: count, ...cause })),
  pauses: z.array(
    z.object({
      platform: text,
      origin: text.nullable(),
      sinceMs: count,
      devices: count.nullable(),
      ...cause,
    }),
  ),
});

/** A publish at one device, as far as it is printed. */
export const deviceTimeline = z.object({
  publish: text,
  device: text,
  platform: text,
  events: z.array(
    z.object({ at: text.nullable(), what: text, detail: text, advice: text.nullable() }),
  ),
});

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

export function describeStatus(status: Status, instance: string): string {
  const { id, state, createdAtMs, sendAtMs, nextAtMs, platforms, delivered, opened } = status;
  const { reasons, lastAtMs } = status;
  const meaning = states[state];
  const rows = Object.entries(platforms).map(([platform, devices]) => [
    platform,
    ...COUNTS.map((name) => String(devices[name])),
  ]);
  return [
    `Publish ${id} of instance ${instance}`,
    `  state      ${state}${meaning === undefined ? '' : `: ${meaning}`}`,
    `  published  ${timeOf(createdAtMs)}`,
    `  send at    ${sendAtMs === null ? 'once accepted' : timeOf(sendAtMs)}`,
    ...(nextAtMs === null ? [] : [`  next due   ${timeOf(nextAtMs)}`]),
    ...(lastAtMs === null ? [] : [`  sends till ${timeOf(lastAtMs)}`]),
    ...ruleOf(status),
    ...liveOf(status),
    `  reported   delivered by ${countOf(delivered, 'device')}, opened by ${countOf(opened, 'device')}`,
    '',
    ...table([['devices', ...COUNTS], ...rows]),
    ...pausesOf(status),
    ...(reasons.length === 0 ? [] : ['', 'Why devices did not get it, or are waiting:']),
    ...reasons.flatMap(({ platform, devices, why, advice }) => [
      `  ${countOf(devices, 'device')} of ${platform}: ${why}`,
      ...adviceIn(advice),
    ]),
    '',
    `For one device: fanfare push explain ${id} DEVICE-ID`,
  ]
    .map(printable)
    .join('\n');
}

function adviceIn(advice: string | null): readonly string[] {
  return advice === null ? [] : [`    → ${advice}`];
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** The event that became a publish, in a line. */
function ruleOf({ rule }: Status): readonly string[] {
  if (rule === null) return [];
  return [`  by a rule  of the app ${rule.app}: ${rule.event} in ${rule.channel}`];
}

/** The live result of a publish. */
function liveOf({ live }: Status): readonly string[] {
  if (live === null) return [];
  const { state, push, users, reached, silent, absent, connections, why, advice } = live;
  const asked = countOf(connections, 'connection');
  const said: Readonly<Record<string, string>> = {
    scheduled: `${countOf(users, 'user')} will be asked when it is due`,
    asking: `${countOf(users, 'user')} are being asked whether they got it in the app`,
    done: `${reached} of ${countOf(users, 'user')} got it in the app, ${silent} did not answer, ${absent} had no connection; ${asked} asked`,
    skipped: `nobody was asked (${why ?? 'no reason is known'}), so everybody gets the notification`,
  };
  const to = state === 'done' && push === 'always' ? '. Everybody gets the notification too' : '';
  return [`  in the app ${said[state] ?? state}${to}`, ...adviceIn(advice)];
}

function pausesOf({ pauses }: Status): readonly string[] {
  if (pauses.length === 0) return [];
  return [
    '',
    'Paused, except for occasional probes:',
    ...pauses.flatMap(({ platform, origin, sinceMs, devices, why, advice }) => {
      const route = origin === null ? platform : `${platform}, ${origin}`;
      const wait = devices === 1 ? 'waits' : 'wait';
      return [
        `  ${route} since ${timeOf(sinceMs)}: ${why}${devices === null ? '' : `; ${countOf(devices, 'device')} ${wait}`}`,
        ...adviceIn(advice),
      ];
    }),
  ];
}

export function describeTimeline(
  { publish, device, platform, events }: z.infer<typeof deviceTimeline>,
  instance: string,
): string {
  return [
    `Publish ${publish} and device ${device} (${platform}) of instance ${instance}`,
    ...events.flatMap(({ at, what, detail, advice }) => [
      '',
      `${(at ?? 'now').padEnd(24)}  ${what}`,
      `    ${detail}`,
      ...adviceIn(advice),
    ]),
  ]
    .map(printable)
    .join('\n');
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
