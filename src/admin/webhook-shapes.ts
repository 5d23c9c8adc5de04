import { z } from 'zod';
import type { DeepReadonly } from '../config/schema.ts';
import { redactedUrl } from '../runtime/logging/redact.ts';
import type {
  OutboxEntry,
  OutboxEntryDetails,
  OutboxFilter,
  WebhookAttempt,
} from '../webhooks/outbox.ts';
import { type Rights, seesApp, seesInstance } from './rights.ts';

const time = z.iso.datetime();

export const webhookState = z.enum(['waiting', 'delivered', 'failed']).meta({ id: 'WebhookState' });

export const webhookKind = z
  .enum(['channels', 'push', 'publish'])
  .describe(
    'channels: events of an app; push: events of an instance; publish: for the `webhookUrl` of a publish.',
  )
  .meta({ id: 'WebhookKind' });

/** One request of the outbox, as it is listed. */
export const shownWebhook = z
  .strictObject({
    id: z.string().describe('Ids sort by the time of creation.'),
    kind: webhookKind,
    app: z.string().nullable().describe('The app whose events it carries; null otherwise.'),
    instance: z
      .string()
      .nullable()
      .describe('The instance whose events it carries; null otherwise.'),
    state: webhookState,
    reason: z.string().describe('Why it is in this state; empty while it waits.'),
    url: z.string().describe('User, password, fragment and query values are shown as ***.'),
    events: z
      .string()
      .describe(
        'The names of its events, each once, as in `channel_occupied, member_added ×3`; STARTED or FINISHED if it is of the kind publish. Empty: stored by an older release.',
      ),
    attempts: z.int().min(0),
    bodyBytes: z.int().min(0),
    createdAt: time,
    nextAttemptAt: time
      .nullable()
      .describe(
        'null unless it waits. Also null for the request that reports the end of a publish, until the one that reports its start has finished.',
      ),
    finishedAt: time.nullable().describe('null while it waits.'),
  })
  .meta({ id: 'Webhook' });

export const attemptOutcome = z
  .enum(['delivered', 'refused', 'timeout', 'unreachable', 'not-allowed'])
  .meta({ id: 'WebhookOutcome' });

export const shownWebhookDetails = shownWebhook
  .extend({
    body: z.string().nullable().describe('null if payloads are hidden.'),
    attemptLog: z.array(
      z
        .strictObject({
          number: z.int().min(1),
          at: time,
          durationMs: z.int().min(0),
          outcome: attemptOutcome,
          status: z.int().nullable().describe('The HTTP status; null if there was no response.'),
          answer: z
            .string()
            .nullable()
            .describe(
              'The first bytes of the response, or why there was none; null if payloads are hidden.',
            ),
        })
        .meta({ id: 'WebhookAttempt' }),
    ),
  })
  .meta({ id: 'WebhookDetails' });

export type ShownWebhook = DeepReadonly<z.output<typeof shownWebhook>>;
export type ShownWebhookDetails = DeepReadonly<z.output<typeof shownWebhookDetails>>;

/** The filter for one owner. An app and an instance may have the same id, and no request belongs to both. */
export function ownedBy({
  app,
  instance,
}: {
  readonly app: string | undefined;
  readonly instance: string | undefined;
}): Pick<OutboxFilter, 'kinds' | 'ownerId'> {
  if (app !== undefined && instance !== undefined) return { kinds: [] };
  if (app !== undefined) return { kinds: ['channels'], ownerId: app };
  if (instance === undefined) return {};
  return { kinds: ['push', 'publish'], ownerId: instance.toLowerCase() };
}

export function showWebhook(entry: OutboxEntry): ShownWebhook {
  return {
    id: entry.id,
    kind: entry.kind,
    app: entry.kind === 'channels' ? entry.ownerId : null,
    instance: entry.kind === 'channels' ? null : entry.ownerId,
    state: entry.state,
    reason: entry.reason,
    url: redactedUrl(entry.url),
    events: entry.events,
    attempts: entry.attempts,
    bodyBytes: entry.bodyBytes,
    createdAt: timeText(entry.createdAtMs),
    nextAttemptAt: entry.nextAttemptAtMs === undefined ? null : timeText(entry.nextAttemptAtMs),
    finishedAt: entry.finishedAtMs === undefined ? null : timeText(entry.finishedAtMs),
  };
}

export function showWebhookDetails(
  entry: OutboxEntryDetails,
  { seesPayloads }: Pick<Rights, 'seesPayloads'>,
): ShownWebhookDetails {
  const attemptLog = entry.attemptLog.map(showAttempt);
  return seesPayloads
    ? { ...showWebhook(entry), body: entry.body, attemptLog }
    : {
        ...showWebhook(entry),
        body: null,
        attemptLog: attemptLog.map((attempt) => ({ ...attempt, answer: null })),
      };
}

/** Whether a request belongs to an app or instance that the caller may see. */
export function seesWebhook(
  rights: Rights,
  { kind, ownerId }: Pick<OutboxEntry, 'kind' | 'ownerId'>,
): boolean {
  return kind === 'channels' ? seesApp(rights, ownerId) : seesInstance(rights, ownerId);
}

function showAttempt({ number, atMs, durationMs, outcome, status, answer }: WebhookAttempt) {
  return { number, at: timeText(atMs), durationMs, outcome, status: status ?? null, answer };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
