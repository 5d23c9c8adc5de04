import type { Problem } from '../../api/answers.ts';
import type { Answer } from '../../api/client.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { count, counted, duration, moment } from '../../parts/formats.ts';
import { Empty, FailureNotice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { Table } from '../../parts/table-head.tsx';
import { Words } from '../../parts/words.tsx';
import { inApp, pathTo } from '../../routing/router.ts';
import { AuthorisationDoctor } from './doctor.tsx';

const POLL_MS = 5000;

/** The party that caused the problem. */
const sources = { client: 'client', connection: 'connection', backend: 'backend' } as const;

/** What do clients and backends of this app do wrong? */
export default function ProblemsPage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer(
    'GET /apps/{id}/problems',
    { path: { id: app } },
    { everyMs: POLL_MS },
  );
  const total = value?.problems.reduce((sum, problem) => sum + problem.count, 0) ?? 0;
  return (
    <div class="page">
      <PageHead
        title="Problems"
        of={app}
        says={
          value === undefined
            ? 'What clients and backends of this app do wrong, and how to fix it.'
            : value.problems.length === 0
              ? `Nothing was refused since ${namesOf(value.servers)} started.`
              : `${counted(total, 'refusal')} of ${counted(value.problems.length, 'kind')} since ${namesOf(value.servers)} started, the latest first.`
        }
      />
      <FailureNotice failed={failed} retry={reload} />
      <AwayServers servers={value?.servers} />
      {value !== undefined && (
        <section class="card" aria-label="Problems">
          {value.problems.length === 0 ? (
            <Empty icon="check" title="No problem">
              <p>What is refused to clients and backends appears here, with what to do about it.</p>
            </Empty>
          ) : (
            <ProblemTable app={app} {...value} />
          )}
        </section>
      )}
      <AuthorisationDoctor app={app} />
    </div>
  );
}

function ProblemTable({
  app,
  problems,
  servers,
}: {
  readonly app: string;
} & Answer<'GET /apps/{id}/problems'>) {
  const sorted = problems.toSorted((a, b) => b.lastAtMs - a.lastAtMs);
  return (
    <Table
      columns={['What was refused, and what to do', 'Who', { number: 'Times' }, { number: 'Last' }]}
    >
      {sorted.map((problem) => (
        <tr key={`${problem.source} ${problem.kind} ${problem.text}`}>
          <td class="wide">
            <p>
              <strong>{problem.text}</strong>
            </p>
            {problem.advice !== '' && (
              <p class="muted">
                <Words text={problem.advice} />
              </p>
            )}
            <Example app={app} problem={problem} />
          </td>
          <td>
            <span class="tag">{sources[problem.source]}</span>
          </td>
          <td class="number" data-label="times">
            {count(problem.count)}
          </td>
          <td class="number" title={`First ${moment(problem.firstAtMs)}`}>
            {duration(Date.now() - problem.lastAtMs)} ago
            {servers.length > 1 && <div class="muted small">on {problem.server}</div>}
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The newest case of a problem, with ways to look at it. */
function Example({ app, problem }: { readonly app: string; readonly problem: Problem }) {
  const { text, socket, user, address, path } = problem.example;
  const appPath = inApp(app);
  return (
    <p class="small muted">
      {text !== problem.text && <>For example: {text} </>}
      {path !== undefined && <code>{path} </code>}
      {user !== undefined && <>user {user} </>}
      {address !== undefined && <>from {address} </>}
      {socket !== undefined && (
        <a href={pathTo(`${appPath}/connections/${encodeURIComponent(socket)}`)}>{socket}</a>
      )}
    </p>
  );
}
