import { type Answer, call } from '../../api/client.ts';
import { Button } from '../../parts/controls.tsx';
import { moment } from '../../parts/formats.ts';
import { More } from '../../parts/more.tsx';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { TableHead } from '../../parts/table-head.tsx';
import { usePages } from '../../parts/use-pages.ts';

type Entry = Answer<'GET /audit'>['entries'][number];

/** Who did what? */
export default function AuditPage() {
  const { items, hasMore, failed, isAsking, more, reload } = usePages('audit', async (before) => {
    const { entries, next } = await call('GET /audit', { query: { before, limit: '100' } });
    return { items: entries, next };
  });
  return (
    <div class="page">
      <PageHead
        title="Audit"
        says="Who changed what, who logged in, and who was shown secrets. The last 10,000 entries are kept."
        actions={<Button onClick={reload}>Refresh</Button>}
      />
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {items !== undefined && (
        <section class="card" aria-label="Entries">
          {items.length === 0 ? (
            <Empty icon="check" title="Nothing was done yet">
              <p>Changes by commands on the machine of the server are in its log only.</p>
            </Empty>
          ) : (
            <AuditTable entries={items} />
          )}
        </section>
      )}
      <More {...{ hasMore, isAsking, more }} />
    </div>
  );
}

function AuditTable({ entries }: { readonly entries: readonly Entry[] }) {
  return (
    <table class="table cards">
      <TableHead columns={['What', 'Who', { number: 'Status' }, { number: 'When' }]} />
      <tbody>
        {entries.map(
          ({ id, operation, subject, detail, user, how, address, status, times, at }) => (
            <tr key={id}>
              <td class="wide">
                <strong>{operation}</strong> {subject}{' '}
                {times > 1 && <span class="tag">{times} times</span>}
                {detail !== '' && <div class="muted small">{detail}</div>}
              </td>
              <td>
                {user ?? (how === 'password' ? 'with the password' : 'a proxy')}
                {address !== null && <div class="muted small">{address}</div>}
              </td>
              <td class="number" data-label="status">
                <span class={status >= 400 ? 'bad' : ''}>{status}</span>
              </td>
              <td class="number">{moment(at)}</td>
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}
