import type { Outcome } from '../../gateway.ts';
import type { OthersAccepted } from './after-outcome.ts';
import type { LastPause } from './devices/device-pauses.ts';
import type { Route } from './route.ts';

/** The outcome of a send that failed inside this server. */
export const FAULT: Outcome = {
  result: 'try-again',
  reason: 'fault',
  afterMs: undefined,
  scope: 'device',
};

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

/**
 * Whether only this device must wait: its gateway says so, or fails for it while others are accepted. Once it has failed
 * alone, it still does if others were accepted at any time since, because a quiet instance seldom sends to others.
 */
export function isOfDeviceAlone(
  outcome: Outcome,
  { circuit, acceptedAtMs }: Route,
  { others, last }: { readonly others: OthersAccepted; readonly last: LastPause | undefined },
): outcome is Extract<Outcome, { readonly result: 'try-again' }> {
  if (outcome.result !== 'try-again' || outcome === FAULT) return false;
  if (outcome.scope !== 'gateway') return outcome.scope === 'device';
  if (others === 'here') return true;
  if (circuit.fault !== undefined || last === undefined) return false;
  return last.isConfirmed || acceptedAtMs > last.sinceMs;
}

type GatewayFailure = Extract<Outcome, { readonly result: 'not-authorised' | 'try-again' }>;

/** Whether an outcome is about the gateway or the credential, and not about one device. */
export function isOfGateway(outcome: Outcome): outcome is GatewayFailure {
  return (
    outcome.result === 'not-authorised' ||
    (outcome.result === 'try-again' && outcome.scope !== 'device')
  );
}
