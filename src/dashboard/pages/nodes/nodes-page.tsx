import { Fragment } from 'preact';
import type { Node } from '../../api/answers.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Card } from '../../parts/card.tsx';
import { bytes, count, counted, duration, moment } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { Table } from '../../parts/table-head.tsx';
import { Sources } from './sources.tsx';

const POLL_MS = 3000;

/** A delay of a loop that is marked. Milliseconds. */
const LATE_MS = 100;

/** The servers, and the state of each. */
export default function NodesPage() {
  const { value, failed, reload } = useAnswer('GET /nodes', {}, { everyMs: POLL_MS });
  const nodes = value?.nodes ?? [];
  const versions = new Set(nodes.flatMap(({ report }) => report?.version ?? []));
  return (
    <div class="page">
      <PageHead title="Servers" failed={failed} says={value && sentence(nodes)} />
      <FailureNotice failed={failed} retry={reload} />
      {versions.size > 1 && (
        <Notice level="warn">
          <p>
            The servers run different versions: {[...versions].toSorted().join(', ')}. That is fine
            while they are being updated.
          </p>
        </Notice>
      )}
      {nodes.length > 0 && (
        <section class="card" aria-label="Servers">
          <Table
            columns={[
              'Server',
              'State',
              { number: 'Connections' },
              { number: 'Events/s' },
              { number: 'Memory' },
              { number: 'Up' },
            ]}
          >
            {nodes.map((node) => (
              <Row key={node.name} node={node} />
            ))}
          </Table>
        </section>
      )}
      {nodes.length > 0 && <Threads nodes={nodes} />}
      <Sources />
      {value !== undefined && nodes.length === 1 && <p class="muted">{alone(nodes[0])}</p>}
    </div>
  );
}

function sentence(nodes: readonly Node[]): string {
  const there = nodes.filter(({ answers }) => answers).length;
  const [first] = nodes;
  if (nodes.length === 1 && first !== undefined) return `${first.name} is the only server.`;
  if (there < nodes.length) return `${there} of ${counted(nodes.length, 'server')} answer.`;
  return `${counted(nodes.length, 'server')} act as one, and all answer.`;
}

function alone(node: Node | undefined): string {
  return node?.report?.engine.type === 'redis'
    ? 'Other servers with the same Redis and key prefix appear here.'
    : 'For several servers that act as one, set engine.type to redis, and store.url to PostgreSQL.';
}

function Row({ node }: { readonly node: Node }) {
  const { name, report, isAsked } = node;
  return (
    <tr>
      <td class="name">
        <div class="cut mono">{name}</div>
        <div class="muted small">
          {report !== null && `version ${report.version}`}
          {isAsked && ', this one'}
        </div>
      </td>
      <td>
        <State node={node} />
      </td>
      <td class="number" data-label="connections">
        {shown(report?.connections, count)}
      </td>
      <td class="number" data-label="events/s">
        {shown(report?.eventsPerSecond, count)}
      </td>
      <td class="number" data-label="memory">
        {shown(report?.memoryBytes, bytes)}
      </td>
      <td class="number" data-label="up">
        {shown(report?.startedAtMs, (startedAtMs) => duration(Date.now() - startedAtMs))}
      </td>
    </tr>
  );
}

function shown(value: number | null | undefined, print: (value: number) => string) {
  return value === null || value === undefined ? <span class="muted">–</span> : print(value);
}

function State({ node: { report, heardAtMs, silentSinceMs } }: { readonly node: Node }) {
  if (report === null) {
    return (
      <>
        <span class="tag bad">does not answer</span>
        <div class="muted small">
          since {moment(silentSinceMs ?? heardAtMs)}, last message {moment(heardAtMs)}
        </div>
      </>
    );
  }
  const { notReady, engine, conditions } = report;
  const found = conditions.bad + conditions.warn;
  const why = [...notReady, ...(engine.why === null ? [] : [engine.why])];
  return (
    <>
      {why.length > 0 ? (
        <span class="tag bad">{notReady.length > 0 ? 'not ready' : 'engine away'}</span>
      ) : conditions.bad > 0 ? (
        <span class="tag bad">{counted(conditions.bad, 'problem')} to fix</span>
      ) : found > 0 ? (
        <span class="tag warn">{counted(found, 'thing')} to look at</span>
      ) : (
        <span class="tag ok">well</span>
      )}
      {why.map((each) => (
        <div key={each} class="muted small">
          {each}
        </div>
      ))}
    </>
  );
}

function Threads({ nodes }: { readonly nodes: readonly Node[] }) {
  return (
    <Card
      title="Threads"
      aside={<span class="muted small">the longest delay of each loop in the last 10 s</span>}
    >
      <dl class="inside facts">
        {nodes.map(
          ({ name, report }) =>
            report !== null && (
              <Fragment key={name}>
                <dt class="mono">{name}</dt>
                <dd class="line-of">
                  {report.threads.map((thread) => (
                    <Thread key={thread.name} thread={thread} />
                  ))}
                </dd>
              </Fragment>
            ),
        )}
      </dl>
    </Card>
  );
}

function Thread({
  thread: { name, lateMs },
}: {
  readonly thread: NonNullable<Node['report']>['threads'][number];
}) {
  const isWell = lateMs !== null && lateMs < LATE_MS;
  return (
    <span class={`tag ${isWell ? '' : 'warn'}`}>
      {name} {lateMs === null ? 'does not answer' : `${count(lateMs)} ms`}
    </span>
  );
}
