import { setImmediate } from 'node:timers/promises';
import type { Platform } from '../../../push/model/device.ts';
import type {
  PlatformCounts,
  PublishId,
  PublishState,
  PublishTarget,
} from '../../../push/model/publish.ts';
import { type PublishOutline, readOutline } from '../../../push/model/publish-outline.ts';
import type { Database } from '../../database/database.ts';
import { type BigInteger, isAmong } from '../../database/rows.ts';
import { type ListedLiveUser, type LiveUsersQuery, listLiveUsers } from './live-users.ts';
import { type CountName, countNames } from './publish-counts.ts';
import { stateAt } from './publish-row.ts';

/** Publishes read without yielding to the event loop. */
const PIECE = 500;

/** Publishes that one call searches; the caller continues from `next`. */
const CALL_PUBLISHES = 20_000;

/** The limit of pages of devices from which the times of a publish are computed. A larger publish has no times. */
const TIMED_PAGES = 2_000;

export interface PublishQuery {
  readonly instance: number;
  readonly state: PublishState | undefined;
  /** The number of the publish to continue from. */
  readonly before: number | undefined;
  readonly limit: number;
  readonly nowMs: number;
}

/** A publish as shown to operators. */
export interface ListedPublish {
  readonly id: PublishId;
  readonly state: PublishState;
  readonly kind: PublishTarget['kind'];
  readonly createdAtMs: number;
  readonly sendAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  readonly outline: PublishOutline;
  /** The counts of all platforms together. */
  readonly counts: PlatformCounts;
  /** The platforms of which devices have no result so far. */
  readonly waiting: readonly Platform[];
  readonly delivered: number;
  readonly opened: number;
}

/** What is known of one publish besides its status. */
export interface PublishDetails {
  readonly kind: PublishTarget['kind'];
  /** When it was or is due. */
  readonly dueAtMs: number;
  readonly finishedAtMs: number | undefined;
  /** Empty once it is deleted. */
  readonly body: string;
  readonly outline: PublishOutline;
  /**
   * Seconds after the due time at which 50 %, and 95 %, of the pages of devices had been sent. `undefined`: no page
   * was sent, or there are too many.
   */
  readonly seconds: { readonly half: number; readonly most: number } | undefined;
}

interface Row {
  readonly number: BigInteger;
  readonly id: PublishId;
  readonly state: PublishState;
  readonly target: PublishTarget['kind'];
  readonly created_at: BigInteger;
  readonly send_at: BigInteger | null;
  readonly finished_at: BigInteger | null;
  readonly outline: string | null;
}

type CountsRow = Readonly<Record<CountName, BigInteger>> & {
  readonly publish: BigInteger;
  readonly platform: Platform;
};

interface FeedbackRow {
  readonly publish: BigInteger;
  readonly delivered: BigInteger;
  readonly opened: BigInteger;
}

/** Reads publishes for operators. */
export class PublishList {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /**
   * Returns up to `limit` publishes of an instance, newest first. There may be more even if it returns fewer: `next`
   * is where to continue, `undefined` at the end.
   */
  async list(query: PublishQuery): Promise<{
    readonly publishes: readonly ListedPublish[];
    readonly next: number | undefined;
  }> {
    const { state, limit, nowMs } = query;
    const found: number[] = [];
    let next = query.before;
    let read = 0;
    do {
      // The found states among the wanted ones.
      const piece = state === undefined ? limit : PIECE;
      const rows = await this.piece(query, next, piece);
      read += piece;
      next = undefined;
      for (const [index, row] of rows.entries()) {
        if (state === undefined || stateAt(row, nowMs) === state) found.push(Number(row.number));
        const isLast = index === piece - 1;
        if (isLast || found.length === limit) next = Number(row.number);
        if (found.length === limit) break;
      }
      // SQLite answers within one turn of the event loop.
      await setImmediate();
    } while (next !== undefined && found.length < limit && read < CALL_PUBLISHES);
    return { publishes: await this.withCounts(found, nowMs), next };
  }

  /** The number of the instance that a publish is of. */
  async instanceOf(id: PublishId): Promise<number | undefined> {
    const [row]: { instance: BigInteger }[] = await this.database.read`
      SELECT instance FROM publishes WHERE id = ${id}`;
    return row && Number(row.instance);
  }

  async details(instance: number, id: PublishId): Promise<PublishDetails | undefined> {
    const { read } = this.database;
    const [row]: (Row & { body: string; due_at: BigInteger })[] = await read`
      SELECT number, target, due_at, finished_at, body, outline FROM publishes
      WHERE id = ${id} AND instance = ${instance}`;
    if (row === undefined) return undefined;
    const dueAtMs = Number(row.due_at);
    return {
      kind: row.target,
      dueAtMs,
      finishedAtMs: timeOf(row.finished_at),
      body: row.body,
      outline: readOutline(row.outline ?? ''),
      seconds: await this.seconds(Number(row.number), dueAtMs),
    };
  }

  /** The users of a publish that were asked in the app, sorted; `undefined`: there is no such publish. */
  async liveUsers(query: LiveUsersQuery): Promise<readonly ListedLiveUser[] | undefined> {
    return await listLiveUsers(this.database.read, query);
  }

  /** Only the small columns, because a body may be large. */
  private async piece(
    { instance }: PublishQuery,
    before: number = Number.MAX_SAFE_INTEGER,
    limit: number,
  ): Promise<readonly Pick<Row, 'number' | 'state' | 'send_at'>[]> {
    return await this.database.read`
      SELECT number, state, send_at FROM publishes
      WHERE instance = ${instance} AND number < ${before}
      ORDER BY instance DESC, number DESC LIMIT ${limit}`;
  }

  private async withCounts(
    numbers: readonly number[],
    nowMs: number,
  ): Promise<readonly ListedPublish[]> {
    if (numbers.length === 0) return [];
    const { read } = this.database;
    const [rows, counts, feedback]: [Row[], CountsRow[], FeedbackRow[]] = await Promise.all([
      read`
        SELECT number, id, state, target, created_at, send_at, finished_at, outline FROM publishes
        WHERE ${isAmong(read, 'number', numbers)}`,
      read`
        SELECT publish, platform, SUM(planned) AS planned, SUM(accepted) AS accepted,
          SUM(retrying) AS retrying, SUM(failed) AS failed, SUM(pruned) AS pruned,
          SUM(expired) AS expired, SUM(cancelled) AS cancelled
        FROM publish_outcomes WHERE ${isAmong(read, 'publish', numbers)} GROUP BY publish, platform`,
      read`
        SELECT publish, delivered, opened FROM publish_feedback
        WHERE ${isAmong(read, 'publish', numbers)}`,
    ]);
    const countsOf = Map.groupBy(counts, (row) => Number(row.publish));
    const feedbackOf = new Map(feedback.map((row) => [Number(row.publish), row]));
    return rows
      .toSorted((a, b) => Number(b.number) - Number(a.number))
      .map((row) => {
        const number = Number(row.number);
        const counted = countsOf.get(number) ?? [];
        const reported = feedbackOf.get(number);
        return {
          id: row.id,
          state: stateAt(row, nowMs),
          kind: row.target,
          createdAtMs: Number(row.created_at),
          sendAtMs: timeOf(row.send_at),
          finishedAtMs: timeOf(row.finished_at),
          outline: readOutline(row.outline ?? ''),
          counts: Object.fromEntries(
            countNames.map((name) => [
              name,
              counted.reduce((sum, of) => sum + Number(of[name]), 0),
            ]),
          ) as Record<CountName, number>,
          waiting: counted.filter(isWaiting).map(({ platform }) => platform),
          delivered: Number(reported?.delivered ?? 0),
          opened: Number(reported?.opened ?? 0),
        };
      });
  }

  private async seconds(publish: number, dueAtMs: number): Promise<PublishDetails['seconds']> {
    const rows: { done_at: BigInteger }[] = await this.database.read`
      SELECT done_at FROM publish_pages WHERE publish = ${publish} AND state = 'delivered'
      ORDER BY last_device LIMIT ${TIMED_PAGES + 1}`;
    if (rows.length === 0 || rows.length > TIMED_PAGES) return undefined;
    const times = rows.map((row) => (Number(row.done_at) - dueAtMs) / 1000).sort((a, b) => a - b);
    const at = (share: number) => Math.max(0, times[Math.ceil(times.length * share) - 1] ?? 0);
    return { half: at(0.5), most: at(0.95) };
  }
}

function isWaiting(row: CountsRow): boolean {
  const over = [row.accepted, row.failed, row.pruned, row.expired, row.cancelled];
  return over.reduce<number>((rest, devices) => rest - Number(devices), Number(row.planned)) > 0;
}

function timeOf(column: BigInteger | null): number | undefined {
  return column === null ? undefined : Number(column);
}
