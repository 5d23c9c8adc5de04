import { asFanfare } from '../../api/command.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { AwayServers } from '../../parts/servers.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { lastUse } from './key-uses.ts';

const POLL_MS = 10_000;

/** The secret keys of an instance, and whether an old one is still in use. */
export function SecretKeys({ instance: id }: { readonly instance: string }) {
  const asked = useAnswer('GET /instances/{id}/keys', { path: { id } }, { everyMs: POLL_MS });
  const names = asked.value?.keys.map(({ key }) => key) ?? [];
  return (
    <section class="card" aria-labelledby="secret-keys">
      <header>
        <h2 id="secret-keys">Secret keys</h2>
      </header>
      <FailureNotice failed={asked.failed} retry={asked.reload} />
      <AwayServers servers={asked.value?.servers} />
      <table class="table cards">
        <TableHead columns={['Key', 'Last used']} />
        <tbody>
          {names.map((name, place) => (
            <tr key={place}>
              <td class="name mono">{name}</td>
              <td>{lastUse(asked.value, name, nthOf(names, place))}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="inside muted small">
        To rotate: <code>{asFanfare(['instances', 'rotate', id], {})}</code>, move your backends,
        then remove the old one when it is no longer used.
      </p>
    </section>
  );
}

/** How many keys before a place have the same name: short keys have. */
function nthOf(names: readonly string[], place: number): number {
  return names.slice(0, place).filter((name) => name === names[place]).length;
}
