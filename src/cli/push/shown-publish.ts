import { z } from 'zod';
import { adviceOn } from '../../push/explain/advice.ts';
import { printable } from '../../runtime/printable.ts';

/** What servers say is printed in one line, and controls no terminal. */
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

/** What the push API says of a publish. */
export const publishStatus = z.object({
  publishId: text,
  state: text,
  createdAt: text,
  sendAt: text.nullable(),
  platforms: z.object({ apns: counts, fcm: counts, web: counts }),
  delivered: count,
  opened: count,
  reasons: z.array(
    z.object({ platform: z.enum(['apns', 'fcm', 'web']), reason: text, devices: count }),
  ),
});

/** What it says of a publish and one device. */
export const deviceTimeline = z.object({
  deviceId: text,
  platform: text,
  events: z.array(
    z.object({ at: text.nullable(), what: text, detail: text, advice: text.nullable() }),
  ),
});

/** What it says of the gateways that a publish waits for. */
export const publishPauses = z.object({
  pauses: z.array(
    z.object({
      platform: z.enum(['apns', 'fcm', 'web']),
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

/** What the states mean for somebody who waits. */
const states: Readonly<Record<string, string>> = {
  scheduled: 'it goes out later',
  planning: 'whom it is for is being looked up',
  delivering: 'whom it is for is known, and not all of them are done',
  finished: 'nothing waits any more',
  cancelled: 'what had not gone out does not',
};

export function describeStatus(status: Status, pauses: Pauses, instanceId: string): string {
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
    `  goes out   ${sendAt ?? 'at once'}`,
    `  reported   delivered by ${devices(delivered)}, opened by ${devices(opened)}`,
    '',
    ...table([['devices', ...COUNTS], ...rows]),
    ...pausesOf(pauses),
    ...(reasons.length === 0 ? [] : ['', 'Why devices did not get it, or wait:']),
    ...reasons.flatMap(({ platform, reason, devices: affected }) => {
      const { why, advice } = adviceOn({ platform, reason, words: '' });
      return [
        `  ${devices(affected)} of ${platform}: ${why}`,
        ...(advice === undefined ? [] : [`    → ${advice}`]),
      ];
    }),
    '',
    `Of one device: fanfare push explain ${publishId} DEVICE-ID`,
  ].join('\n');
}

function pausesOf(pauses: Pauses): readonly string[] {
  if (pauses.length === 0) return [];
  return [
    '',
    'Not used now, but for a probe now and then:',
    ...pauses.flatMap(({ platform, origin, reason, words, since, devices: waiting }) => {
      const { why, advice } = adviceOn({ platform, reason, words: words ?? '' });
      const way = origin === null ? platform : `${platform}, ${origin}`;
      const wait = waiting === 1 ? 'waits' : 'wait';
      return [
        `  ${way} since ${since}: ${why}${waiting === null ? '' : `; ${devices(waiting)} ${wait}`}`,
        ...(advice === undefined ? [] : [`    → ${advice}`]),
      ];
    }),
  ];
}

export function describeTimeline(
  { deviceId, platform, events }: z.infer<typeof deviceTimeline>,
  publishId: string,
  instanceId: string,
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

/** Numbers stand under each other. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const [heads = []] = rows;
  const widths = heads.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map(
    ([name = '', ...cells]) =>
      `  ${[name.padEnd(widths[0] ?? 0), ...cells.map((cell, at) => cell.padStart(widths[at + 1] ?? 0))].join('  ')}`,
  );
}

function devices(number: number): string {
  return `${number} device${number === 1 ? '' : 's'}`;
}
