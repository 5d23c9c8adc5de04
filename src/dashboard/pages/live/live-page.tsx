import { useComputed } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { asCurl, asFanfare } from '../../api/command.ts';
import { LiveFeed } from '../../live/live-feed.ts';
import {
  groupsIn,
  type LiveFilter,
  type LiveRecord,
  parseFilter,
  printFilter,
  recordFromFragment,
  recordToFragment,
  streamQuery,
} from '../../live/records.ts';
import { Button, copy, Search } from '../../parts/controls.tsx';
import { useHotkeys } from '../../parts/hotkeys.ts';
import { Key } from '../../parts/key.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { address, go, inApp, pathTo, setFragment, setQuery } from '../../routing/router.ts';
import { KindChips } from './kind-chips.tsx';
import { LiveLine, LiveNews } from './live-line.tsx';
import { LiveList } from './live-list.tsx';
import { RecordPanel } from './record-panel.tsx';

/** What happens in an app this second. */
export default function LivePage({ app }: { readonly app: string }) {
  const { query, fragment } = address.value;
  const filter: LiveFilter = {
    groups: groupsIn(query['kinds']),
    channel: query['channel'] ?? '',
    socket: query['socket'] ?? '',
    user: query['user'] ?? '',
    text: query['text'] ?? '',
  };
  const feed = useMemo(() => new LiveFeed(app, filter), [app]);
  useEffect(() => feed.start(), [feed]);
  useEffect(() => feed.narrow(filter));
  const [typed, setTyped] = useState(printFilter(filter));
  const [isPaused, setPaused] = useState(false);
  const [opened, setOpened] = useState<LiveRecord | undefined>(() => recordFromFragment(fragment));
  const search = useRef<HTMLDivElement>(null);

  const pause = (paused: boolean) => {
    setPaused(paused);
    feed.hold(paused);
  };
  const open = (record: LiveRecord | undefined) => {
    setOpened(record);
    setFragment(record === undefined ? '' : (recordToFragment(record, true) ?? ''));
  };
  const copyLink = () => void copy(location.href);

  useHotkeys({
    p: () => pause(!isPaused),
    c: () => feed.clear(),
    e: () => go(inApp(app, 'send')),
    y: copyLink,
    '/': () => search.current?.querySelector('input')?.focus(),
  });

  const total = useComputed(() => feed.counts.value.total).value;
  return (
    <div class="page live">
      <PageHead
        title="Live"
        of={app}
        says={<LiveNews feed={feed} />}
        commands={[
          {
            name: 'curl',
            text: () =>
              asCurl('GET /apps/{id}/stream', { path: { id: app }, query: streamQuery(filter) }),
          },
          { name: 'fanfare', text: () => asFanfare(['tail', app], streamQuery(filter)) },
        ]}
        actions={
          <>
            <Button
              icon={isPaused ? 'play' : 'pause'}
              hotkey="p"
              pressed={isPaused}
              onClick={() => pause(!isPaused)}
            >
              {isPaused ? 'Go on' : 'Pause'}
            </Button>
            <Button hotkey="c" onClick={() => feed.clear()}>
              Clear
            </Button>
            <Button onClick={() => exportRows(feed, app)}>Export</Button>
            <a class="button" href={pathTo(inApp(app, 'send'))}>
              Send <Key name="e" />
            </a>
          </>
        }
      />
      <div class="live-tools">
        <div class="toolbar" ref={search}>
          <Search
            label="Filter: words, channel:private-*, user:7, socket:1.2"
            value={typed}
            hotkey="/"
            onInput={(value) => {
              setTyped(value);
              setQuery(parseFilter(value));
            }}
          />
          <KindChips feed={feed} filter={filter} />
        </div>
        <LiveLine feed={feed} filter={filter} total={total} />
      </div>
      <div class={`live-body ${opened === undefined ? '' : 'with-panel'}`}>
        <LiveList
          feed={feed}
          app={app}
          isPaused={isPaused}
          isFiltered={typed !== '' || query['kinds'] !== undefined}
          opened={opened}
          open={open}
          dropFilter={() => {
            setTyped('');
            setQuery({ kinds: '', channel: '', socket: '', user: '', text: '' });
          }}
        />
        {opened !== undefined && (
          <RecordPanel record={opened} app={app} feed={feed} close={() => open(undefined)} />
        )}
      </div>
    </div>
  );
}

function exportRows(feed: LiveFeed, app: string): void {
  const text = feed.rows.ndjson();
  if (text === '') return say('There is nothing to export yet.');
  const url = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `${app}-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`;
  link.click();
  URL.revokeObjectURL(url);
  say('Exported.');
}
