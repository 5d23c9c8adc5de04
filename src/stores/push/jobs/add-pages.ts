import type { TransactionSQL } from 'bun';
import type { NewPage } from '../../../push/model/delivery.ts';
import { platforms } from '../../../push/model/device.ts';
import type { Dialect } from '../../database/dialect.ts';
import { skipLocked } from '../../database/dialect.ts';
import { isAmong } from '../../database/number-list.ts';
import { type BigInteger, inPieces } from '../devices/device-rows.ts';
import type { HeldPublish } from '../publishes/locked-publish.ts';
import { writeDevices } from '../publishes/page-devices.ts';
import type { HeldItem, Together } from '../publishes/publish-changes.ts';

/** A page, until when it is claimed and by whom, and the number that it gets. */
export interface PageToAdd {
  readonly page: NewPage;
  /** 0: it is not claimed. */
  readonly untilMs: number;
  readonly server: string;
  readonly answer: { page: number | undefined };
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

/** Adds pages, each where planning of its publish has come to. */
export const addPages: Together<PageToAdd> = {
  async run(dialect, sql, items) {
    const open = items.filter(({ held }) => !held.isOver);
    const plannedTo = await readPlans(dialect, sql, open);
    const added: HeldItem<PageToAdd>[] = [];
    const moved = new Map<number, number>();
    const ended = new Set<HeldPublish>();
    for (const one of open) {
      const { held, item } = one;
      // Somebody else has gone on with it.
      if (plannedTo.get(held.number) !== item.page.after) continue;
      added.push(one);
      if (item.page.isLast === true) {
        plannedTo.delete(held.number);
        ended.add(held);
      } else {
        plannedTo.set(held.number, item.page.upTo);
        moved.set(held.number, item.page.upTo);
      }
    }
    await insertPages(sql, added);
    for (const [publish, upTo] of moved) {
      await sql`UPDATE publish_plans SET planned_to = ${upTo} WHERE publish = ${publish}`;
    }
    if (ended.size === 0) return;
    for (const held of ended) held.state = 'delivering';
    const numbers = [...ended].map(({ number }) => number);
    await sql`UPDATE publish_plans SET ended = 1, ready_at = NULL, leased_by = NULL
      WHERE ${isAmong(dialect, sql, 'publish', numbers)}`;
  },
};

/** How far planning has come, where it has not ended. */
async function readPlans(
  dialect: Dialect,
  sql: TransactionSQL,
  items: readonly HeldItem<PageToAdd>[],
): Promise<Map<number, number>> {
  const numbers = [...new Set(items.map(({ held }) => held.number))];
  const rows: PlanRow[] = await sql`
    SELECT publish, planned_to FROM publish_plans
    WHERE ${isAmong(dialect, sql, 'publish', numbers)} AND ended = 0
    ORDER BY publish ${skipLocked(dialect, sql)}`;
  return new Map(rows.map((row) => [Number(row.publish), Number(row.planned_to)]));
}

async function insertPages(
  sql: TransactionSQL,
  items: readonly HeldItem<PageToAdd>[],
): Promise<void> {
  const byPlace = new Map(
    items.map(({ held, item }) => [placeOf(held.number, lastOf(item.page)), item.answer]),
  );
  for (const some of inPieces(items)) {
    const rows = some.map(({ held, item }) => pageRow(held, item));
    const made: PageRow[] = await sql`
      INSERT INTO publish_pages ${sql(rows)} RETURNING number, publish, last_device`;
    for (const { number, publish, last_device } of made) {
      const answer = byPlace.get(placeOf(Number(publish), Number(last_device)));
      if (answer !== undefined) answer.page = Number(number);
    }
    for (const { held, item } of some) {
      for (const platform of platforms) {
        held.tally.count(platform, 'planned', item.page.planned[platform]);
      }
    }
  }
}

function pageRow(held: HeldPublish, { page, untilMs, server }: PageToAdd) {
  const { devices, planned } = page;
  const sum = platforms.reduce((devicesOf, platform) => devicesOf + planned[platform], 0);
  if (sum !== devices.length) throw new Error('a page with others than are counted');
  const isClaimed = untilMs > 0;
  return {
    publish: held.number,
    instance: held.instance,
    state: 'waiting',
    first_device: devices[0],
    last_device: lastOf(page),
    ...planned,
    due_at: held.dueAtMs,
    ready_at: isClaimed ? untilMs : held.dueAtMs,
    leased_by: isClaimed ? server : null,
    devices: writeDevices(devices),
  };
}

function lastOf({ devices }: NewPage): number {
  const last = devices.at(-1);
  if (last === undefined) throw new Error('a page without devices');
  return last;
}

/** A device is in one page of a publish. */
function placeOf(publish: number, lastDevice: number): string {
  return `${publish} ${lastDevice}`;
}
