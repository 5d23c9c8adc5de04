import { useRef } from 'preact/hooks';
import type { LiveFeed } from '../../live/live-feed.ts';
import { RECORDING_BYTES, type Recording, readRecording } from '../../live/recording.ts';
import { type LiveFilter, parseFilter } from '../../live/records.ts';
import { Button, copy, Search } from '../../parts/controls.tsx';
import { download, fileName } from '../../parts/download.ts';
import { useHotkeys } from '../../parts/hotkeys.ts';
import { Key } from '../../parts/key.tsx';
import { say } from '../../parts/toasts.tsx';
import { go, inApp, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { KindChips } from './kind-chips.tsx';
import { LiveLine } from './live-line.tsx';
import { RecordButton } from './record-button.tsx';
import { RecordedBar } from './recorded-bar.tsx';

interface LiveActionsProps {
  readonly feed: LiveFeed;
  readonly openFile: (file: File | undefined) => Promise<void>;
}

/** What can be done with the whole list. */
export function LiveActions({ feed, openFile }: LiveActionsProps) {
  const { id, isPush } = feed.subject;
  const isLive = feed.recording === undefined;
  const sending = isPush ? inInstance(id, 'compose') : inApp(id, 'send');
  const isPaused = feed.isPaused.value;
  const pause = () => feed.pause(!isPaused);
  const clear = () => feed.clear();
  useHotkeys({
    ...(isLive && { p: pause, c: clear }),
    e: () => go(sending),
    y: () => void copy(location.href),
  });
  return (
    <>
      {isLive && (
        <>
          <Button icon={isPaused ? 'play' : 'pause'} hotkey="p" pressed={isPaused} onClick={pause}>
            {isPaused ? 'Go on' : 'Pause'}
          </Button>
          <Button hotkey="c" onClick={clear}>
            Clear
          </Button>
          {!isPush && (
            <>
              <RecordButton feed={feed} app={id} />
              <OpenButton open={openFile} />
            </>
          )}
        </>
      )}
      <Button onClick={() => exportRows(feed)}>Export</Button>
      <a class="button" href={pathTo(sending)}>
        {isPush ? 'Compose' : 'Send'} <Key name="e" />
      </a>
    </>
  );
}

/** Chooses a file. Dropping it on the page does the same. */
function OpenButton({ open }: { readonly open: LiveActionsProps['openFile'] }) {
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
          void open(currentTarget.files?.[0]);
          currentTarget.value = '';
        }}
      />
    </>
  );
}

/** The largest file that can be opened. No recording is larger. */
const OPENED_MAX = RECORDING_BYTES + 65_536;

/** Reads a recording. Shows a message if the file is not one. */
export async function readFile(file: File): Promise<Recording | undefined> {
  const recording =
    file.size > OPENED_MAX ? undefined : readRecording(file.name, await file.text());
  if (recording !== undefined && recording.rows.length > 0) return recording;
  say(`${file.name} is no recording.`);
  return undefined;
}

function exportRows({ rows, subject }: LiveFeed): void {
  const lines = rows.records().map((record) => `${JSON.stringify(record)}\n`);
  if (lines.length === 0) return say('There is nothing to export yet.');
  download(fileName(subject.id, 'ndjson'), new Blob(lines, { type: 'application/x-ndjson' }));
  say('Exported.');
}

interface LiveToolsProps {
  readonly feed: LiveFeed;
  readonly filter: LiveFilter;
  /** The text of the filter field. */
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
  readonly closeRecording: () => void;
}

/** The filter, and below it how much of the stream is shown, or what the recording is. */
export function LiveTools({ feed, filter, typed, setTyped, closeRecording }: LiveToolsProps) {
  const { recording } = feed;
  const { id, isPush, fields } = feed.subject;
  const search = useRef<HTMLDivElement>(null);
  useHotkeys({ '/': () => search.current?.querySelector('input')?.focus() });
  return (
    <div class="live-tools">
      <div class="toolbar" ref={search}>
        <Search
          label={
            isPush ? 'Filter: text, publish:pubid-…, user:7' : 'Filter: text, channel:a-*, user:7'
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
        <LiveLine feed={feed} filter={filter} />
      ) : (
        <RecordedBar
          key={recording.name}
          recording={recording}
          feed={feed}
          app={id}
          close={closeRecording}
        />
      )}
    </div>
  );
}
