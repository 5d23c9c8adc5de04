import { openRows } from './rows.ts';

/** What is known of a publish that does not go on: of its work by state, of its devices, and of the server. */
export async function standstill(
  server: { readonly directory: string; readonly adminPort: number },
  publishId: string,
): Promise<string> {
  using rows = openRows(server);
  const [nowMs, named] = [Date.now(), { id: publishId }];
  const found = statements.map(([what, statement]) => {
    const all = rows.query<object, [typeof named]>(statement.replaceAll('NOW', String(nowMs)));
    return [what, ...all.all({ ...named }).map((row) => JSON.stringify(row))].join('\n  ');
  });
  return [...found, ...(await pushFigures(server.adminPort))].join('\n');
}

/** Until when rows wait, and since when they have been due. Milliseconds from now. */
const TIMES = 'MIN(ready_at) - NOW AS first_ready, MAX(ready_at) - NOW AS last_ready';

const OF_PUBLISH = 'WHERE publish = (SELECT number FROM publishes WHERE id = $id)';

const statements: readonly (readonly [what: string, statement: string])[] = [
  [
    'plans',
    `SELECT planned_to, ended, ready_at - NOW AS ready, leased_by FROM publish_plans ${OF_PUBLISH}`,
  ],
  [
    'pages',
    `SELECT COUNT(*) AS pages, state, held, leased_by, SUM(done <> '') AS begun, ${TIMES}
      FROM publish_pages ${OF_PUBLISH} GROUP BY state, held, leased_by`,
  ],
  [
    'devices',
    `SELECT COUNT(*) AS devices, state, reason, attempts, leased_by, ${TIMES}
      FROM publish_devices ${OF_PUBLISH} GROUP BY state, reason, attempts, leased_by`,
  ],
  [
    'paused devices',
    `SELECT COUNT(*) AS devices, MAX(paused_until) - NOW AS until FROM devices
      WHERE paused_until IS NOT NULL AND $id <> ''`,
  ],
];

async function pushFigures(adminPort: number): Promise<readonly string[]> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
  const lines = (await response.text()).split('\n');
  return lines.filter((line) => /^fanfare_push_.* [^0]/.test(line));
}
