import type { NodeReport } from '../../api/answers.ts';
import { session } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count } from '../../parts/formats.ts';
import { pathTo } from '../../routing/router.ts';

type Room = NonNullable<NodeReport['room']>;

const POLL_MS = 10_000;

const limits: Readonly<Record<Room['limitedBy'], string>> = {
  setting: 'channels.maxConnections sets the limit',
  'open-files': 'the open files that the system allows set the limit (ulimit -n)',
  memory: 'memory sets the limit, half of what is free at 8 KiB for each',
};

/** How many more connections there is room for, on all servers. */
export function RoomLine() {
  const { apps, instances } = session.value ?? {};
  const seesServers = apps === '*' && instances === '*';
  const { value } = useAnswer('GET /nodes', {}, { everyMs: POLL_MS, skip: !seesServers });
  const rooms = (value?.nodes ?? []).flatMap(({ report }) => report?.room ?? []);
  const [first] = rooms;
  if (first === undefined) return null;
  const total = rooms.reduce((sum, { connections }) => sum + connections, 0);
  const isAlike = rooms.every(({ limitedBy }) => limitedBy === first.limitedBy);
  return (
    <p class="muted small">
      Room for about {count(total)} more connections
      {rooms.length > 1 && ` on ${rooms.length} servers`} while clients are idle:{' '}
      {isAlike ? limits[first.limitedBy] : 'each server has a limit of its own'}.{' '}
      <a href={pathTo('/nodes')}>{rooms.length > 1 ? 'The servers' : 'This server'}</a>
    </p>
  );
}
