import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button, Search } from '../../parts/controls.tsx';
import { count, counted } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { usePages } from '../../parts/use-pages.ts';
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
  const { items, hasMore, failed, isAsking, more, reload } = usePages(
    `${app} ${prefix}`,
    async (after) => {
      const { channels, next } = await call('GET /apps/{id}/channels', {
        path: { id: app },
        query: { prefix, limit: String(PAGE), after },
      });
      return { items: channels, next };
    },
  );
  const known = items === undefined ? undefined : `${counted(items.length, 'channel')}`;
  return (
    <div class="page">
      <PageHead
        title="Channels"
        of={app}
        failed={failed}
        says={
          known === undefined
            ? undefined
            : `${known}${hasMore ? ' and more' : ''} ${prefix === '' ? 'in use now' : `beginning with “${prefix}”`}.`
        }
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      <div class="toolbar">
        <Search
          label="Names that begin with …"
          value={typed}
          onInput={(value) => {
            setTyped(value);
            setQuery({ prefix: value.trim() });
          }}
        />
      </div>
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {items !== undefined && (
        <section class="card" aria-label="Channels">
          {items.length === 0 ? (
            <NoChannels app={app} prefix={prefix} drop={() => setTyped('')} />
          ) : (
            <table class="table cards">
              <TableHead
                columns={['Channel', 'Kind', { number: 'Connections' }, { number: 'Users' }]}
              />
              <tbody>
                {items.map(({ name, subscriptions, users }) => (
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
              </tbody>
            </table>
          )}
        </section>
      )}
      <More {...{ hasMore, isAsking, more }} />
    </div>
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
      <Button
        onClick={() => {
          drop();
          setQuery({ prefix: '' });
        }}
      >
        Remove the filter
      </Button>
    </Empty>
  );
}
