import { z } from 'zod';
import type { Attempt, OutboxEntry, OutboxEntryDetails } from '../channels/outbox.ts';
import type { DeepReadonly } from '../config/schema.ts';

const time = z.iso.datetime();

export const webhookState = z.enum(['waiting', 'delivered', 'failed']);

/** One request of the outbox, as it is listed. */
export const shownWebhook = z.strictObject({
  id: z.string().describe('Sorts by when it was made.'),
  app: z.string(),
  state: webhookState,
  reason: z.string().describe('Why it is in that state; empty while it waits.'),
  url: z.string(),
  attempts: z.int().min(0),
  bodyBytes: z.int().min(0),
  createdAt: time,
  nextAttemptAt: time.nullable().describe('null unless it waits.'),
  finishedAt: time.nullable().describe('null while it waits.'),
});

export const shownWebhookDetails = shownWebhook.extend({
  body: z.string(),
  attemptLog: z.array(
    z.strictObject({
      number: z.int().min(1),
      at: time,
      durationMs: z.int().min(0),
      outcome: z.enum(['delivered', 'refused', 'timeout', 'unreachable', 'not-allowed']),
      status: z.int().nullable().describe('The HTTP status; null where there was no answer.'),
      answer: z.string().describe('The first bytes of the answer, or why there was none.'),
    }),
  ),
});

export type ShownWebhook = DeepReadonly<z.output<typeof shownWebhook>>;
export type ShownWebhookDetails = DeepReadonly<z.output<typeof shownWebhookDetails>>;

export function showWebhook(entry: OutboxEntry): ShownWebhook {
  return {
    id: entry.id,
    app: entry.ownerId,
    state: entry.state,
    reason: entry.reason,
    url: entry.url,
    attempts: entry.attempts,
    bodyBytes: entry.bodyBytes,
    createdAt: timeText(entry.createdAtMs),
    nextAttemptAt: entry.nextAttemptAtMs === undefined ? null : timeText(entry.nextAttemptAtMs),
    finishedAt: entry.finishedAtMs === undefined ? null : timeText(entry.finishedAtMs),
  };
}

export function showWebhookDetails(entry: OutboxEntryDetails): ShownWebhookDetails {
  return { ...showWebhook(entry), body: entry.body, attemptLog: entry.attemptLog.map(showAttempt) };
}

function showAttempt({ number, atMs, durationMs, outcome, status, answer }: Attempt) {
  return { number, at: timeText(atMs), durationMs, outcome, status: status ?? null, answer };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
