import type { AskedServer, Connection } from '../../api/answers.ts';
import { bytes, duration } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';
import { inApp, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';

/** From this many bytes on, a client is slow. */
const MANY_WAITING = 64 * 1024;

/** The library of a client, as the client reports it. */
export function libraryOf({ client }: Pick<Connection, 'client'>): string {
  if (client === null || client.name === '') return 'unknown library';
  // pusher-js calls itself js.
  const name = client.name === 'js' ? 'pusher-js' : client.name;
  return client.version === '' ? name : `${name} ${client.version}`;
}

export function Waiting({ bytes: waiting }: { readonly bytes: number }) {
  return waiting < MANY_WAITING ? (
    <span>{bytes(waiting)}</span>
  ) : (
    <strong class="warn">{bytes(waiting)} ⚠</strong>
  );
}

/** Connections, each with who it is and how it fares. */
export function ConnectionTable({
  app,
  connections,
  servers,
}: {
  readonly app: string;
  readonly connections: readonly Connection[];
  readonly servers: readonly AskedServer[];
}) {
  const nowMs = Date.now();
  const isOneOfSeveral = servers.length > 1;
  return (
    <Table
      columns={[
        'Connection',
        'Library',
        { number: 'Channels' },
        { number: 'Waits' },
        { number: 'Last sent' },
        { number: 'Open' },
      ]}
    >
      {connections.map((each) => (
        <tr key={each.socketId}>
          <td class="name">
            <div class="cut">
              <a class="mono" href={pathTo(inApp(app, 'connections', each.socketId))}>
                {each.socketId}
              </a>
            </div>
            <div class="cut muted small">
              {each.user !== null && <UserLink user={each.user} app={app} />}
              {[each.user === null ? null : '', each.address, isOneOfSeveral ? each.server : null]
                .filter((part) => part !== null)
                .join(' · ')}
            </div>
          </td>
          <td>
            {libraryOf(each)} {each.transport === 'http' && <span class="tag">over HTTP</span>}
            {each.transport === 'sse' && <span class="tag">reads events over HTTP</span>}
          </td>
          <td class="number" data-label="channels">
            {each.channels}
          </td>
          <td class="number" data-label="waits">
            <Waiting bytes={each.waitingBytes} />
          </td>
          <td class="number" data-label="last sent">
            {duration(nowMs - each.heardAtMs)} ago
          </td>
          <td class="number" data-label="open">
            {duration(nowMs - each.openedAtMs)}
          </td>
        </tr>
      ))}
    </Table>
  );
}
