import type { Usage } from '../../api/answers.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { QuotaBar } from '../../parts/charts/charts.tsx';
import { Band, Bars } from '../../parts/charts/plots.tsx';
import { Button } from '../../parts/controls.tsx';
import { count, counted, duration } from '../../parts/formats.ts';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { address, setQuery } from '../../routing/router.ts';
import { apps } from '../../shell/apps.ts';
import { forecast } from './forecast.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const views = [
  { word: '30 days', unit: 'day', days: 30 },
  { word: '48 hours', unit: 'hour', days: 2 },
  { word: '14 days by hour', unit: 'hour', days: 14 },
] as const;

/** How much does this app use? */
export default function UsagePage({ app }: { readonly app: string }) {
  const { unit, days } = address.value.query;
  const view =
    views.find((each) => each.unit === unit && String(each.days) === days) ??
    views.find((each) => each.unit === unit) ??
    views[0];
  const { value, failed, reload } = useAnswer('GET /apps/{id}/usage', {
    path: { id: app },
    query: { days: String(view.days), unit: view.unit },
  });
  const quota = apps.value?.find(({ id }) => id === app)?.limits.messagesPerDay ?? 0;
  return (
    <div class="page">
      <PageHead
        title="Usage"
        of={app}
        failed={failed}
        says={value === undefined ? undefined : sentence(value.usage, view)}
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      <fieldset class="kinds" aria-label="Time">
        {views.map((each) => (
          <Button
            key={each.word}
            look="slim"
            pressed={each === view}
            onClick={() => setQuery({ unit: each.unit, days: String(each.days) })}
          >
            {each.word}
          </Button>
        ))}
      </fieldset>
      <FailureNotice failed={failed} retry={reload} />
      {quota > 0 && <Quota app={app} quota={quota} />}
      {value !== undefined &&
        (view.unit === 'day' ? (
          <Days usage={value.usage} />
        ) : (
          <Hours usage={value.usage} view={view} />
        ))}
    </div>
  );
}

function sentence(usage: readonly Usage[], { unit, word }: (typeof views)[number]): string {
  const total = usage.reduce((sum, { messages }) => sum + messages, 0);
  if (unit === 'day') {
    const today = usage.find(({ day }) => day === dayOf(Date.now()))?.messages ?? 0;
    return `${count(today)} messages today, ${count(total)} in 30 days. Days begin at midnight UTC.`;
  }
  const busiest = usage.toSorted(
    (a, b) => (b.connections?.most ?? 0) - (a.connections?.most ?? 0),
  )[0];
  if (busiest === undefined) return 'No hour has been measured yet.';
  const most = busiest.connections?.most ?? 0;
  const since = word === '48 hours' ? '48 hours' : '14 days';
  return `${counted(most, 'connection')} at most in ${since}${most === 0 ? '' : `, at ${labelOf(busiest)} UTC`}, and ${count(total)} messages.`;
}

function Days({ usage }: { readonly usage: readonly Usage[] }) {
  const byDay = new Map(usage.map((day) => [day.day, day]));
  const bars = Array.from({ length: 30 }, (_, index) => {
    const label = dayOf(Date.now() - (29 - index) * DAY_MS);
    const day = byDay.get(label);
    return { label, value: day?.messages ?? 0, part: day?.clientMessages ?? 0 };
  });
  if (usage.length === 0) {
    return (
      <div class="card">
        <Empty icon="usage" title="No messages yet">
          <p>Looked at the last 30 days of this app.</p>
        </Empty>
      </div>
    );
  }
  return <Bars bars={bars} title="Messages by day" names={['Messages', 'Caused by clients']} />;
}

function Hours({
  usage,
  view,
}: {
  readonly usage: readonly Usage[];
  readonly view: (typeof views)[number];
}) {
  if (usage.length === 0) {
    return (
      <div class="card">
        <Empty icon="usage" title="No hour has been measured yet">
          <p>Connections are counted each 10 s from the start of the server on.</p>
        </Empty>
      </div>
    );
  }
  const byHour = new Map(usage.map((hour) => [labelOf(hour), hour]));
  const thisHour = Math.floor(Date.now() / HOUR_MS);
  const hours = Array.from({ length: view.days * 24 }, (_, index) => {
    const start = new Date((thisHour - view.days * 24 + 1 + index) * HOUR_MS);
    const label = labelOf({ day: dayOf(start.getTime()), hour: start.getUTCHours() });
    return { label, of: byHour.get(label) };
  });
  return (
    <>
      <Band
        title="Connections by hour"
        points={hours.map(({ label, of }) => ({ label, value: of?.connections ?? null }))}
      />
      <Bars
        title="Messages by hour"
        names={['Messages', 'Caused by clients']}
        bars={hours.map(({ label, of }) => ({
          label,
          value: of?.messages ?? null,
          part: of?.clientMessages ?? 0,
        }))}
      />
      <p class="muted small">Hours are UTC. Gap: no server ran.</p>
    </>
  );
}

/** Today's quota, with the forecast for midnight. */
function Quota({ app, quota }: { readonly app: string; readonly quota: number }) {
  const path = { id: app };
  const days = useAnswer('GET /apps/{id}/usage', { path, query: { days: '1' } });
  const hours = useAnswer('GET /apps/{id}/usage', { path, query: { days: '1', unit: 'hour' } });
  if (days.value === undefined || hours.value === undefined) return null;
  const nowMs = Date.now();
  // Messages that clients cause do not count.
  const counted = ({ messages, clientMessages }: Usage) => messages - clientMessages;
  const today = days.value.usage.find(({ day }) => day === dayOf(nowMs));
  const used = today === undefined ? 0 : counted(today);
  const predicted = forecast(
    hours.value.usage.map((hour) => ({
      startMs: Date.parse(hour.day) + (hour.hour ?? 0) * HOUR_MS,
      messages: counted(hour),
    })),
    { used, quota, nowMs },
  );
  return (
    <p class="line-of">
      Quota of the day: <QuotaBar used={used} of={quota} forecast={predicted?.atMidnight ?? used} />
      <span class="muted">
        {count(used)} of {count(quota)} messages of the backend.{' '}
        {used >= quota
          ? 'It is used up: requests are refused until midnight UTC.'
          : predicted !== undefined &&
            `At the pace of the last ${duration(predicted.paceMs)}: ${
              predicted.usedUpAtMs === undefined
                ? `${count(predicted.atMidnight)} at midnight UTC.`
                : `used up at ${new Date(predicted.usedUpAtMs).toISOString().slice(11, 16)} UTC.`
            }`}
      </span>
    </p>
  );
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** `2026-11-24 13:00`. */
function labelOf({ day, hour = 0 }: Pick<Usage, 'day' | 'hour'>): string {
  return `${day} ${String(hour).padStart(2, '0')}:00`;
}
