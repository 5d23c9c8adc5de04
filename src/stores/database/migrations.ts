import type { TransactionSQL } from 'bun';
import type { Backend } from './backend.ts';
import { exclusively, inDialect } from './dialect.ts';
import { revised } from './revisions.ts';

/**
 * The changes that make the tables, in order; the number of one is its place, from 1. One that was released
 * is never changed: add another.
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
    // One row per kind of thing that is kept in memory elsewhere; its number grows with each change.
    'CREATE TABLE revisions (what {text} PRIMARY KEY, revision BIGINT NOT NULL)',
    "INSERT INTO revisions (what, revision) VALUES ('apps', 0)",
  ],
  [
    // Requests that leave the server. What waits has no time at which it was finished, which both indexes
    // go by; small columns stand before the body, so that reading them does not read it.
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
    // An instance's rows go by its number. Without an id, the instance is deleted and its rows are on their way out.
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
    // The audience of an interest stands together, in device order.
    `CREATE TABLE device_interests (
      instance BIGINT NOT NULL,
      interest {text} NOT NULL,
      device BIGINT NOT NULL,
      PRIMARY KEY (instance, interest, device)
    ) {without rowid}`,
    // Without the interest: PostgreSQL then keeps the rows of one device in one entry, an eighth of the size.
    'CREATE INDEX device_interests_by_device ON device_interests (device)',
    // Devices that are gone, and whose interests are still to be taken away.
    'CREATE TABLE removed_devices (number BIGINT PRIMARY KEY) {without rowid}',
    // Small columns stand before the body, so that reading them does not read it.
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
    // Ids begin with their time, so new ones stand together, whatever instances they are of.
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
    // Three kinds of work wait: publishes to plan, pages, and devices to try again. Each has a time at which it may
    // be claimed, which is when it is due or when its claim ends, and none any more when it is done. Who has
    // claimed it stays there until it is done or waits anew: it tells what was under way when a publish was
    // cancelled. What is due is found instance by instance.
    'DROP INDEX publishes_due',
    // Beside the publishes and not in them, because it changes with each page and a publish's body is large.
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
    // Small columns stand before the devices, so that reading them does not read these.
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
    // Devices of which there is more to tell than that their page was delivered.
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
    // Of publishes to users: whom at least one device was reached of, and whom only others.
    `CREATE TABLE publish_users (
      publish BIGINT NOT NULL,
      user_id {text} NOT NULL,
      reached INTEGER NOT NULL,
      PRIMARY KEY (publish, user_id)
    ) {without rowid}`,
    // Devices whose tokens reached nobody any more.
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
    // Publishes whose end may not have been told to their webhooks yet, and when others than those who finished
    // them tell it. Without an index on that: hardly any row is there for longer than a moment.
    `CREATE TABLE untold_ends (
      publish BIGINT PRIMARY KEY,
      finished_at BIGINT NOT NULL,
      ready_at BIGINT NOT NULL
    ) {without rowid}`,
  ],
  [
    // Of the messages of a day, those that clients caused: they do not use up the app's quota.
    'ALTER TABLE usage_days ADD COLUMN client_messages BIGINT NOT NULL DEFAULT 0',
  ],
  [
    // When a gateway first accepted the token of a device; NULL: never. 0 stands for devices from before this was
    // recorded. They count as accepted: each publish since then has removed those whose tokens were dead, and the
    // opposite would make every device of an old store a suspect. A default is instant, however many rows there are.
    'ALTER TABLE devices ADD COLUMN accepted_at BIGINT DEFAULT 0',
    'CREATE INDEX devices_by_instance ON devices (instance, number)',
    'ALTER TABLE instance_numbers ADD COLUMN accepted BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE instance_numbers ADD COLUMN interests BIGINT NOT NULL DEFAULT 0',
    `UPDATE instance_numbers SET accepted = devices, interests = (
      SELECT COUNT(*) FROM device_interests WHERE instance = instance_numbers.number)`,
    // A body is forgotten once its publish is finished and told. What is still asked about later is in the outline;
    // of publishes that were accepted before, it is NULL, and their bodies stay until they are forgotten as a whole.
    'ALTER TABLE publishes ADD COLUMN body_bytes BIGINT NOT NULL DEFAULT 0',
    'ALTER TABLE publishes ADD COLUMN outline TEXT',
    // Whether webhooks may be told of its end, so that its body is needed until they are.
    'ALTER TABLE publishes ADD COLUMN tells_end INTEGER',
    // All that adding up their bytes needs, so that no row is read for it.
    `CREATE INDEX publishes_unfinished ON publishes (instance, body_bytes, finished_at)
      WHERE finished_at IS NULL`,
  ],
  [
    // How much the log keeps of each owner, and what of it is the oldest, without reading the requests.
    `CREATE INDEX outbox_requests_finished_by_owner
      ON outbox_requests (owner_id, finished_at, body_bytes) WHERE finished_at IS NOT NULL`,
    // A request that must be over before this one is sent.
    'ALTER TABLE outbox_requests ADD COLUMN after_id {text}',
    `CREATE INDEX outbox_requests_held ON outbox_requests (after_id)
      WHERE after_id IS NOT NULL AND finished_at IS NULL`,
  ],
  [
    // The places of a page's devices whose results are kept while others are still under way: a crash then repeats
    // few of them. The counts by platform are those of the devices that are left.
    `ALTER TABLE publish_pages ADD COLUMN done TEXT NOT NULL DEFAULT ''`,
  ],
];

/** Applies what is missing, all of it or nothing. Servers that start at the same time wait for one another. */
export async function migrate({
  dialect,
  beginUnhurried,
}: Pick<Backend, 'dialect' | 'beginUnhurried'>): Promise<void> {
  await beginUnhurried(async (transaction) => {
    await exclusively(dialect, transaction, 'fanfare migrations');
    await transaction.unsafe('CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY)');
    const done = await lastMigration(transaction);
    if (done > migrations.length) {
      throw new Error(
        `it was made by a newer version (migration ${done}, this one knows ${migrations.length})`,
      );
    }
    for (const [index, statements] of migrations.entries()) {
      const number = index + 1;
      if (number <= done) continue;
      for (const statement of statements) await transaction.unsafe(inDialect(dialect, statement));
      await transaction`INSERT INTO migrations (number) VALUES (${number})`;
    }
    // Where somebody has emptied the tables, changes would never be seen.
    for (const what of revised) {
      await transaction`INSERT INTO revisions (what, revision) VALUES (${what}, 0)
        ON CONFLICT (what) DO NOTHING`;
    }
  });
}

async function lastMigration(sql: TransactionSQL): Promise<number> {
  const rows: { last: number | null }[] = await sql`SELECT MAX(number) AS last FROM migrations`;
  return rows[0]?.last ?? 0;
}
