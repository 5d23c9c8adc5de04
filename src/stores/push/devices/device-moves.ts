import type { SQL } from 'bun';
import type {
  DeviceMoves,
  ExportedDevice,
  ExportPage,
  ExportRange,
  ImportCounts,
  ImportRequest,
  ImportResult,
  ImportRow,
  NamedImport,
  UndoneImport,
} from '../../../push/device-moves.ts';
import { byPlatform, type DeviceId, type Platform } from '../../../push/model/device.ts';
import { newDeviceId } from '../../../push/model/device-id.ts';
import { bareToken, type DeviceKind, isChannel } from '../../../push/model/token-kind.ts';
import type { Database } from '../../database/database.ts';
import { exclusively } from '../../database/dialect.ts';
import { type BigInteger, inPieces, isAmong } from '../../database/rows.ts';
import { requireInstance } from '../../tenants/instance-presence.ts';
import { DeviceList } from './device-list.ts';
import { afterRemoval, type DeletedRow, type DeviceChange } from './device-rows.ts';
import { type Decision, ImportRoom, type TokenHolder } from './import-room.ts';
import { count, readCounts } from './instance-counts.ts';
import { replaceInterests } from './interest-rows.ts';

interface ExportRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly platform: Platform;
  readonly token: string;
  readonly token_identity: string;
  readonly bundle_id: string | null;
  readonly kind: DeviceKind | null;
  readonly user_id: string | null;
  readonly registered_at: BigInteger;
  readonly origin: string | null;
  readonly language: string | null;
  readonly time_zone: string | null;
}

interface HolderRow {
  readonly number: BigInteger;
  readonly id: DeviceId;
  readonly token_identity: string;
  readonly token: string;
  readonly bundle_id: string | null;
  readonly accepted_at: BigInteger | null;
  readonly origin: string | null;
  readonly user_id: string | null;
}

/** No condition: every device of the instance. */
const ALL = {
  platform: undefined,
  neverAccepted: false,
  registeredBeforeMs: undefined,
  seenBeforeMs: undefined,
};

/** Moves devices in and out of the store's tables. `devices.origin` names the import of a device that no SDK has registered. */
export class StoredMoves implements DeviceMoves {
  private readonly database: Database;
  private readonly list: DeviceList;

  constructor(database: Database) {
    this.database = database;
    this.list = new DeviceList(database);
  }

  async importRows(request: ImportRequest): Promise<readonly ImportResult[]> {
    const { instance, isDryRun, rows } = request;
    await requireInstance(this.database.read, instance);
    if (isDryRun) return (await decide(this.database.read, request)).map(resultOf);
    return await this.database.write(async (sql, later) => {
      // Two imports of one token, or at the last room, take turns.
      await exclusively(sql, `devices of ${instance}`);
      const decisions = await decide(sql, request);
      const change = { sql, later, instance };
      const created = await insertDevices(change, request, decisions);
      for (const [index, decision] of decisions.entries()) {
        const row = rows[index];
        if (decision.status === 'updated' && row !== undefined) {
          await updateDevice(change, request, row, decision.known);
        }
      }
      return decisions.map((decision, index) =>
        decision.status === 'created'
          ? (created.get(rows[index]?.identity ?? '') ?? resultOf(decision))
          : resultOf(decision),
      );
    }, instance);
  }

  async exportRows({ instance, after, limit }: ExportRange): Promise<ExportPage> {
    const { read } = this.database;
    const found = await this.list.list({ instance, filter: ALL, after, limit });
    if (found.devices.length === 0) await requireInstance(read, instance);
    const numbers = found.devices.map(({ number }) => number);
    if (numbers.length === 0) return { devices: [], next: found.next };
    const interests = await interestsOf(read, numbers);
    const rows: ExportRow[] = await read`
      SELECT number, id, platform, token, token_identity, bundle_id, kind, user_id, registered_at, origin,
        language, time_zone
      FROM devices WHERE ${isAmong(read, 'number', numbers)} ORDER BY number`;
    return {
      // Only the server that made a broadcast channel can delete it.
      devices: rows
        .filter(({ kind }) => !isChannel(kind ?? undefined))
        .map((row) => exportedDevice(row, interests.get(Number(row.number)) ?? [])),
      next: found.next,
    };
  }

  async countImport({ instance, name }: NamedImport): Promise<ImportCounts> {
    const { read } = this.database;
    const rows: { platform: Platform; devices: BigInteger; accepted: BigInteger }[] = await read`
      SELECT platform, COUNT(*) AS devices, COUNT(accepted_at) AS accepted FROM devices
      WHERE instance = ${instance} AND origin = ${name} GROUP BY platform`;
    if (rows.length === 0) await requireInstance(read, instance);
    const sum = (numbers: readonly BigInteger[]) =>
      numbers.reduce((total: number, one) => total + Number(one), 0);
    return {
      devices: sum(rows.map(({ devices }) => devices)),
      accepted: sum(rows.map(({ accepted }) => accepted)),
      platforms: byPlatform((platform) =>
        Number(rows.find((row) => row.platform === platform)?.devices ?? 0),
      ),
    };
  }

  async undoImport({
    instance,
    name,
    max,
  }: NamedImport & { readonly max: number }): Promise<UndoneImport> {
    const removed = await this.database.write(async (sql, later) => {
      const deleted: DeletedRow[] = await sql`
        DELETE FROM devices WHERE number IN (
          SELECT number FROM devices WHERE instance = ${instance} AND origin = ${name}
          ORDER BY number LIMIT ${max})
        RETURNING number, accepted_at`;
      await afterRemoval({ sql, later, instance }, deleted);
      return deleted.length;
    }, instance);
    if (removed === 0) await requireInstance(this.database.read, instance);
    return { removed, more: removed === max };
  }
}

/** Decides what becomes of each row. Writes nothing. */
async function decide(sql: SQL, request: ImportRequest): Promise<readonly Decision[]> {
  const { instance, rows } = request;
  const known = new Map<string, TokenHolder>();
  for (const some of inPieces(rows)) {
    const found: HolderRow[] = await sql`
      SELECT number, id, token_identity, token, bundle_id, accepted_at, origin, user_id FROM devices
      WHERE instance = ${instance} AND token_identity IN ${sql(some.map(({ identity }) => identity))}`;
    for (const row of found) {
      known.set(row.token_identity, {
        number: Number(row.number),
        id: row.id,
        token: row.token,
        bundleId: row.bundle_id,
        isAccepted: row.accepted_at !== null,
        origin: row.origin,
        userId: row.user_id,
      });
    }
  }
  const users = [...new Set(rows.flatMap(({ userId }) => userId ?? []))];
  const devicesOfUsers: { userId: string; platform: Platform; devices: BigInteger }[] = [];
  for (const some of inPieces(users)) {
    devicesOfUsers.push(
      ...(await sql`
        SELECT user_id AS "userId", platform, COUNT(*) AS devices FROM devices
        WHERE instance = ${instance} AND user_id IN ${sql([...some])} GROUP BY user_id, platform`),
    );
  }
  const hosts = [...new Set(rows.flatMap(({ openHost }) => openHost ?? []))];
  const atHosts: { host: string; devices: BigInteger }[] = [];
  for (const some of inPieces(hosts)) {
    atHosts.push(
      ...(await sql`
        SELECT open_host AS host, COUNT(*) AS devices FROM devices
        WHERE instance = ${instance} AND open_host IN ${sql([...some])} GROUP BY open_host`),
    );
  }
  const imported = [...known.values()].filter(({ origin }) => origin !== null);
  const numbers = imported.map(({ number }) => number);
  const interests: { device: BigInteger; interests: BigInteger }[] =
    numbers.length === 0
      ? []
      : await sql`
        SELECT device, COUNT(*) AS interests FROM device_interests
        WHERE ${isAmong(sql, 'device', numbers)} GROUP BY device`;
  const room = new ImportRoom(request, {
    known,
    counts: await readCounts(sql, instance),
    atHosts: new Map(atHosts.map(({ host, devices }) => [host, Number(devices)])),
    ofUsers: devicesOfUsers.map((one) => ({ ...one, devices: Number(one.devices) })),
    interests: new Map(interests.map((one) => [Number(one.device), Number(one.interests)])),
  });
  return rows.map((row) => room.decide(row));
}

function resultOf(decision: Decision): ImportResult {
  switch (decision.status) {
    case 'created':
      return { status: 'created', id: undefined };
    case 'refused':
      return decision;
    default:
      return { status: decision.status, id: decision.known.id };
  }
}

/** Inserts the new devices with their interests, and returns them by the identities of their tokens. */
async function insertDevices(
  change: DeviceChange,
  request: ImportRequest,
  decisions: readonly Decision[],
): Promise<ReadonlyMap<string, ImportResult>> {
  const results = new Map<string, ImportResult>();
  const created = request.rows.filter((_, index) => decisions[index]?.status === 'created');
  for (const some of inPieces(created)) {
    for (let left = some; left.length > 0; ) {
      await insertPiece(change, request, left, results);
      // An SDK has registered these tokens on another server in between: those devices stay as they are.
      for (const { identity } of left.filter((row) => !results.has(row.identity))) {
        const [device]: { id: DeviceId }[] = await change.sql`
          SELECT id FROM devices
          WHERE instance = ${change.instance} AND token_identity = ${identity}`;
        if (device !== undefined) results.set(identity, { status: 'unchanged', id: device.id });
      }
      left = left.filter((row) => !results.has(row.identity));
    }
  }
  return results;
}

async function insertPiece(
  { sql, later, instance }: DeviceChange,
  { name, nowMs }: ImportRequest,
  rows: readonly ImportRow[],
  results: Map<string, ImportResult>,
): Promise<void> {
  const values = rows.map((row) => ({
    instance,
    id: newDeviceId(row.platform),
    platform: row.platform,
    token_identity: row.identity,
    user_id: row.userId ?? null,
    registered_at: nowMs,
    seen_at: nowMs,
    bundle_id: row.bundleId ?? null,
    token: row.token,
    metadata: '{}',
    sdk: '',
    accepted_at: null,
    language: row.language ?? null,
    time_zone: row.timeZone ?? null,
    origin: name,
    kind: row.kind ?? null,
    open_host: row.openHost ?? null,
  }));
  const inserted: { number: BigInteger; id: DeviceId; token_identity: string }[] = await sql`
    INSERT INTO devices ${sql(values)} ON CONFLICT (instance, token_identity) DO NOTHING
    RETURNING number, id, token_identity`;
  const byIdentity = new Map(rows.map((row) => [row.identity, row]));
  const pairs = inserted.flatMap(({ number, token_identity }) =>
    (byIdentity.get(token_identity)?.interests ?? []).map((interest) => ({
      instance,
      interest,
      device: Number(number),
    })),
  );
  for (const piece of inPieces(pairs)) {
    await sql`INSERT INTO device_interests ${sql([...piece])} ON CONFLICT DO NOTHING`;
  }
  for (const { id, token_identity } of inserted) {
    results.set(token_identity, { status: 'created', id });
  }
  count(later, { instance, devices: inserted.length, interests: pairs.length, isRequired: true });
}

/** Replaces what an import said of a device before. */
async function updateDevice(
  change: DeviceChange,
  { name, nowMs }: ImportRequest,
  row: ImportRow,
  { number, token, bundleId, isAccepted }: TokenHolder,
): Promise<void> {
  const { sql, later, instance } = change;
  // A gateway has accepted what was there before.
  const isOther = row.token !== token || (row.bundleId ?? null) !== bundleId;
  if (isOther && isAccepted) {
    await sql`UPDATE devices SET accepted_at = NULL WHERE number = ${number}`;
    count(later, { instance, accepted: -1 });
  }
  await sql`
    UPDATE devices
    SET origin = ${name}, seen_at = ${nowMs}, token = ${row.token}, bundle_id = ${row.bundleId ?? null},
      kind = ${row.kind ?? null}, open_host = ${row.openHost ?? null},
      user_id = ${row.userId ?? null}, language = ${row.language ?? null},
      time_zone = ${row.timeZone ?? null}
    WHERE number = ${number}`;
  await replaceInterests(change, number, { interests: row.interests });
}

async function interestsOf(
  read: SQL,
  numbers: readonly number[],
): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows: { device: BigInteger; interest: string }[] = await read`
    SELECT device, interest FROM device_interests WHERE ${isAmong(read, 'device', numbers)}
    ORDER BY device, interest`;
  const byDevice = Map.groupBy(rows, ({ device }) => Number(device));
  return new Map(
    [...byDevice].map(([device, some]) => [device, some.map(({ interest }) => interest)]),
  );
}

function exportedDevice(row: ExportRow, interests: readonly string[]): ExportedDevice {
  return {
    id: row.id,
    platform: row.platform,
    token: row.kind === null ? row.token : bareToken(row.token),
    identity: row.token_identity,
    ...(row.kind !== null && { kind: row.kind }),
    bundleId: row.bundle_id ?? undefined,
    userId: row.user_id ?? undefined,
    interests,
    language: row.language ?? undefined,
    timeZone: row.time_zone ?? undefined,
    registeredAtMs: Number(row.registered_at),
    origin: row.origin ?? undefined,
  };
}
