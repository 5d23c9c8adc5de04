import type { WebhookDetails } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { attempt } from '../../api/use-attempt.ts';
import { Card } from '../../parts/card.tsx';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { bytes, count, counted, moment } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { say, sayWhy } from '../../parts/toasts.tsx';
import { looks } from './webhooks-page.tsx';

interface WebhookPageProps {
  readonly app: string;
  readonly webhook: string;
}

/** The result of one webhook request. */
export default function WebhookPage({ app, webhook }: WebhookPageProps) {
  const path = { id: webhook };
  const { value, failed, reload } = useAnswer('GET /webhooks/{id}', { path });
  const replay = () =>
    attempt(async () => {
      await call('POST /webhooks/{id}/replay', { path });
      say('It will be sent again.');
      reload();
    }, sayWhy);
  return (
    <div class="page">
      <PageHead
        title="Webhook request"
        of={app}
        failed={failed}
        says={value && <WebhookNews webhook={value} />}
        actions={
          value && (
            <>
              {value.state !== 'waiting' && may('operator') && (
                <Button look="primary" onClick={() => void replay()}>
                  Send again
                </Button>
              )}
              <Button onClick={reload}>Refresh</Button>
            </>
          )
        }
      />
      {value === undefined ? (
        <>
          <FailureNotice failed={failed} retry={reload} />
          {failed?.status === 404 && (
            <p class="muted">Finished requests are kept for some days, then they are removed.</p>
          )}
        </>
      ) : (
        <>
          <dl class="facts">
            <dt>Events</dt>
            <dd>{value.events || 'not known'}</dd>
            <dt>Endpoint</dt>
            <dd class="mono">{value.url}</dd>
            <dt>Id</dt>
            <dd class="mono">{webhook}</dd>
          </dl>
          <Card title="Attempts">
            <Attempts log={value.attemptLog} />
          </Card>
          <Body webhook={value} />
        </>
      )}
    </div>
  );
}

interface WebhookProps {
  readonly webhook: WebhookDetails;
}

function WebhookNews({ webhook }: WebhookProps) {
  const { state, reason, attempts, createdAt, finishedAt, nextAttemptAt } = webhook;
  return (
    <span class="line-of">
      <span class={`tag ${looks[state]}`}>{state}</span>
      {reason !== '' ? `${reason}. ` : ''}
      {counted(attempts, 'attempt')}, created {moment(createdAt)}
      {nextAttemptAt !== null && `, next ${moment(nextAttemptAt)}`}
      {finishedAt !== null && `, finished ${moment(finishedAt)}`}.
    </span>
  );
}

function Attempts({ log }: { readonly log: WebhookDetails['attemptLog'] }) {
  if (log.length === 0) return <p class="inside muted">It has not been sent yet.</p>;
  return (
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
        {log.map(({ number, at, durationMs, outcome, status, answer }) => (
          <tr key={number}>
            <td class="wide">{answer || <span class="muted">nothing</span>}</td>
            <td>
              <span class={`tag ${outcome === 'delivered' ? 'ok' : 'bad'}`}>{outcome}</span>
            </td>
            <td class="number" data-label={status === null ? undefined : 'status'}>
              {status}
            </td>
            <td class="number">{count(durationMs)} ms</td>
            <td class="number">{moment(at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Body({ webhook: { body, bodyBytes } }: WebhookProps) {
  return (
    <Card
      title="Body"
      aside={
        <span class="line-of">
          <span class="muted small">{bytes(bodyBytes)}</span>
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
  );
}
