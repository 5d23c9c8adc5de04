import { useRef, useState } from 'preact/hooks';
import type { LiveFeed } from '../../live/live-feed.ts';
import type { LiveRecord } from '../../live/records.ts';
import { Button } from '../../parts/controls.tsx';
import { count } from '../../parts/formats.ts';
import { useHotkeys } from '../../parts/hotkeys.ts';
import { Empty } from '../../parts/notices.tsx';
import { useMedia } from '../../parts/use-media.ts';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { inApp, inInstance, pathTo } from '../../routing/router.ts';
import { nameOfId } from '../../shell/apps.ts';
import { instances } from '../../shell/instances.ts';
import { RecordRow } from './record-row.tsx';

const ROW = 30;
const TWO_LINES = 52;

interface LiveListProps {
  readonly feed: LiveFeed;
  readonly isFiltered: boolean;
  readonly opened: LiveRecord | undefined;
  readonly open: (record: LiveRecord | undefined) => void;
  readonly dropFilter: () => void;
}

/** The records, the newest at the top. While the user has scrolled down or selected a row, the list stays still. */
export function LiveList(props: LiveListProps) {
  const { feed, open } = props;
  void feed.version.value;
  const { rows } = feed;
  const isPaused = feed.isPaused.value;
  const rowHeight = useMedia('(width < 640px)') ? TWO_LINES : ROW;
  const { list, chosen, choose, step, follow } = useChoice(props, rowHeight);
  if (rows.length + rows.newer === 0) return <NoRows {...props} />;
  return (
    <div class="stream">
      {rows.newer > 0 && (
        <Button
          look="newer primary slim"
          onClick={isPaused ? undefined : follow}
          disabled={isPaused}
        >
          {count(rows.newer)} new {isPaused ? '(paused)' : '▲'}
        </Button>
      )}
      <VirtualList
        length={rows.length}
        rowHeight={rowHeight}
        label={`Live events of ${feed.subject.id}, the newest first`}
        listRef={list}
        activeId={chosen === undefined ? undefined : `row-${chosen}`}
        onScroll={(top) => {
          if (chosen === undefined) feed.hold(top > 0);
        }}
        onKeyDown={(event) => {
          const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          step(by);
        }}
        row={(index, style) => {
          const row = rows.at(index);
          return (
            <RecordRow
              key={row?.id}
              row={row}
              style={style}
              isChosen={row !== undefined && row.id === chosen}
              choose={(id, record) => {
                choose(id);
                open(record);
              }}
            />
          );
        }}
      />
    </div>
  );
}

/** The row that is selected, and the keys that select and open another one. */
function useChoice({ feed, opened, open }: LiveListProps, rowHeight: number) {
  const { rows } = feed;
  const list = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<number>();
  const choose = (id: number) => {
    setChosen(id);
    feed.hold(true);
  };
  const follow = () => {
    setChosen(undefined);
    if (list.current !== null) list.current.scrollTop = 0;
    feed.hold(false);
  };
  const step = (by: number) => {
    const before = chosen === undefined ? -1 : rows.indexOf(chosen);
    const index = Math.min(rows.length - 1, Math.max(0, before + by));
    const row = rows.at(index);
    if (row === undefined) return;
    choose(row.id);
    if (opened !== undefined && 'record' in row) open(row.record);
    keepInView(list.current, index, rowHeight);
  };
  const enter = () => {
    const row = chosen === undefined ? undefined : rows.at(rows.indexOf(chosen));
    if (row !== undefined && 'record' in row) open(row.record);
  };
  const leave = () => {
    if (opened !== undefined) open(undefined);
    else follow();
  };
  useHotkeys({ j: () => step(1), k: () => step(-1), Enter: enter, Escape: leave });
  return { list, chosen, choose, step, follow };
}

/** Why the list is empty, and what to do about it. */
function NoRows({ feed, isFiltered, dropFilter }: LiveListProps) {
  const { id, isPush } = feed.subject;
  const { kept } = feed.rows;
  if (feed.state.value.is !== 'open') return <Empty icon="live" title="Not connected yet" />;
  if (isFiltered) {
    return (
      <Empty icon="live" title={kept > 0 ? 'Nothing passes the filter' : 'Listening'}>
        <p>None of the {count(kept)} records here passes. New ones are filtered too.</p>
        <Button onClick={dropFilter}>Remove the filter</Button>
      </Empty>
    );
  }
  const [name, what, path, firstStep] = isPush
    ? [
        instances.nameOfId(id),
        'Publishes, what becomes of them at each device, and devices that come and leave appear',
        inInstance(id, 'compose'),
        'Compose a first notification',
      ]
    : [
        nameOfId(id),
        'Everything that clients and backends do appears',
        inApp(id, 'connect'),
        'Connect a first client',
      ];
  return (
    <Empty icon="live" title="Listening">
      <p>
        Connected and listening to {name}. {what} here at once.
      </p>
      <a class="button" href={pathTo(path)}>
        {firstStep}
      </a>
    </Empty>
  );
}

function keepInView(list: HTMLDivElement | null, index: number, height: number): void {
  if (list === null) return;
  const top = index * height;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + height > list.scrollTop + list.clientHeight) {
    list.scrollTop = top + height - list.clientHeight;
  }
}
