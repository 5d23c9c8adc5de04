import type { TransactionSQL } from 'bun';
import type { PageCap } from '../../../push/model/cap.ts';
import type { LeftOutDevices, NewPage } from '../../../push/model/delivery.ts';
import { platforms } from '../../../push/model/device.ts';
import type { TakenTimes } from '../../../push/model/pace.ts';
import { skipLocked } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import { countForCaps } from '../devices/device-caps.ts';
import type { LockedPublish } from '../publishes/locked-publish.ts';
import { writeDevices } from '../publishes/page-devices.ts';
import { writeDues } from '../publishes/page-dues.ts';
import { writeLeftOut } from '../publishes/page-left-out.ts';
import type { BatchedChange, LockedItem } from '../publishes/publish-changes.ts';
import { writeTaken } from './taken-times.ts';

export interface PageToAdd {
  readonly page: NewPage;
  /** `undefined`: the page is not claimed. */
  readonly claimedUntilMs: number | undefined;
  /** See `AddedPage`. */
  readonly heldUntilMs: number | undefined;
  readonly cap: PageCap | undefined;
  readonly server: string;
  readonly answer: { page: number | undefined; overCap: readonly LeftOutDevices[] };
}

interface PlanRow {
  readonly publish: BigInteger;
  readonly planned_to: BigInteger;
}

interface PageRow {
  readonly number: BigInteger;
  readonly publish: BigInteger;
  readonly last_device: BigInteger;
}

/** Adds pages to publishes, each only if planning has come to its beginning. */
export const addPages: BatchedChange<PageToAdd> = {
  async run(sql, items) {
    const open = items.filter(({ locked }) => !locked.isOver);
    const plannedTo = await readPlans(sql, open);
    const added: LockedItem<PageToAdd>[] = [];
    const moved = new Map<number, number>();
    const takenOf = new Map<number, TakenTimes>();
    const ended = new Set<LockedPublish>();
    for (const one of open) {
      const { locked, item } = one;
      // Another server has continued the plan.
      if (plannedTo.get(locked.number) !== item.page.after) continue;
      added.push(one);
      const { taken } = item.page;
      if (taken !== undefined) takenOf.set(locked.number, taken);
      if (item.page.isLast === true) {
        plannedTo.delete(locked.number);
        ended.add(locked);
      } else {
        plannedTo.set(locked.number, item.page.upTo);
        moved.set(locked.number, item.page.upTo);
      }
    }
    const capped = added.flatMap((one) => {
      const { cap } = one.item;
      return cap === undefined ? [] : [{ one, cap, instance: one.locked.instance }];
    });
    const over = capped.length === 0 ? new Map() : await countForCaps(sql, capped);
    for (const page of capped) page.one.item.answer.overCap = over.get(page) ?? [];
    await insertPages(sql, added);
    for (const [publish, upTo] of moved) {
      await sql`UPDATE publish_plans SET planned_to = ${upTo} WHERE publish = ${publish}`;
    }
    for (const [publish, taken] of takenOf) await writeTaken(sql, publish, taken);
    if (ended.size === 0) return;
    for (const locked of ended) locked.state = 'delivering';
    const numbers = [...ended].map(({ number }) => number);
    await sql`UPDATE publish_plans SET ended = 1, ready_at = NULL, leased_by = NULL
      WHERE ${isAmong(sql, 'publish', numbers)}`;
  },
};

/** How far planning of each publish has come, unless it has ended. */
async function readPlans(
  sql: TransactionSQL,
  items: readonly LockedItem<PageToAdd>[],
): Promise<Map<number, number>> {
  const numbers = [...new Set(items.map(({ locked }) => locked.number))];
  const rows: PlanRow[] = await sql`
    SELECT publish, planned_to FROM publish_plans
    WHERE ${isAmong(sql, 'publish', numbers)} AND ended = 0
    ORDER BY publish ${skipLocked(sql)}`;
  return new Map(rows.map((row) => [Number(row.publish), Number(row.planned_to)]));
}

async function insertPages(
  sql: TransactionSQL,
  items: readonly LockedItem<PageToAdd>[],
): Promise<void> {
  const byKey = new Map(
    items.map(({ locked, item }) => [pageKey(locked.number, lastOf(item.page)), item.answer]),
  );
  for (const some of inPieces(items)) {
    const rows = some.map(({ locked, item }) => pageRow(locked, item));
    const made: PageRow[] = await sql`
      INSERT INTO publish_pages ${sql(rows)} RETURNING number, publish, last_device`;
    for (const { number, publish, last_device } of made) {
      const answer = byKey.get(pageKey(Number(publish), Number(last_device)));
      if (answer !== undefined) answer.page = Number(number);
    }
    for (const { locked, item } of some) {
      for (const platform of platforms) {
        locked.tally.count(platform, 'planned', item.page.planned[platform]);
      }
    }
  }
}

function pageRow(
  locked: LockedPublish,
  { page, claimedUntilMs, heldUntilMs, server, answer }: PageToAdd,
) {
  const { devices, planned, dues = [], leftOut = [] } = page;
  const dueAtMs = firstDueMs(page) ?? locked.dueAtMs;
  const sum = platforms.reduce((total, platform) => total + planned[platform], 0);
  if (sum !== devices.length) throw new Error('A page must count each of its devices once');
  return {
    publish: locked.number,
    instance: locked.instance,
    state: 'waiting',
    first_device: devices[0],
    last_device: lastOf(page),
    ...planned,
    due_at: dueAtMs,
    ready_at: claimedUntilMs ?? heldUntilMs ?? dueAtMs,
    leased_by: claimedUntilMs === undefined ? null : server,
    devices: writeDevices(devices),
    held: heldUntilMs === undefined ? 0 : 1,
    dues: writeDues(devices, dues),
    left_out: writeLeftOut(devices, [...leftOut, ...answer.overCap]),
  };
}

/** When the first devices of a page are due; `undefined`: when the publish is. */
function firstDueMs({ devices, dues = [] }: NewPage): number | undefined {
  const later = dues.reduce((sum, due) => sum + due.devices.length, 0);
  return later === devices.length ? dues[0]?.atMs : undefined;
}

function lastOf({ devices }: NewPage): number {
  const last = devices.at(-1);
  if (last === undefined) throw new Error('A page must have devices');
  return last;
}

/** Unique, because a device is in one page of a publish. */
function pageKey(publish: number, lastDevice: number): string {
  return `${publish} ${lastDevice}`;
}
