import { useEffect, useMemo, useState } from 'preact/hooks';
import { asCurl, asFanfare } from '../../api/command.ts';
import { LiveFeed } from '../../live/live-feed.ts';
import type { Recording } from '../../live/recording.ts';
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
import { appSubject, instanceSubject, type LiveSubject } from '../../live/subject.ts';
import { PageHead } from '../../parts/page-head.tsx';
import type { ViewCommand } from '../../parts/view-commands.ts';
import { address, setFragment, setQuery } from '../../routing/router.ts';
import { LiveNews } from './live-line.tsx';
import { LiveList } from './live-list.tsx';
import { LiveActions, LiveTools, readFile } from './live-tools.tsx';
import { RecordPanel } from './record-panel.tsx';

interface LivePageProps {
  readonly app?: string;
  readonly instance?: string;
}

/** What happens this second, in an app or in a push instance. */
export default function LivePage({ app, instance }: LivePageProps) {
  const { query, fragment } = address.value;
  const subject = useMemo(
    () => (instance === undefined ? appSubject(app ?? '') : instanceSubject(instance)),
    [app, instance],
  );
  const { id, isPush, fields } = subject;
  const filter = filterOf(query, subject);
  const [recording, setRecording] = useState<Recording>();
  const feed = useMemo(() => new LiveFeed(subject, filter, recording), [subject, recording]);
  useEffect(() => feed.start(), [feed]);
  useEffect(() => feed.narrow(filter));
  const [typed, setTyped] = useState(printFilter(filter, fields));
  const [opened, setOpened] = useState<LiveRecord | undefined>(() => recordFromFragment(fragment));

  const open = (record: LiveRecord | undefined) => {
    setOpened(record);
    setFragment(record === undefined ? '' : (recordToFragment(record, true) ?? ''));
  };
  const openFile = async (file: File | undefined) => {
    const found = file && (await readFile(file));
    if (found === undefined) return;
    open(undefined);
    setRecording(found);
  };
  const closeRecording = () => setRecording(undefined);
  const dropFilter = () => {
    setTyped('');
    setQuery({ kinds: '', ...parseFilter('', fields) });
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button "Open" does the same as dropping a file.
    <div
      class="page live"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        if (!isPush) void openFile(event.dataTransfer?.files[0]);
      }}
    >
      <PageHead
        title="Live"
        of={id}
        says={<LiveNews feed={feed} />}
        commands={commandsOf(subject, filter)}
        actions={<LiveActions {...{ feed, openFile }} />}
      />
      <LiveTools {...{ feed, filter, typed, setTyped, closeRecording }} />
      <div class={`live-body ${opened === undefined ? '' : 'with-panel'}`}>
        <LiveList
          key={recording?.name}
          {...{ feed, opened, open, dropFilter }}
          isFiltered={typed !== '' || query['kinds'] !== undefined}
        />
        {opened !== undefined && (
          <RecordPanel record={opened} feed={feed} close={() => open(undefined)} />
        )}
      </div>
    </div>
  );
}

/** The filter in the address of the page. */
function filterOf(
  query: Readonly<Record<string, string>>,
  { groups, fields }: LiveSubject,
): LiveFilter {
  return {
    groups: groupsIn(query['kinds'], groups),
    ...Object.fromEntries(fields.map((field) => [field, query[field] ?? ''])),
    text: query['text'] ?? '',
  };
}

/** What prints the same stream in a shell. */
function commandsOf(
  { id, stream, command, groups }: LiveSubject,
  filter: LiveFilter,
): readonly ViewCommand[] {
  const query = streamQuery(filter, groups);
  return [
    { name: 'curl', text: () => asCurl(stream, { path: { id }, query }) },
    { name: 'fanfare', text: () => asFanfare(command, query) },
  ];
}
