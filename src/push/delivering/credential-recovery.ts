import type { PlaceInLine, WaitingDevices } from '../model/delivery.ts';
import { HURRY_DEVICES } from './limits.ts';
import type { OpenCircuit, PipelinePorts } from './ports.ts';
import type { StoreAccess } from './store-access.ts';

interface Mended {
  readonly waiting: WaitingDevices;
  /** How far it has come. */
  after: PlaceInLine | undefined;
}

/**
 * Brings forward the devices that came to wait on their own for a credential that is accepted now, or was replaced:
 * some at a time, so that they do not come all at once. A pause of another kind ends by itself, and soon.
 */
export class CredentialRecovery {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly access: StoreAccess;
  /** The routes that are not used now. */
  private readonly pauses: () => readonly OpenCircuit[];
  private readonly mended = new Map<string, Mended>();

  constructor(
    ports: Pick<PipelinePorts, 'store' | 'timers'>,
    access: StoreAccess,
    pauses: () => readonly OpenCircuit[],
  ) {
    this.ports = ports;
    this.access = access;
    this.pauses = pauses;
  }

  get isEmpty(): boolean {
    return this.mended.size === 0;
  }

  /** A route is used again. `false`: nobody waits for that longer than for the others. */
  add({ why, instance, platform, reason }: OpenCircuit): boolean {
    if (why !== 'credential') return false;
    const waiting = { instance, platform, reason };
    this.mended.set(`${instance} ${platform} ${reason}`, { waiting, after: undefined });
    return true;
  }

  /** Brings some of them forward. */
  async bringSome(): Promise<void> {
    const pauses = this.pauses();
    for (const [name, one] of this.mended) {
      const { waiting } = one;
      // It was not mended after all: whoever is brought forward would only be sent away again.
      if (pauses.some((pause) => isOf(pause, waiting))) {
        this.mended.delete(name);
        continue;
      }
      const nowMs = this.ports.timers.now();
      const place = await this.access.ask(() =>
        this.ports.store.bringForward(waiting, nowMs, HURRY_DEVICES, one.after),
      );
      // It may have been mended again meanwhile, and begins anew then.
      if (place === undefined && this.mended.get(name) === one) this.mended.delete(name);
      one.after = place;
      return;
    }
  }
}

function isOf(pause: OpenCircuit, { instance, platform }: WaitingDevices): boolean {
  return pause.why === 'credential' && pause.instance === instance && pause.platform === platform;
}
