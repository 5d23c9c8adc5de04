import { type RetryCursor, WAITED_FOR_ITS_TURN, type WaitingRetries } from '../model/delivery.ts';
import type { Platform } from '../model/device.ts';
import { RECOVERY_DEVICES } from './limits.ts';
import type { OpenCircuit, PipelinePorts } from './ports.ts';
import type { StoreAccess } from './store-access.ts';

/** Devices that came back because their turn had taken too long, and need no other attempt now. */
export interface EndedAfterWaiting {
  readonly instance: number;
  readonly platform: Platform;
  readonly devices: number;
}

interface Recovery {
  readonly waiting: WaitingRetries;
  /** Devices that may still be brought forward. */
  left: number;
  /** How far it has come. */
  after: RetryCursor | undefined;
}

/** Each device that came back and has ended lets so many others come back: their number doubles each time. */
const OTHERS_PER_ENDED = 2;

/**
 * Makes retries due that need not wait any longer, some at a time, so that they do not come all at once:
 * - those that wait for a credential, after it is accepted again or was replaced;
 * - those whose turn took too long, while those that come back are answered. What is measured while a gateway is slow
 *   would otherwise keep them away for minutes. Those that hang again let no others come.
 *
 * Circuits that opened for other reasons close soon by themselves.
 */
export class RetryRecovery {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly access: StoreAccess;
  /** Instances take turns. */
  private readonly recoveries = new Map<string, Recovery>();

  constructor(ports: Pick<PipelinePorts, 'store' | 'timers'>, access: StoreAccess) {
    this.ports = ports;
    this.access = access;
  }

  get isEmpty(): boolean {
    return this.recoveries.size === 0;
  }

  /** Takes note of a closed circuit. Returns whether devices may wait for its credential. */
  circuitClosed({ why, instance, platform, reason }: OpenCircuit): boolean {
    if (why !== 'credential') return false;
    const waiting = { instance, platform, reason };
    this.recoveries.set(nameOf(waiting), {
      waiting,
      left: Number.POSITIVE_INFINITY,
      after: undefined,
    });
    return true;
  }

  /** Takes note of devices whose turn had taken too long. Returns whether others begin to be brought forward. */
  ended({ instance, platform, devices }: EndedAfterWaiting): boolean {
    const waiting = { instance, platform, reason: WAITED_FOR_ITS_TURN };
    const left = devices * OTHERS_PER_ENDED;
    const known = this.recoveries.get(nameOf(waiting));
    if (known === undefined) {
      this.recoveries.set(nameOf(waiting), { waiting, left, after: undefined });
    } else {
      known.left += left;
    }
    return known === undefined;
  }

  /** Makes some retries due. */
  async bringSome(openCircuits: readonly OpenCircuit[]): Promise<void> {
    for (const [name, recovery] of this.recoveries) {
      const { waiting, after } = recovery;
      // The credential is refused again: the devices would only come back.
      if (openCircuits.some((circuit) => concerns(circuit, waiting))) {
        this.recoveries.delete(name);
        continue;
      }
      const nowMs = this.ports.timers.now();
      const most = Math.min(recovery.left, RECOVERY_DEVICES);
      const { devices, next } = await this.access.ask(() =>
        this.ports.store.bringForward({ waiting, nowMs, limit: RECOVERY_DEVICES, most, after }),
      );
      recovery.after = next;
      recovery.left -= devices;
      // A recovery that was added in the meantime starts from the beginning.
      if (this.recoveries.get(name) !== recovery) return;
      this.recoveries.delete(name);
      if (next !== undefined && recovery.left > 0) this.recoveries.set(name, recovery);
      return;
    }
  }
}

function nameOf({ instance, platform, reason }: WaitingRetries): string {
  return `${instance} ${platform} ${reason}`;
}

function concerns(circuit: OpenCircuit, { instance, platform }: WaitingRetries): boolean {
  const { why } = circuit;
  return why === 'credential' && circuit.instance === instance && circuit.platform === platform;
}
