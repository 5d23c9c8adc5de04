import type { Outcome } from '../gateway.ts';
import { PATIENCE_MS } from './limits.ts';
import { RecentOutcomes } from './recent-outcomes.ts';

/** Why the circuit is open. */
export interface Opened {
  readonly why: /** The gateway is in trouble or asked for a pause. */
    | 'gateway'
    /** The gateway does not accept the operator's credential. */
    | 'credential';
  readonly reason: string;
  readonly words: string;
  readonly sinceMs: number;
  /** No device was ever accepted, so only newcomers say so. Others may still be reached. */
  readonly isUnproven?: true;
}

/** The device of one send. */
export interface Sent {
  readonly device: number;
  /** A gateway accepted it before, and no acceptance of another device has contradicted it since. */
  readonly isWitness: boolean;
}

/** Says in which state of the circuit a send began, so that outcomes of an earlier state do not count. */
export type Ticket = number;

/** The circuit opens at this sum of failures in a row. Each counts as below, for `MEMORY_MS`. */
const STRAIN_MAX = 20;
const strains = {
  /** Three of them open it. */
  credential: 7,
  /** With a `Retry-After`: three. */
  asked: 7,
  /** Without one: five. */
  gateway: 4,
  /** Where it may be the device alone: twenty. */
  device: 1,
} as const;
const MEMORY_MS = 60_000;

/** Distinct devices that must fail before the fault cannot be theirs, where others were accepted within a minute. */
const DEVICES_MIN = 3;

/** The pause before the first round of probes. It doubles with each round. */
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 60_000;

/** Probes in a round. */
const PROBES = 4;

/** While open, one device that waits untried is sent to each time this has passed, beside the rounds. */
const UNTRIED_MS = 100;
/** The same while the gateway wants to be left alone and has accepted nothing for a minute. */
const UNTRIED_MS_ASKED = 1_000;

/** The longest pause that a gateway gets on request. */
const ASKED_MS_MAX = 15 * 60_000;

/** Devices to remember of those that failed in a row. */
const EVIDENCE_MAX = 200;

interface Evidence {
  readonly why: Opened['why'];
  readonly lastMs: number;
  readonly strain: number;
  /** The pause that the gateway asked for, by failed device; 0: none. At most `EVIDENCE_MAX` devices. */
  readonly askedMs: Map<number, number>;
}

/**
 * The circuit breaker of devices that share a credential and a gateway.
 *
 * Anybody may register a device and choose what its gateway answers. So only witnesses count: devices that were
 * accepted before. Newcomers, which never were, count only as long as no witness is known.
 *
 * A witness may turn, too: its endpoint is accepted once, and fails from then on. A send that fails while another
 * device is accepted has failed for a reason of its own. The next acceptance therefore clears all failures before it,
 * and those devices are doubted: they are no witnesses until they are accepted again. The device that was accepted
 * last is never doubted, so there is always one whose failures count.
 * - Closed: all are sent to. Failures in a row of sends that began after the last acceptance open it, if more devices
 *   failed than were accepted within the last minute.
 * - Open: four probes go to witnesses after a pause, which doubles from 1 s to 60 s. Beside that, ten devices a second
 *   are sent to that were not tried yet, witnesses first: honest devices among many that have turned are found soon.
 *   Any acceptance closes it, also of a send that began before it opened.
 * - A `Retry-After` counts for all if three witnesses got one, and they are most of those that failed and more than
 *   were accepted within the last minute. The shortest of theirs counts for the rounds. Untried devices are still sent
 *   to, one a second once nobody was accepted for a minute. Otherwise it is a matter of that device alone.
 * - A failure before any device was named (no connection, no access token) cannot be the fault of a device: it counts
 *   for every device, and every device may be the probe.
 */
export class Breaker {
  private opening: Opened | undefined;
  /** It opened because of failures before any device was named. */
  private isOfConnection = false;
  private knowsWitness = false;
  private evidence: Evidence | undefined;
  private pauseMs = 0;
  private pausedAtMs = 0;
  /** Length of the pause that began at `pausedAtMs`. */
  private waitsMs = 0;
  /** The gateway asked for this pause. */
  private isAsked = false;
  private probesLeft = 0;
  private untriedAtMs = 0;
  private ticket: Ticket = 0;
  /** The last acceptance. Sends with a smaller ticket began before it. */
  private accepted = { device: 0, ticket: 0 };
  private readonly recent = new RecentOutcomes();
  private readonly doubt: (device: number) => void;

  /** `doubt` hears of each witness whose failure an acceptance of another device contradicts. */
  constructor(doubt: (device: number) => void = () => undefined) {
    this.doubt = doubt;
  }

  /** Why the circuit is open; `undefined` while it is closed. */
  get opened(): Opened | undefined {
    return this.opening;
  }

  /** Time until a round lets a witness through; 0: now. */
  waitMs(nowMs: number): number {
    return this.opening === undefined || this.probesLeft > 0 ? 0 : this.roundMs(nowMs);
  }

  /** The same for a witness that was not tried since the circuit opened. */
  untriedWaitMs(nowMs: number): number {
    const waitMs = this.waitMs(nowMs);
    return this.isOfConnection ? waitMs : Math.min(waitMs, this.untriedTurnMs(nowMs));
  }

  /** The same for a newcomer. */
  newcomerWaitMs(nowMs: number, doUntriedWait: boolean): number {
    if (this.opening === undefined) return 0;
    if (this.isOfConnection) return this.waitMs(nowMs);
    return doUntriedWait ? this.roundMs(nowMs) || UNTRIED_MS : this.untriedTurnMs(nowMs);
  }

  /** How long a device should stay away that does not wait in memory. */
  awayMs(nowMs: number): number {
    if (this.opening === undefined) return 0;
    return Math.min(PAUSE_MS_MAX, this.roundMs(nowMs) || this.pauseMs);
  }

  /** Whether the circuit stays open for longer than a job should wait in memory. */
  isShut(nowMs: number): boolean {
    return (
      this.opening !== undefined &&
      (this.pauseMs > PATIENCE_MS || this.roundMs(nowMs) > PATIENCE_MS)
    );
  }

  /** Whether outcomes of newcomers count now. */
  believesNewcomers(): boolean {
    return !this.knowsWitness || this.isOfConnection;
  }

  /** Whether another device was accepted lately, and not just before most others began to fail. */
  areOthersWell(device: number, nowMs: number): boolean {
    return this.recent.areOthersWell(device, nowMs);
  }

  /** Whether a witness was sent to in vain since the last acceptance, so that others are better probes. */
  wasTried(device: number): boolean {
    return this.opening !== undefined && this.recent.hasFailed(device);
  }

  /** Takes note of witnesses that begin to wait. */
  arrived(): void {
    this.learnOfWitness();
  }

  /** Takes note of a send, whose wait must be 0. The ticket belongs to its outcome. */
  begin(isWitness: boolean, nowMs: number): Ticket {
    if (isWitness) this.learnOfWitness();
    if (this.opening === undefined) return this.ticket;
    if (this.roundMs(nowMs) === 0) {
      this.probesLeft = PROBES;
      this.pauseMs = Math.min(PAUSE_MS_MAX, this.pauseMs * 2);
      this.pause(this.pauseMs, nowMs);
    }
    if ((isWitness || this.isOfConnection) && this.probesLeft > 0) this.probesLeft--;
    else this.untriedAtMs = nowMs;
    return this.ticket;
  }

  /** Takes note of an outcome. `'opened'` and `'closed'` say what it has just changed. */
  learn(
    ticket: Ticket,
    sent: Sent,
    outcome: Outcome,
    nowMs: number,
  ): 'opened' | 'closed' | 'unchanged' {
    const isOfOld = ticket !== this.ticket;
    switch (outcome.result) {
      case 'accepted':
        return this.wasAccepted(ticket, sent, nowMs);
      case 'refused':
        return isOfOld || !(sent.isWitness || this.isOfConnection) ? 'unchanged' : this.worked();
      case 'token-gone':
        return isOfOld ? 'unchanged' : this.answered(sent);
      case 'not-authorised':
      case 'try-again':
        if (sent.isWitness && outcome.scope !== 'connection') {
          this.recent.failed(sent.device, this.ticket, nowMs);
        }
        if (!isOfOld) return this.failed(sent, outcome, nowMs);
        if (sent.isWitness && this.isContradicted(ticket, sent)) this.doubt(sent.device);
        return 'unchanged';
      default:
        return outcome satisfies never;
    }
  }

  /** Forgets everything, because the credential was replaced. */
  reset(): void {
    this.close();
    this.recent.clear();
    this.knowsWitness = false;
  }

  /** From now on newcomers do not count, nor what they have shown so far. */
  private learnOfWitness(): void {
    if (this.knowsWitness) return;
    this.knowsWitness = true;
    this.evidence = undefined;
  }

  /** Whether another device was accepted while this one was sent to. */
  private isContradicted(ticket: Ticket, { device }: Sent): boolean {
    return ticket < this.accepted.ticket && device !== this.accepted.device;
  }

  private wasAccepted(ticket: Ticket, { device }: Sent, nowMs: number): 'closed' | 'unchanged' {
    this.learnOfWitness();
    for (const one of this.recent.accepted(device, ticket, nowMs)) this.doubt(one);
    this.accepted = { device, ticket: ++this.ticket };
    return this.worked();
  }

  /** A dead token proves that the gateway works, but not the credential: some gateways check the token first. */
  private answered(sent: Sent): 'closed' | 'unchanged' {
    const isBelieved = sent.isWitness || this.isOfConnection;
    const why = this.opening?.why ?? this.evidence?.why;
    return isBelieved && (why === 'gateway' || this.isOfConnection) ? this.worked() : 'unchanged';
  }

  private worked(): 'closed' | 'unchanged' {
    this.evidence = undefined;
    if (this.opening === undefined) return 'unchanged';
    this.close();
    return 'closed';
  }

  private failed(
    { device, isWitness }: Sent,
    outcome: Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>,
    nowMs: number,
  ): 'opened' | 'closed' | 'unchanged' {
    const { reason } = outcome;
    const why = outcome.result === 'not-authorised' ? 'credential' : 'gateway';
    const words = outcome.result === 'not-authorised' ? outcome.words : '';
    const askedMs =
      outcome.result === 'try-again' && outcome.scope !== 'device' ? (outcome.afterMs ?? 0) : 0;
    if (outcome.scope === 'connection') {
      this.probesLeft = 0;
      const evidence = this.remember(why, device, 0, strainOfConnection(why, askedMs), nowMs);
      if (this.opening === undefined && evidence.strain < STRAIN_MAX) return 'unchanged';
      this.isOfConnection = true;
      return this.open({ why, reason, words, sinceMs: nowMs }, askedMs);
    }
    // The gateway answers again. Whatever is wrong now is counted anew.
    if (this.isOfConnection) return this.worked();
    if (!isWitness && this.knowsWitness) return 'unchanged';

    const strain = strainOf(outcome, askedMs);
    const evidence = this.remember(why, device, askedMs, strain, nowMs);
    this.probesLeft = 0;
    // Fewer devices that keep failing prove nothing while others are accepted.
    const others = this.recent.othersAccepted(device, nowMs);
    const devicesMin = others === 0 ? 1 : Math.max(DEVICES_MIN, others + 1);
    const isEnough = evidence.strain >= STRAIN_MAX && evidence.askedMs.size >= devicesMin;
    if (this.opening === undefined && !isEnough) return 'unchanged';
    const opened: Opened = { why, reason, words, sinceMs: nowMs };
    return this.knowsWitness
      ? this.open(opened, askedOfAll(evidence, Math.max(DEVICES_MIN, others + 1)))
      : this.open({ ...opened, isUnproven: true }, 0);
  }

  private remember(
    why: Opened['why'],
    device: number,
    askedMs: number,
    strain: number,
    nowMs: number,
  ): Evidence {
    const before = this.evidence;
    const ageMs = before === undefined ? 0 : nowMs - before.lastMs;
    const isRecent = ageMs >= 0 && ageMs < MEMORY_MS && before?.why === why;
    const asked = isRecent ? before.askedMs : new Map<number, number>();
    if (asked.size < EVIDENCE_MAX) asked.set(device, askedMs);
    this.evidence = {
      why,
      lastMs: nowMs,
      strain: strain + (isRecent ? before.strain : 0),
      askedMs: asked,
    };
    return this.evidence;
  }

  private open(opened: Opened, askedMs: number): 'opened' | 'unchanged' {
    const before = this.opening;
    this.opening = { ...opened, sinceMs: before?.sinceMs ?? opened.sinceMs };
    if (before === undefined) {
      this.ticket++;
      this.pauseMs = PAUSE_MS_MIN;
      this.pause(this.pauseMs, opened.sinceMs);
    }
    const restMs = Math.min(askedMs, ASKED_MS_MAX);
    if (restMs > this.roundMs(opened.sinceMs)) {
      this.pause(restMs, opened.sinceMs);
      this.isAsked = true;
    }
    return before === undefined ? 'opened' : 'unchanged';
  }

  private close(): void {
    this.opening = undefined;
    this.isOfConnection = false;
    this.evidence = undefined;
    this.probesLeft = 0;
    this.isAsked = false;
    this.pauseMs = 0;
    this.ticket++;
  }

  private pause(ms: number, nowMs: number): void {
    this.pausedAtMs = nowMs;
    this.waitsMs = ms;
    this.isAsked = false;
  }

  private untriedTurnMs(nowMs: number): number {
    // The clock was set back.
    if (nowMs < this.untriedAtMs) this.untriedAtMs = nowMs;
    const isLeftAlone = this.isAsked && !this.recent.isAnyAccepted(nowMs);
    const everyMs = isLeftAlone ? UNTRIED_MS_ASKED : UNTRIED_MS;
    return Math.max(0, this.untriedAtMs + everyMs - nowMs);
  }

  /** Time until the next round of probes; 0: now. */
  private roundMs(nowMs: number): number {
    // The clock was set back: begin the pause again, so that it does not grow by the difference.
    if (nowMs < this.pausedAtMs) this.pausedAtMs = nowMs;
    return Math.max(0, this.pausedAtMs + this.waitsMs - nowMs);
  }
}

function strainOf(
  outcome: Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>,
  askedMs: number,
): number {
  if (outcome.result === 'not-authorised') return strains.credential;
  if (outcome.scope === 'device') return strains.device;
  return askedMs > 0 ? strains.asked : strains.gateway;
}

function strainOfConnection(why: Opened['why'], askedMs: number): number {
  return why === 'credential' || askedMs > 0 ? STRAIN_MAX : strains.gateway;
}

/** The shortest pause that the gateway asked for, if it asked `devicesMin` devices and most of all; otherwise 0. */
function askedOfAll({ askedMs }: Evidence, devicesMin: number): number {
  const asked = [...askedMs.values()].filter((ms) => ms > 0);
  return asked.length < devicesMin || asked.length * 2 <= askedMs.size ? 0 : Math.min(...asked);
}
