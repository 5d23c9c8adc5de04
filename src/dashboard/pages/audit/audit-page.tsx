import type { AuditEntry } from '../../api/answers.ts';
import { Button } from '../../parts/controls.tsx';
import { moment } from '../../parts/formats.ts';
import { PagedCard } from '../../parts/more.tsx';
import { Empty } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Table } from '../../parts/table-head.tsx';
import { useList } from '../../parts/use-pages.ts';

/** Who did what? */
export default function AuditPage() {
  const pages = useList('GET /audit', 'entries', { query: { limit: '100' } }, 'before');
  return (
    <div class="page">
      <PageHead
        title="Audit"
        says="Who changed what, who logged in, and who was shown secrets. The last 10,000 entries are kept."
        actions={<Button onClick={pages.reload}>Refresh</Button>}
      />
      <PagedCard
        label="Entries"
        pages={pages}
        none={
          <Empty icon="check" title="Nothing was done yet">
            <p>Changes by commands on the machine of the server are in its log only.</p>
          </Empty>
        }
      >
        {(entries) => <AuditTable entries={entries} />}
      </PagedCard>
    </div>
  );
}

function AuditTable({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <Table columns={['What', 'Who', { number: 'Status' }, { number: 'When' }]}>
      {entries.map(({ id, operation, subject, detail, user, how, address, status, times, at }) => (
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
      ))}
    </Table>
  );
}
