import type { DevicePublish, TimelineEntry } from '../../api/answers.ts';
import { duration, moment, shortId } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';
import { Words } from '../../parts/words.tsx';
import { inInstance, pathTo } from '../../routing/router.ts';
import { shortDeviceId } from './device-table.tsx';

/** What each entry of a timeline is called, and how it looks. */
const words: Readonly<Record<TimelineEntry['what'], readonly [word: string, look: string]>> = {
  registered: ['registered', ''],
  published: ['published', ''],
  scheduled: ['scheduled', ''],
  'not-in-audience': ['not for it', 'warn'],
  waiting: ['waits', 'warn'],
  'live-reached': ['in the app', 'ok'],
  'live-silent': ['silent', 'warn'],
  'live-absent': ['not there', ''],
  'live-skipped': ['not asked', 'warn'],
  'gateway-paused': ['gateway paused', 'bad'],
  'device-paused': ['paused', 'bad'],
  accepted: ['accepted', 'ok'],
  retry: ['retried', 'warn'],
  failed: ['failed', 'bad'],
  'not-sent': ['left out', 'bad'],
  expired: ['too late', 'bad'],
  pruned: ['token dead', 'bad'],
  removed: ['removed', 'bad'],
  cancelled: ['cancelled', ''],
  delivered: ['arrived', 'ok'],
  opened: ['opened', 'ok'],
};

/** Outcomes whose advice is hidden at first, because nothing is wrong at the server. */
const reached: readonly TimelineEntry['what'][] = [
  'accepted',
  'delivered',
  'opened',
  'live-reached',
];

function WhatTag({ what }: { readonly what: TimelineEntry['what'] }) {
  const [word, look] = words[what];
  return <span class={`tag ${look}`}>{word}</span>;
}

/** What happened to a publish at a device, with what to do about it. */
export function Timeline({ events }: { readonly events: readonly TimelineEntry[] }) {
  return (
    <ol class="inside stack" aria-label="What happened">
      {events.map(({ at, what, detail, advice }) => (
        <li key={`${at}${what}`} class="stack tight">
          <span class="line-of">
            <WhatTag what={what} />
            <span class="muted small">
              {at === null ? 'now' : `${moment(at)}, ${duration(Date.now() - Date.parse(at))} ago`}
            </span>
          </span>
          <p>
            <Words text={detail} />
          </p>
          {advice !== null && (
            <p class="muted">
              → <Words text={advice} />
            </p>
          )}
        </li>
      ))}
    </ol>
  );
}

/** Publishes, each with its result at one device. */
export function LastPublishes({
  instance,
  publishes,
  showDevice = false,
}: {
  readonly instance: string;
  readonly publishes: readonly DevicePublish[];
  readonly showDevice?: boolean;
}) {
  return (
    <Table columns={['Publish', 'There', 'What became of it', { number: 'Published' }]}>
      {publishes.map(({ publish, device, createdAt, outcome }) => (
        <tr key={`${publish}${device}`}>
          <td class="name">
            <div class="cut">
              <a class="mono" href={pathTo(inInstance(instance, 'devices', device), { publish })}>
                {shortId(publish)}
              </a>
            </div>
            {showDevice && <div class="cut muted small mono">{shortDeviceId(device)}</div>}
          </td>
          <td>
            <WhatTag what={outcome.what} />
          </td>
          <td class="wide">
            <Words text={outcome.detail} />
            {outcome.advice !== null && !reached.includes(outcome.what) && (
              <div class="muted small">
                → <Words text={outcome.advice} />
              </div>
            )}
          </td>
          <td class="number">{moment(createdAt)}</td>
        </tr>
      ))}
    </Table>
  );
}
