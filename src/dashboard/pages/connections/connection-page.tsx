import { useState } from 'preact/hooks';
import { call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { counted, duration, moment } from '../../parts/formats.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { inApp, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { libraryOf, Waiting } from './connection-table.tsx';

const POLL_MS = 3000;

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
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const appPath = inApp(app);
  const disconnect = async () => {
    try {
      await call('DELETE /apps/{id}/connections/{socket}', { path });
      say('Disconnected. A well-behaved client connects again.');
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
  return (
    <div class="page">
      <PageHead
        title={`Connection ${socket}`}
        of={app}
        failed={failed}
        says={
          value === undefined
            ? undefined
            : `${value.user ?? 'Nobody signed in'}, with ${libraryOf(value)}, in ${counted(value.channels, 'channel')}, open for ${duration(Date.now() - value.openedAtMs)}.`
        }
        actions={
          <>
            <a class="button" href={pathTo(`${appPath}/live`, { socket })}>
              Watch it live
            </a>
            {may('operator') && (
              <Button
                look="danger"
                disabled={failed !== undefined}
                onClick={() => void disconnect()}
              >
                Disconnect
              </Button>
            )}
          </>
        }
      />
      {failed !== undefined && (
        <FailureNotice failed={failed} retry={failed.status === 404 ? undefined : reload} />
      )}
      {wrong !== undefined && <FailureNotice failed={wrong} />}
      {value !== undefined && (
        <div class="two">
          <Card title="Facts">
            <dl class="inside facts">
              <dt>User</dt>
              <dd>
                {value.user === null ? (
                  <span class="muted">not signed in</span>
                ) : (
                  <UserLink user={value.user} app={app} />
                )}
              </dd>
              <dt>Waiting for it</dt>
              <dd>
                <Waiting bytes={value.waitingBytes} />
              </dd>
              <dt>Heard from</dt>
              <dd>{duration(Date.now() - value.heardAtMs)} ago</dd>
              <dt>Opened</dt>
              <dd>{moment(value.openedAtMs)}</dd>
              <dt>Library</dt>
              <dd>
                {libraryOf(value)}
                {value.client !== null && `, protocol ${value.client.protocol}`}
              </dd>
              <dt>Transport</dt>
              <dd>{value.transport === 'http' ? 'HTTP' : 'WebSocket'}</dd>
              {value.address !== null && (
                <>
                  <dt>Address</dt>
                  <dd>
                    <a href={pathTo(`${appPath}/connections`, { address: value.address })}>
                      {value.address}
                    </a>
                  </dd>
                </>
              )}
              {value.watching > 0 && (
                <>
                  <dt>Watches</dt>
                  <dd>{counted(value.watching, 'user')}</dd>
                </>
              )}
              <dt>Server</dt>
              <dd>{value.server}</dd>
            </dl>
          </Card>
          <Card title="Channels">
            <ul class="inside stack tight">
              {value.channelNames.length === 0 && <li class="muted">None yet.</li>}
              {value.channelNames.map((name) => (
                <li key={name} class="cut">
                  <a href={pathTo(`${appPath}/channels/${encodeURIComponent(name)}`)}>{name}</a>
                </li>
              ))}
              {value.channels > value.channelNames.length && (
                <li class="muted">
                  … {counted(value.channels - value.channelNames.length, 'more', 'more')}
                </li>
              )}
            </ul>
          </Card>
        </div>
      )}
    </div>
  );
}
