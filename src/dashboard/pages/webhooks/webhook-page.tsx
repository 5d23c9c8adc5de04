import { call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { bytes, count, counted, moment } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { looks } from './webhooks-page.tsx';

/** The result of one webhook request. */
export default function WebhookPage({
  app,
  webhook,
}: {
  readonly app: string;
  readonly webhook: string;
}) {
  const { value, failed, reload } = useAnswer('GET /webhooks/{id}', { path: { id: webhook } });
  const replay = async () => {
    try {
      await call('POST /webhooks/{id}/replay', { path: { id: webhook } });
      say('It will be sent again.');
      reload();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(error.message);
    }
  };
  if (value === undefined) {
    return (
      <div class="page">
        <PageHead title="Webhook request" of={app} failed={failed} />
        {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
        {failed?.status === 404 && (
          <p class="muted">Finished requests are kept for some days, then they are removed.</p>
        )}
      </div>
    );
  }
  const { state, reason, url, attempts, createdAt, finishedAt, nextAttemptAt, body, attemptLog } =
    value;
  return (
    <div class="page">
      <PageHead
        title="Webhook request"
        of={app}
        says={
          <span class="line-of">
            <span class={`tag ${looks[state]}`}>{state}</span>
            {reason !== '' ? `${reason}. ` : ''}
            {counted(attempts, 'attempt')}, created {moment(createdAt)}
            {nextAttemptAt !== null && `, next ${moment(nextAttemptAt)}`}
            {finishedAt !== null && `, finished ${moment(finishedAt)}`}.
          </span>
        }
        actions={
          <>
            {state !== 'waiting' && may('operator') && (
              <Button look="primary" onClick={() => void replay()}>
                Send again
              </Button>
            )}
            <Button onClick={reload}>Refresh</Button>
          </>
        }
      />
      <dl class="facts">
        <dt>Endpoint</dt>
        <dd class="mono">{url}</dd>
        <dt>Id</dt>
        <dd class="mono">{webhook}</dd>
      </dl>
      <Card title="Attempts">
        {attemptLog.length === 0 ? (
          <p class="inside muted">It has not been sent yet.</p>
        ) : (
          <table class="table cards">
            <TableHead
              columns={[
                'What was answered',
                'Outcome',
                { number: 'Status' },
                { number: 'Took' },
                { number: 'When' },
              ]}
            />
            <tbody>
              {attemptLog.map(({ number, at, durationMs, outcome, status, answer }) => (
                <tr key={number}>
                  <td class="wide">
                    {answer === '' || answer === null ? <span class="muted">nothing</span> : answer}
                  </td>
                  <td>
                    <span class={`tag ${outcome === 'delivered' ? 'ok' : 'bad'}`}>{outcome}</span>
                  </td>
                  <td class="number" data-label={status === null ? undefined : 'status'}>
                    {status ?? ''}
                  </td>
                  <td class="number">{count(durationMs)} ms</td>
                  <td class="number">{moment(at)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
      <Card
        title="Body"
        aside={
          <span class="line-of">
            <span class="muted small">{bytes(value.bodyBytes)}</span>
            {body !== null && <CopyButton text={body} />}
          </span>
        }
      >
        <div class="inside">
          {body === null ? (
            <p class="muted">Payloads are hidden from you.</p>
          ) : (
            <JsonTree value={parsedJson(body) ?? body} />
          )}
        </div>
      </Card>
    </div>
  );
}
