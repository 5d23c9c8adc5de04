/** The name of a schema in a statement. It is a plain name (`SCHEMA_NAME` of the settings), but may be a word of SQL. */
export function quoted(schema: string): string {
  return `"${schema}"`;
}

/**
 * Prints the SQL that an application's database needs. It can be run again, also by a program that is inside a transaction.
 * The functions see only types and functions of PostgreSQL itself, because they run with the rights of whoever made them.
 */
export function outboxSql(schema: string): string {
  const name = quoted(schema);
  return `-- What an application sends through Fanfare, in its own transactions. This can be run again.

CREATE SCHEMA IF NOT EXISTS ${name};

CREATE TABLE IF NOT EXISTS ${name}.outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('event', 'publish')),
  -- An event: the body of POST /events. A publish: that of Beams, with "interests" or "users".
  body text NOT NULL,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- Why the row can never be sent: status and text. To try again: UPDATE ${name}.outbox SET failed = NULL WHERE …
  failed text
);
CREATE INDEX IF NOT EXISTS outbox_failed ON ${name}.outbox (id) WHERE failed IS NOT NULL;

-- Sends an event to one channel. json keeps the text as it was written, which jsonb does not.
CREATE OR REPLACE FUNCTION ${name}.trigger(channel text, event text, data json, socket_id text DEFAULT NULL)
RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $fanfare$
  INSERT INTO ${name}.outbox (kind, body)
  VALUES ('event', json_build_object('name', $2, 'channel', $1, 'data', $3, 'socket_id', $4)::text)
  RETURNING id
$fanfare$;

-- Sends an event to several channels.
CREATE OR REPLACE FUNCTION ${name}.trigger(channels text[], event text, data json, socket_id text DEFAULT NULL)
RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $fanfare$
  INSERT INTO ${name}.outbox (kind, body)
  VALUES ('event', json_build_object('name', $2, 'channels', $1, 'data', $3, 'socket_id', $4)::text)
  RETURNING id
$fanfare$;

-- Publishes a notification to interests. The body has apns, fcm or web, and perhaps sendAt or live.
CREATE OR REPLACE FUNCTION ${name}.publish_to_interests(interests text[], body json)
RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $fanfare$
  INSERT INTO ${name}.outbox (kind, body)
  SELECT 'publish', json_object_agg(key, value)::text FROM (
    SELECT 'interests' AS key, to_json($1) AS value
    UNION ALL SELECT key, value FROM json_each($2) WHERE key NOT IN ('interests', 'users')
  ) AS members
  RETURNING id
$fanfare$;

-- Publishes a notification to users.
CREATE OR REPLACE FUNCTION ${name}.publish_to_users(users text[], body json)
RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $fanfare$
  INSERT INTO ${name}.outbox (kind, body)
  SELECT 'publish', json_object_agg(key, value)::text FROM (
    SELECT 'users' AS key, to_json($1) AS value
    UNION ALL SELECT key, value FROM json_each($2) WHERE key NOT IN ('interests', 'users')
  ) AS members
  RETURNING id
$fanfare$;

-- Whoever may use the schema can send all that the app's secret can:
--   GRANT USAGE ON SCHEMA ${name} TO the_role_of_your_application;
-- The role in the url of the source:
--   GRANT USAGE ON SCHEMA ${name} TO the_role_of_fanfare;
--   GRANT SELECT, DELETE, UPDATE (failed) ON ${name}.outbox TO the_role_of_fanfare;
`;
}
