/** Reads the audience of a publish page by page, and sends nothing. Prints a `PlanningResult` as JSON. */
import { audiencePages } from '../../../src/push/audience.ts';
import { openDatabase } from '../../../src/stores/database/database.ts';
import { StoredAudience } from '../../../src/stores/push/devices/audience-source.ts';
import { INTEREST } from '../deliver-instances.ts';

export interface PlanningTask {
  readonly storeFile: string;
  readonly instance: number;
  readonly devices: number;
}

export interface PlanningResult {
  readonly devices: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
}

const PAGE_DEVICES = 1000;

async function plan({ storeFile, instance, devices: most }: PlanningTask): Promise<PlanningResult> {
  await using database = await openDatabase(`sqlite:${storeFile}`);
  const audience = new StoredAudience(database);
  const target = { kind: 'interests', names: [INTEREST] } as const;
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  let devices = 0;
  const query = { instance, target, after: 0, pageDevices: PAGE_DEVICES };
  for await (const { recipients } of audiencePages(audience, query)) {
    devices += recipients.length;
    if (devices >= most) break;
  }
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - startedAtMs) / 1000;
  return { devices, seconds, cpuSeconds: (user + system) / 1e6 };
}

console.log(JSON.stringify(await plan(JSON.parse(process.argv[2] ?? '') as PlanningTask)));
