import { useState } from 'preact/hooks';
import type { Webhook } from '../../api/answers.ts';
import { call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { Button, StateChoice } from '../../parts/controls.tsx';
import { bytes, counted, moment } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { address, inApp, pathTo, setQuery } from '../../routing/router.ts';
import { apps } from '../../shell/apps.ts';
import { Endpoints, replayFailed } from './endpoints.tsx';

const states = ['waiting', 'failed', 'delivered'] as const;

/** The look of a state. */
export const looks = { waiting: 'warn', failed: 'bad', delivered: 'ok' } as const;

/** Did the backend get it? */
export default function WebhooksPage({ app }: { readonly app: string }) {
  const state = states.find((each) => each === address.value.query['state']);
  const { items, hasMore, failed, isAsking, more, reload } = usePages(
    `${app} ${state}`,
    async (before) => {
      const { webhooks, next } = await call('GET /webhooks', {
        query: { app, state, before, limit: '100' },
      });
      return { items: webhooks, next };
    },
  );
  const [isReplaying, setReplaying] = useState(false);
  const replayAll = async () => {
    setReplaying(true);
    try {
      say(`${counted(await replayFailed(app), 'request')} will be sent again.`);
      reload();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      say(error.message);
    } finally {
      setReplaying(false);
    }
  };
  const hasFailed = items?.some((each) => each.state === 'failed') === true;
  return (
    <div class="page">
      <PageHead
        title="Webhooks"
        of={app}
        failed={failed}
        says={sentence(items, hasMore)}
        actions={
          <>
            {hasFailed && may('operator') && (
              <Button disabled={isReplaying} onClick={() => void replayAll()}>
                Send all failed again
              </Button>
            )}
            <Button onClick={reload}>Refresh</Button>
          </>
        }
      />
      <Endpoints app={app} replayed={reload} />
      <StateChoice states={states} state={state} choose={(chosen) => setQuery({ state: chosen })} />
      <FailureNotice failed={failed} retry={reload} />
      {items !== undefined && (
        <section class="card" aria-label="Webhook requests">
          {items.length === 0 ? (
            <NoWebhooks app={app} state={state} />
          ) : (
            <WebhookTable app={app} webhooks={items} />
          )}
        </section>
      )}
      <More {...{ hasMore, isAsking, more }} />
    </div>
  );
}

function sentence(items: readonly Webhook[] | undefined, hasMore: boolean): string | undefined {
  if (items === undefined) return undefined;
  const number = (state: Webhook['state']) => items.filter((each) => each.state === state).length;
  const parts = states.flatMap((state) =>
    number(state) === 0 ? [] : [`${number(state)} ${state}`],
  );
  return parts.length === 0
    ? 'The requests that carry events to your backend.'
    : `Of the ${hasMore ? 'newest' : ''} ${counted(items.length, 'request')}: ${parts.join(', ')}.`;
}

function WebhookTable({
  app,
  webhooks,
}: {
  readonly app: string;
  readonly webhooks: readonly Webhook[];
}) {
  return (
    <table class="table cards">
      <TableHead
        columns={[
          'Events',
          'Endpoint',
          'State',
          { number: 'Attempts' },
          { number: 'Size' },
          { number: 'Created' },
        ]}
      />
      <tbody>
        {webhooks.map(
          ({ id, events, url, state, reason, attempts, bodyBytes, createdAt, nextAttemptAt }) => (
            <tr key={id}>
              <td class="name">
                <div class="cut" title={events}>
                  <a href={pathTo(inApp(app, 'webhooks', id))}>{events || 'not known'}</a>
                </div>
              </td>
              <td class="wide">
                <div class="cut" title={url}>
                  {url}
                </div>
                {reason !== '' && <div class="cut muted small">{reason}</div>}
              </td>
              <td>
                <span class={`tag ${looks[state]}`}>{state}</span>
              </td>
              <td class="number" data-label="attempts">
                {attempts}
              </td>
              <td class="number">{bytes(bodyBytes)}</td>
              <td class="number">
                {moment(createdAt)}
                {nextAttemptAt !== null && (
                  <div class="muted small">next {moment(nextAttemptAt)}</div>
                )}
              </td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

function NoWebhooks({ app, state }: { readonly app: string; readonly state: string | undefined }) {
  const isConfigured = (apps.value?.find(({ id }) => id === app)?.webhooks.length ?? 0) > 0;
  if (state !== undefined) {
    return (
      <Empty icon="webhook" title={`No request is ${state}`}>
        <Button onClick={() => setQuery({ state: '' })}>Show all states</Button>
      </Empty>
    );
  }
  return isConfigured ? (
    <Empty icon="webhook" title="No request yet">
      <p>The app has endpoints, and none of the events that they ask for has happened yet.</p>
    </Empty>
  ) : (
    <Empty icon="webhook" title="This app has no webhook endpoint">
      <p>
        Add one by the admin API: <code>PATCH /api/v1/apps/{app}</code> with <code>webhooks</code>,
        or in the configuration file.
      </p>
    </Empty>
  );
}
