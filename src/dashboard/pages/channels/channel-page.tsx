import { useState } from 'preact/hooks';
import type { ChannelDetails } from '../../api/answers.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { Search } from '../../parts/controls.tsx';
import { bytes, count, counted, duration } from '../../parts/formats.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { JsonTree } from '../../parts/json/json-tree.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { Table } from '../../parts/table-head.tsx';
import { go, inApp, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { ConnectionTable } from '../connections/connection-table.tsx';
import { sendDraft } from '../send/draft.ts';
import { History } from './history.tsx';

const POLL_MS = 5000;
/** How many members are drawn. */
const DRAWN = 200;

/** Who is in there? */
export default function ChannelPage({
  app,
  channel,
}: {
  readonly app: string;
  readonly channel: string;
}) {
  const { value, failed, reload } = useAnswer(
    'GET /apps/{id}/channels/{name}',
    { path: { id: app, name: channel } },
    { everyMs: POLL_MS },
  );
  const sendPath = inApp(app, 'send');
  return (
    <div class="page">
      <PageHead
        title={channel}
        of={app}
        failed={failed}
        says={value && sentence(value)}
        actions={
          <>
            <a class="button" href={pathTo(inApp(app, 'live'), { channel })}>
              Watch it live
            </a>
            <a
              class="button"
              href={pathTo(sendPath)}
              onClick={(event) => {
                event.preventDefault();
                sendDraft.value = { ...sendDraft.value, channel };
                go(sendPath);
              }}
            >
              Send here
            </a>
          </>
        }
      />
      <FailureNotice failed={failed} retry={reload} />
      <AwayServers servers={value?.servers} />
      {value !== undefined && !value.occupied && value.cached === null && <Nobody app={app} />}
      {value?.cached != null && <Cached cached={value.cached} />}
      <History app={app} channel={channel} />
      {value !== undefined && value.users > 0 && <Members app={app} value={value} />}
      {value !== undefined && value.connections.length > 0 && (
        <Card
          title="Connections"
          aside={
            value.moreConnections && (
              <a class="small" href={pathTo(inApp(app, 'connections'), { channel })}>
                Show all
              </a>
            )
          }
        >
          <ConnectionTable app={app} {...value} />
        </Card>
      )}
    </div>
  );
}

function Nobody({ app }: { readonly app: string }) {
  return (
    <div class="card">
      <Empty icon="channel" title="Nobody is subscribed">
        <p>Names of channels are exact: capitals, dots and dashes count.</p>
        <a class="button" href={pathTo(inApp(app, 'channels'))}>
          Show all channels in use
        </a>
      </Empty>
    </div>
  );
}

function sentence({ subscriptions, users, cached }: ChannelDetails): string {
  const parts = [counted(subscriptions, 'connection')];
  if (users > 0) parts.push(counted(users, 'user'));
  const event = cached === null ? '' : ` ${cachedSentence(cached)}`;
  return `${parts.join(' of ')} now.${event}`;
}

function cachedSentence({ name, ageMs, value }: NonNullable<ChannelDetails['cached']>): string {
  if (value === null) return `Cached: ${name}, ${duration(ageMs)} old.`;
  const state = value.hasEnded ? 'It has ended.' : 'It has not ended.';
  return `Value: ${value.id}, ${counted(value.length, 'character')}. Last piece ${duration(ageMs)} ago. ${state}`;
}

function Cached({ cached }: { readonly cached: NonNullable<ChannelDetails['cached']> }) {
  return (
    <Card
      title={
        cached.value === null ? (
          <>Cached event: {cached.name}</>
        ) : (
          <>
            Value of {cached.name}: {cached.value.id}
          </>
        )
      }
      aside={
        <span class="muted small">
          {cached.value !== null && (cached.value.hasEnded ? 'ended, ' : 'growing, ')}
          {duration(cached.ageMs)} old, {bytes(cached.bytes)}
        </span>
      }
    >
      <div class="inside">
        {cached.data === null ? (
          <p class="muted">Payloads are hidden from you.</p>
        ) : (
          <JsonTree value={parsedJson(cached.data) ?? cached.data} />
        )}
      </div>
    </Card>
  );
}

function Members({ app, value }: { readonly app: string; readonly value: ChannelDetails }) {
  const [typed, setTyped] = useState('');
  const fits = value.members.filter(({ userId, userInfo }) =>
    `${userId} ${userInfo ?? ''}`.toLowerCase().includes(typed.toLowerCase()),
  );
  return (
    <Card
      title="Members"
      aside={<Search label="Filter members" value={typed} onInput={setTyped} />}
    >
      <Table columns={['User', 'User info']}>
        {fits.slice(0, DRAWN).map(({ userId, userInfo }) => (
          <tr key={userId}>
            <td class="name">
              <div class="cut">
                <UserLink user={userId} app={app} channel={value.name} />
              </div>
            </td>
            <td class="wide">
              <div class="cut mono muted">{userInfo ?? ''}</div>
            </td>
          </tr>
        ))}
      </Table>
      {(fits.length > DRAWN || value.users > value.members.length) && (
        <p class="inside muted small">
          {count(Math.min(fits.length, DRAWN))} of {count(value.users)} are shown. The filter looks
          at {count(value.members.length)}.
        </p>
      )}
    </Card>
  );
}
