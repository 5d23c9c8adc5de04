import type { Outcome } from '../../gateway.ts';
import type { Route } from './route.ts';

/** Whether the failure came before any device was named. */
export function isOfConnection(outcome: Outcome): boolean {
  return 'scope' in outcome && outcome.scope === 'connection';
}

/** Whether a device has to wait for the circuit. A device with a `Retry-After` waits for its own time instead. */
export function waitsForCircuit(outcome: Outcome, { circuit }: Route): boolean {
  if (circuit.fault === undefined) return false;
  if (outcome.result !== 'try-again') return outcome.result === 'not-authorised';
  return outcome.afterMs === undefined || outcome.scope === 'connection';
}

type GatewayFailure = Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>;

/** Whether an outcome is about the gateway or the credential, and not about one device. */
export function isOfGateway(outcome: Outcome): outcome is GatewayFailure {
  return (
    outcome.result === 'not-authorised' ||
    (outcome.result === 'try-again' && outcome.scope !== 'device')
  );
}
