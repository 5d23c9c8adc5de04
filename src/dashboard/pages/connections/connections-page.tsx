import { useState } from 'preact/hooks';
import { type Answer, call } from '../../api/client.ts';
import { Button, Search } from '../../parts/controls.tsx';
import { counted } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { usePages } from '../../parts/use-pages.ts';
import { address, go, inApp, pathTo, setQuery } from '../../routing/router.ts';
import { ConnectionTable } from './connection-table.tsx';

type Servers = Answer<'GET /apps/{id}/connections'>['servers'];

/** The text to search for in each field. An empty one fits everything. */
type Filter = Readonly<Record<string, string>>;

const PAGE = '100';
const fields = ['user', 'channel', 'address'] as const;

/** Which clients are connected, and how do they fare? */
export default function ConnectionsPage({ app }: { readonly app: string }) {
  const filter = filterOf(address.value.query);
  const [typed, setTyped] = useState(textOf(filter));
  const [servers, setServers] = useState<Servers>([]);
  const pages = usePages(`${app} ${JSON.stringify(filter)}`, async (after) => {
    const { connections, next, servers } = await call('GET /apps/{id}/connections', {
      path: { id: app },
      query: { ...filter, after, limit: PAGE },
    });
    setServers(servers);
    return { items: connections, next };
  });
  const { items, hasMore, failed, reload } = pages;
  const search = (text: string) => {
    setTyped(text);
    setQuery(filterIn(text));
  };
  const isFiltered = Object.values(filter).some(Boolean);
  const fits = `${hasMore ? ' and more' : ''}${isFiltered ? ' fit the filter' : ''}`;
  const where = servers.length > 1 ? `, on ${namesOf(servers)}` : '';
  return (
    <div class="page">
      <PageHead
        title="Connections"
        of={app}
        failed={failed}
        says={items && `${counted(items.length, 'connection')}${fits}${where}.`}
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
      <PagedCard
        label="Connections"
        pages={pages}
        above={<AwayServers servers={servers} />}
        none={
          isFiltered ? (
            <NoneFits hasMore={hasMore} drop={() => search('')} />
          ) : (
            <NoneConnected app={app} />
          )
        }
      >
        {(items) => <ConnectionTable app={app} connections={items} servers={servers} />}
      </PagedCard>
    </div>
  );
}

/** Makes a filter with all fields. Those that are not named are empty, so the address drops them. */
function filterOf(named: Readonly<Record<string, string | undefined>>): Filter {
  return Object.fromEntries(fields.map((name) => [name, named[name] ?? '']));
}

/** A filter as it is typed. */
function textOf(filter: Filter): string {
  const named = Object.entries(filter).filter(([, text]) => text !== '');
  return named.map((each) => each.join(':')).join(' ');
}

/** Reads a filter as it is typed. A word without a field is a user. */
function filterIn(typed: string): Filter {
  const words = typed.split(/\s+/).filter(Boolean);
  const named = words.map((word) => {
    const [, field = 'user', text = word] = /^(user|channel|address):(.*)$/.exec(word) ?? [];
    return [field, text];
  });
  return filterOf(Object.fromEntries(named));
}

function NoneFits({ hasMore, drop }: { readonly hasMore: boolean; readonly drop: () => void }) {
  return (
    <Empty icon="connection" title="No connection fits">
      <p>
        {hasMore
          ? 'Some were searched, and there are more.'
          : 'All connections of this app were searched.'}
      </p>
      <Button onClick={drop}>Remove the filter</Button>
    </Empty>
  );
}

function NoneConnected({ app }: { readonly app: string }) {
  return (
    <Empty icon="connection" title="No client is connected">
      <p>The server listens. What is refused stands under Problems, with its reason.</p>
      <a class="button" href={pathTo(inApp(app, 'connect'))}>
        Connect a client
      </a>
    </Empty>
  );
}
