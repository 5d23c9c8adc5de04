import type { TransactionSQL } from 'bun';
import {
  coveredUpTo,
  REVOCATIONS_MAX,
  type Revocation,
  type Revoked,
} from '../../channels/grants/revocations.ts';
import type { Database } from '../database/database.ts';
import { type Revised, revisionsOf } from '../database/revisions.ts';
import { type BigInteger, inPieces } from '../database/rows.ts';
import type { CommitBatch } from '../database/write-queue.ts';

/** Rows that one change deletes, so that it does not block others for long. */
const FORGOTTEN_ROWS = 500;

interface RevocationRow {
  readonly app_id: string;
  readonly kind: Revoked['kind'];
  readonly name: string;
  readonly issued_before: BigInteger;
  readonly revoked_at: BigInteger;
}

/** A revocation on its way into the store. */
interface Waiting {
  readonly revocation: Revocation;
  /** Older ones of the app need not be kept. Milliseconds since 1970. */
  readonly keptSinceMs: number;
  /** Set by the commit. */
  hasRoom: boolean;
}

/** Which page of the revocations of an app. */
export interface RevocationPage {
  readonly limit: number;
  /** The last of the page before. */
  readonly after: Revoked | undefined;
}

/** Revocations in the store's tables. Several processes may use one store. */
export class RevocationStore {
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
  }

  /** Adds a revocation, unless its app has too many already. */
  async add(revocation: Revocation, keptSinceMs: number): Promise<'added' | 'too-many'> {
    const waiting: Waiting = { revocation, keptSinceMs, hasRoom: true };
    await this.database.write((_, later) => later(additions, waiting), 'revocations');
    return waiting.hasRoom ? 'added' : 'too-many';
  }

  /** The revisions of apps and of revocations: servers ask for both at once. */
  revisions(): Promise<Readonly<Record<'apps' | 'revocations', number>>> {
    return revisionsOf(this.database.read, ['apps', 'revocations'] satisfies Revised[]);
  }

  /** Those that were added after a revision. */
  async addedAfter(revision: number): Promise<readonly Revocation[]> {
    const rows: RevocationRow[] = await this.database.read`
      SELECT app_id, kind, name, issued_before, revoked_at FROM revocations
      WHERE number > ${revision} ORDER BY number`;
    return rows.map(revocationOf);
  }

  async ofApps(ids: readonly string[]): Promise<readonly Revocation[]> {
    const found: Revocation[] = [];
    for (const some of inPieces(ids)) {
      const rows: RevocationRow[] = await this.database.read`
        SELECT app_id, kind, name, issued_before, revoked_at FROM revocations
        WHERE app_id IN ${this.database.read(some)}`;
      found.push(...rows.map(revocationOf));
    }
    return found;
  }

  /** A page of those of an app, in the order of what is revoked. */
  async page(
    appId: string,
    { limit, after }: RevocationPage,
    keptSinceMs: number,
  ): Promise<readonly Revocation[]> {
    const { kind = '', name = '' } = after ?? {};
    const rows: RevocationRow[] = await this.database.read`
      SELECT app_id, kind, name, issued_before, revoked_at FROM revocations
      WHERE app_id = ${appId} AND revoked_at >= ${keptSinceMs}
        AND (kind > ${kind} OR (kind = ${kind} AND name > ${name}))
      ORDER BY kind, name LIMIT ${limit}`;
    return rows.map(revocationOf);
  }

  /** Deletes some that are older. `false`: none are left. */
  async forgetSomeBefore(timeMs: number): Promise<boolean> {
    return await this.database.write(async (sql) => {
      const { count } = await sql`DELETE FROM revocations WHERE (app_id, kind, name) IN (
        SELECT app_id, kind, name FROM revocations WHERE revoked_at < ${timeMs}
        LIMIT ${FORGOTTEN_ROWS})`;
      return count === FORGOTTEN_ROWS;
    });
  }
}

/** All revocations of a commit take one revision. */
const additions: CommitBatch<Waiting> = {
  // Last, because all servers wait for each other from here to the end of the commit.
  place: 2,
  async run(sql, items) {
    // It locks: other processes cannot change what the statements read.
    await sql`UPDATE revisions SET revision = revision + 1 WHERE what = 'revocations'`;
    const { revocations: number } = await revisionsOf(sql, ['revocations']);
    for (const [appId, ofApp] of Map.groupBy(items, ({ revocation }) => revocation.appId)) {
      const keptSinceMs = Math.max(...ofApp.map((one) => one.keptSinceMs));
      await sql`DELETE FROM revocations WHERE app_id = ${appId} AND revoked_at < ${keptSinceMs}`;
      const counted: { readonly count: BigInteger }[] = await sql`
        SELECT COUNT(*) AS count FROM revocations WHERE app_id = ${appId} AND kind <> 'all'`;
      let room = REVOCATIONS_MAX - Number(counted[0]?.count);
      for (const one of ofApp) {
        const { revocation } = one;
        if (revocation.kind === 'all') room += await forgetCovered(sql, revocation);
        one.hasRoom = true;
        if (await change(sql, revocation, number)) continue;
        one.hasRoom = revocation.kind === 'all' || room > 0;
        if (!one.hasRoom) continue;
        await insert(sql, revocation, number);
        if (revocation.kind !== 'all') room--;
      }
    }
  },
};

/** Deletes what a revocation of all grants covers. Returns how many there were. */
async function forgetCovered(sql: TransactionSQL, all: Revocation): Promise<number> {
  const upTo = coveredUpTo(all);
  const { count } = await sql`DELETE FROM revocations WHERE app_id = ${all.appId} AND (
    (kind = 'user' AND issued_before <= ${upTo.user}) OR
    (kind = 'token' AND issued_before <= ${upTo.token}))`;
  return count;
}

/** Repeats a revocation: the later counts. `false`: it is a new one. */
async function change(
  sql: TransactionSQL,
  { appId, kind, name, issuedBefore, revokedAtMs }: Revocation,
  number: number,
): Promise<boolean> {
  const { count } = await sql`UPDATE revocations SET number = ${number},
    issued_before = CASE WHEN issued_before < ${issuedBefore}
      THEN ${issuedBefore} ELSE issued_before END,
    revoked_at = CASE WHEN revoked_at < ${revokedAtMs} THEN ${revokedAtMs} ELSE revoked_at END
    WHERE app_id = ${appId} AND kind = ${kind} AND name = ${name}`;
  return count > 0;
}

async function insert(
  sql: TransactionSQL,
  { appId, kind, name, issuedBefore, revokedAtMs }: Revocation,
  number: number,
): Promise<void> {
  await sql`INSERT INTO revocations (app_id, kind, name, issued_before, revoked_at, number)
    VALUES (${appId}, ${kind}, ${name}, ${issuedBefore}, ${revokedAtMs}, ${number})`;
}

function revocationOf(row: RevocationRow): Revocation {
  return {
    appId: row.app_id,
    kind: row.kind,
    name: row.name,
    issuedBefore: Number(row.issued_before),
    revokedAtMs: Number(row.revoked_at),
  };
}
