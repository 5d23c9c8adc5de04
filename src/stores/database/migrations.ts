import type { TransactionSQL } from 'bun';
import packageJson from '../../../package.json';
import type { DatabaseBackend } from './backend.ts';
import { exclusively, inDialect } from './dialect.ts';
import { revised } from './revisions.ts';

/**
 * The migrations, in order, numbered from 1. Never change a released one: add another.
 *
 * Servers of the previous release continue to use the store, so a migration only adds tables, indexes, and columns
 * with a default. If that is impossible, it sets `compatibility.needs` to its own number, and servers of earlier
 * releases must be stopped first.
 */
export const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE apps (
      id {text} PRIMARY KEY,
      name TEXT NOT NULL,
      enabled INTEGER NOT NULL,
      settings TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE app_keys (
      app_key {text} PRIMARY KEY,
      app_id {text} NOT NULL REFERENCES apps (id) ON DELETE CASCADE,
      secret TEXT NOT NULL,
      position INTEGER NOT NULL
    )`,
    'CREATE INDEX app_keys_by_app ON app_keys (app_id, position)',
    // One row per kind of data that servers keep in memory; each change increases its revision.
    'CREATE TABLE revisions (what {text} PRIMARY KEY, revision BIGINT NOT NULL)',
    "INSERT INTO revisions (what, revision) VALUES ('apps', 0)",
  ],
  [
    // Requests with `finished_at` NULL wait; both indexes depend on it. Small columns come before the body, so that reading
    // them does not read the body.
    `CREATE TABLE outbox_requests (
      id {text} PRIMARY KEY,
      kind TEXT NOT NULL,
      owner_id {text} NOT NULL,
      url TEXT NOT NULL,
      endpoint {text} NOT NULL,
      state TEXT NOT NULL,
      reason TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      tries INTEGER NOT NULL,
      created_at BIGINT NOT NULL,
      first_try_at BIGINT,
      next_attempt_at BIGINT NOT NULL,
      claimed_until BIGINT NOT NULL,
      finished_at BIGINT,
      body_bytes BIGINT NOT NULL,
      body TEXT NOT NULL
    )`,
    `CREATE INDEX outbox_requests_waiting
      ON outbox_requests
        (endpoint, next_attempt_at, id, claimed_until, created_at, body_bytes, finished_at)
      WHERE finished_at IS NULL`,
    `CREATE INDEX outbox_requests_finished
      ON outbox_requests (finished_at, body_bytes) WHERE finished_at IS NOT NULL`,
    'CREATE INDEX outbox_requests_by_owner ON outbox_requests (owner_id, id)',
    `CREATE TABLE outbox_attempts (
      request_id {text} NOT NULL REFERENCES outbox_requests (id) ON DELETE CASCADE,
      number INTEGER NOT NULL,
      at BIGINT NOT NULL,
      duration_ms BIGINT NOT NULL,
      outcome TEXT NOT NULL,
      status INTEGER,
      answer TEXT NOT NULL,
      PRIMARY KEY (request_id, number)
    )`,
  ],
  [
    `CREATE TABLE usage_days (
      app_id {text} NOT NULL,
      day {text} NOT NULL,
      messages BIGINT NOT NULL,
      PRIMARY KEY (app_id, day)
    )`,
  ],
  [
    // Other tables refer to an instance by its number. Without an id, it is deleted, and its rows are garbage.
    'CREATE TABLE instance_numbers (number {number}, id {text} UNIQUE, devices BIGINT NOT NULL)',
    `CREATE TABLE instances (
      id {text} PRIMARY KEY,
      name TEXT NOT NULL,
      settings TEXT NOT NULL,
      created_at BIGINT NOT NULL
    )`,
    `CREATE TABLE instance_keys (
      instance_id {text} NOT NULL REFERENCES instances (id) ON DELETE CASCADE,
      secret {text} NOT NULL,
      position INTEGER NOT NULL,
      PRIMARY KEY (instance_id, secret)
    )`,
    "INSERT INTO revisions (what, revision) VALUES ('instances', 0)",
    `CREATE TABLE devices (
      number {number},
      instance BIGINT NOT NULL,
      id {text} NOT NULL,
      platform {text} NOT NULL,
      token_identity {text} NOT NULL,
      user_id {text},
      registered_at BIGINT NOT NULL,
      seen_at BIGINT NOT NULL,
      bundle_id TEXT,
      token TEXT NOT NULL,
      metadata TEXT NOT NULL,
      sdk TEXT NOT NULL
    )`,
    'CREATE UNIQUE INDEX devices_by_id ON devices (id)',
    'CREATE UNIQUE INDEX devices_by_token ON devices (instance, token_identity)',
    `CREATE INDEX devices_by_user ON devices (instance, user_id, number) WHERE user_id IS NOT NULL`,
    // Clustered by interest, in device order, to read an audience fast.
    `CREATE TABLE device_interests (
      instance BIGINT NOT NULL,
      interest {text} NOT NULL,
      device BIGINT NOT NULL,
      PRIMARY KEY (instance, interest, device)
    ) {without rowid}`,
    // Without the interest, PostgreSQL stores the rows of a device in one entry, an eighth of the size.
    'CREATE INDEX device_interests_by_device ON device_interests (device)',
    // Removed devices whose interests are still to be deleted.
    'CREATE TABLE removed_devices (number BIGINT PRIMARY KEY) {without rowid}',
    // Small columns come before the body, so that reading them does not read it.
    `CREATE TABLE publishes (
      number {number},
      id {text} NOT NULL,
      instance BIGINT NOT NULL,
      state {text} NOT NULL,
      target {text} NOT NULL,
      created_at BIGINT NOT NULL,
      send_at BIGINT,
      due_at BIGINT NOT NULL,
      finished_at BIGINT,
      body TEXT NOT NULL
    )`,
    // Ids begin with their time, so new ones are close together in the index.
    'CREATE UNIQUE INDEX publishes_by_id ON publishes (id)',
    'CREATE INDEX publishes_due ON publishes (due_at, number) WHERE finished_at IS NULL',
    'CREATE INDEX publishes_finished ON publishes (finished_at) WHERE finished_at IS NOT NULL',
    `CREATE TABLE publish_keys (
      instance BIGINT NOT NULL,
      idempotency_key {text} NOT NULL,
      fingerprint TEXT NOT NULL,
      publish_id TEXT NOT NULL,
      expires_at BIGINT NOT NULL,
      PRIMARY KEY (instance, idempotency_key)
    ) {without rowid}`,
    'CREATE INDEX publish_keys_expiring ON publish_keys (expires_at)',
    `CREATE TABLE publish_outcomes (
      publish BIGINT NOT NULL,
      platform {text} NOT NULL,
      planned BIGINT NOT NULL,
      accepted BIGINT NOT NULL,
      retrying BIGINT NOT NULL,
      failed BIGINT NOT NULL,
      pruned BIGINT NOT NULL,
      expired BIGINT NOT NULL,
      cancelled BIGINT NOT NULL,
      PRIMARY KEY (publish, platform)
    ) {without rowid}`,
    `CREATE TABLE publish_reasons (
      publish BIGINT NOT NULL,
      platform {text} NOT NULL,
      reason {text} NOT NULL,
      devices BIGINT NOT NULL,
      PRIMARY KEY (publish, platform, reason)
    ) {without rowid}`,
    `CREATE TABLE publish_reports (
      publish BIGINT NOT NULL,
      device BIGINT NOT NULL,
      event {text} NOT NULL,
      reported_at BIGINT NOT NULL,
      device_time BIGINT NOT NULL,
      app_in_background INTEGER,
      has_displayable_content INTEGER,
      has_data INTEGER,
      PRIMARY KEY (publish, device, event)
    ) {without rowid}`,
    `CREATE TABLE publish_feedback (
      publish BIGINT PRIMARY KEY,
      delivered BIGINT NOT NULL,
      opened BIGINT NOT NULL
    )`,
  ],
  [
    // Three kinds of work: plans, pages and retries. `ready_at` is when a row may be claimed: when it is due, or when its
    // claim expires; NULL: never again. `leased_by` stays until the row is settled, because it tells what was in flight
    // when a publish was cancelled. Due work is searched by instance.
    'DROP INDEX publishes_due',
    // Apart from the publishes, because it changes with each page, and a publish's body is large.
    `CREATE TABLE publish_plans (
      publish BIGINT PRIMARY KEY,
      instance BIGINT NOT NULL,
      planned_to BIGINT NOT NULL,
      ended INTEGER NOT NULL,
      due_at BIGINT NOT NULL,
      ready_at BIGINT,
      leased_by {text}
    ) {without rowid}`,
    `INSERT INTO publish_plans (publish, instance, planned_to, ended, due_at, ready_at)
      SELECT number, instance, 0, 0, due_at, due_at FROM publishes WHERE finished_at IS NULL`,
    `CREATE INDEX publish_plans_ready ON publish_plans (instance, ready_at, publish)
      WHERE ready_at IS NOT NULL`,
    // Small columns come before the devices, so that reading them does not read those.
    `CREATE TABLE publish_pages (
      number {number},
      publish BIGINT NOT NULL,
      instance BIGINT NOT NULL,
      state {text} NOT NULL,
      first_device BIGINT NOT NULL,
      last_device BIGINT NOT NULL,
      apns INTEGER NOT NULL,
      fcm INTEGER NOT NULL,
      web INTEGER NOT NULL,
      due_at BIGINT NOT NULL,
      ready_at BIGINT,
      leased_by {text},
      done_at BIGINT,
      devices TEXT NOT NULL
    )`,
    'CREATE UNIQUE INDEX publish_pages_by_device ON publish_pages (publish, last_device)',
    `CREATE INDEX publish_pages_ready ON publish_pages (instance, ready_at, number)
      WHERE ready_at IS NOT NULL`,
    // Devices that were not accepted at the first attempt.
    `CREATE TABLE publish_devices (
      publish BIGINT NOT NULL,
      device BIGINT NOT NULL,
      instance BIGINT NOT NULL,
      platform {text},
      state {text} NOT NULL,
      attempts INTEGER NOT NULL,
      changed_at BIGINT NOT NULL,
      due_at BIGINT NOT NULL,
      ready_at BIGINT,
      leased_by {text},
      reason {text} NOT NULL,
      words TEXT NOT NULL,
      PRIMARY KEY (publish, device)
    ) {without rowid}`,
    `CREATE INDEX publish_devices_ready ON publish_devices (instance, ready_at, publish, device)
      WHERE ready_at IS NOT NULL`,
    `CREATE INDEX publish_devices_leased ON publish_devices (publish, platform)
      WHERE leased_by IS NOT NULL`,
    // Publishes to users: whether at least one device of a user was reached.
    `CREATE TABLE publish_users (
      publish BIGINT NOT NULL,
      user_id {text} NOT NULL,
      reached INTEGER NOT NULL,
      PRIMARY KEY (publish, user_id)
    ) {without rowid}`,
    // Devices that were deleted because their token was dead.
    `CREATE TABLE device_tombstones (
      instance BIGINT NOT NULL,
      id {text} NOT NULL,
      number BIGINT NOT NULL,
      platform {text} NOT NULL,
      registered_at BIGINT NOT NULL,
      removed_at BIGINT NOT NULL,
      reason TEXT NOT NULL,
      words TEXT NOT NULL,
      PRIMARY KEY (instance, id)
    ) {without rowid}`,
    'CREATE INDEX device_tombstones_by_age ON device_tombstones (removed_at)',
  ],
  [
    // Pending completion events, and when servers other than the one that finished the publish may send them. Without an
    // index on that, because rows rarely stay for longer than a moment.
    `CREATE TABLE untold_ends (
      publish BIGINT PRIMARY KEY,
      finished_at BIGINT NOT NULL,
      ready_at BIGINT NOT NULL
    ) {without rowid}`,
  ],
  [
    // Messages caused by clients, which do not count against the app's quota.
    'ALTER TABLE usage_days ADD COLUMN client_messages BIGINT NOT NULL DEFAULT 0',
  ],
  [
    // When a gateway first accepted the token of a device; NULL: never; 0: before this was recorded. The default for
    // old devices is 0, because publishes have pruned those with dead tokens, and with NULL all of them would be
    // untrusted. A default takes no time, however many rows there are.
    'ALTER TABLE devices ADD COLUMN accepted_at BIGINT DEFAULT 0',
    'CREATE INDEX devices_by_instance ON devices (instance, number)',
    'ALTER TABLE instance_numbers ADD COLUMN accepted BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE instance_numbers ADD COLUMN interests BIGINT NOT NULL DEFAULT 0',
    `UPDATE instance_numbers SET accepted = devices, interests = (
      SELECT COUNT(*) FROM device_interests WHERE instance = instance_numbers.number)`,
    // A body is deleted once its publish is finished and its webhooks are stored. Later questions are answered from the
    // outline; it is NULL for earlier publishes, which keep their bodies.
    'ALTER TABLE publishes ADD COLUMN body_bytes BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE publishes ADD COLUMN outline TEXT',
    // Whether the publish has completion events, so that its body is needed until they are stored.
    'ALTER TABLE publishes ADD COLUMN tells_end INTEGER',
    // Covers the query for the sum of bytes, so that no row is read.
    `CREATE INDEX publishes_unfinished ON publishes (instance, body_bytes, finished_at)
      WHERE finished_at IS NULL`,
  ],
  [
    // Covers the queries for the size of the log by owner, and for its oldest requests.
    `CREATE INDEX outbox_requests_finished_by_owner
      ON outbox_requests (owner_id, finished_at, body_bytes) WHERE finished_at IS NOT NULL`,
    // A request that must be settled before this one is sent.
    'ALTER TABLE outbox_requests ADD COLUMN after_id {text}',
    `CREATE INDEX outbox_requests_held ON outbox_requests (after_id)
      WHERE after_id IS NOT NULL AND finished_at IS NULL`,
  ],
  [
    // The places of the devices of a page whose results are recorded, so that a crash repeats few of them. The counts by
    // platform are those of the other devices.
    `ALTER TABLE publish_pages ADD COLUMN done TEXT NOT NULL DEFAULT ''`,
  ],
  [
    // Ids of webhook events that several servers may report, for some minutes.
    `CREATE TABLE outbox_event_ids (
      id {text} PRIMARY KEY,
      written_at BIGINT NOT NULL
    ) {without rowid}`,
    'CREATE INDEX outbox_event_ids_by_age ON outbox_event_ids (written_at)',
  ],
  [
    // The last migration that a server must know to use the store.
    'CREATE TABLE compatibility (needs INTEGER NOT NULL)',
    'INSERT INTO compatibility (needs) VALUES (0)',
  ],
  [
    // What each server has taken of rates that hold for all servers together.
    `CREATE TABLE rate_uses (
      instance BIGINT NOT NULL,
      kind {text} NOT NULL,
      server {text} NOT NULL,
      tokens BIGINT NOT NULL,
      changed_at BIGINT NOT NULL,
      PRIMARY KEY (instance, kind, server)
    ) {without rowid}`,
  ],
  [
    // Who did what by the admin API. Ids sort by time.
    `CREATE TABLE audit_entries (
      id {text} PRIMARY KEY,
      first_at BIGINT NOT NULL,
      last_at BIGINT NOT NULL,
      times BIGINT NOT NULL,
      user_name TEXT NOT NULL,
      how TEXT NOT NULL,
      address TEXT NOT NULL,
      operation TEXT NOT NULL,
      subject TEXT NOT NULL,
      detail TEXT NOT NULL,
      status INTEGER NOT NULL
    ) {without rowid}`,
  ],
  [
    // Publishes are listed by instance, the newest first.
    'CREATE INDEX publishes_by_instance ON publishes (instance, number)',
  ],
  [
    // What each app did in each of the last hours.
    `CREATE TABLE usage_hours (
      app_id {text} NOT NULL,
      hour BIGINT NOT NULL,
      messages BIGINT NOT NULL,
      client_messages BIGINT NOT NULL,
      samples BIGINT NOT NULL,
      connections BIGINT NOT NULL,
      most BIGINT NOT NULL,
      fewest BIGINT NOT NULL,
      PRIMARY KEY (app_id, hour)
    ) {without rowid}`,
    'CREATE INDEX usage_hours_by_age ON usage_hours (hour)',
    // How often servers counted the connections of all apps in an hour.
    'CREATE TABLE usage_samples (hour BIGINT PRIMARY KEY, samples BIGINT NOT NULL)',
  ],
  [
    // The devices of a publish are stored by their numbers.
    'CREATE INDEX device_tombstones_by_number ON device_tombstones (number)',
  ],
  [
    // What all servers know of certificates from ACME. The row "lease" names the server that orders, until a time.
    `CREATE TABLE certificates (
      name {text} PRIMARY KEY,
      value TEXT NOT NULL,
      until BIGINT NOT NULL
    ) {without rowid}`,
  ],
  [
    // The release that applied a migration, so that a refusal can name it.
    "ALTER TABLE migrations ADD COLUMN release TEXT NOT NULL DEFAULT ''",
  ],
  [
    // The live parts of publishes, and the results of their users. Servers that do not know these tables notify
    // everybody.
    `CREATE TABLE publish_live_asks (
      publish BIGINT PRIMARY KEY,
      phase {text} NOT NULL,
      push {text} NOT NULL,
      wait_ms BIGINT NOT NULL,
      users INTEGER NOT NULL,
      reached INTEGER NOT NULL DEFAULT 0,
      silent INTEGER NOT NULL DEFAULT 0,
      absent INTEGER NOT NULL DEFAULT 0,
      connections INTEGER NOT NULL DEFAULT 0,
      why {text}
    ) {without rowid}`,
    `CREATE TABLE publish_live (
      publish BIGINT NOT NULL,
      user_id {text} NOT NULL,
      live_state {text} NOT NULL,
      connections INTEGER NOT NULL,
      answered_after_ms BIGINT,
      at BIGINT NOT NULL,
      PRIMARY KEY (publish, user_id)
    ) {without rowid}`,
    // 1: the publish has a live part, so planning must look at its results.
    'ALTER TABLE publish_plans ADD COLUMN live INTEGER',
  ],
  [
    // The file with the histories of the last clean stop. No row: there was no clean stop since the last start.
    'CREATE TABLE saved_histories (token {text} PRIMARY KEY) {without rowid}',
  ],
  [
    // The event that a push rule has made the publish of, as JSON.
    'ALTER TABLE publish_live_asks ADD COLUMN rule TEXT',
  ],
  [
    // 1: the page waits for open circuits only, and no server has it in memory. It counts only while `leased_by` is NULL,
    // because servers of the previous release do not reset it.
    'ALTER TABLE publish_pages ADD COLUMN held INTEGER NOT NULL DEFAULT 0',
    // Unfinished publishes from the oldest to the newest. Like the index before, it covers the sum of their bytes.
    'DROP INDEX publishes_unfinished',
    `CREATE INDEX publishes_unfinished_by_age ON publishes (instance, number, body_bytes, finished_at)
      WHERE finished_at IS NULL`,
  ],
  [
    // The pause of a device that fails while others are accepted. NULL: it has none.
    'ALTER TABLE devices ADD COLUMN paused_until BIGINT',
    'ALTER TABLE devices ADD COLUMN failures INTEGER NOT NULL DEFAULT 0',
    'ALTER TABLE devices ADD COLUMN failing_since BIGINT',
    // Only what waits for such a pause, so that other retries pay nothing for it.
    `CREATE INDEX publish_devices_paused ON publish_devices (device, publish)
      WHERE reason = 'device-paused' AND ready_at IS NOT NULL`,
  ],
  [
    // The names of the events in a request, so that a list need not read bodies. Empty: not known.
    "ALTER TABLE outbox_requests ADD COLUMN events TEXT NOT NULL DEFAULT ''",
  ],
  [
    // Few devices of many have a pause.
    'CREATE INDEX devices_paused ON devices (instance, number) WHERE paused_until IS NOT NULL',
  ],
  [
    // What is revoked of the grants of apps. `name`: the user, or the token; empty for all grants. `number`: the revision that
    // brought it, so that servers read only what is new.
    `CREATE TABLE revocations (
      app_id {text} NOT NULL,
      kind {text} NOT NULL,
      name {text} NOT NULL,
      issued_before BIGINT NOT NULL,
      revoked_at BIGINT NOT NULL,
      number BIGINT NOT NULL,
      PRIMARY KEY (app_id, kind, name)
    ) {without rowid}`,
    'CREATE INDEX revocations_by_number ON revocations (number)',
  ],
  [
    // What is known of a device. `accept_language` is from a header of its requests, and counts where `language` is NULL.
    // `quiet_hours`: two times such as 22:00-07:30, or none.
    'ALTER TABLE devices ADD COLUMN language {text}',
    'ALTER TABLE devices ADD COLUMN accept_language {text}',
    'ALTER TABLE devices ADD COLUMN time_zone {text}',
    'ALTER TABLE devices ADD COLUMN quiet_hours {text}',
    // The same for all devices of a user. What a device says itself counts first.
    `CREATE TABLE user_preferences (
      instance BIGINT NOT NULL,
      user_id {text} NOT NULL,
      language {text},
      time_zone {text},
      quiet_hours {text},
      PRIMARY KEY (instance, user_id)
    ) {without rowid}`,
  ],
  [
    // What a further token of Apple's is for; NULL: an ordinary one. `parent` is the identity of the ordinary token with
    // which it is deleted. Servers that do not know kinds find no usable token in such rows.
    'ALTER TABLE devices ADD COLUMN kind {text}',
    'ALTER TABLE devices ADD COLUMN parent {text}',
    'CREATE INDEX devices_of_kind ON devices (instance, kind, number) WHERE kind IS NOT NULL',
    'CREATE INDEX devices_by_parent ON devices (instance, parent) WHERE parent IS NOT NULL',
    "CREATE INDEX devices_of_activities ON devices (registered_at) WHERE kind = 'liveactivity'",
  ],
  [
    // When devices of a page are due that are due later than the others, with their places as in `done`. `due_at` is when
    // the next ones are. Servers of the previous release send to all of them when the first are due.
    `ALTER TABLE publish_pages ADD COLUMN dues TEXT NOT NULL DEFAULT ''`,
    // Devices of a page that do not get it, and why. Servers of the previous release send to them.
    `ALTER TABLE publish_pages ADD COLUMN left_out TEXT NOT NULL DEFAULT ''`,
    `CREATE INDEX publish_pages_dues ON publish_pages (publish, ready_at)
      WHERE dues <> '' AND ready_at IS NOT NULL`,
  ],
  [
    // Notifications that a device was shown since a time, for the cap of its instance.
    `CREATE TABLE device_caps (
      device BIGINT PRIMARY KEY,
      since BIGINT NOT NULL,
      used INTEGER NOT NULL
    ) {without rowid}`,
  ],
  [
    // The import that a device is of; NULL: an SDK has registered it. And the host of its push service, if the operator
    // has not named that.
    'ALTER TABLE devices ADD COLUMN origin {text}',
    'ALTER TABLE devices ADD COLUMN open_host {text}',
    'CREATE INDEX devices_of_imports ON devices (instance, origin, number) WHERE origin IS NOT NULL',
    'CREATE INDEX devices_at_open_hosts ON devices (instance, open_host) WHERE open_host IS NOT NULL',
  ],
  [
    // When the pages of a publish are sent that says how many notifications per second, as JSON; NULL: it does not. And for how
    // long a device has waited for that, which does not shorten its time to live.
    'ALTER TABLE publish_plans ADD COLUMN taken TEXT',
    'ALTER TABLE publish_devices ADD COLUMN paced_ms BIGINT NOT NULL DEFAULT 0',
  ],
];

/** Applies missing migrations in one transaction. Servers that start at the same time wait for each other. */
export async function migrate({
  dialect,
  beginUnhurried,
}: Pick<DatabaseBackend, 'dialect' | 'beginUnhurried'>): Promise<void> {
  await beginUnhurried(async (transaction) => {
    await exclusively(transaction, 'fanfare migrations');
    await transaction.unsafe('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)');
    const done = await lastMigration(transaction);
    if (done > migrations.length) await requireCompatible(transaction);
    for (const [index, statements] of migrations.entries()) {
      const number = index + 1;
      if (number <= done) continue;
      for (const statement of statements) await transaction.unsafe(inDialect(dialect, statement));
      await transaction`INSERT INTO migrations (number) VALUES (${number})`;
    }
    // At the end, because the column is added by one of these migrations.
    await transaction`UPDATE migrations SET release = ${packageJson.version}
      WHERE number > ${done} AND number <= ${migrations.length}`;
    // If the tables were emptied, changes would never be noticed.
    for (const what of revised) {
      await transaction`INSERT INTO revisions (what, revision) VALUES (${what}, 0)
        ON CONFLICT (what) DO NOTHING`;
    }
  });
}

/** Refuses a store that a later release has changed in a way that this one cannot work with. */
async function requireCompatible(sql: TransactionSQL): Promise<void> {
  const rows: { needs: number }[] = await sql`SELECT needs FROM compatibility`;
  const needs = rows[0]?.needs ?? 0;
  if (needs <= migrations.length) return;
  const { version } = packageJson;
  const newer: { release: string }[] = await sql`
    SELECT release FROM migrations WHERE number = ${needs} AND release <> ''`;
  const release = newer[0]?.release;
  const [changedBy, start] =
    release === undefined
      ? ['a newer version', 'the newer version']
      : [`Fanfare ${release}`, `${release} or later`];
  throw new Error(
    `it was changed by ${changedBy} (migration ${needs}), and this is Fanfare ${version} (migration ${migrations.length}). Start ${start}, or restore the backup that you made before the upgrade`,
  );
}

async function lastMigration(sql: TransactionSQL): Promise<number> {
  const rows: { last: number | null }[] = await sql`SELECT MAX(number) AS last FROM migrations`;
  return rows[0]?.last ?? 0;
}
