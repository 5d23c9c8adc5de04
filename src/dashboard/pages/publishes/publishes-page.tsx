import { useEffect, useRef } from 'preact/hooks';
import type { Publish } from '../../api/answers.ts';
import { may } from '../../api/session.ts';
import { Button, StateChoice } from '../../parts/controls.tsx';
import { count, counted, moment } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Table } from '../../parts/table-head.tsx';
import { useList } from '../../parts/use-pages.ts';
import { address, inInstance, pathTo, setQuery } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { StateTag } from './publish-facts.tsx';
import { isOver, lost, type State, states, targetWords } from './words.ts';

const PAGE = 50;
const POLL_MS = 2000;
const stateNames = Object.keys(states) as State[];

/** The publishes and their results. */
export default function PublishesPage({ instance }: { readonly instance: string }) {
  const state = stateNames.find((each) => each === address.value.query['state']);
  const path = { id: instance };
  const query = { state, limit: String(PAGE) };
  const pages = useList('GET /instances/{id}/publishes', 'publishes', { path, query }, 'before');
  const { items, hasMore, failed, reload } = pages;
  const isOnePage = items !== undefined && items.length <= PAGE;
  const isMoving = isOnePage && items.some((each) => !isOver(each.state));
  usePolling(isMoving && failed === undefined, reload);
  return (
    <div class="page">
      <PageHead
        title="Publishes"
        of={instances.nameOfId(instance)}
        failed={failed}
        says={sentence(items, hasMore)}
        actions={
          <>
            {may('support') && (
              <a class="button" href={pathTo(inInstance(instance, 'live'))}>
                Watch live
              </a>
            )}
            <Button onClick={reload}>Refresh</Button>
          </>
        }
      />
      <StateChoice
        states={stateNames}
        state={state}
        choose={(chosen) => setQuery({ state: chosen })}
      />
      <PagedCard
        label="Publishes"
        pages={pages}
        none={<NoPublishes instance={instance} state={state} hasMore={hasMore} />}
      >
        {(publishes) => <PublishTable instance={instance} publishes={publishes} />}
      </PagedCard>
    </div>
  );
}

/** Asks again and again while something changes and the tab is visible. */
function usePolling(isOn: boolean, ask: () => void): void {
  const latest = useRef(ask);
  latest.current = ask;
  useEffect(() => {
    if (!isOn) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [isOn]);
}

function sentence(items: readonly Publish[] | undefined, hasMore: boolean): string | undefined {
  if (items === undefined) return undefined;
  const moving = items.filter(({ state }) => state === 'planning' || state === 'delivering').length;
  const missed = items.reduce((sum, { devices }) => sum + lost(devices), 0);
  const accepted = items.reduce((sum, { devices }) => sum + devices.accepted, 0);
  if (items.length === 0) return 'The notifications that backends send to devices.';
  return `${hasMore ? 'The newest ' : ''}${counted(items.length, 'publish', 'publishes')}: ${
    moving > 0 ? `${count(moving)} under way, ` : ''
  }${counted(accepted, 'device')} reached${missed > 0 ? `, ${count(missed)} not` : ''}.`;
}

function PublishTable({
  instance,
  publishes,
}: {
  readonly instance: string;
  readonly publishes: readonly Publish[];
}) {
  return (
    <Table
      columns={[
        'To',
        'State',
        { number: 'Devices' },
        { number: 'Accepted' },
        { number: 'Not' },
        { number: 'Opened' },
        { number: 'Published' },
      ]}
    >
      {publishes.map(({ id, state, target, devices, opened, createdAtMs, sendAtMs, paused }) => (
        <tr key={id}>
          <td class="name">
            <div class="cut">
              <a href={pathTo(inInstance(instance, 'publishes', id))}>{targetWords(target)}</a>
            </div>
            <div class="cut muted small mono">{id}</div>
          </td>
          <td>
            <StateTag state={state} />
            {paused && (
              <>
                {' '}
                <span class="tag bad" title="Devices wait for a gateway that a server has paused.">
                  paused
                </span>
              </>
            )}
          </td>
          <td class="number" data-label="devices">
            {count(devices.planned)}
          </td>
          <td class="number" data-label="accepted">
            {count(devices.accepted)}
          </td>
          <td class="number" data-label={lost(devices) > 0 ? 'not' : undefined}>
            {lost(devices) > 0 ? <span class="bad">{count(lost(devices))}</span> : ''}
          </td>
          <td class="number" data-label={opened > 0 ? 'opened' : undefined}>
            {opened > 0 ? count(opened) : ''}
          </td>
          <td class="number">
            {moment(createdAtMs)}
            {state === 'scheduled' && sendAtMs !== null && (
              <div class="muted small">goes out {moment(sendAtMs)}</div>
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function NoPublishes({
  instance,
  state,
  hasMore,
}: {
  readonly instance: string;
  readonly state: State | undefined;
  readonly hasMore: boolean;
}) {
  if (state !== undefined) {
    return (
      <Empty icon="publish" title={`No publish is ${state}`}>
        <p>
          {hasMore
            ? 'The newest 20,000 publishes were searched. There are older ones.'
            : 'All publishes of the last 30 days were searched.'}
        </p>
        <Button onClick={() => setQuery({ state: '' })}>Show all states</Button>
      </Empty>
    );
  }
  return (
    <Empty icon="publish" title="Nothing was published yet">
      <p>
        A backend publishes by <code>publishToInterests</code> or <code>publishToUsers</code> of a
        Beams server SDK. What it sends appears here, for 30 days after its end.
      </p>
      <a class="button" href={pathTo(inInstance(instance, 'compose'))}>
        Compose one
      </a>
    </Empty>
  );
}
