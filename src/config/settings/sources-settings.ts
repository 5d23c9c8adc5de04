import { z } from 'zod';
import { ENCODING_RULE, isReadableAddress } from '../../runtime/login-encoding.ts';
import { orNull, text, textThat, wholeNumber } from './setting-kinds.ts';

/** A name that SQL reads as it is written, without quotes. PostgreSQL cuts off what is longer than 63 bytes. */
export const SCHEMA_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

/** The setting `sources`: databases of applications whose committed rows are sent. */
export const sourcesSettings = z
  .array(
    z.strictObject({
      url: textThat(
        /^postgres(?:ql)?:\/\/./,
        'begin with postgres:// or postgresql://',
        'The database of the application: postgres://USER:PASSWORD@HOST:PORT/NAME, with ?sslmode=verify-full for TLS, and `sslrootcert`, `sslcert` and `sslkey` for files. PostgreSQL 12 or later; a pooler in transaction mode may stand before it.',
      ).refine((url) => !url.startsWith('postgres') || isReadableAddress(url), {
        error: `must be a valid address; ${ENCODING_RULE}`,
      }),
      app: text('The app that events go to.'),
      instance: orNull(
        text(''),
        'The push instance that publishes go to; null = none, and rows of publishes fail.',
      ),
      schema: textThat(
        SCHEMA_NAME,
        'be 1 to 63 of a-z, 0-9 and _, not beginning with a digit',
        'The schema with the table `outbox`, as given to `fanfare source sql --schema`.',
      ).default('fanfare'),
      pollMs: wholeNumber(
        { min: 10, max: 60_000 },
        100,
        'Milliseconds between two looks at the table while it is empty. For a second after an event, it is looked at every 25 ms at least.',
      ),
    }),
  )
  .max(64, { error: 'must have at most 64 entries' })
  .default([])
  .describe(
    'Databases of applications that send events and publishes inside their transactions. See [transactions](../operate/transactions.md).',
  );
