import { useState } from 'preact/hooks';
import type { Answer } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Sparkline } from '../../parts/charts/charts.tsx';
import { bytes, count } from '../../parts/formats.ts';
import { namesOf } from '../../parts/servers.tsx';

type Series = Answer<'GET /figures'>['series'];

const HOUR_MS = 3_600_000;
const POLL_MS = 2000;

const shown: readonly {
  readonly name: keyof Series;
  readonly word: string;
  readonly print: (value: number) => string;
  /** Left out while it is 0 all the time. */
  readonly isRare?: boolean;
}[] = [
  { name: 'connections', word: 'Connections', print: count },
  { name: 'deliveredPerSecond', word: 'Delivered per second', print: perSecond },
  { name: 'eventsPerSecond', word: 'Events per second', print: perSecond },
  { name: 'loopLateMs', word: 'Loop is late', print: (value) => `${count(value)} ms` },
  { name: 'memoryBytes', word: 'Memory', print: bytes },
  { name: 'webhooksWaiting', word: 'Webhooks wait', print: count, isRare: true },
  { name: 'pushWaiting', word: 'Pushes wait', print: count, isRare: true },
  { name: 'resumedPerSecond', word: 'Resumes per second', print: perSecond, isRare: true },
  { name: 'gapsPerSecond', word: 'Gaps per second', print: perSecond, isRare: true },
];

function perSecond(value: number): string {
  return value > 0 && value < 10 ? value.toFixed(1) : count(value);
}

/** The figures of the last hour: now, with the peak. */
export function Figures() {
  const [since] = useState(() => Date.now() - HOUR_MS);
  const { value } = useAnswer(
    'GET /figures',
    { query: { since: String(since) } },
    { everyMs: POLL_MS },
  );
  // Users with only some apps get no figures of the whole server.
  if (value === undefined || value.series.connections.length === 0) return null;
  return (
    <div class="stack tight">
      <section class="figures" aria-labelledby="figures">
        <h2 id="figures" class="unseen">
          Figures of the last hour
        </h2>
        {shown.map(({ name, word, print, isRare }) => {
          const values = value.series[name];
          const now = values.findLast((each) => each !== null) ?? 0;
          const peak = Math.max(0, ...values.map((each) => each ?? 0));
          if (isRare === true && peak === 0) return null;
          return (
            <div key={name} class="figure">
              <h3>{word}</h3>
              <p class="value">{print(now)}</p>
              <Sparkline
                values={values}
                label={`${word} in the last hour: now ${print(now)}, peak ${print(peak)}`}
              />
              <p class="muted small">peak {print(peak)} in 1 h</p>
            </div>
          );
        })}
      </section>
      {value.servers.length > 1 && <p class="muted small">{namesOf(value.servers)} together</p>}
    </div>
  );
}
