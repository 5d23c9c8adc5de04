import { useComputed } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { asCurl, asFanfare } from '../../api/command.ts';
import { LiveFeed } from '../../live/live-feed.ts';
import { RECORDING_BYTES, type Recording, readRecording } from '../../live/recording.ts';
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
import { appSubject, instanceSubject } from '../../live/subject.ts';
import { Button, copy, Search } from '../../parts/controls.tsx';
import { download, fileName } from '../../parts/download.ts';
import { useHotkeys } from '../../parts/hotkeys.ts';
import { Key } from '../../parts/key.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import {
  address,
  go,
  inApp,
  inInstance,
  pathTo,
  setFragment,
  setQuery,
} from '../../routing/router.ts';
import { KindChips } from './kind-chips.tsx';
import { LiveLine, LiveNews } from './live-line.tsx';
import { LiveList } from './live-list.tsx';
import { RecordButton } from './record-button.tsx';
import { RecordPanel } from './record-panel.tsx';
import { RecordedBar } from './recorded-bar.tsx';

/** What happens this second, in an app or in a push instance. */
export default function LivePage({
  app,
  instance,
}: {
  readonly app?: string;
  readonly instance?: string;
}) {
  const { query, fragment } = address.value;
  const subject = useMemo(
    () => (instance === undefined ? appSubject(app ?? '') : instanceSubject(instance)),
    [app, instance],
  );
  const { id, isPush, groups, fields } = subject;
  const filter: LiveFilter = {
    groups: groupsIn(query['kinds'], groups),
    ...Object.fromEntries(fields.map((field) => [field, query[field] ?? ''])),
    text: query['text'] ?? '',
  };
  const [recording, setRecording] = useState<Recording | undefined>(undefined);
  const feed = useMemo(() => new LiveFeed(subject, filter, recording), [subject, recording]);
  useEffect(() => feed.start(), [feed]);
  useEffect(() => feed.narrow(filter));
  const [typed, setTyped] = useState(printFilter(filter, fields));
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
  const openFile = async (file: File) => {
    const found = await read(file);
    if (found === undefined) return;
    open(undefined);
    setPaused(false);
    setRecording(found);
  };
  const sending = isPush ? inInstance(id, 'compose') : inApp(id, 'send');
  const copyLink = () => void copy(location.href);

  useHotkeys({
    ...(recording === undefined && { p: () => pause(!isPaused), c: () => feed.clear() }),
    e: () => go(sending),
    y: copyLink,
    '/': () => search.current?.querySelector('input')?.focus(),
  });

  const total = useComputed(() => feed.counts.value.total).value;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button "Open" does the same as dropping a file.
    <div
      class="page live"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        const [file] = event.dataTransfer?.files ?? [];
        if (file !== undefined && !isPush) void openFile(file);
      }}
    >
      <PageHead
        title="Live"
        of={id}
        says={<LiveNews feed={feed} />}
        commands={[
          {
            name: 'curl',
            text: () =>
              asCurl(subject.stream, { path: { id }, query: streamQuery(filter, groups) }),
          },
          {
            name: 'fanfare',
            text: () => asFanfare(subject.command, streamQuery(filter, groups)),
          },
        ]}
        actions={
          <>
            {recording === undefined && (
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
                {!isPush && (
                  <>
                    <RecordButton feed={feed} app={id} />
                    <OpenButton open={(file) => void openFile(file)} />
                  </>
                )}
              </>
            )}
            <Button onClick={() => exportRows(feed, id)}>Export</Button>
            <a class="button" href={pathTo(sending)}>
              {isPush ? 'Compose' : 'Send'} <Key name="e" />
            </a>
          </>
        }
      />
      <div class="live-tools">
        <div class="toolbar" ref={search}>
          <Search
            label={
              isPush
                ? 'Filter: words, publish:pubid-…, user:7, device:web-…'
                : 'Filter: words, channel:private-*, user:7, socket:1.2'
            }
            value={typed}
            hotkey="/"
            onInput={(value) => {
              setTyped(value);
              setQuery(parseFilter(value, fields));
            }}
          />
          <KindChips feed={feed} filter={filter} />
        </div>
        {recording === undefined ? (
          <LiveLine feed={feed} filter={filter} total={total} />
        ) : (
          <RecordedBar
            key={recording.name}
            recording={recording}
            feed={feed}
            app={id}
            close={() => setRecording(undefined)}
          />
        )}
      </div>
      <div class={`live-body ${opened === undefined ? '' : 'with-panel'}`}>
        <LiveList
          key={recording?.name}
          feed={feed}
          isPaused={isPaused}
          isFiltered={typed !== '' || query['kinds'] !== undefined}
          opened={opened}
          open={open}
          dropFilter={() => {
            setTyped('');
            setQuery({ kinds: '', ...parseFilter('', fields) });
          }}
        />
        {opened !== undefined && (
          <RecordPanel record={opened} feed={feed} close={() => open(undefined)} />
        )}
      </div>
    </div>
  );
}

function exportRows(feed: LiveFeed, app: string): void {
  const lines = feed.rows.records().map((record) => `${JSON.stringify(record)}\n`);
  if (lines.length === 0) return say('There is nothing to export yet.');
  download(fileName(app, 'ndjson'), new Blob(lines, { type: 'application/x-ndjson' }));
  say('Exported.');
}

/** The largest file that can be opened. No recording is larger. */
const OPENED_MAX = RECORDING_BYTES + 65_536;

async function read(file: File): Promise<Recording | undefined> {
  const recording =
    file.size > OPENED_MAX ? undefined : readRecording(file.name, await file.text());
  if (recording !== undefined && recording.rows.length > 0) return recording;
  say(`${file.name} is no recording.`);
  return undefined;
}

/** Chooses a file. Dropping it on the page does the same. */
function OpenButton({ open }: { readonly open: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>Open</Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Recording"
        accept=".ndjson"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? [];
          if (file !== undefined) open(file);
          currentTarget.value = '';
        }}
      />
    </>
  );
}
