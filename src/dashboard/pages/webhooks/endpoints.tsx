import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { count, counted, duration, moment } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { say } from '../../parts/toasts.tsx';
import { apps } from '../../shell/apps.ts';

import { DurationWords } from './durations.tsx';

type Health = Answer<'GET /webhook-endpoints'>['endpoints'][number];
type Test = Answer<'POST /apps/{id}/webhook-tests'>;

const POLL_MS = 5000;

/** Sends failed requests again, page by page. Throws the refusal. */
export async function replayFailed(app: string, url?: string): Promise<number> {
  let total = 0;
  let before: string | undefined;
  do {
    const { replayed, next } = await call('POST /webhook-replays', {
      body: { app, url, state: 'failed', before },
    });
    total += replayed;
    before = next ?? undefined;
  } while (before !== undefined);
  return total;
}

/** How each endpoint of the app fares, with a test and a replay. */
export function Endpoints({
  app,
  replayed,
}: {
  readonly app: string;
  readonly replayed: () => void;
}) {
  const { value, failed, reload } = useAnswer(
    'GET /webhook-endpoints',
    { query: { app } },
    { everyMs: POLL_MS },
  );
  const [tested, setTested] = useState<Readonly<Record<string, Test | 'testing'>>>({});
  const configured = apps.value?.find(({ id }) => id === app)?.webhooks.map(({ url }) => url) ?? [];
  const known = new Map(value?.endpoints.map((health) => [health.url, health]));
  const urls = [...new Set([...configured, ...known.keys()])];
  if (failed !== undefined) return <FailureNotice failed={failed} retry={reload} />;
  if (value === undefined || urls.length === 0) return null;

  const attempt = async (action: () => Promise<void>) => {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(error.message);
    }
  };
  const test = (url: string) => {
    setTested((before) => ({ ...before, [url]: 'testing' }));
    void attempt(async () => {
      try {
        const outcome = await call('POST /apps/{id}/webhook-tests', {
          path: { id: app },
          body: { url },
        });
        setTested((before) => ({ ...before, [url]: outcome }));
      } catch (error) {
        setTested(({ [url]: _, ...others }) => others);
        throw error;
      }
    });
  };
  const replay = (url: string) =>
    attempt(async () => {
      say(`${counted(await replayFailed(app, url), 'request')} will be sent again.`);
      reload();
      replayed();
    });
  return (
    <Card title="Endpoints">
      <AwayServers servers={value.servers} />
      <table class="table cards">
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col">State</th>
            <th scope="col" class="number">
              Delivered
            </th>
            <th scope="col">Answers within</th>
            <th scope="col" class="number">
              Waiting
            </th>
            <th scope="col">
              <span class="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {urls.map((url) => {
            const health = known.get(url);
            const outcome = tested[url];
            return (
              <tr key={url}>
                <td class="name">
                  <div class="cut">{url}</div>
                  {value.servers.length > 1 && health !== undefined && (
                    <div class="muted small">tried by {health.servers.join(', ')}</div>
                  )}
                  <div class="muted small" role="status">
                    {outcome === 'testing' && 'Testing …'}
                    {outcome !== undefined && outcome !== 'testing' && (
                      <TestResult test={outcome} />
                    )}
                  </div>
                </td>
                <td>
                  <HealthWords health={health} />
                </td>
                <td class="number" data-label="delivered">
                  {count(health?.delivered ?? 0)}
                </td>
                <td data-label="answers within">
                  <DurationWords url={url} durations={health?.durations ?? []} />
                </td>
                <td class="number" data-label="waiting">
                  {count(health?.waiting ?? 0)}
                </td>
                <td class="number">
                  <span class="buttons">
                    {configured.includes(url) && may('operator') && (
                      <Button
                        look="slim"
                        disabled={outcome === 'testing'}
                        onClick={() => test(url)}
                      >
                        Test
                      </Button>
                    )}
                    {(health?.failed ?? 0) > 0 && may('operator') && (
                      <Button look="slim" onClick={() => void replay(url)}>
                        Send failed again
                      </Button>
                    )}
                  </span>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Card>
  );
}

function HealthWords({ health }: { readonly health: Health | undefined }) {
  if (health === undefined) return <span class="muted">nothing sent yet</span>;
  const { failingSinceMs, lastStatus, lastOutcome, lastAtMs, oldestWaitingAtMs } = health;
  const why = lastStatus === null ? lastOutcome : `status ${lastStatus}`;
  return failingSinceMs === null ? (
    <span class="tag ok" title={`Last ${moment(lastAtMs)}`}>
      delivers
    </span>
  ) : (
    <span class="line-of">
      <span class="tag bad">fails: {why}</span>
      <span class="muted small">
        since {moment(failingSinceMs)}
        {oldestWaitingAtMs !== null &&
          `, the oldest waits ${duration(Date.now() - oldestWaitingAtMs)}`}
      </span>
    </span>
  );
}

function TestResult({ test }: { readonly test: Test }) {
  const { outcome, status, durationMs, answer } = test;
  return (
    <>
      <span class={outcome === 'delivered' ? 'ok' : 'bad'}>
        {outcome}
        {status !== null && `, status ${status}`}
      </span>{' '}
      after {count(durationMs)} ms{answer !== null && answer !== '' && `: ${answer}`}
    </>
  );
}
