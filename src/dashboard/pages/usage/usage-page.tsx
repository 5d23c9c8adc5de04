import { useAnswer } from '../../api/use-answer.ts';
import { Bars, QuotaBar } from '../../parts/charts.tsx';
import { count } from '../../parts/formats.ts';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { apps } from '../../shell/apps.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;

/** How much does this app use? */
export default function UsagePage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer('GET /apps/{id}/usage', {
    path: { id: app },
    query: { days: String(DAYS) },
  });
  const quota = apps.value?.find(({ id }) => id === app)?.limits.messagesPerDay;
  const byDay = new Map(value?.usage.map((day) => [day.day, day]));
  const bars = Array.from({ length: DAYS }, (_, index) => {
    const label = new Date(Date.now() - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10);
    const day = byDay.get(label);
    return { label, value: day?.messages ?? 0, part: day?.clientMessages ?? 0 };
  });
  const today = bars.at(-1)?.value ?? 0;
  const total = bars.reduce((sum, { value: messages }) => sum + messages, 0);
  return (
    <div class="page">
      <PageHead
        title="Usage"
        of={app}
        says={
          value === undefined
            ? undefined
            : `${count(today)} messages today, ${count(total)} in ${DAYS} days. Days begin at midnight UTC.`
        }
      />
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {quota !== undefined && quota > 0 && (
        <p class="line-of">
          Quota of the day: <QuotaBar used={today} of={quota} />
          <span class="muted">
            {count(today)} of {count(quota)}
          </span>
        </p>
      )}
      {value !== undefined &&
        (total === 0 ? (
          <div class="card">
            <Empty icon="usage" title="No messages yet">
              <p>Looked at the last {DAYS} days of this app.</p>
            </Empty>
          </div>
        ) : (
          <Bars
            bars={bars}
            title="Messages by day"
            valueName="Messages"
            partName="Caused by clients"
          />
        ))}
    </div>
  );
}
