import { doubledMs } from '../../../../runtime/time/back-off.ts';
import type { Recipient } from '../../../model/device.ts';
import type { DevicePause, NewDevicePause } from '../../../model/device-pause.ts';
import { PAUSED_INTERVAL_MS } from '../../../model/device-pause.ts';
import { STUCK_MS } from '../../limits.ts';

/** Paused devices to remember. A pause that is long is in the store, too. */
const DEVICES_MAX = 10_000;

/** A pause is between half of a limit and the whole. The limit doubles with each failure of the device. */
const LIMIT_MS_MIN = 1_000;
const LIMIT_MS_MAX = 3_600_000;

/** The longest pause that a device gets because its gateway asked for it. */
const ASKED_MS_MAX = 24 * 3_600_000;

/** A pause that was asked for gets up to this share longer, so that devices do not come back all at once. */
const JITTER = 0.1;

/** Shorter pauses are in memory only, because most are over before another server or a restart could matter. */
const STORED_MS_MIN = 10_000;

/** Tells whether a send began before or after a pause. */
export type PauseTicket = number;

/** A failure of a device alone. */
export interface DeviceFailure {
  readonly ticket: PauseTicket;
  readonly wallMs: number;
  /** The pause that the gateway asked for. */
  readonly askedMs: number | undefined;
  readonly reason: string;
  /** When another device was accepted last; 0: never. */
  readonly acceptedAtMs: number;
}

/** A pause that a device is in. */
export interface PauseNow extends DevicePause {
  /** The reason of the last failure; empty: not known on this server. */
  readonly reason: string;
}

/** The last pause of a device, which may be over. */
export interface LastPause extends DevicePause {
  /** Whether others were accepted after its first failure, so that it is certainly alone. */
  readonly isConfirmed: boolean;
}

/** What follows from a failure. */
export interface Paused extends DevicePause {
  /** What the store should keep of it, if anything. */
  readonly toStore: NewDevicePause | undefined;
}

interface State {
  readonly token: string;
  /** Sends with a smaller ticket began before this pause. */
  ticket: PauseTicket;
  untilMs: number;
  failures: number;
  sinceMs: number;
  reason: string;
  isConfirmed: boolean;
  isStored: boolean;
  /** The probe is in flight, at most until then; 0: none is. */
  probeUntilMs: number;
}

/**
 * The devices of one platform of an instance that fail while others are accepted. Each has a pause of its own, over all
 * publishes; after it, one send at a time is the probe. Times are the system's, because those in the store are.
 */
export class DevicePauses {
  /** By device number, in two generations: when the newer one is full, the older one is dropped. See `TrustedDevices`. */
  private newer = new Map<number, State>();
  private older = new Map<number, State>();
  private ticket: PauseTicket = 0;
  private lastMs = 0;
  private readonly random: () => number;

  /** `random`: from 0 to 1, 1 excluded. */
  constructor(random: () => number) {
    this.random = random;
  }

  /** How many devices are remembered. */
  get size(): number {
    return this.newer.size + this.older.size;
  }

  /** When the last pause ends. */
  get lastUntilMs(): number {
    return this.lastMs;
  }

  /** The pause of a device; `undefined`: it may be sent to now. */
  of(recipient: Recipient, wallMs: number): PauseNow | undefined {
    const state = this.find(recipient, wallMs);
    if (state === undefined) return undefined;
    const { failures, sinceMs, reason } = state;
    const isProbed = state.probeUntilMs > wallMs;
    const untilMs = isProbed ? Math.max(state.untilMs, wallMs + PAUSED_INTERVAL_MS) : state.untilMs;
    return untilMs > wallMs ? { untilMs, failures, sinceMs, reason } : undefined;
  }

  /** The last pause of a device, which may be over; `undefined`: it was accepted since, or has never failed alone. */
  last(recipient: Recipient, wallMs: number): LastPause | undefined {
    return this.find(recipient, wallMs);
  }

  /** To be called before a send. Its outcome is reported with the ticket. */
  begin(recipient: Recipient, wallMs: number): PauseTicket {
    const state = this.find(recipient, wallMs);
    if (state !== undefined) state.probeUntilMs = wallMs + STUCK_MS;
    return this.ticket;
  }

  /** The device was accepted. Returns whether its pause is in the store, and should be deleted there. */
  accepted(recipient: Recipient, ticket: PauseTicket, wallMs: number): boolean {
    const state = this.find(recipient, wallMs);
    // An answer to an earlier send says nothing about the pause.
    if (state === undefined || ticket < state.ticket) return false;
    this.newer.delete(recipient.number);
    this.older.delete(recipient.number);
    return state.isStored;
  }

  /** A send had another outcome than an acceptance. */
  ended(recipient: Recipient, ticket: PauseTicket, wallMs: number): void {
    const state = this.find(recipient, wallMs);
    if (state !== undefined && ticket >= state.ticket) state.probeUntilMs = 0;
  }

  /** Begins a pause, or prolongs it. */
  failed(recipient: Recipient, failure: DeviceFailure): Paused {
    const { ticket, wallMs, askedMs, reason, acceptedAtMs } = failure;
    const before = this.find(recipient, wallMs);
    const { number, token } = recipient;
    // Sends that were in flight at the same time count as one failure.
    const isNew = before === undefined || ticket >= before.ticket;
    const failures = (before?.failures ?? 0) + (isNew ? 1 : 0);
    const untilMs = Math.max(
      isNew ? 0 : before.untilMs,
      wallMs + pauseMs(failures, askedMs, this.random()),
    );
    const sinceMs = before?.sinceMs ?? wallMs;
    this.lastMs = Math.max(this.lastMs, untilMs);
    const isLong = untilMs - wallMs >= STORED_MS_MIN;
    this.remember(number, {
      token,
      ticket: isNew ? ++this.ticket : before.ticket,
      untilMs,
      failures,
      sinceMs,
      reason,
      isConfirmed: before?.isConfirmed === true || acceptedAtMs > sinceMs,
      isStored: isLong || before?.isStored === true,
      probeUntilMs: isNew ? 0 : before.probeUntilMs,
    });
    const pause = { untilMs, failures, sinceMs };
    return { ...pause, toStore: isLong ? { token, ...pause } : undefined };
  }

  /** The clock was set back: pauses keep what is left of them. */
  clockSetBack(byMs: number): void {
    this.lastMs -= byMs;
    for (const state of [...this.newer.values(), ...this.older.values()]) {
      state.untilMs -= byMs;
      state.sinceMs -= byMs;
      state.probeUntilMs -= byMs;
    }
  }

  private find(recipient: Recipient, wallMs: number): State | undefined {
    const { number, token, pause } = recipient;
    if (pause === undefined && this.newer.size === 0 && this.older.size === 0) return undefined;
    const known = this.newer.get(number) ?? this.older.get(number);
    const state = known?.token === token ? known : undefined;
    // A pause from the future was stored before the clock was set back.
    if (pause === undefined || pause.sinceMs > wallMs) return state;
    if (state !== undefined && state.untilMs >= pause.untilMs) return state;
    const read: State = {
      token,
      ...pause,
      ticket: ++this.ticket,
      reason: state?.reason ?? '',
      isConfirmed: state?.isConfirmed ?? false,
      isStored: true,
      probeUntilMs: 0,
    };
    this.remember(number, read);
    return read;
  }

  private remember(number: number, state: State): void {
    this.older.delete(number);
    this.newer.set(number, state);
    if (this.newer.size < DEVICES_MAX / 2) return;
    this.older = this.newer;
    this.newer = new Map();
  }
}

function pauseMs(failures: number, askedMs: number | undefined, random: number): number {
  const limitMs = doubledMs(LIMIT_MS_MIN, { times: failures, maxMs: LIMIT_MS_MAX });
  const ownMs = (limitMs / 2) * (1 + random);
  const jitteredMs = Math.min(askedMs ?? 0, ASKED_MS_MAX) * (1 + random * JITTER);
  return Math.ceil(Math.max(ownMs, jitteredMs));
}
