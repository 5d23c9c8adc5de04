import type { TransactionSQL } from 'bun';
import type {
  CertificateStore,
  KeptAccount,
  KeptCertificate,
  KeptState,
  OrderClaim,
  OrderEnd,
  OrderPlan,
} from '../../certificates/kept.ts';
import type { Database } from '../database/database.ts';
import { revisionOf } from '../database/revisions.ts';

interface Row {
  readonly name: string;
  readonly value: string;
}

/** Certificates in the store: a row each for the account, the certificate, the plan, the challenges and the lease. */
export class StoredCertificates implements CertificateStore {
  readonly isShared: boolean;
  private readonly database: Database;

  constructor(database: Database) {
    this.database = database;
    this.isShared = database.dialect === 'postgres';
  }

  revision(): Promise<number> {
    return revisionOf(this.database.read, 'certificates');
  }

  async read(): Promise<KeptState> {
    const rows: Row[] = await this.database.read`SELECT name, value FROM certificates`;
    const values = new Map(rows.map(({ name, value }) => [name, value]));
    const parse = <T>(name: string): T | undefined => {
      const value = values.get(name);
      return value === undefined ? undefined : (JSON.parse(value) as T);
    };
    return {
      account: parse<KeptAccount>('account'),
      certificate: parse<KeptCertificate>('certificate'),
      plan: parse<OrderPlan>('plan'),
      challenges: new Map(parse<[string, string][]>('challenges')),
    };
  }

  claim({ server, revision, nowMs, untilMs, plan }: OrderClaim): Promise<boolean> {
    return this.database.write(async (sql) => {
      // A lease that ends implausibly late was made before a clock was set back, so it is ignored. The update waits
      // for another server that claims at the same moment, and then sees its change.
      const mine: unknown[] = await sql`INSERT INTO certificates (name, value, until)
        VALUES ('lease', ${server}, ${untilMs})
        ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until
        WHERE certificates.until <= ${nowMs} OR certificates.value = ${server}
          OR certificates.until > ${untilMs + (untilMs - nowMs)}
        RETURNING name`;
      if (mine.length === 0) return false;
      if ((await revisionOf(sql, 'certificates')) !== revision) {
        await endLease(sql, server);
        return false;
      }
      await put(sql, 'plan', plan);
      await changed(sql);
      return true;
    });
  }

  async keepAccount(account: KeptAccount): Promise<void> {
    await this.database.write(async (sql) => {
      await put(sql, 'account', account);
      await changed(sql);
    });
  }

  async offer(challenges: ReadonlyMap<string, string>): Promise<void> {
    await this.database.write(async (sql) => {
      await put(sql, 'challenges', [...challenges]);
      await changed(sql);
    });
  }

  async end({ server, plan, certificate }: OrderEnd): Promise<void> {
    await this.database.write(async (sql) => {
      // First, as a claim does, so that no two servers wait for each other.
      if (!(await endLease(sql, server))) return;
      await put(sql, 'plan', plan);
      await put(sql, 'challenges', []);
      if (certificate !== undefined) await put(sql, 'certificate', certificate);
      await changed(sql);
    });
  }
}

async function put(sql: TransactionSQL, name: string, value: unknown): Promise<void> {
  await sql`INSERT INTO certificates (name, value, until) VALUES (${name}, ${JSON.stringify(value)}, 0)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
}

/** `false`: another server has claimed it. */
async function endLease(sql: TransactionSQL, server: string): Promise<boolean> {
  const mine: unknown[] = await sql`UPDATE certificates SET until = 0
    WHERE name = 'lease' AND value = ${server} RETURNING name`;
  return mine.length > 0;
}

async function changed(sql: TransactionSQL): Promise<void> {
  await sql`UPDATE revisions SET revision = revision + 1 WHERE what = 'certificates'`;
}
