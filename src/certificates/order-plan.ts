import { X509Certificate } from 'node:crypto';
import type { KeptCertificate, KeptState, OrderPlan } from './kept.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The limits of orders per hour and per day. Let's Encrypt allows five failed checks of a domain per hour. */
const ORDERS_PER_HOUR = 4;
const ORDERS_PER_DAY = 12;

/** The delay after the first failure; it doubles with each further one. Milliseconds. */
const BACK_OFF_MS = 5 * 60_000;
const BACK_OFF_MAX_MS = 4 * HOUR_MS;

/** Spreads the orders of many servers, so that they do not all come at the same time. */
const JITTER = 0.2;

/** The delay if the authority rate-limits us without naming a time. Milliseconds. */
const LIMITED_MS = HOUR_MS;

/** The longest delay that we accept from an authority. Milliseconds. */
const AUTHORITY_WAIT_MAX_MS = 8 * DAY_MS;

export interface OrderSubject {
  readonly directory: string;
  readonly domains: readonly string[];
}

/** Identifies what a certificate is ordered for: a text of the directory and the domains. */
export function subjectOf({ directory, domains }: OrderSubject): string {
  return [directory, ...domains.toSorted()].join(' ');
}

/** Returns the stored plan, or a new one if the settings have changed. Earlier orders still count towards the limits. */
export function planFor(
  subject: string,
  { plan, certificate }: Pick<KeptState, 'plan' | 'certificate'>,
  random: () => number,
): OrderPlan {
  if (plan?.subject === subject) return plan;
  const ordersAtMs = plan?.ordersAtMs ?? [];
  const [authority = ''] = subject.split(' ');
  const notBeforeMs = plan?.subject.startsWith(`${authority} `) ? plan.notBeforeMs : 0;
  const fresh = { subject, ordersAtMs, notBeforeMs, failures: 0, nextAtMs: 0, problem: '' };
  // The settings were changed and changed back.
  return certificate?.subject === subject ? succeeded(fresh, certificate, random) : fresh;
}

/** When the next order is due, in milliseconds since 1970. */
export function dueAtMs(plan: OrderPlan, nowMs: number): number {
  const { nextAtMs, notBeforeMs, failures } = plan;
  const orders = recent(plan, nowMs);
  // When the oldest of the last four orders is an hour old, fewer than four are within the hour.
  const perHour = (orders.at(-ORDERS_PER_HOUR) ?? 0) + HOUR_MS;
  const perDay = (orders.at(-ORDERS_PER_DAY) ?? 0) + DAY_MS;
  const backOffMaxMs = failures === 0 ? Number.POSITIVE_INFINITY : BACK_OFF_MAX_MS * (1 + JITTER);
  return Math.max(
    perHour,
    perDay,
    until(nextAtMs, nowMs + backOffMaxMs),
    until(notBeforeMs, nowMs + AUTHORITY_WAIT_MAX_MS),
  );
}

/** Returns 0 for a time that is implausibly late: it was stored before the clock was set back. */
function until(atMs: number, latestMs: number): number {
  return atMs <= latestMs ? atMs : 0;
}

/** The plan while an order is in progress. The order counts as failed until it succeeds. */
export function begun(plan: OrderPlan, nowMs: number, random: () => number): OrderPlan {
  const backOffMs = Math.min(BACK_OFF_MS * 2 ** plan.failures, BACK_OFF_MAX_MS);
  return {
    ...plan,
    ordersAtMs: [...recent(plan, nowMs), nowMs],
    failures: plan.failures + 1,
    nextAtMs: nowMs + backOffMs * (1 + JITTER * random()),
  };
}

export interface OrderFailure {
  readonly message: string;
  readonly type: string;
  readonly retryAfterMs: number | undefined;
}

export function failed(plan: OrderPlan, failure: OrderFailure, nowMs: number): OrderPlan {
  const { message, type, retryAfterMs } = failure;
  const waitMs = retryAfterMs ?? (type === 'rateLimited' ? LIMITED_MS : 0);
  return { ...plan, problem: message, notBeforeMs: waitMs === 0 ? 0 : nowMs + waitMs };
}

/** Renewal is due when a third of the lifetime is left, plus a random part of up to a fifteenth of the lifetime. */
export function succeeded(
  plan: OrderPlan,
  certificate: KeptCertificate,
  random: () => number,
): OrderPlan {
  const { fromMs, untilMs } = validity(certificate);
  const third = (untilMs - fromMs) / 3;
  const nextAtMs = untilMs - third * (1 - JITTER * random());
  return { ...plan, failures: 0, notBeforeMs: 0, problem: '', nextAtMs };
}

export function validity({ cert }: { readonly cert: string }) {
  const { validFromDate, validToDate } = new X509Certificate(cert);
  return { fromMs: validFromDate.getTime(), untilMs: validToDate.getTime() };
}

/** The orders of the last day. Times in the future come from a wrong clock and are dropped. */
function recent({ ordersAtMs }: OrderPlan, nowMs: number): readonly number[] {
  return ordersAtMs.filter((atMs) => atMs > nowMs - DAY_MS && atMs <= nowMs);
}
