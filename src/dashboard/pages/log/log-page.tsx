import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Button, copy, Search } from '../../parts/controls.tsx';
import { counted, moment } from '../../parts/formats.ts';
import { useHotkeys } from '../../parts/hotkeys.ts';
import { Empty, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { address, setQuery } from '../../routing/router.ts';
import { LogFeed, type LogLine, type LogQuery } from './log-feed.ts';
import { LogLineRow } from './log-line-row.tsx';

const levels = [
  ['', 'All lines'],
  ['info', 'Info and worse'],
  ['warn', 'Warnings and errors'],
  ['error', 'Errors'],
] as const;

/** Lines that are drawn at first, and more with each step. */
const DRAWN = 200;
const TYPING_MS = 300;

/** The log lines of all servers. */
export default function LogPage() {
  const { level = '', text = '' } = address.value.query;
  const query = useSettled({ level, text });
  const feed = useMemo(() => new LogFeed(query), [query]);
  useEffect(() => feed.start(), [feed]);
  const [typed, setTyped] = useState(text);
  const [heldAt, setHeldAt] = useState<number | undefined>(undefined);

  const all = feed.lines.value;
  const lines = heldAt === undefined ? all : all.filter(({ atMs }) => atMs <= heldAt);
  const isFiltered = level !== '' || text !== '';
  const pause = () => setHeldAt(heldAt === undefined ? (all.at(-1)?.atMs ?? 0) : undefined);
  useHotkeys({ p: pause, y: () => void copy(location.href) });
  return (
    <div class="page">
      <PageHead
        title="Log"
        says={sentence(feed, isFiltered)}
        actions={
          <Button
            icon={heldAt === undefined ? 'pause' : 'play'}
            hotkey="p"
            pressed={heldAt !== undefined}
            onClick={pause}
          >
            {heldAt === undefined ? 'Pause' : 'Go on'}
          </Button>
        }
      />
      <LogFilter level={level} typed={typed} setTyped={setTyped} />
      {feed.lost.value !== undefined && (
        <div role="alert">
          <Notice level="warn">
            <p>No further lines come: {feed.lost.value}. What is shown may be old.</p>
          </Notice>
        </div>
      )}
      <AwayServers servers={feed.servers.value} />
      <Lines
        lines={lines}
        servers={feed.servers.value}
        drop={
          isFiltered
            ? () => {
                setTyped('');
                setQuery({ level: '', text: '' });
              }
            : undefined
        }
      />
      {heldAt !== undefined && all.length > lines.length && (
        <p role="status" class="muted">
          Paused: {counted(all.length - lines.length, 'newer line')}.
        </p>
      )}
    </div>
  );
}

function LogFilter({
  level,
  typed,
  setTyped,
}: {
  readonly level: string;
  readonly typed: string;
  readonly setTyped: (typed: string) => void;
}) {
  const search = useRef<HTMLDivElement>(null);
  useHotkeys({ '/': () => search.current?.querySelector('input')?.focus() });
  return (
    <div class="toolbar" ref={search}>
      <Search
        label="Words, app=shop"
        value={typed}
        hotkey="/"
        onInput={(text) => {
          setTyped(text);
          setQuery({ text });
        }}
      />
      <select
        class="input"
        aria-label="Level"
        value={level}
        onChange={({ currentTarget: { value } }) => setQuery({ level: value })}
      >
        {levels.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
}

function Lines({
  lines,
  servers,
  drop,
}: {
  readonly lines: readonly LogLine[];
  readonly servers: LogFeed['servers']['value'];
  /** Removes the filter, if there is one. */
  readonly drop: (() => void) | undefined;
}) {
  const [drawn, setDrawn] = useState(DRAWN);
  return (
    <>
      {servers !== undefined && (
        <section class="card" aria-label="Lines, the newest first">
          {lines.length === 0 ? (
            <Empty
              icon="log"
              title={drop === undefined ? 'Nothing was logged yet' : 'No line fits'}
            >
              <p>
                The last 1,000 lines of {namesOf(servers)} were searched. New lines appear here by
                themselves.
              </p>
              {drop !== undefined && <Button onClick={drop}>Remove the filter</Button>}
            </Empty>
          ) : (
            <ol>
              {lines
                .slice(-drawn)
                .toReversed()
                .map((line) => (
                  <LogLineRow
                    key={`${line.server} ${line.n}`}
                    line={line}
                    showsServer={servers.length > 1}
                  />
                ))}
            </ol>
          )}
        </section>
      )}
      {lines.length > drawn && (
        <Button onClick={() => setDrawn(drawn + DRAWN)}>Show older lines</Button>
      )}
    </>
  );
}

function sentence(feed: LogFeed, isFiltered: boolean): string | undefined {
  const { servers, lines, skipped, hasGap } = feed;
  if (servers.value === undefined) return undefined;
  const newest = lines.value.at(-1);
  const of = (level: LogLine['level']) => lines.value.filter((line) => line.level === level).length;
  const parts = [counted(lines.value.length, 'line')];
  if (isFiltered) parts[0] += lines.value.length === 1 ? ' fits' : ' fit';
  if (of('error') > 0) parts.push(counted(of('error'), 'error'));
  if (of('warn') > 0) parts.push(counted(of('warn'), 'warning'));
  if (newest !== undefined) parts.push(`the newest at ${moment(newest.atMs)}`);
  if (skipped.value > 0) parts.push(`${counted(skipped.value, 'line')} left out`);
  if (hasGap.value) parts.push('some lines are missing');
  return `${namesOf(servers.value)}: ${parts.join(', ')}.`;
}

/** Gives a filter once it has stayed the same for a moment: the server has few streams. */
function useSettled({ level, text }: LogQuery): LogQuery {
  const [settled, setSettled] = useState<LogQuery>({ level, text });
  useEffect(() => {
    if (settled.level === level && settled.text === text) return undefined;
    const timer = setTimeout(() => setSettled({ level, text }), TYPING_MS);
    return () => clearTimeout(timer);
  }, [level, text, settled]);
  return settled;
}
