import type { RetryCursor, WaitingRetries } from '../model/delivery.ts';
import { RECOVERY_DEVICES } from './limits.ts';
import type { OpenCircuit, PipelinePorts } from './ports.ts';
import type { StoreAccess } from './store-access.ts';

interface Recovery {
  readonly waiting: WaitingRetries;
  /** How far it has come. */
  after: RetryCursor | undefined;
}

/**
 * After a credential is accepted again, or was replaced, makes the retries due that wait for it: some at a time, so
 * that they do not come all at once. Circuits that opened for other reasons close soon by themselves.
 */
export class CredentialRecovery {
  private readonly ports: Pick<PipelinePorts, 'store' | 'timers'>;
  private readonly access: StoreAccess;
  private readonly recoveries = new Map<string, Recovery>();

  constructor(ports: Pick<PipelinePorts, 'store' | 'timers'>, access: StoreAccess) {
    this.ports = ports;
    this.access = access;
  }

  get isEmpty(): boolean {
    return this.recoveries.size === 0;
  }

  /** Takes note of a closed circuit. Returns whether devices may wait for its credential. */
  add({ why, instance, platform, reason }: OpenCircuit): boolean {
    if (why !== 'credential') return false;
    const waiting = { instance, platform, reason };
    this.recoveries.set(`${instance} ${platform} ${reason}`, { waiting, after: undefined });
    return true;
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
      const cursor = await this.access.ask(() =>
        this.ports.store.bringForward({ waiting, nowMs, limit: RECOVERY_DEVICES, after }),
      );
      // A recovery that was added in the meantime starts from the beginning.
      if (cursor === undefined && this.recoveries.get(name) === recovery) {
        this.recoveries.delete(name);
      }
      recovery.after = cursor;
      return;
    }
  }
}

function concerns(circuit: OpenCircuit, { instance, platform }: WaitingRetries): boolean {
  const { why } = circuit;
  return why === 'credential' && circuit.instance === instance && circuit.platform === platform;
}
