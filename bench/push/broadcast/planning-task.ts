/** Reads the audience of a publish page by page, and sends nothing. Prints a `PlanningResult` as JSON. */
import { SQL } from 'bun';
import { audiencePages } from '../../../src/push/audience.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { StoredAudience } from '../../../src/stores/push/devices/audience-source.ts';
import { processorSeconds } from '../../machine/processor-time.ts';
import { INTEREST } from '../deliver-instances.ts';

export interface PlanningTask {
  /** The URL of its store. */
  readonly store: string;
  readonly instance: number;
  readonly devices: number;
}

export interface PlanningResult {
  readonly devices: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** What the processes of PostgreSQL used. SQLite runs inside the server. */
  readonly databaseCpuSeconds?: number | undefined;
}

const PAGE_DEVICES = 1000;

async function plan({ store, instance, devices: most }: PlanningTask): Promise<PlanningResult> {
  await using database = await openDatabase(store);
  await using beside = store.startsWith('postgres:') ? new SQL(store) : undefined;
  const audience = new StoredAudience(database);
  const target = { kind: 'interests', names: [INTEREST] } as const;
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  const ofDatabase = await databaseSeconds(beside);
  let devices = 0;
  const query = { instance, target, after: 0, pageDevices: PAGE_DEVICES };
  for await (const { recipients } of audiencePages(audience, query)) {
    devices += recipients.length;
    if (devices >= most) break;
  }
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAtMs) / 1000;
  const databaseCpuSeconds = ofDatabase && ((await databaseSeconds(beside)) ?? 0) - ofDatabase;
  return { devices, seconds, cpuSeconds: (user + system) / 1e6, databaseCpuSeconds };
}

/** What the processes of a database on this machine have used. */
async function databaseSeconds(sql: SQL | undefined): Promise<number | undefined> {
  if (sql === undefined) return undefined;
  const processes: { pid: number }[] = await sql`
    SELECT pid FROM pg_stat_activity WHERE datname = current_database()`;
  return processes.reduce((sum, { pid }) => sum + processorSeconds(pid), 0);
}

console.log(JSON.stringify(await plan(JSON.parse(process.argv[2] ?? '') as PlanningTask)));
