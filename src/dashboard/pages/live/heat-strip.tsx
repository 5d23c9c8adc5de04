import { useState } from 'preact/hooks';
import type { LiveFeed } from '../../live/live-feed.ts';
import { Bars } from '../../parts/charts/plots.tsx';
import { Dialog } from '../../parts/dialogs/dialog.tsx';
import { count } from '../../parts/formats.ts';

const SECONDS = 60;

/** The events of each second of the last minute, the more the darker. Opens them as bars and as a table. */
export function HeatStrip({ feed }: { readonly feed: LiveFeed }) {
  const [isOpen, setOpen] = useState(false);
  const { value: seconds } = feed.seconds;
  const peak = Math.max(0, ...seconds.map((value) => value ?? 0));
  const from = SECONDS - seconds.length;
  return (
    <>
      <button
        type="button"
        class="heat"
        title="Events of each second of the last minute"
        onClick={() => setOpen(true)}
      >
        <span class="unseen">The last minute: {count(peak)} events a second at most</span>
        <svg aria-hidden="true" viewBox={`0 0 ${SECONDS} 1`} preserveAspectRatio="none">
          {seconds.map((value, index) =>
            value === null ? null : (
              <rect
                key={index}
                class={value === 0 ? 'none' : ''}
                x={from + index}
                width="0.8"
                height="1"
                opacity={value === 0 ? 1 : 0.25 + (0.75 * value) / peak}
              />
            ),
          )}
        </svg>
      </button>
      {isOpen && (
        <Dialog label="The last minute" close={() => setOpen(false)}>
          <Bars
            title="Events by second"
            names={['Events']}
            bars={seconds.map((value, index) => ({
              label: `${seconds.length - 1 - index} s ago`,
              value,
            }))}
          />
        </Dialog>
      )}
    </>
  );
}
