import { useEffect, useState } from 'preact/hooks';
import type { LiveFeed } from '../../live/live-feed.ts';
import type { LiveFilter } from '../../live/records.ts';
import { count, counted, preciseTime } from '../../parts/formats.ts';
import { address, pathTo, setQuery } from '../../routing/router.ts';
import { HeatStrip } from './heat-strip.tsx';

/**
 * The status line of the page: whether it listens, and the rate of events. Announced to screen readers at most every
 * ten seconds.
 */
export function LiveNews({ feed }: { readonly feed: LiveFeed }) {
  const { value: state } = feed.state;
  const { total, errors } = feed.counts.value;
  if (feed.recording !== undefined) return <span>A recording, not what happens now.</span>;
  const news =
    state.is === 'open'
      ? `Connected. ${counted(total, 'event')} a second${errors === 0 ? '' : `, ${counted(errors, 'error')}`}.`
      : 'Connecting …';
  return (
    <>
      <span>{state.is === 'lost' ? 'Not connected.' : news}</span>
      <Announced text={news} />
    </>
  );
}

const ANNOUNCED_EVERY_MS = 10_000;

function Announced({ text }: { readonly text: string }) {
  const [said, setSaid] = useState('');
  const latest = { current: text };
  useEffect(() => {
    const timer = setInterval(() => setSaid(latest.current), ANNOUNCED_EVERY_MS);
    return () => clearInterval(timer);
  });
  return (
    <span class="unseen" role="status">
      {said}
    </span>
  );
}

/** How many of the events are shown, and what is missing. */
export function LiveLine({
  feed,
  filter,
}: {
  readonly feed: LiveFeed;
  readonly filter: LiveFilter;
}) {
  const { value: state } = feed.state;
  const counts = feed.counts.value;
  if (state.is === 'lost') {
    return (
      <div class="live-line warn" role="alert">
        <span>
          {state.nextTryAtMs === undefined ? 'No stream since' : 'The stream was lost at'}{' '}
          {preciseTime(state.sinceMs).slice(0, 8)}: {state.why}.{' '}
          {state.nextTryAtMs === undefined
            ? ''
            : `Next try at ${preciseTime(state.nextTryAtMs).slice(0, 8)}.`}
        </span>
      </div>
    );
  }
  const cut = feed.subject.groups.filter(
    ({ id }) => (counts.skipped[id] ?? 0) > 0 && filter.groups.includes(id),
  );
  const { busiest, total } = counts;
  const [field = 'channel'] = feed.subject.fields;
  return (
    <div class="live-line">
      <span>
        {cut.length === 0
          ? 'Every event is shown.'
          : `Shown: ${cut
              .map(({ id, word }) => {
                const all = counts.groups[id] ?? 0;
                return `${word} ${count(Math.max(0, all - (counts.skipped[id] ?? 0)))} of ${count(all)}/s`;
              })
              .join(', ')}; every other kind in full.`}
        {feed.away.value.length > 0 && (
          <strong class="warn"> No answer from: {feed.away.value.join(', ')}.</strong>
        )}
        {feed.hidesPayloads.value && ' Payloads are hidden on this server.'}
      </span>
      {busiest !== undefined && total > 1 && (
        <span class="cut">
          Busiest:{' '}
          <a
            href={pathTo(address.value.path, { [field]: busiest.name })}
            onClick={(event) => {
              event.preventDefault();
              setQuery({ [field]: busiest.name });
            }}
          >
            {busiest.name}
          </a>{' '}
          {count(busiest.events)}/s
        </span>
      )}
      <HeatStrip feed={feed} />
    </div>
  );
}
