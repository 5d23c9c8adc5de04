import { type CalledProcess, startCalled } from '../machine/called-process.ts';
import type { SinkAddress, SinkCalls, SinkKind } from './sink-calls.ts';

/** A gateway that accepts all notifications, in its own process. */
export interface GatewayProcess extends SinkAddress, CalledProcess<SinkCalls> {
  readonly kind: SinkKind;
}

/** Starts a gateway. `pin` is the command that binds it to its core, or empty. */
export async function startGateway(
  pin: readonly string[],
  kind: SinkKind,
  latencyMs: number,
): Promise<GatewayProcess> {
  const started = startCalled<SinkCalls>(pin, `${import.meta.dir}/sink-process.ts`);
  return { ...(await started.call('start', { kind, latencyMs })), ...started, kind };
}
