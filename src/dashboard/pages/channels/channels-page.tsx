import { useState } from 'preact/hooks';
import type { Answer } from '../../api/client.ts';
import { Button, Search } from '../../parts/controls.tsx';
import { count, counted } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Table } from '../../parts/table-head.tsx';
import { useList } from '../../parts/use-pages.ts';
import { address, inApp, pathTo, setQuery } from '../../routing/router.ts';

const PAGE = 200;

/** The kinds of channels, by the beginning of their names. The longest comes first. */
const kinds = [
  ['private-encrypted-', 'encrypted'],
  ['private-', 'private'],
  ['presence-', 'presence'],
  ['cache-', 'cache'],
] as const;

function kindOf(name: string): string {
  return kinds.find(([prefix]) => name.startsWith(prefix))?.[1] ?? 'public';
}

/** Which channels are in use? */
export default function ChannelsPage({ app }: { readonly app: string }) {
  const prefix = address.value.query['prefix'] ?? '';
  const [typed, setTyped] = useState(prefix);
  const pages = useList('GET /apps/{id}/channels', 'channels', {
    path: { id: app },
    query: { prefix, limit: String(PAGE) },
  });
  const { items, hasMore, failed, reload } = pages;
  const which = prefix === '' ? 'in use now' : `beginning with “${prefix}”`;
  const search = (text: string) => {
    setTyped(text);
    setQuery({ prefix: text.trim() });
  };
  return (
    <div class="page">
      <PageHead
        title="Channels"
        of={app}
        failed={failed}
        says={items && `${counted(items.length, 'channel')}${hasMore ? ' and more' : ''} ${which}.`}
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      <div class="toolbar">
        <Search label="Names that begin with …" value={typed} onInput={search} />
      </div>
      <PagedCard
        label="Channels"
        pages={pages}
        none={<NoChannels app={app} prefix={prefix} drop={() => search('')} />}
      >
        {(channels) => <ChannelTable app={app} channels={channels} />}
      </PagedCard>
    </div>
  );
}

function ChannelTable({
  app,
  channels,
}: {
  readonly app: string;
  readonly channels: Answer<'GET /apps/{id}/channels'>['channels'];
}) {
  return (
    <Table columns={['Channel', 'Kind', { number: 'Connections' }, { number: 'Users' }]}>
      {channels.map(({ name, subscriptions, users }) => (
        <tr key={name}>
          <td class="name">
            <div class="cut">
              <a href={pathTo(inApp(app, 'channels', name))}>{name}</a>
            </div>
          </td>
          <td>
            <span class="tag">{kindOf(name)}</span>
          </td>
          <td class="number" data-label="connections">
            {count(subscriptions)}
          </td>
          <td class="number" data-label={users > 0 ? 'users' : undefined}>
            {users > 0 ? count(users) : ''}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function NoChannels({
  app,
  prefix,
  drop,
}: {
  readonly app: string;
  readonly prefix: string;
  readonly drop: () => void;
}) {
  if (prefix === '') {
    return (
      <Empty icon="channel" title="No channel is in use">
        <p>No connection of this app is subscribed to anything at this moment.</p>
        <a class="button" href={pathTo(inApp(app, 'connect'))}>
          Connect a client
        </a>
      </Empty>
    );
  }
  return (
    <Empty icon="channel" title={`No channel begins with “${prefix}”`}>
      <p>All channels that are in use now were searched.</p>
      <Button onClick={drop}>Remove the filter</Button>
    </Empty>
  );
}
