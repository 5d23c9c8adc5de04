import { pathTo } from '../routing/router.ts';
import { counted } from './formats.ts';
import { Notice } from './notices.tsx';

type Servers = readonly { readonly name: string; readonly away: boolean }[];

/** Names the servers that did not answer, whose part is missing. */
export function AwayServers({ servers }: { readonly servers: Servers | undefined }) {
  const away = servers?.filter((server) => server.away) ?? [];
  if (away.length === 0) return null;
  const names = away.map(({ name }) => name).join(', ');
  return (
    <Notice
      level="warn"
      actions={
        <a class="button slim" href={pathTo('/nodes')}>
          Show the servers
        </a>
      }
    >
      <p>
        {names} {away.length === 1 ? 'does' : 'do'} not answer. What{' '}
        {away.length === 1 ? 'it knows' : 'they know'} is missing here.
      </p>
    </Notice>
  );
}

/** Names the servers that an answer is of: one by its name, several as `2 of 3 servers`, if one does not answer. */
export function namesOf(servers: Servers): string {
  const [first] = servers;
  if (servers.length === 1 && first !== undefined) return first.name;
  const there = servers.filter(({ away }) => !away).length;
  const all = counted(servers.length, 'server');
  return there === servers.length ? all : `${there} of ${all}`;
}
