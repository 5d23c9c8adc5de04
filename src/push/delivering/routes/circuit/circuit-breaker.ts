import type { Outcome } from '../../../gateway.ts';
import { PATIENCE_MS } from '../../limits.ts';
import { RecentOutcomes } from './recent-outcomes.ts';

/** Why the circuit is open. */
export interface CircuitFault {
  readonly why: /** The gateway is in trouble or asked for a pause. */
    | 'gateway'
    /** The gateway does not accept the operator's credential. */
    | 'credential';
  readonly reason: string;
  readonly words: string;
  /** No device was ever accepted, so only untrusted devices have failed. Others may still be reached. */
  readonly isUnproven?: true;
}

/** The device of one send. */
export interface SentDevice {
  readonly device: number;
  /** A gateway accepted the device before, and no acceptance of another has contradicted it since. */
  readonly isTrusted: boolean;
}

/** What an outcome changed about the circuit. */
export type CircuitChange = 'opened' | 'closed' | 'unchanged';

/** Names the state of the circuit in which a send began. Outcomes of an earlier state do not count. */
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

/**
 * How many distinct devices must fail before the devices cannot be the cause, if others were accepted within a
 * minute.
 */
const DEVICES_MIN = 3;

/** The pause before the first round of probes. It doubles with each round. */
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 60_000;

/** Probes in a round. */
const PROBES = 4;

/** While the circuit is open, one untried device is sent to at this interval, in addition to the rounds. */
const UNTRIED_MS = 100;
/** The interval while the gateway has asked for a pause and has accepted nothing for a minute. */
const UNTRIED_MS_ASKED = 1_000;

/** The longest pause that a gateway gets on request. */
const ASKED_MS_MAX = 15 * 60_000;

/** Devices to remember of those that failed in a row. */
const EVIDENCE_MAX = 200;

interface Evidence {
  readonly why: CircuitFault['why'];
  readonly lastMs: number;
  readonly strain: number;
  /** The pause that the gateway asked for, by failed device; 0: none. At most `EVIDENCE_MAX` devices. */
  readonly askedMs: Map<number, number>;
}

/**
 * The circuit breaker of devices that share a credential and a gateway. Times are those of the steady clock.
 *
 * Anybody may register a device and choose what its gateway answers. So only trusted devices count: those that were
 * accepted before. Untrusted devices count only as long as no trusted one is known.
 *
 * A trusted device may be hostile, too: its endpoint accepts once, and fails from then on. A send that fails while
 * another device is accepted has failed because of its own device. The next acceptance therefore clears all failures
 * before it, and those devices are distrusted until they are accepted again. Not those whose sends began after the
 * accepted one, because the gateway may have gone down in between. The device that was accepted last is never
 * distrusted, so there is always one whose failures count.
 * - Closed: all devices are sent to. Consecutive failures of sends that began after the last acceptance open the
 *   circuit, if more devices failed than were accepted within the last minute.
 * - Open: after a pause, which doubles from 1 s to 60 s, four probes go to trusted devices. In addition, ten untried
 *   devices a second are sent to, trusted ones first, so that honest devices among many hostile ones are found soon.
 *   Any acceptance closes the circuit, even of a send that began before it opened.
 * - A `Retry-After` applies to all devices if three trusted ones got one, and they are most of those that failed and
 *   more than were accepted within the last minute. The shortest of them sets the pause. Untried devices are still
 *   sent to, one a second if none was accepted for a minute. Otherwise a `Retry-After` applies to its device alone.
 * - A failure before any device was named (no connection, no access token) cannot be caused by a device: it counts
 *   for every device, and every device may be the probe.
 */
export class CircuitBreaker {
  private openFault: CircuitFault | undefined;
  private openedAtMs = 0;
  /** Whether it opened because of failures before any device was named. */
  private isOfConnection = false;
  private knowsTrusted = false;
  private evidence: Evidence | undefined;
  private pauseMs = 0;
  /** When the pause ends. */
  private roundAtMs = 0;
  /** The gateway asked for this pause. */
  private isAsked = false;
  private probesLeft = 0;
  private untriedAtMs = 0;
  private ticket: Ticket = 0;
  private acceptedDevice = 0;
  /** The largest ticket of an accepted send; -1: none was accepted yet. */
  private acceptedTicket: Ticket = -1;
  private readonly recent = new RecentOutcomes();
  private readonly distrust: (device: number) => void;

  /** `distrust` is called for each trusted device whose failure an acceptance of another device contradicts. */
  constructor(distrust: (device: number) => void) {
    this.distrust = distrust;
  }

  /** Why the circuit is open; `undefined` while it is closed. */
  get fault(): CircuitFault | undefined {
    return this.openFault;
  }

  /** How long it has been open, if it is. */
  openForMs(nowMs: number): number {
    return nowMs - this.openedAtMs;
  }

  /** Time until a trusted device may be sent to; 0: now. */
  waitMs(nowMs: number): number {
    return this.openFault === undefined || this.probesLeft > 0 ? 0 : this.roundMs(nowMs);
  }

  /** Time until a trusted device that was not tried since the circuit opened may be sent to; 0: now. */
  untriedWaitMs(nowMs: number): number {
    const waitMs = this.waitMs(nowMs);
    return this.isOfConnection ? waitMs : Math.min(waitMs, this.untriedTurnMs(nowMs));
  }

  /** Time until an untrusted device may be sent to; 0: now. */
  untrustedWaitMs(nowMs: number, doUntriedWait: boolean): number {
    if (this.openFault === undefined) return 0;
    if (this.isOfConnection) return this.waitMs(nowMs);
    return doUntriedWait ? this.roundMs(nowMs) || UNTRIED_MS : this.untriedTurnMs(nowMs);
  }

  /** When a device should return that cannot wait in memory. */
  awayMs(nowMs: number): number {
    if (this.openFault === undefined) return 0;
    return Math.min(PAUSE_MS_MAX, this.roundMs(nowMs) || this.pauseMs);
  }

  /** Whether the circuit stays open for longer than a job should wait in memory. 0: a job does not wait. */
  isShut(nowMs: number, patienceMs = PATIENCE_MS): boolean {
    return (
      this.openFault !== undefined &&
      (this.pauseMs > patienceMs || this.roundMs(nowMs) > patienceMs)
    );
  }

  /** Whether outcomes of untrusted devices count now. */
  believesUntrusted(): boolean {
    return !this.knowsTrusted || this.isOfConnection;
  }

  /** Whether others were accepted within the last minute, at least as many as have failed since. */
  areOthersWell(device: number, nowMs: number): boolean {
    return this.recent.areOthersWell(device, nowMs);
  }

  /** Whether a trusted device has failed since the last acceptance, so that others are better probes. */
  wasTried(device: number): boolean {
    return this.openFault !== undefined && this.recent.hasFailed(device);
  }

  /** Records a send, whose wait must be 0. Its outcome is reported with the ticket. */
  begin(isTrusted: boolean, nowMs: number): Ticket {
    if (isTrusted) this.learnOfTrusted();
    if (this.openFault === undefined) return this.ticket;
    if (this.roundMs(nowMs) === 0) {
      this.probesLeft = PROBES;
      this.pauseMs = Math.min(PAUSE_MS_MAX, this.pauseMs * 2);
      this.pause(this.pauseMs, nowMs);
    }
    if ((isTrusted || this.isOfConnection) && this.probesLeft > 0) this.probesLeft--;
    else this.untriedAtMs = nowMs;
    return this.ticket;
  }

  /** Records an outcome. Returns what it changed. */
  learn(ticket: Ticket, sent: SentDevice, outcome: Outcome, nowMs: number): CircuitChange {
    const isOfOld = ticket !== this.ticket;
    switch (outcome.result) {
      case 'accepted':
        return this.wasAccepted(ticket, sent, nowMs);
      case 'refused':
        return isOfOld || !(sent.isTrusted || this.isOfConnection) ? 'unchanged' : this.worked();
      case 'token-gone':
        return isOfOld ? 'unchanged' : this.answered(sent);
      case 'not-authorised':
      case 'try-again':
        if (sent.isTrusted && outcome.scope !== 'connection') {
          this.recent.failed(sent.device, { began: ticket, at: this.ticket }, nowMs);
        }
        if (!isOfOld) return this.failed(sent, outcome, nowMs);
        if (sent.isTrusted && this.isContradicted(ticket, sent)) this.distrust(sent.device);
        return 'unchanged';
      default:
        return outcome satisfies never;
    }
  }

  /** Forgets everything, because the credential was replaced. */
  reset(): void {
    this.close();
    this.recent.clear();
    this.knowsTrusted = false;
  }

  /** From now on untrusted devices do not count, and their failures so far are forgotten. */
  learnOfTrusted(): void {
    if (this.knowsTrusted) return;
    this.knowsTrusted = true;
    this.evidence = undefined;
  }

  /** Whether a send to another device, which did not begin before this one, was accepted in the meantime. */
  private isContradicted(ticket: Ticket, { device }: SentDevice): boolean {
    return ticket <= this.acceptedTicket && device !== this.acceptedDevice;
  }

  private wasAccepted(ticket: Ticket, { device }: SentDevice, nowMs: number): CircuitChange {
    this.learnOfTrusted();
    for (const one of this.recent.accepted(device, ticket, nowMs)) this.distrust(one);
    this.acceptedDevice = device;
    this.acceptedTicket = Math.max(this.acceptedTicket, ticket);
    this.ticket++;
    return this.worked();
  }

  /** A dead token proves that the gateway works, but not the credential: some gateways check the token first. */
  private answered(sent: SentDevice): CircuitChange {
    const isBelieved = sent.isTrusted || this.isOfConnection;
    const why = this.openFault?.why ?? this.evidence?.why;
    return isBelieved && (why === 'gateway' || this.isOfConnection) ? this.worked() : 'unchanged';
  }

  private worked(): CircuitChange {
    this.evidence = undefined;
    if (this.openFault === undefined) return 'unchanged';
    this.close();
    return 'closed';
  }

  private failed(
    { device, isTrusted }: SentDevice,
    outcome: Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>,
    nowMs: number,
  ): CircuitChange {
    const { reason, words = '' } = outcome;
    const why = outcome.result === 'not-authorised' ? 'credential' : 'gateway';
    const askedMs =
      outcome.result === 'try-again' && outcome.scope !== 'device' ? (outcome.afterMs ?? 0) : 0;
    if (outcome.scope === 'connection') {
      this.probesLeft = 0;
      const evidence = this.remember(
        why,
        { device, askedMs: 0, strain: strainOfConnection(why, askedMs) },
        nowMs,
      );
      if (this.openFault === undefined && evidence.strain < STRAIN_MAX) return 'unchanged';
      this.isOfConnection = true;
      return this.open({ why, reason, words }, askedMs, nowMs);
    }
    // The gateway works again, so counting starts anew.
    if (this.isOfConnection) return this.worked();
    if (!isTrusted && this.knowsTrusted) return 'unchanged';

    const strain = strainOf(outcome, askedMs);
    const evidence = this.remember(why, { device, askedMs, strain }, nowMs);
    this.probesLeft = 0;
    // Fewer devices that keep failing prove nothing while others are accepted.
    const others = this.recent.othersAccepted(device, nowMs);
    const devicesMin = others === 0 ? 1 : Math.max(DEVICES_MIN, others + 1);
    const isEnough = evidence.strain >= STRAIN_MAX && evidence.askedMs.size >= devicesMin;
    if (this.openFault === undefined && !isEnough) return 'unchanged';
    if (!this.knowsTrusted) return this.open({ why, reason, words, isUnproven: true }, 0, nowMs);
    const askedOfMost = askedOfAll(evidence, Math.max(DEVICES_MIN, others + 1));
    return this.open({ why, reason, words }, askedOfMost, nowMs);
  }

  private remember(
    why: CircuitFault['why'],
    failure: { readonly device: number; readonly askedMs: number; readonly strain: number },
    nowMs: number,
  ): Evidence {
    const { device, askedMs, strain } = failure;
    const before = this.evidence;
    const ageMs = before === undefined ? 0 : nowMs - before.lastMs;
    const isRecent = ageMs < MEMORY_MS && before?.why === why;
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

  private open(fault: CircuitFault, askedMs: number, nowMs: number): CircuitChange {
    const change = this.openFault === undefined ? 'opened' : 'unchanged';
    this.openFault = fault;
    if (change === 'opened') {
      this.openedAtMs = nowMs;
      this.ticket++;
      this.pauseMs = PAUSE_MS_MIN;
      this.pause(this.pauseMs, nowMs);
    }
    const restMs = Math.min(askedMs, ASKED_MS_MAX);
    if (restMs > this.roundMs(nowMs)) {
      this.pause(restMs, nowMs);
      this.isAsked = true;
    }
    return change;
  }

  private close(): void {
    this.openFault = undefined;
    this.isOfConnection = false;
    this.evidence = undefined;
    this.ticket++;
  }

  private pause(ms: number, nowMs: number): void {
    this.roundAtMs = nowMs + ms;
    this.isAsked = false;
  }

  private untriedTurnMs(nowMs: number): number {
    const isLeftAlone = this.isAsked && !this.recent.isAnyAccepted(nowMs);
    const everyMs = isLeftAlone ? UNTRIED_MS_ASKED : UNTRIED_MS;
    return Math.max(0, this.untriedAtMs + everyMs - nowMs);
  }

  /** Time until the next round of probes; 0: now. */
  private roundMs(nowMs: number): number {
    return Math.max(0, this.roundAtMs - nowMs);
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

function strainOfConnection(why: CircuitFault['why'], askedMs: number): number {
  return why === 'credential' || askedMs > 0 ? STRAIN_MAX : strains.gateway;
}

/**
 * The shortest pause that the gateway asked for, if it asked at least `devicesMin` devices and most of them;
 * otherwise 0.
 */
function askedOfAll({ askedMs }: Evidence, devicesMin: number): number {
  const asked = [...askedMs.values()].filter((ms) => ms > 0);
  return asked.length < devicesMin || asked.length * 2 <= askedMs.size ? 0 : Math.min(...asked);
}
