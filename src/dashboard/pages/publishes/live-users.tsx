import { useState } from 'preact/hooks';
import type { PublishLive, PublishUser } from '../../api/answers.ts';
import { may } from '../../api/session.ts';
import { Card } from '../../parts/card.tsx';
import { StateChoice } from '../../parts/controls.tsx';
import { counted, duration } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { FailureNotice } from '../../parts/notices.tsx';
import { Table } from '../../parts/table-head.tsx';
import { useList } from '../../parts/use-pages.ts';
import { Words } from '../../parts/words.tsx';

const states = ['reached', 'silent', 'absent'] as const;

/** Who got it in the app? */
export function LiveUsers({
  path,
  live,
}: {
  readonly path: { readonly id: string; readonly publish: string };
  readonly live: PublishLive;
}) {
  const [state, setState] = useState<(typeof states)[number] | undefined>(undefined);
  return (
    <Card
      title="In the app"
      aside={
        live.users > 0 &&
        live.state === 'done' && (
          <StateChoice
            states={states}
            state={state}
            choose={(chosen) => setState(chosen || undefined)}
          />
        )
      }
    >
      <div class="inside">
        {sentence(live)}
        {live.advice !== null && <Words text={` ${live.advice}`} />}
      </div>
      {live.state === 'done' && live.users > 0 && may('support') && (
        <Users path={path} state={state} />
      )}
    </Card>
  );
}

function Users({
  path,
  state,
}: {
  readonly path: { readonly id: string; readonly publish: string };
  readonly state: PublishUser['state'] | undefined;
}) {
  const { items, hasMore, failed, isAsking, more, reload } = useList(
    'GET /instances/{id}/publishes/{publish}/users',
    'users',
    { path, query: { state } },
  );
  if (failed !== undefined) return <FailureNotice failed={failed} retry={reload} />;
  return (
    <>
      <Table columns={['User', 'In the app', 'Notification']}>
        {items?.map((user) => (
          <tr key={user.user}>
            <td class="name">
              <div class="cut">{user.user}</div>
            </td>
            <td class="wide">{inTheApp(user)}</td>
            <td data-label="notification">
              {user.notified === null ? 'none' : user.notified ? 'accepted' : 'failed'}
            </td>
          </tr>
        ))}
      </Table>
      {hasMore && (
        <div class="inside">
          <More {...{ hasMore, isAsking, more }} />
        </div>
      )}
    </>
  );
}

function inTheApp({ state, connections, answeredAfterMs }: PublishUser): string {
  const of = state === 'absent' ? '' : ` on ${counted(connections, 'connection')}`;
  return `${state}${of}${answeredAfterMs === null ? '' : ` after ${answeredAfterMs} ms`}`;
}

function sentence({
  state,
  users,
  reached,
  silent,
  absent,
  waitSeconds,
  why,
  push,
}: PublishLive): string {
  if (state === 'skipped') return `Nobody was asked: ${why}. Everybody is notified.`;
  const who = counted(users, 'user');
  if (state !== 'done') return `${who} are asked for up to ${duration(waitSeconds * 1000)}.`;
  const rest =
    push === 'always' ? 'Everybody is notified too.' : 'Users who have it are not notified.';
  return `${reached} of ${who} got it, ${silent} did not answer, ${absent} had no connection. ${rest}`;
}
