import type { Source } from '../../api/answers.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { count, duration } from '../../parts/formats.ts';
import { Table } from '../../parts/table-head.tsx';

const POLL_MS = 5000;

/** The databases of applications, if servers follow any. */
export function Sources() {
  const { value } = useAnswer('GET /sources', {}, { everyMs: POLL_MS });
  const sources = value?.sources ?? [];
  if (sources.length === 0) return null;
  return (
    <Card
      title="Sources"
      aside={<span class="muted small">databases whose committed rows are sent</span>}
    >
      <Table
        columns={[
          'Source',
          'Followed by',
          { number: 'Waiting' },
          { number: 'For' },
          { number: 'Failed' },
        ]}
      >
        {sources.map((source) => (
          <Row key={`${source.source} ${source.url} ${source.schema}`} source={source} />
        ))}
      </Table>
    </Card>
  );
}

function Row({ source }: { readonly source: Source }) {
  const { url, schema, app, instance, waiting, lagSeconds, failed, lastFailure } = source;
  return (
    <tr>
      <td class="name">
        <div class="cut mono">{url}</div>
        <div class="muted small">
          schema {schema}, app {app}
          {instance !== null && `, instance ${instance}`}
        </div>
      </td>
      <td>
        <Follower source={source} />
      </td>
      <td class="number" data-label="waiting">
        {waiting === null ? '–' : count(waiting)}
      </td>
      <td class="number" data-label="for">
        {lagSeconds === null ? '–' : duration(lagSeconds * 1_000)}
      </td>
      <td class="number" data-label="failed">
        {failed === null ? '–' : count(failed)}
        {lastFailure !== null && <div class="muted small">{lastFailure}</div>}
      </td>
    </tr>
  );
}

function Follower({ source: { follower, states } }: { readonly source: Source }) {
  return (
    <>
      {follower === null ? (
        <span class="tag bad">nobody</span>
      ) : (
        <span class="mono">{follower}</span>
      )}
      {states.map(
        ({ server, why }) =>
          why !== '' && (
            <div key={server} class="muted small">
              {server}: {why}
            </div>
          ),
      )}
    </>
  );
}
