import { useState } from 'preact/hooks';
import type { WebhookEndpoint } from '../../api/answers.ts';
import { type Answer, call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { attempt } from '../../api/use-attempt.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { count, counted, duration, moment } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { say, sayWhy } from '../../parts/toasts.tsx';
import { apps } from '../../shell/apps.ts';
import { DurationWords } from './durations.tsx';

type Test = Answer<'POST /apps/{id}/webhook-tests'>;
type Outcome = Test | 'testing';
type Act = (url: string) => Promise<void>;

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

interface EndpointsProps {
  readonly app: string;
  readonly replayed: () => void;
}

/** How each endpoint of the app fares, with a test and a replay. */
export function Endpoints({ app, replayed }: EndpointsProps) {
  const { value, failed, reload } = useAnswer(
    'GET /webhook-endpoints',
    { query: { app } },
    { everyMs: POLL_MS },
  );
  const { tested, test } = useTests(app);
  const configured = apps.value?.find(({ id }) => id === app)?.webhooks.map(({ url }) => url) ?? [];
  const known = new Map(value?.endpoints.map((health) => [health.url, health]));
  const urls = [...new Set([...configured, ...known.keys()])];
  if (failed !== undefined) return <FailureNotice failed={failed} retry={reload} />;
  if (value === undefined || urls.length === 0) return null;

  const replay = (url: string) =>
    attempt(async () => {
      say(`${counted(await replayFailed(app, url), 'request')} will be sent again.`);
      reload();
      replayed();
    }, sayWhy);
  return (
    <Card title="Endpoints">
      <AwayServers servers={value.servers} />
      <table class="table cards">
        <TableHead
          columns={[
            'Endpoint',
            'State',
            { number: 'Delivered' },
            'Answers within',
            { number: 'Waiting' },
          ]}
          hasActions
        />
        <tbody>
          {urls.map((url) => (
            <EndpointRow
              key={url}
              url={url}
              health={known.get(url)}
              outcome={tested[url]}
              hasServers={value.servers.length > 1}
              test={configured.includes(url) && test}
              replay={replay}
            />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

/** Tests endpoints, and keeps the last outcome of each. */
function useTests(app: string) {
  const [tested, setTested] = useState<Readonly<Record<string, Outcome>>>({});
  const test = (url: string) => {
    setTested((before) => ({ ...before, [url]: 'testing' }));
    const path = { id: app };
    return attempt(
      async () => {
        const outcome = await call('POST /apps/{id}/webhook-tests', { path, body: { url } });
        setTested((before) => ({ ...before, [url]: outcome }));
      },
      (failed) => {
        setTested(({ [url]: _, ...others }) => others);
        sayWhy(failed);
      },
    );
  };
  return { tested, test };
}

interface EndpointRowProps {
  readonly url: string;
  /** Left out until a request was sent there. */
  readonly health: WebhookEndpoint | undefined;
  /** The outcome of the last test. */
  readonly outcome: Outcome | undefined;
  /** Whether more than one server sends. */
  readonly hasServers: boolean;
  /** Only configured endpoints can be tested. */
  readonly test: false | Act;
  readonly replay: Act;
}

function EndpointRow({ url, health, outcome, hasServers, test, replay }: EndpointRowProps) {
  const { servers = [], delivered = 0, durations = [], waiting = 0, failed = 0 } = health ?? {};
  return (
    <tr>
      <td class="name">
        <div class="cut">{url}</div>
        {hasServers && health !== undefined && (
          <div class="muted small">tried by {servers.join(', ')}</div>
        )}
        <div class="muted small" role="status">
          {outcome === 'testing' ? 'Testing …' : outcome && <TestResult test={outcome} />}
        </div>
      </td>
      <td>
        <HealthWords health={health} />
      </td>
      <td class="number" data-label="delivered">
        {count(delivered)}
      </td>
      <td data-label="answers within">
        <DurationWords url={url} durations={durations} />
      </td>
      <td class="number" data-label="waiting">
        {count(waiting)}
      </td>
      <td class="number">
        <span class="buttons">
          {test && may('operator') && (
            <Button look="slim" disabled={outcome === 'testing'} onClick={() => void test(url)}>
              Test
            </Button>
          )}
          {failed > 0 && may('operator') && (
            <Button look="slim" onClick={() => void replay(url)}>
              Send failed again
            </Button>
          )}
        </span>
      </td>
    </tr>
  );
}

function HealthWords({ health }: { readonly health: WebhookEndpoint | undefined }) {
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
