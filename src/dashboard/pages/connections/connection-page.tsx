import type { ConnectionDetails } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card, Fact } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { counted, duration, moment } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { inApp, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { libraryOf, Waiting } from './connection-table.tsx';

interface ConnectionProps {
  readonly app: string;
  readonly connection: ConnectionDetails;
}

const POLL_MS = 3000;

const TRANSPORTS: Readonly<Record<ConnectionDetails['transport'], string>> = {
  websocket: 'WebSocket',
  http: 'HTTP',
  sse: 'Reads server-sent events',
};

/** Who is this client, and why is it slow? */
export default function ConnectionPage({
  app,
  socket,
}: {
  readonly app: string;
  readonly socket: string;
}) {
  const path = { id: app, socket };
  const { value, failed, reload } = useAnswer(
    'GET /apps/{id}/connections/{socket}',
    { path },
    { everyMs: POLL_MS },
  );
  const { failed: wrong, attempt } = useOutcome();
  const disconnect = async () => {
    await call('DELETE /apps/{id}/connections/{socket}', { path });
    say('Disconnected. A well-behaved client connects again.');
  };
  return (
    <div class="page">
      <PageHead
        title={`Connection ${socket}`}
        of={app}
        failed={failed}
        says={value && sentence(value)}
        actions={
          <>
            <a class="button" href={pathTo(inApp(app, 'live'), { socket })}>
              Watch it live
            </a>
            {may('operator') && (
              <Button
                look="danger"
                disabled={failed !== undefined}
                onClick={() => void attempt(disconnect)}
              >
                Disconnect
              </Button>
            )}
          </>
        }
      />
      <FailureNotice failed={failed} retry={failed?.status === 404 ? undefined : reload} />
      <FailureNotice failed={wrong} />
      {value !== undefined && (
        <div class="two">
          <Facts app={app} connection={value} />
          <Channels app={app} connection={value} />
        </div>
      )}
    </div>
  );
}

function sentence(connection: ConnectionDetails): string {
  const { user, channels, openedAtMs } = connection;
  const openFor = duration(Date.now() - openedAtMs);
  return `${user ?? 'Nobody signed in'}, with ${libraryOf(connection)}, in ${counted(channels, 'channel')}, open for ${openFor}.`;
}

function Facts({ app, connection }: ConnectionProps) {
  const { user, client, address, watching } = connection;
  return (
    <Card title="Facts">
      <dl class="inside facts">
        <Fact word="User">
          {user === null ? (
            <span class="muted">not signed in</span>
          ) : (
            <UserLink user={user} app={app} />
          )}
        </Fact>
        <Fact word="Waiting for it">
          <Waiting bytes={connection.waitingBytes} />
        </Fact>
        <Fact word="Heard from">{duration(Date.now() - connection.heardAtMs)} ago</Fact>
        <Fact word="Opened">{moment(connection.openedAtMs)}</Fact>
        <Fact word="Library">
          {libraryOf(connection)}
          {client !== null && `, protocol ${client.protocol}`}
        </Fact>
        <Fact word="Transport">{TRANSPORTS[connection.transport]}</Fact>
        <Fact word="Address">
          {address !== null && (
            <a href={pathTo(inApp(app, 'connections'), { address })}>{address}</a>
          )}
        </Fact>
        <Fact word="Grants">
          {connection.grants.length > 0 &&
            connection.grants.map(({ by, patterns, endsAtMs }, at) => (
              <div key={at}>
                {by === 'token' ? 'Token' : 'Sign-in'} for {patterns.join(', ') || 'no channel'}
                {endsAtMs !== null && `, until ${moment(endsAtMs)}`}
              </div>
            ))}
        </Fact>
        <Fact word="Watches">{watching > 0 && counted(watching, 'user')}</Fact>
        <Fact word="Server">{connection.server}</Fact>
      </dl>
    </Card>
  );
}

function Channels({ app, connection: { channels, channelNames } }: ConnectionProps) {
  return (
    <Card title="Channels">
      <ul class="inside stack tight">
        {channelNames.length === 0 && <li class="muted">None yet.</li>}
        {channelNames.map((name) => (
          <li key={name} class="cut">
            <a href={pathTo(inApp(app, 'channels', name))}>{name}</a>
          </li>
        ))}
        {channels > channelNames.length && (
          <li class="muted">… {counted(channels - channelNames.length, 'more', 'more')}</li>
        )}
      </ul>
    </Card>
  );
}
