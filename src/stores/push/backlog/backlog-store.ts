import type {
  AskedToGiveWay,
  BacklogStore,
  GaveWay,
  WaitingPublish,
  WaitingPublishes,
  WaitingQuery,
} from '../../../push/backlog-store.ts';
import { byPlatform, type Platform, platforms } from '../../../push/model/device.ts';
import type { PublishState } from '../../../push/model/publish.ts';
import type { Database } from '../../database/database.ts';
import type { BigInteger } from '../../database/rows.ts';
import type { PendingBodies } from '../publishes/pending-bodies.ts';
import { changeTogether, publishChanges } from '../publishes/publish-changes.ts';
import { giveWay, type Leaving } from './give-way.ts';
import { type WaitingDevices, waitingDevices } from './waiting-devices.ts';

/** Unfinished publishes that are read without yielding to the event loop. */
const PIECE_PUBLISHES = 500;

interface UnfinishedRow {
  readonly number: BigInteger;
  readonly body_bytes: BigInteger;
  readonly state: PublishState;
}

/** Makes room among the unfinished publishes in the store's tables. Several servers may use one store. */
export class StoredBacklog implements BacklogStore {
  private readonly database: Database;
  private readonly pending: PendingBodies;

  /** `pending` counts the bodies that this server accepts. */
  constructor(database: Database, pending: PendingBodies) {
    this.database = database;
    this.pending = pending;
  }

  pendingBytes(of: { readonly instance: number; readonly nowMs: number }): Promise<number> {
    return this.pending.readNow(of, this.database.read);
  }

  async waiting({ instance, after }: WaitingQuery): Promise<WaitingPublishes> {
    const { read } = this.database;
    const rows: UnfinishedRow[] = await read`
      SELECT number, body_bytes, state FROM publishes
      WHERE instance = ${instance} AND finished_at IS NULL AND number > ${after}
      ORDER BY instance, number LIMIT ${PIECE_PUBLISHES}`;
    const planned = rows.filter(({ state }) => state === 'delivering');
    const numbers = planned.map(({ number }) => Number(number));
    const waiting = numbers.length === 0 ? new Map() : await waitingDevices(read, numbers);
    // SQLite answers within one turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve));
    const isLast = rows.length < PIECE_PUBLISHES;
    return {
      publishes: planned.flatMap((row) => waitingPublish(row, waiting.get(Number(row.number)))),
      next: isLast ? undefined : Number(rows.at(-1)?.number),
    };
  }

  async giveWay({ instance, publishes, nowMs }: AskedToGiveWay): Promise<GaveWay> {
    const gaveWay = await this.database.write((_, later) => {
      const left: Leaving['gaveWay'] = {
        publishes: [],
        devices: byPlatform(() => 0),
        bytes: 0,
      };
      for (const publish of publishes) {
        later(publishChanges, changeTogether(publish, giveWay, { nowMs, gaveWay: left }));
      }
      return left;
    }, instance);
    this.pending.freed(instance, gaveWay.bytes);
    return gaveWay;
  }
}

function waitingPublish(
  { number, body_bytes }: UnfinishedRow,
  devices: WaitingDevices | undefined,
): readonly WaitingPublish[] {
  if (devices === undefined) return [];
  const [platform] = platforms.toSorted((a, b) => waitingOn(devices, b) - waitingOn(devices, a));
  return platform === undefined
    ? []
    : [{ number: Number(number), bytes: Number(body_bytes), platform }];
}

function waitingOn({ onPages, retrying }: WaitingDevices, platform: Platform) {
  return onPages[platform] + retrying[platform];
}
