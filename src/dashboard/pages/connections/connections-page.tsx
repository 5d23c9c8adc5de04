import { useState } from 'preact/hooks';
import { type Answer, call } from '../../api/client.ts';
import { Button, Search } from '../../parts/controls.tsx';
import { counted } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { address, go, inApp, pathTo, setQuery } from '../../routing/router.ts';
import { ConnectionTable } from './connection-table.tsx';

const PAGE = '100';
const fields = ['user', 'channel', 'address'] as const;

/** Which clients are connected, and how do they fare? */
export default function ConnectionsPage({ app }: { readonly app: string }) {
  const { query } = address.value;
  const filter = Object.fromEntries(fields.map((name) => [name, query[name] ?? '']));
  const [typed, setTyped] = useState(
    fields.flatMap((name) => (filter[name] === '' ? [] : [`${name}:${filter[name]}`])).join(' '),
  );
  const [servers, setServers] = useState<Answer<'GET /apps/{id}/connections'>['servers']>([]);
  const { items, hasMore, failed, isAsking, more, reload } = usePages(
    `${app} ${JSON.stringify(filter)}`,
    async (after) => {
      const { connections, next, servers } = await call('GET /apps/{id}/connections', {
        path: { id: app },
        query: { ...filter, after, limit: PAGE },
      });
      setServers(servers);
      return { items: connections, next };
    },
  );
  const search = (value: string) => {
    setTyped(value);
    const named = new Map(
      value
        .split(/\s+/)
        .filter(Boolean)
        .map((word): [string, string] => {
          const [, field = 'user', text = word] = /^(user|channel|address):(.*)$/.exec(word) ?? [];
          return [field, text];
        }),
    );
    setQuery(Object.fromEntries(fields.map((name) => [name, named.get(name) ?? ''])));
  };
  const isFiltered = fields.some((name) => filter[name] !== '');
  return (
    <div class="page">
      <PageHead
        title="Connections"
        of={app}
        failed={failed}
        says={
          items === undefined
            ? undefined
            : `${counted(items.length, 'connection')}${hasMore ? ' and more' : ''}${isFiltered ? ' fit the filter' : ''}${servers.length > 1 ? `, on ${namesOf(servers)}` : ''}.`
        }
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      <form
        class="toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          const id = typed.trim();
          if (/^\d+\.\d+$/.test(id)) go(inApp(app, 'connections', id));
        }}
      >
        <Search label="A user, channel:lobby, address:203.0.113.9" value={typed} onInput={search} />
      </form>
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      <AwayServers servers={servers} />
      {items !== undefined && (
        <section class="card" aria-label="Connections">
          {items.length > 0 ? (
            <ConnectionTable app={app} connections={items} servers={servers} />
          ) : isFiltered ? (
            <Empty icon="connection" title="No connection fits">
              <p>
                {hasMore
                  ? 'Some were searched, and there are more.'
                  : 'All connections of this app were searched.'}
              </p>
              <Button onClick={() => search('')}>Remove the filter</Button>
            </Empty>
          ) : (
            <Empty icon="connection" title="No client is connected">
              <p>The server listens. What is refused stands under Problems, with its reason.</p>
              <a class="button" href={pathTo(inApp(app, 'connect'))}>
                Connect a client
              </a>
            </Empty>
          )}
        </section>
      )}
      <More {...{ hasMore, isAsking, more }} />
    </div>
  );
}
